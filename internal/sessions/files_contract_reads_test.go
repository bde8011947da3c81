package sessions

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
)

// basics are about roots, paths, reading and listing.
func basics() []contractCheck {
	return []contractCheck{
		{"roots exist from the start and are empty", func(u *under) {
			for _, root := range tools.Roots() {
				u.isDirectory(root)
				u.lists(root, true)
			}
		}},
		{"what does not exist is not found", func(u *under) {
			const path = "/workspace/none"
			u.gone(path)
			_, err := u.Stat(u.ctx(), path)
			if !errors.Is(err, fs.ErrNotExist) {
				u.t.Fatalf("stat gives %v, want fs.ErrNotExist inside", err)
			}
			_, err = u.List(u.ctx(), path, false, 10)
			u.fails(err, "not_found")
			u.fails(u.Delete(u.ctx(), path, false), "not_found")
			u.fails(u.Delete(u.ctx(), path, true), "not_found")
		}},
		{"a path that is not normalized is refused", func(u *under) {
			for _, path := range []string{"", "/", "notes.txt", "/etc/passwd", "/workspacex", "/workspace/", "/workspace//a", "/workspace/../a", "/workspace/a\x00b"} {
				u.refusesPath(path)
			}
		}},
		{"content comes back byte by byte", func(u *under) {
			for name, content := range map[string]string{
				"empty": "", "text": "a\r\nb\n", "unicode": "ключ 🗝️", "nul": "a\x00b", "latin1": "\xff\xfe\x80",
			} {
				path := "/workspace/" + name
				u.isFile(u.write(path, content), path, content)
				u.has(path, content)
			}
			f, err := u.Write(u.ctx(), "/workspace/nil", nil, nil)
			if err != nil {
				u.t.Fatal(err)
			}
			u.isFile(f, "/workspace/nil", "")
			u.has("/workspace/nil", "")
		}},
		{"content is copied", func(u *under) {
			content := []byte("before")
			if _, err := u.Write(u.ctx(), "/workspace/a", content, nil); err != nil {
				u.t.Fatal(err)
			}
			copy(content, "XXXXXX")
			u.has("/workspace/a", "before")
			_, read, err := u.Read(u.ctx(), "/workspace/a")
			if err != nil {
				u.t.Fatal(err)
			}
			copy(read, "YYYYYY")
			u.has("/workspace/a", "before")
		}},
		{"names are bytes: no case folding, no wildcards, any script", func(u *under) {
			names := []string{"Read%me", "Readme", "Read_me", "README", "readme", "\u00e4", "a\u0308", "мой файл", "🗝️", "-rf", "'; DROP"}
			for _, name := range names {
				u.write("/workspace/"+name+"/file", name)
			}
			for _, name := range names {
				u.has("/workspace/"+name+"/file", name)
				u.lists("/workspace/"+name, true, "/workspace/"+name+"/file")
			}
		}},
		{"lists are sorted by the bytes of the paths", func(u *under) {
			for _, name := range []string{"b", "a/z", "a.txt", "a-b", "B", "a0", "ä", "a/B"} {
				u.write("/workspace/"+name, "")
			}
			u.lists("/workspace", true, "/workspace/B", "/workspace/a", "/workspace/a-b", "/workspace/a.txt",
				"/workspace/a/B", "/workspace/a/z", "/workspace/a0", "/workspace/b", "/workspace/ä")
			u.lists("/workspace", false, "/workspace/B", "/workspace/a", "/workspace/a-b", "/workspace/a.txt",
				"/workspace/a0", "/workspace/b", "/workspace/ä")
			u.lists("/workspace/a", false, "/workspace/a/B", "/workspace/a/z")
		}},
		{"lists have the entries as Stat gives them", func(u *under) {
			u.write("/workspace/d/f", "content")
			files, err := u.List(u.ctx(), "/workspace", true, 10)
			if err != nil {
				u.t.Fatal(err)
			}
			for _, f := range files {
				stat, err := u.Stat(u.ctx(), f.Path)
				if err != nil {
					u.t.Fatal(err)
				}
				if stat.Path != f.Path || stat.Directory != f.Directory || stat.Size != f.Size || stat.Hash != f.Hash || stat.ReadOnly != f.ReadOnly {
					u.t.Fatalf("list gives %+v, stat %+v", f, stat)
				}
			}
		}},
		{"a list stops at its limit", func(u *under) {
			for _, name := range []string{"d", "b/x", "a", "c"} {
				u.write("/workspace/"+name, "")
			}
			for limit, want := range map[int]int{1: 1, 3: 3, 5: 5, 6: 5} {
				files, err := u.List(u.ctx(), "/workspace", true, limit)
				if err != nil {
					u.t.Fatal(err)
				}
				if len(files) != want || files[0].Path != "/workspace/a" {
					u.t.Fatalf("list with limit %d gives %q, want the first %d", limit, paths(files), want)
				}
			}
		}},
		{"a list is only about what is below", func(u *under) {
			u.write("/workspace/a/x", "")
			u.write("/workspace/ab/y", "")
			u.write("/outputs/z", "")
			u.lists("/workspace/a", true, "/workspace/a/x")
			u.lists("/workspace", true, "/workspace/a", "/workspace/a/x", "/workspace/ab", "/workspace/ab/y")
			u.lists("/outputs", true, "/outputs/z")
		}},
		{"a file is no directory", func(u *under) {
			u.write("/workspace/f", "")
			_, err := u.List(u.ctx(), "/workspace/f", false, 10)
			u.fails(err, "not_directory")
			u.gone("/workspace/f/x")
			_, err = u.Write(u.ctx(), "/workspace/f/x", nil, nil)
			u.fails(err, "not_directory")
			_, err = u.Write(u.ctx(), "/workspace/f/x/y", nil, nil)
			u.fails(err, "not_directory")
			u.lists("/workspace", true, "/workspace/f")
		}},
		{"a directory has no content", func(u *under) {
			u.write("/workspace/d/f", "")
			for _, dir := range []string{"/workspace/d", "/workspace"} {
				_, _, err := u.Read(u.ctx(), dir)
				u.fails(err, "is_directory")
			}
		}},
	}
}

