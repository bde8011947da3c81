// Package toolstest helps to test tools: it calls them, with a filesystem in memory. The tests of internal/sessions hold it against that
// of sessions.
package toolstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	if _, changed := m.overlay[path]; expectedHash != nil && !changed {
		m.expected[path] = *expectedHash
	}
	for dir := parent(path); m.lookup(dir) == nil; dir = parent(dir) {
		m.overlay[dir] = &node{file: tools.File{Path: dir, Directory: true, UpdatedAt: written}}
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

// Seed stores an entry as if another call had committed it. Parents are made.
func (m *Memory) Seed(_ context.Context, file tools.File, content []byte) error {
	for dir := parent(file.Path); !tools.IsRoot(dir); dir = parent(dir) {
		if m.stored[dir] == nil {
			m.stored[dir] = &node{file: tools.File{Path: dir, Directory: true, UpdatedAt: written}}
		}
	}
	if file.Directory {
		m.stored[file.Path] = &node{file: tools.File{Path: file.Path, Directory: true, ReadOnly: file.ReadOnly, UpdatedAt: written}}
		return nil
	}
	m.stored[file.Path] = m.newFile(tools.File{Path: file.Path, ReadOnly: file.ReadOnly}, content)
	return nil
}

// Commit stores what was written.
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
	file.Size, file.Hash, file.UpdatedAt = int64(len(content)), ContentHash(content), written
	return &node{file: file, content: slices.Clone(content)}
}

// written is the time of all writes.
var written = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// lookup returns what is at a path; nil for nothing.
func (m *Memory) lookup(path string) *node {
	if tools.IsRoot(path) {
		return &node{file: tools.File{Path: path, Directory: true}}
	}
	if n, changed := m.overlay[path]; changed {
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

// ContentHash returns the hash of content as tools.File has it.
func ContentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
