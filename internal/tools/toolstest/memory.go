// Package toolstest helps to test tools and what they run on: a filesystem in memory, and the conformance tests that
// every implementation of tools.Files passes.
package toolstest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/tools"
)

// Memory is a session's filesystem in memory, as one call sees it: what is stored, overlaid with what was written
// since the last Commit. It is not safe for concurrent use.
type Memory struct {
	// Now returns the time of writes; nil for a fixed one.
	Now func() time.Time
	// MaxFileBytes and MaxTotalBytes bound one file and all files; 0 for no bound.
	MaxFileBytes, MaxTotalBytes int64

	stored map[string]*node
	// overlay has what the call wrote; nil for what it deleted.
	overlay map[string]*node
	// expected are the hashes that stored files must still have at Commit.
	expected map[string]string
}

type node struct {
	file    tools.File
	content []byte
}

// NewMemory returns an empty filesystem.
func NewMemory() *Memory {
	return &Memory{stored: map[string]*node{}, overlay: map[string]*node{}, expected: map[string]string{}}
}

// Stat implements tools.Files.
func (m *Memory) Stat(_ context.Context, path string) (tools.File, error) {
	n, err := m.existing(path)
	if err != nil {
		return tools.File{}, err
	}
	return n.file, nil
}

// Read implements tools.Files.
func (m *Memory) Read(_ context.Context, path string) (tools.File, []byte, error) {
	n, err := m.existing(path)
	if err != nil {
		return tools.File{}, nil, err
	}
	if n.file.Directory {
		return tools.File{}, nil, fail("is_directory", path, "%s is a directory.", path)
	}
	return n.file, slices.Clone(n.content), nil
}

// List implements tools.Files.
func (m *Memory) List(_ context.Context, dir string, recursive bool, limit int) ([]tools.File, error) {
	n, err := m.existing(dir)
	if err != nil {
		return nil, err
	}
	if !n.file.Directory {
		return nil, fail("not_directory", dir, "%s is a file.", dir)
	}
	var files []tools.File
	for _, path := range m.below(dir) {
		if !recursive && strings.Contains(path[len(dir)+1:], "/") {
			continue
		}
		if len(files) == limit {
			break
		}
		files = append(files, m.lookup(path).file)
	}
	return files, nil
}

// Write implements tools.Files.
func (m *Memory) Write(_ context.Context, path string, content []byte, expectedHash *string) (tools.File, error) {
	if err := m.writable(path); err != nil {
		return tools.File{}, err
	}
	present := m.lookup(path)
	if present != nil && present.file.Directory {
		return tools.File{}, fail("is_directory", path, "%s is a directory.", path)
	}
	if expectedHash != nil && (present == nil || present.file.Hash != *expectedHash) {
		return tools.File{}, fail("conflict", path, "%s is not what it was expected to be: it has not the hash %q.", path, *expectedHash)
	}
	if err := m.fits(path, int64(len(content))); err != nil {
		return tools.File{}, err
	}
	if _, written := m.overlay[path]; expectedHash != nil && !written {
		m.expected[path] = *expectedHash
	}
	for dir := parent(path); m.lookup(dir) == nil; dir = parent(dir) {
		m.overlay[dir] = &node{file: tools.File{Path: dir, Directory: true, UpdatedAt: m.now()}}
	}
	n := m.newFile(tools.File{Path: path}, content)
	m.overlay[path] = n
	return n.file, nil
}

// Delete implements tools.Files.
func (m *Memory) Delete(_ context.Context, path string, recursive bool) error {
	if _, err := m.existing(path); err != nil {
		return err
	}
	if err := m.writable(path); err != nil {
		return err
	}
	below := m.below(path)
	if len(below) > 0 && !recursive {
		return fail("not_empty", path, "The directory %s is not empty.", path)
	}
	for _, p := range below {
		if m.lookup(p).file.ReadOnly {
			return fail("readonly", p, "%s is read-only, so %s can't be deleted.", p, path)
		}
	}
	for _, p := range append(below, path) {
		m.overlay[p] = nil
	}
	return nil
}

