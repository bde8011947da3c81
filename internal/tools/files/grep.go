package files

import (
	"context"
	"path"

	"github.com/ostler-dev/ostler/internal/tools"
)

// What one search may look at and give.
const (
	maxGrepEntries   = 10_000
	maxGrepFileBytes = 2 << 20
	maxGrepBytes     = 32 << 20
	// maxGrepWork bounds bytes of text times cost of the pattern: about two seconds at worst.
	maxGrepWork     = 1 << 28
	maxMatches      = 1000
	defaultMatches  = 100
	maxContextLines = 10
	maxLineBytes    = 400
)

type grepArgs struct {
	Pattern      string `json:"pattern"`
	Path         string `json:"path,omitempty"`
	Glob         string `json:"glob,omitempty"`
	ContextLines int    `json:"context_lines,omitempty"`
	IgnoreCase   bool   `json:"ignore_case,omitempty"`
	MaxMatches   int    `json:"max_matches,omitempty"`
}

type grepResult struct {
	Matches       []match `json:"matches"`
	FilesSearched int     `json:"filesSearched"`
	Skipped       skipped `json:"filesSkipped"`
	tools.Cut
}

// match is a line that the pattern is found in.
type match struct {
	Path string `json:"path"`
	// Line counts from 1.
	Line   int      `json:"line"`
	Text   string   `json:"text"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// skipped counts the files that were not searched, by why.
type skipped struct {
	Binary   int `json:"binary"`
	TooLarge int `json:"tooLarge"`
}

func grepFiles() tools.Tool {
	return define(spec[grepArgs]{
		manifest: manifest("grep_files", "Search files",
			"Finds the lines of text files that match a regular expression (RE2 syntax, line by line). Files that aren't "+
				"text, or are over 2 MiB, are skipped.",
			reads, `{
				"type": "object",
				"properties": {
					"pattern": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Regular expression in RE2 syntax."},
					"path": {"type": "string", "description": "Directory to search with all below it, or a file. Default: /workspace."},
					"glob": {"type": "string", "minLength": 1, "maxLength": 256, "description": "Which files: *.go by name, src/**/*.go by path below the directory."},
					"context_lines": {"type": "integer", "minimum": 0, "maximum": 10, "description": "Lines to return before and after each match. Default 0."},
					"ignore_case": {"type": "boolean", "description": "Default: false."},
					"max_matches": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Default 100."}
				},
				"required": ["pattern"],
				"additionalProperties": false
			}`),
		prepare: func(a *grepArgs) error {
			if _, err := compilePattern(a.Pattern, a.IgnoreCase); err != nil {
				return err
			}
			if _, err := compileGlob(a.Glob); err != nil {
				return err
			}
			return normalize(&a.Path, tools.WorkspaceRoot)
		},
		execute: grep,
		doing:   "Searching for", did: "Searched for",
		target: func(a grepArgs) string { return tools.Shorten(a.Pattern, 80) },
	})
}

func grep(ctx context.Context, f tools.Files, a grepArgs) (any, error) {
	p, err := compilePattern(a.Pattern, a.IgnoreCase)
	if err != nil {
		return nil, err
	}
	files, more, err := candidates(ctx, f, a)
	if err != nil {
		return nil, err
	}
	s := search{
		pattern: p, args: a, budget: contentBudget, most: a.MaxMatches,
		out: grepResult{Matches: []match{}},
	}
	if s.most == 0 {
		s.most = defaultMatches
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.file(ctx, f, file); err != nil {
			return nil, err
		}
		if s.reason != "" {
			break
		}
	}
	if s.reason == "" && more {
		s.reason = tools.ReasonItems
	}
	if s.reason != "" {
		s.out.Cut = tools.Cut{
			Truncated: true, Reason: s.reason,
			ResumeHint: "Not everything was searched or shown. Narrow path, glob or pattern, or ask for fewer context lines.",
		}
	}
	return s.out, nil
}

// candidates returns the files that path and glob select; more reports that there are too many to look at.
func candidates(ctx context.Context, f tools.Files, a grepArgs) (files []tools.File, more bool, err error) {
	var g *glob
	if a.Glob != "" {
		if g, err = compileGlob(a.Glob); err != nil {
			return nil, false, err
		}
	}
	at, err := f.Stat(ctx, a.Path)
	if err != nil {
		return nil, false, err
	}
	entries, dir := []tools.File{at}, path.Dir(a.Path)
	if at.Directory {
		dir = a.Path
		if entries, err = f.List(ctx, a.Path, true, maxGrepEntries+1); err != nil {
			return nil, false, err
		}
	}
	if len(entries) > maxGrepEntries {
		entries, more = entries[:maxGrepEntries], true
	}
	for _, e := range entries {
		if !e.Directory && (g == nil || g.match(e.Path, dir)) {
			files = append(files, e)
		}
	}
	return files, more, nil
}
