package tools

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The roots of a session's filesystem. They always exist, and everything is below one of them.
const (
	// WorkspaceRoot is where agents and users work; relative paths are below it.
	WorkspaceRoot = "/workspace"
	// OutputsRoot keeps the whole output of calls.
	OutputsRoot = "/outputs"
	// TasksRoot keeps what background tasks leave.
	TasksRoot = "/.tasks"
)

// Limits of a path, in bytes.
const (
	MaxPathBytes    = 1024
	MaxSegmentBytes = 255
)

// CodeInvalidPath is the PathError code of a path that can't be used at all.
const CodeInvalidPath = "invalid_path"

// Roots returns the roots in the order of their bytes.
func Roots() []string { return []string{TasksRoot, OutputsRoot, WorkspaceRoot} }

// IsRoot reports whether a normalized path is a root.
func IsRoot(path string) bool { return slices.Contains(Roots(), path) }

// NormalizePath returns the one form of a path that is stored and compared: absolute, below a root, without empty and
// "." segments. Relative paths are below WorkspaceRoot. What can't be used is refused with a *PathError.
func NormalizePath(p string) (string, error) {
	switch {
	case p == "":
		return "", invalidPath(p, "is empty")
	case len(p) > 4*MaxPathBytes:
		// Far beyond what cleaning can save; don't look at it further.
		return "", invalidPath(p, fmt.Sprintf("is longer than %d bytes", MaxPathBytes))
	case !utf8.ValidString(p):
		return "", invalidPath(p, "is not valid UTF-8")
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", invalidPath(p, "contains a control character")
	case strings.Contains(p, `\`):
		return "", invalidPath(p, "contains a backslash; separate segments with /")
	}
	full := p
	if !strings.HasPrefix(p, "/") {
		full = WorkspaceRoot + "/" + p
	}
	var clean strings.Builder
	for segment := range strings.SplitSeq(full, "/") {
		switch {
		case segment == "" || segment == ".":
			continue
		case segment == "..":
			return "", invalidPath(p, `has the segment ".." in it; leave it out`)
		case len(segment) > MaxSegmentBytes:
			return "", invalidPath(p, fmt.Sprintf("has a segment of more than %d bytes", MaxSegmentBytes))
		}
		clean.WriteByte('/')
		clean.WriteString(segment)
	}
	n := clean.String()
	if len(n) > MaxPathBytes {
		return "", invalidPath(p, fmt.Sprintf("is longer than %d bytes", MaxPathBytes))
	}
	for _, root := range Roots() {
		if n == root || strings.HasPrefix(n, root+"/") {
			return n, nil
		}
	}
	return "", invalidPath(p, "is outside the session's files; use a path below "+WorkspaceRoot)
}

// invalidPath quotes the path shortened and escaped: it may be anything.
func invalidPath(p, problem string) error {
	shown := Shorten(strings.ToValidUTF8(p, "\uFFFD"), 120)
	return &PathError{
		Code: CodeInvalidPath, Path: shown,
		Message: fmt.Sprintf("The path %q %s.", shown, problem),
	}
}