func (u *under) refusesPath(path string) {
	u.t.Helper()
	refused := func(what string, err error) {
		u.t.Helper()
		var p *tools.PathError
		if !errors.As(err, &p) || p.Code != tools.CodeInvalidPath {
			u.t.Fatalf("%s of %q gives %v, want %s", what, path, err, tools.CodeInvalidPath)
		}
	}
	_, err := u.Stat(u.ctx(), path)
	refused("stat", err)
	_, _, err = u.Read(u.ctx(), path)
	refused("read", err)
	_, err = u.List(u.ctx(), path, true, 10)
	refused("list", err)
	_, err = u.Write(u.ctx(), path, nil, nil)
	refused("write", err)
	refused("delete", u.Delete(u.ctx(), path, true))
}

// committing is about what must hold when the call commits.
func committing() []contractCheck {
	commit := func(run func(u *under, commit func() error)) func(u *under) {
		return func(u *under) {
			run(u, func() error { return u.Commit(u.ctx()) })
		}
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return []contractCheck{
		{"a commit stores what was written and deleted", commit(func(u *under, commit func() error) {
			u.seed("/workspace/old", "old", false)
			u.write("/workspace/d/new", "new")
			u.remove("/workspace/old", false)
			must(u.t, commit())
			u.has("/workspace/d/new", "new")
			u.gone("/workspace/old")
			u.lists("/workspace", true, "/workspace/d", "/workspace/d/new")
		})},
		{"an expected hash is checked again at the commit", commit(func(u *under, commit func() error) {
			u.seed("/workspace/f", "one", false)
			if _, err := u.Write(u.ctx(), "/workspace/f", []byte("mine"), hash("one")); err != nil {
				u.t.Fatal(err)
			}
			u.seed("/workspace/f", "theirs", false)
			u.fails(commit(), "conflict")
		})},
		{"an expected hash that still holds commits", commit(func(u *under, commit func() error) {
			u.seed("/workspace/f", "one", false)
			for _, step := range [][2]string{{"one", "two"}, {"two", "three"}} {
				if _, err := u.Write(u.ctx(), "/workspace/f", []byte(step[1]), hash(step[0])); err != nil {
					u.t.Fatal(err)
				}
			}
			must(u.t, commit())
			u.has("/workspace/f", "three")
		})},
		{"without an expected hash the last commit wins", commit(func(u *under, commit func() error) {
			u.seed("/workspace/f", "one", false)
			u.write("/workspace/f", "mine")
			u.seed("/workspace/f", "theirs", false)
			must(u.t, commit())
			u.has("/workspace/f", "mine")
		})},
	}
}
