package files

import (
	"context"
	"fmt"
	"strings"

	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

// maxEditBytes bounds a file that is edited, before and after. Larger ones are no source text.
const maxEditBytes = 4 << 20

// diffBudget is how much of a diff is given, as it is written in JSON.
const diffBudget = 40 << 10

type editArgs struct {
	Path         string        `json:"path"`
	Replacements []replacement `json:"replacements"`
	ExpectedHash *string       `json:"expected_hash,omitempty"`
}

type replacement struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all,omitempty"`
}

type editResult struct {
	Path string `json:"path"`
	// Hash and Size of the new content.
	Hash         string `json:"hash"`
	Size         int64  `json:"size"`
	PreviousHash string `json:"previousHash"`
	// Replaced counts the places.
	Replaced      int    `json:"replaced"`
	Diff          string `json:"diff"`
	DiffTruncated bool   `json:"diffTruncated,omitempty"`
}

func editFile() tools.Tool {
	return define(spec[editArgs]{
		manifest: manifest("edit_file", "Edit file",
			"Replaces parts of a text file, in order, all or none. Each old must be exactly as it is in the file, "+
				"whitespace included, and occur once unless all is true. Returns a diff and the new hash.",
			writes, `{
				"type": "object",
				"properties": {
					"path": `+pathSchema+`,
					"replacements": {
						"type": "array", "minItems": 1, "maxItems": 100,
						"items": {
							"type": "object",
							"properties": {
								"old": {"type": "string", "minLength": 1, "description": "Text that is in the file."},
								"new": {"type": "string", "description": "Text to put in its place; empty to delete it."},
								"all": {"type": "boolean", "description": "Replace every occurrence. Default: false."}
							},
							"required": ["old", "new"],
							"additionalProperties": false
						}
					},
					"expected_hash": `+hashSchema+`
				},
				"required": ["path", "replacements"],
				"additionalProperties": false
			}`),
		prepare: func(a *editArgs) error {
			lowerHash(a.ExpectedHash)
			return normalize(&a.Path, "")
		},
		execute: edit,
		doing:   "Editing", did: "Edited",
		target: func(a editArgs) string { return shown(a.Path) },
	})
}

func edit(ctx context.Context, f tools.Files, a editArgs) (any, error) {
	file, content, err := f.Read(ctx, a.Path)
	if err != nil {
		return nil, err
	}
	switch {
	case a.ExpectedHash != nil && *a.ExpectedHash != file.Hash:
		return nil, &tools.PathError{Code: "conflict", Path: a.Path,
			Message: fmt.Sprintf("%s has changed: its hash is %s, not %s.", a.Path, file.Hash, *a.ExpectedHash)}
	case len(content) > maxEditBytes:
		return nil, refuse("too_large", "%s has %d bytes; at most %d can be edited. Use write_file.", a.Path, len(content), maxEditBytes)
	case !texts.StorableBytes(content):
		return nil, refuse("not_text", "%s is not text, so it can't be edited. Use write_file with encoding base64.", a.Path)
	}
	before, after, replaced := string(content), string(content), 0
	for i, r := range a.Replacements {
		next, n, err := r.apply(after, i, a.Path)
		if err != nil {
			return nil, err
		}
		after, replaced = next, replaced+n
	}
	if after == before {
		return nil, refuse("no_change", "The replacements don't change %s. Use a new text that differs from the old one.", a.Path)
	}
	// Compare and set, also where the caller gave no hash: what was read is what is replaced.
	written, err := f.Write(ctx, a.Path, []byte(after), &file.Hash)
	if err != nil {
		return nil, err
	}
	diff, cut := unifiedDiff(a.Path, before, after, diffBudget)
	return editResult{
		Path: a.Path, Hash: written.Hash, Size: written.Size, PreviousHash: file.Hash, Replaced: replaced,
		Diff: diff, DiffTruncated: cut,
	}, nil
}

// apply returns the text with the replacement made, and in how many places.
func (r replacement) apply(text string, index int, path string) (string, int, error) {
	if !r.All {
		at := occurrences(text, r.Old, 4)
		switch {
		case len(at) == 0:
			return "", 0, r.missing(text, index, path)
		case len(at) > 1:
			return "", 0, refuse("ambiguous_match", "replacements[%d].old occurs more than once in %s (lines %s). "+
				"Add lines around it until it occurs once, or set all to true.", index, path, lineNumbers(text, at))
		}
		if grown := len(text) + len(r.New) - len(r.Old); grown > maxEditBytes {
			return "", 0, tooLarge(path, grown)
		}
		return text[:at[0]] + r.New + text[at[0]+len(r.Old):], 1, nil
	}
	n := strings.Count(text, r.Old)
	if n == 0 {
		return "", 0, r.missing(text, index, path)
	}
	// Asked before it is made: a short old and a long new multiply.
	if grown := len(text) + n*(len(r.New)-len(r.Old)); grown > maxEditBytes {
		return "", 0, tooLarge(path, grown)
	}
	return strings.ReplaceAll(text, r.Old, r.New), n, nil
}

func tooLarge(path string, size int) error {
	return refuse("too_large", "%s would have %d bytes after the replacements; at most %d are allowed.", path, size, maxEditBytes)
}

// missing tells why a text wasn't found, as far as that can be seen.
func (r replacement) missing(text string, index int, path string) error {
	hint := "Read the file and pass old exactly as it is there, whitespace included."
	switch {
	case strings.Contains(text, strings.ReplaceAll(r.Old, "\n", "\r\n")):
		hint = `The file's lines end with \r\n; give old and new with \r\n.`
	case index > 0:
		hint += " Earlier replacements of this call are applied first."
	}
	return refuse("match_not_found", "replacements[%d].old does not occur in %s. %s", index, path, hint)
}

// occurrences returns where old begins in text, overlapping ones included: either could be meant. It stops at most.
func occurrences(text, old string, most int) []int {
	var at []int
	for from := 0; len(at) < most; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

func lineNumbers(text string, at []int) string {
	var b strings.Builder
	for i, pos := range at {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == 3 {
			b.WriteString("…")
			break
		}
		fmt.Fprintf(&b, "%d", strings.Count(text[:pos], "\n")+1)
	}
	return b.String()
}
