package files

import (
	"context"

	"github.com/ostler-dev/ostler/internal/tools"
)

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Unit   string `json:"unit,omitempty"`
}

func readFile() tools.Tool {
	return define(spec[readArgs]{
		manifest: manifest("read_file", "Read file",
			"Reads a file: text as it is, anything else as base64. Returns its hash, and for text the number of lines. "+
				"Large files come in parts: continue at nextOffset.",
			reads, `{
				"type": "object",
				"properties": {
					"path": `+pathSchema+`,
					"offset": {"type": "integer", "minimum": 0, "maximum": 1000000000, "description": "How many lines to skip (bytes with unit bytes). Default 0."},
					"limit": {"type": "integer", "minimum": 1, "maximum": 1000000000, "description": "How many lines to return at most (bytes with unit bytes). Default: as many as fit."},
					"unit": {"type": "string", "enum": ["lines", "bytes"], "description": "What offset and limit count. Default: lines for text, bytes for anything else."}
				},
				"required": ["path"],
				"additionalProperties": false
			}`),
		prepare: func(a *readArgs) error { return normalize(&a.Path, "") },
		execute: func(ctx context.Context, f tools.Files, a readArgs) (any, error) {
			file, content, err := f.Read(ctx, a.Path)
			if err != nil {
				return nil, err
			}
			return readPart(file, content, a, contentBudget)
		},
		doing: "Reading", did: "Read",
		target: func(a readArgs) string { return shown(a.Path) },
	})
}

type readManyArgs struct {
	Paths []string `json:"paths"`
}

type readManyResult struct {
	Files []any `json:"files"`
}

// fileFailure stands in the place of a file that can't be read.
type fileFailure struct {
	Path  string       `json:"path"`
	Error errorDetails `json:"error"`
}

type errorDetails struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func readManyFiles() tools.Tool {
	return define(spec[readManyArgs]{
		manifest: manifest("read_many_files", "Read files",
			"Reads up to 20 files at once. They share the size limit of one result, so long ones are cut; read_file continues at "+
				"their nextOffset. A file that can't be read has an error in its place; the others are read.",
			reads, `{
				"type": "object",
				"properties": {
					"paths": {"type": "array", "minItems": 1, "maxItems": 20, "uniqueItems": true, "items": `+pathSchema+`}
				},
				"required": ["paths"],
				"additionalProperties": false
			}`),
		// An invalid path is one file's failure, so it is found when the file's turn comes.
		prepare: func(*readManyArgs) error { return nil },
		execute: readMany,
		doing:   "Reading", did: "Read",
		target: func(a readManyArgs) string {
			if len(a.Paths) == 1 {
				return shown(a.Paths[0])
			}
			return plural(len(a.Paths), "file")
		},
	})
}

// reservePerFile is what an entry takes beside its path and content.
const reservePerFile = 800

func readMany(ctx context.Context, f tools.Files, a readManyArgs) (any, error) {
	paths := make([]string, len(a.Paths))
	failures := make([]error, len(a.Paths))
	budget := contentBudget
	for i, p := range a.Paths {
		paths[i] = p
		if failures[i] = normalize(&paths[i], ""); failures[i] != nil {
			paths[i] = tools.Shorten(p, 120)
		}
		budget -= tools.EncodedLen(paths[i]) + reservePerFile
	}
	out := readManyResult{Files: make([]any, 0, len(paths))}
	for i, p := range paths {
		// What short files leave is for those after them.
		share := max(budget, 0) / (len(paths) - i)
		var read part
		err := failures[i]
		if err == nil {
			read, err = readShare(ctx, f, p, share)
		}
		if err != nil {
			code, message, ok := explain(err)
			if !ok {
				return nil, err
			}
			out.Files = append(out.Files, fileFailure{Path: p, Error: errorDetails{code, tools.Shorten(message, 300)}})
			continue
		}
		budget -= tools.EncodedLen(read.Content)
		out.Files = append(out.Files, read)
	}
	return out, nil
}

func readShare(ctx context.Context, f tools.Files, path string, share int) (part, error) {
	file, content, err := f.Read(ctx, path)
	if err != nil {
		return part{}, err
	}
	return readPart(file, content, readArgs{Path: path}, share)
}