// Seed implements Store.
func (m *Memory) Seed(_ context.Context, file tools.File, content []byte) error {
	for dir := parent(file.Path); !tools.IsRoot(dir); dir = parent(dir) {
		if m.stored[dir] == nil {
			m.stored[dir] = &node{file: tools.File{Path: dir, Directory: true, UpdatedAt: m.now()}}
		}
	}
	if file.Directory {
		m.stored[file.Path] = &node{file: tools.File{Path: file.Path, Directory: true, ReadOnly: file.ReadOnly, UpdatedAt: m.now()}}
		return nil
	}
	m.stored[file.Path] = m.newFile(tools.File{Path: file.Path, ReadOnly: file.ReadOnly}, content)
	return nil
}

// Commit implements Committer.
func (m *Memory) Commit(context.Context) error {
	for path, hash := range m.expected {
		if n := m.stored[path]; n == nil || n.file.Hash != hash {
			return fail("conflict", path, "%s was changed meanwhile.", path)
		}
	}
	for path, n := range m.overlay {
		if n == nil {
			delete(m.stored, path)
		} else {
			m.stored[path] = n
		}
	}
	clear(m.overlay)
	clear(m.expected)
	return nil
}

func (m *Memory) newFile(file tools.File, content []byte) *node {
	file.Size, file.Hash, file.UpdatedAt = int64(len(content)), tools.ContentHash(content), m.now()
	return &node{file: file, content: slices.Clone(content)}
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
}

// lookup returns what is at a path; nil for nothing.
func (m *Memory) lookup(path string) *node {
	if tools.IsRoot(path) {
		return &node{file: tools.File{Path: path, Directory: true}}
	}
	if n, written := m.overlay[path]; written {
		return n
	}
	return m.stored[path]
}

func (m *Memory) existing(path string) (*node, error) {
	if err := normalized(path); err != nil {
		return nil, err
	}
	n := m.lookup(path)
	if n == nil {
		return nil, &tools.PathError{Code: "not_found", Path: path, Message: fmt.Sprintf("There is nothing at %s.", path), Err: fs.ErrNotExist}
	}
	return n, nil
}

// below returns the paths of all that is in a directory, sorted.
func (m *Memory) below(dir string) []string {
	var paths []string
	for _, layer := range []map[string]*node{m.stored, m.overlay} {
		for path := range layer {
			if strings.HasPrefix(path, dir+"/") && m.lookup(path) != nil {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// writable refuses what can't be written or deleted whatever its content.
func (m *Memory) writable(path string) error {
	if err := normalized(path); err != nil {
		return err
	}
	if tools.IsRoot(path) {
		return fail("readonly", path, "%s is a root; it can't be replaced or deleted.", path)
	}
	if n := m.lookup(path); n != nil && n.file.ReadOnly {
		return fail("readonly", path, "%s is read-only.", path)
	}
	for dir := parent(path); !tools.IsRoot(dir); dir = parent(dir) {
		switch n := m.lookup(dir); {
		case n == nil:
		case !n.file.Directory:
			return fail("not_directory", path, "%s is a file, so there can't be anything below it.", dir)
		case n.file.ReadOnly:
			return fail("readonly", path, "%s is read-only, with all that is in it.", dir)
		}
	}
	return nil
}

func (m *Memory) fits(path string, size int64) error {
	if m.MaxFileBytes > 0 && size > m.MaxFileBytes {
		return fail("too_large", path, "%s would have %d bytes; at most %d are allowed.", path, size, m.MaxFileBytes)
	}
	total := size
	for _, root := range tools.Roots() {
		for _, p := range m.below(root) {
			if p != path {
				total += m.lookup(p).file.Size
			}
		}
	}
	if m.MaxTotalBytes > 0 && total > m.MaxTotalBytes {
		return fail("quota_exceeded", path, "The files would have %d bytes in all; at most %d are allowed.", total, m.MaxTotalBytes)
	}
	return nil
}

// normalized refuses paths that should not have come this far.
func normalized(path string) error {
	n, err := tools.NormalizePath(path)
	if err == nil && n != path {
		return fail(tools.CodeInvalidPath, path, "The path %q is not normalized.", path)
	}
	return err
}

func parent(path string) string { return path[:strings.LastIndexByte(path, '/')] }

func fail(code, path, format string, args ...any) error {
	return &tools.PathError{Code: code, Path: path, Message: fmt.Sprintf(format, args...)}
}

var (
	_ Store     = (*Memory)(nil)
	_ Committer = (*Memory)(nil)
)
