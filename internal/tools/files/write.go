package files

import (
	"context"
	"strings"

	"github.com/ostler-dev/ostler/internal/tools"
)

type writeArgs struct {
	Path         string  `json:"path"`
	Content      string  `json:"content"`
	Encoding     string  `json:"encoding,omitempty"`
	ExpectedHash *string `json:"expected_hash,omitempty"`
}

type writeResult struct {
	Path string `json:"path"`
	// Size in bytes.
	Size int64  `json:"size"`
	Hash string `json:"hash"`
}

func writeFile() tools.Tool {
	return define(spec[writeArgs]{
		manifest: manifest("write_file", "Write file",
			"Writes a whole file. Creates missing directories and replaces an existing file. Use edit_file to change parts.",
			writes, `{
				"type": "object",
				"properties": {
					"path": `+pathSchema+`,
					"content": {"type": "string", "description": "The whole new content."},
					"encoding": {"type": "string", "enum": ["text", "base64"], "description": "How content is encoded. Default: text."},
					"expected_hash": `+hashSchema+`
				},
				"required": ["path", "content"],
				"additionalProperties": false
			}`),
		prepare: func(a *writeArgs) error {
			lowerHash(a.ExpectedHash)
			if _, err := a.decode(); err != nil {
				return err
			}
			return normalize(&a.Path, "")
		},
		execute: func(ctx context.Context, f tools.Files, a writeArgs) (any, error) {
			content, err := a.decode()
			if err != nil {
				return nil, err
			}
			file, err := f.Write(ctx, a.Path, content, a.ExpectedHash)
			if err != nil {
				return nil, err
			}
			return writeResult{Path: file.Path, Size: file.Size, Hash: file.Hash}, nil
		},
		doing: "Writing", did: "Wrote",
		target: func(a writeArgs) string { return shown(a.Path) },
	})
}

func (a writeArgs) decode() ([]byte, error) {
	content, err := tools.DecodeContent(a.Content, a.Encoding)
	if err != nil {
		return nil, refuse("invalid_content", "The content for %s can't be used: %v.", tools.Shorten(a.Path, 120), err)
	}
	return content, nil
}

// lowerHash brings a hash to the form that files have.
func lowerHash(hash *string) {
	if hash != nil {
		*hash = strings.ToLower(*hash)
	}
}
