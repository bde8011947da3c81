package sessions

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/toolstest"
)

// How long the comparison goes on.
const (
	compareRounds = 20
	compareSteps  = 60
)

// compare does the same things to the Files under test and to a Memory, and wants the same to come of them. The
// choices are the same in every run.
func compare(t *testing.T, fresh func(t *testing.T) filesStore) {
	for round := range compareRounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			c := comparison{t: t, got: fresh(t), want: toolstest.NewMemory(), rand: rand.New(rand.NewPCG(1, uint64(round)))}
			for range c.rand.IntN(8) {
				c.seed()
			}
			for range compareSteps {
				c.step()
				c.same()
			}
		})
	}
}

type comparison struct {
	t    *testing.T
	got  filesStore
	want *toolstest.Memory
	rand *rand.Rand
	done []string
}

// path returns one of few, so that they meet.
func (c *comparison) path() string {
	parts := []string{"/workspace"}
	for range 1 + c.rand.IntN(3) {
		parts = append(parts, []string{"a", "b", "A", "a.b", "_"}[c.rand.IntN(5)])
	}
	return strings.Join(parts, "/")
}

func (c *comparison) content() []byte {
	return bytes.Repeat([]byte{"abc"[c.rand.IntN(3)]}, c.rand.IntN(3))
}

// seed stores a file where no file or directory is in the way.
func (c *comparison) seed() {
	path, content := c.path(), c.content()
	if _, err := c.want.Stat(c.t.Context(), path); err == nil {
		return
	}
	for _, dir := range parents(path) {
		if f, err := c.want.Stat(c.t.Context(), dir); err == nil && !f.Directory {
			return
		}
	}
	for _, s := range []filesStore{c.got, c.want} {
		if err := s.Seed(c.t.Context(), tools.File{Path: path}, content); err != nil {
			c.t.Fatalf("seed %s: %v", path, err)
		}
	}
	c.done = append(c.done, fmt.Sprintf("seed %s %q", path, content))
}

func (c *comparison) step() {
	ctx, path := c.t.Context(), c.path()
	var gotErr, wantErr error
	if c.rand.IntN(3) == 0 {
		recursive := c.rand.IntN(2) == 0
		c.done = append(c.done, fmt.Sprintf("delete %s recursive=%v", path, recursive))
		gotErr, wantErr = c.got.Delete(ctx, path, recursive), c.want.Delete(ctx, path, recursive)
	} else {
		content := c.content()
		var expected *string
		if c.rand.IntN(3) == 0 {
			expected = hash(string(c.content()))
		}
		c.done = append(c.done, fmt.Sprintf("write %s %q expecting a hash: %v", path, content, expected != nil))
		_, gotErr = c.got.Write(ctx, path, content, expected)
		_, wantErr = c.want.Write(ctx, path, content, expected)
	}
	// Which of two reasons to refuse is named is left open.
	if (gotErr == nil) != (wantErr == nil) {
		c.t.Fatalf("after %q the error is %v, want %v", c.done, gotErr, wantErr)
	}
}

// same wants both to have the same entries with the same content.
func (c *comparison) same() {
	ctx := c.t.Context()
	gotFiles, err := c.got.List(ctx, "/workspace", true, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	wantFiles, err := c.want.List(ctx, "/workspace", true, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	brief := func(files []tools.File) []string {
		var all []string
		for _, f := range files {
			all = append(all, fmt.Sprintf("%s %v %d %s", f.Path, f.Directory, f.Size, f.Hash))
		}
		return all
	}
	if got, want := brief(gotFiles), brief(wantFiles); !slices.Equal(got, want) {
		c.t.Fatalf("after %q there is\n%q, want\n%q", c.done, got, want)
	}
	if len(wantFiles) == 0 {
		return
	}
	// Reading one entry each time finds what listing alone would not.
	f := wantFiles[c.rand.IntN(len(wantFiles))]
	if f.Directory {
		return
	}
	_, content, err := c.got.Read(ctx, f.Path)
	if err != nil || toolstest.ContentHash(content) != f.Hash {
		c.t.Fatalf("after %q, %s has the content %q, %v; want that of hash %s", c.done, f.Path, content, err, f.Hash)
	}
}
