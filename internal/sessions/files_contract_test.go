package sessions

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/toolstest"
)

// filesStore is a Files under test together with a way to what lies beneath the call.
type filesStore interface {
	tools.Files
	// Seed stores a file or directory as if another call had committed it: Path, Directory and ReadOnly count, the
	// rest follows from content. Parents are made.
	Seed(ctx context.Context, file tools.File, content []byte) error
	// Commit stores what was written; the Files goes on with the committed state and an empty overlay.
	Commit(ctx context.Context) error
}

// testFiles states what every tools.Files does. The Files that fresh returns must be empty.
func testFiles(t *testing.T, fresh func(t *testing.T) filesStore) {
	t.Helper()
	for _, suite := range [][]contractCheck{basics(), writing(), deleting(), seeded(), committing()} {
		for _, c := range suite {
			t.Run(c.name, func(t *testing.T) {
				c.run(&under{t: t, filesStore: fresh(t)})
			})
		}
	}
	t.Run("behaves like Memory whatever is done", func(t *testing.T) { compare(t, fresh) })
}

// The files that tests of tools work on behave like those of sessions.
func TestFilesInMemory(t *testing.T) {
	testFiles(t, func(*testing.T) filesStore { return toolstest.NewMemory() })
}

// contractCheck is one statement.
type contractCheck struct {
	name string
	run  func(u *under)
}

// under is the Files under test with assertions that stop the test.
type under struct {
	filesStore
	t *testing.T
}

func (u *under) ctx() context.Context { return u.t.Context() }

func (u *under) write(path, content string) tools.File {
	u.t.Helper()
	f, err := u.Write(u.ctx(), path, []byte(content), nil)
	if err != nil {
		u.t.Fatalf("write %s: %v", path, err)
	}
	return f
}

func (u *under) seed(path, content string, readOnly bool) {
	u.t.Helper()
	if err := u.Seed(u.ctx(), tools.File{Path: path, ReadOnly: readOnly}, []byte(content)); err != nil {
		u.t.Fatalf("seed %s: %v", path, err)
	}
}

func (u *under) remove(path string, recursive bool) {
	u.t.Helper()
	if err := u.Delete(u.ctx(), path, recursive); err != nil {
		u.t.Fatalf("delete %s: %v", path, err)
	}
}

// has wants a file with this content, the same to Stat and Read.
func (u *under) has(path, content string) {
	u.t.Helper()
	f, got, err := u.Read(u.ctx(), path)
	if err != nil {
		u.t.Fatalf("read %s: %v", path, err)
	}
	if string(got) != content {
		u.t.Fatalf("%s has the content %q, want %q", path, got, content)
	}
	u.isFile(f, path, content)
	stat, err := u.Stat(u.ctx(), path)
	if err != nil {
		u.t.Fatalf("stat %s: %v", path, err)
	}
	u.isFile(stat, path, content)
}

func (u *under) isFile(f tools.File, path, content string) {
	u.t.Helper()
	if f.Path != path || f.Directory || f.Size != int64(len(content)) || f.Hash != toolstest.ContentHash([]byte(content)) {
		u.t.Fatalf("the entry of %s is %+v, want a file of %d bytes with the hash of its content", path, f, len(content))
	}
}

func (u *under) isDirectory(path string) {
	u.t.Helper()
	f, err := u.Stat(u.ctx(), path)
	if err != nil {
		u.t.Fatalf("stat %s: %v", path, err)
	}
	if f.Path != path || !f.Directory || f.Hash != "" || f.Size != 0 {
		u.t.Fatalf("the entry of %s is %+v, want a directory without hash and size", path, f)
	}
}

// gone wants nothing at the path.
func (u *under) gone(path string) {
	u.t.Helper()
	_, err := u.Stat(u.ctx(), path)
	u.fails(err, "not_found")
	_, _, err = u.Read(u.ctx(), path)
	u.fails(err, "not_found")
}

func (u *under) lists(dir string, recursive bool, want ...string) {
	u.t.Helper()
	files, err := u.List(u.ctx(), dir, recursive, 1000)
	if err != nil {
		u.t.Fatalf("list %s: %v", dir, err)
	}
	if got := paths(files); !slices.Equal(got, want) {
		u.t.Fatalf("list %s gives %q, want %q", dir, got, want)
	}
}

// fails wants a *tools.PathError with one of the codes, and a message.
func (u *under) fails(err error, codes ...string) {
	u.t.Helper()
	var p *tools.PathError
	if !errors.As(err, &p) {
		u.t.Fatalf("the error is %v, want a *tools.PathError with the code %q", err, codes)
	}
	if !slices.Contains(codes, p.Code) || p.Message == "" || p.Path == "" {
		u.t.Fatalf("the error is %+v, want one with the code %q, a path and a message", p, codes)
	}
}

func paths(files []tools.File) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.Path)
	}
	return all
}

func hash(content string) *string {
	h := toolstest.ContentHash([]byte(content))
	return &h
}
