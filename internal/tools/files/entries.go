package files

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/tools"
)

// The types of entries.
const (
	typeFile      = "file"
	typeDirectory = "directory"
)

func entryType(f tools.File) string {
	if f.Directory {
		return typeDirectory
	}
	return typeFile
}

// maxEntries is how many entries one listing gives.
const maxEntries = 500

type listArgs struct {
	Path      string `json:"path,omitempty"`
	Recursive bool   `json:"recursive,omitempty"`
	Offset    int    `json:"offset,omitempty"`
}

type listResult struct {
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
	tools.Cut
}

type entry struct {
	Path string `json:"path"`
	Type string `json:"type"`
	// Size in bytes; of files.
	Size     *int64 `json:"size,omitempty"`
	ReadOnly bool   `json:"readonly,omitempty"`
}

func listDirectory() tools.Tool {
	return define(spec[listArgs]{
		manifest: manifest("list_directory", "List directory",
			"Lists what is in a directory, sorted by path; with recursive also what is below its directories.",
			reads, `{
				"type": "object",
				"properties": {
					"path": {"type": "string", "description": "Path of a directory. Default: /workspace."},
					"recursive": {"type": "boolean", "description": "Default: false."},
					"offset": {"type": "integer", "minimum": 0, "maximum": 100000, "description": "How many entries to skip. Default 0."}
				},
				"additionalProperties": false
			}`),
		prepare: func(a *listArgs) error { return normalize(&a.Path, tools.WorkspaceRoot) },
		execute: list,
		doing:   "Listing", did: "Listed",
		target: func(a listArgs) string {
			if a.Path == "" {
				return tools.WorkspaceRoot
			}
			return shown(a.Path)
		},
	})
}

func list(ctx context.Context, f tools.Files, a listArgs) (any, error) {
	// One more reports whether there are more.
	all, err := f.List(ctx, a.Path, a.Recursive, a.Offset+maxEntries+1)
	if err != nil {
		return nil, err
	}
	if a.Offset > len(all) {
		return nil, refuse("out_of_range", "offset %d is beyond the end of %s, which has %d entries.", a.Offset, a.Path, len(all))
	}
	all = all[a.Offset:]
	out := listResult{Path: a.Path, Entries: make([]entry, 0, min(len(all), maxEntries))}
	budget, reason := contentBudget, ""
	for i, file := range all {
		e := entry{Path: file.Path, Type: entryType(file), ReadOnly: file.ReadOnly}
		if !file.Directory {
			e.Size = &file.Size
		}
		if budget -= tools.EncodedLen(file.Path) + 80; budget < 0 {
			reason = tools.ReasonSize
			break
		}
		if i == maxEntries {
			reason = tools.ReasonItems
			break
		}
		out.Entries = append(out.Entries, e)
	}
	if reason != "" {
		next := a.Offset + len(out.Entries)
		out.Cut = tools.Cut{
			Truncated: true, NextOffset: next, Reason: reason,
			ResumeHint: fmt.Sprintf("Continue with offset %d, or list a directory further down.", next),
		}
	}
	return out, nil
}

type deleteArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive,omitempty"`
}

type deleteResult struct {
	Path    string `json:"path"`
	Deleted bool   `json:"deleted"`
}

func deleteFile() tools.Tool {
	return define(spec[deleteArgs]{
		manifest: manifest("delete_file", "Delete file",
			"Deletes a file or an empty directory; with recursive a directory and all that is in it.",
			writes, `{
				"type": "object",
				"properties": {
					"path": `+pathSchema+`,
					"recursive": {"type": "boolean", "description": "Delete a directory with all that is in it. Default: false."}
				},
				"required": ["path"],
				"additionalProperties": false
			}`),
		prepare: func(a *deleteArgs) error { return normalize(&a.Path, "") },
		execute: func(ctx context.Context, f tools.Files, a deleteArgs) (any, error) {
			if err := f.Delete(ctx, a.Path, a.Recursive); err != nil {
				return nil, err
			}
			return deleteResult{Path: a.Path, Deleted: true}, nil
		},
		doing: "Deleting", did: "Deleted",
		target: func(a deleteArgs) string { return shown(a.Path) },
	})
}

type statArgs struct {
	Path string `json:"path"`
}

type statResult struct {
	Path string `json:"path"`
	Type string `json:"type"`
	// Size in bytes.
	Size      int64  `json:"size"`
	Hash      string `json:"hash,omitempty"`
	ReadOnly  bool   `json:"readonly"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

func statFile() tools.Tool {
	return define(spec[statArgs]{
		manifest: manifest("stat_file", "File details",
			"Returns type, size, hash and time of a file or directory without reading it.",
			reads, `{
				"type": "object",
				"properties": {"path": `+pathSchema+`},
				"required": ["path"],
				"additionalProperties": false
			}`),
		prepare: func(a *statArgs) error { return normalize(&a.Path, "") },
		execute: func(ctx context.Context, f tools.Files, a statArgs) (any, error) {
			file, err := f.Stat(ctx, a.Path)
			if err != nil {
				return nil, err
			}
			out := statResult{Path: file.Path, Type: entryType(file), Size: file.Size, Hash: file.Hash, ReadOnly: file.ReadOnly}
			if !file.UpdatedAt.IsZero() {
				out.UpdatedAt = file.UpdatedAt.UTC().Format(time.RFC3339)
			}
			return out, nil
		},
		doing: "Looking at", did: "Looked at",
		target: func(a statArgs) string { return shown(a.Path) },
	})
}
