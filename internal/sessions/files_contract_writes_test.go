package sessions

import "github.com/ostler-dev/ostler/internal/tools"

// writing is about Write and hashes.
func writing() []contractCheck {
	return []contractCheck{
		{"parents are made", func(u *under) {
			u.write("/workspace/a/b/c.txt", "x")
			u.isDirectory("/workspace/a")
			u.isDirectory("/workspace/a/b")
			u.lists("/workspace", false, "/workspace/a")
			u.lists("/workspace", true, "/workspace/a", "/workspace/a/b", "/workspace/a/b/c.txt")
			u.write("/workspace/a/d.txt", "y")
			u.lists("/workspace/a", false, "/workspace/a/b", "/workspace/a/d.txt")
		}},
		{"the last write counts", func(u *under) {
			u.write("/workspace/f", "one, and long")
			u.write("/workspace/f", "two")
			u.has("/workspace/f", "two")
			u.lists("/workspace", true, "/workspace/f")
		}},
		{"a directory is never written over", func(u *under) {
			u.write("/workspace/d/f", "x")
			_, err := u.Write(u.ctx(), "/workspace/d", []byte("y"), nil)
			u.fails(err, "is_directory")
			_, err = u.Write(u.ctx(), "/workspace", []byte("y"), nil)
			u.fails(err, "is_directory", "readonly")
			u.has("/workspace/d/f", "x")
		}},
		{"a matching hash lets a write pass", func(u *under) {
			u.write("/workspace/f", "one")
			if _, err := u.Write(u.ctx(), "/workspace/f", []byte("two"), hash("one")); err != nil {
				u.t.Fatal(err)
			}
			u.has("/workspace/f", "two")
			if _, err := u.Write(u.ctx(), "/workspace/f", []byte("two"), hash("two")); err != nil {
				u.t.Fatal(err)
			}
		}},
		{"another hash refuses it", func(u *under) {
			u.write("/workspace/f", "one")
			empty := ""
			for _, h := range []*string{hash("two"), hash(""), &empty} {
				_, err := u.Write(u.ctx(), "/workspace/f", []byte("new"), h)
				u.fails(err, "conflict")
			}
			u.has("/workspace/f", "one")
		}},
		{"what is missing never has a hash", func(u *under) {
			empty := ""
			for _, h := range []*string{hash("x"), hash(""), &empty} {
				_, err := u.Write(u.ctx(), "/workspace/d/f", []byte("x"), h)
				u.fails(err, "conflict")
			}
			u.gone("/workspace/d/f")
			u.gone("/workspace/d")
		}},
		{"a directory never has a hash", func(u *under) {
			u.write("/workspace/d/f", "x")
			empty := ""
			for _, h := range []*string{hash(""), &empty} {
				_, err := u.Write(u.ctx(), "/workspace/d", []byte("x"), h)
				u.fails(err, "conflict", "is_directory")
			}
			u.isDirectory("/workspace/d")
		}},
		{"a deleted file never has a hash", func(u *under) {
			u.write("/workspace/f", "x")
			u.remove("/workspace/f", false)
			_, err := u.Write(u.ctx(), "/workspace/f", []byte("y"), hash("x"))
			u.fails(err, "conflict")
			u.gone("/workspace/f")
		}},
	}
}

// deleting is about Delete.
func deleting() []contractCheck {
	return []contractCheck{
		{"a deleted file is gone, its directory stays", func(u *under) {
			for _, recursive := range []bool{false, true} {
				u.write("/workspace/d/f", "x")
				u.remove("/workspace/d/f", recursive)
				u.gone("/workspace/d/f")
				u.fails(u.Delete(u.ctx(), "/workspace/d/f", recursive), "not_found")
				u.isDirectory("/workspace/d")
				u.lists("/workspace", true, "/workspace/d")
			}
		}},
		{"an empty directory can be deleted", func(u *under) {
			u.write("/workspace/d/f", "x")
			u.remove("/workspace/d/f", false)
			u.remove("/workspace/d", false)
			u.gone("/workspace/d")
			u.lists("/workspace", true)
		}},
		{"a directory that is not empty is deleted only with recursive", func(u *under) {
			u.write("/workspace/d/e/f", "x")
			u.write("/workspace/d2/f", "y")
			u.write("/workspace/D/f", "z")
			u.fails(u.Delete(u.ctx(), "/workspace/d", false), "not_empty")
			u.has("/workspace/d/e/f", "x")
			u.remove("/workspace/d", true)
			for _, path := range []string{"/workspace/d", "/workspace/d/e", "/workspace/d/e/f"} {
				u.gone(path)
			}
			u.lists("/workspace", true, "/workspace/D", "/workspace/D/f", "/workspace/d2", "/workspace/d2/f")
		}},
		{"names are no wildcards to a recursive delete", func(u *under) {
			for _, name := range []string{"a_c", "abc", "a%c", "a%", "A_C"} {
				u.write("/workspace/"+name+"/f", name)
			}
			u.remove("/workspace/a_c", true)
			u.remove("/workspace/a%", true)
			u.lists("/workspace", false, "/workspace/A_C", "/workspace/a%c", "/workspace/abc")
			u.has("/workspace/abc/f", "abc")
			u.has("/workspace/A_C/f", "A_C")
		}},
		{"what was deleted can be written again", func(u *under) {
			u.write("/workspace/d/f", "one")
			u.write("/workspace/d/g", "two")
			u.remove("/workspace/d", true)
			u.write("/workspace/d/f", "three")
			u.has("/workspace/d/f", "three")
			u.gone("/workspace/d/g")
			u.lists("/workspace", true, "/workspace/d", "/workspace/d/f")
		}},
		{"a file and a directory can take each other's place", func(u *under) {
			u.write("/workspace/x", "file")
			u.remove("/workspace/x", false)
			u.write("/workspace/x/y", "below")
			u.isDirectory("/workspace/x")
			u.remove("/workspace/x", true)
			u.write("/workspace/x", "file again")
			u.has("/workspace/x", "file again")
			u.gone("/workspace/x/y")
			u.lists("/workspace", true, "/workspace/x")
		}},
		{"roots are never deleted", func(u *under) {
			u.write("/workspace/f", "x")
			for _, root := range tools.Roots() {
				u.fails(u.Delete(u.ctx(), root, true), "readonly")
				u.fails(u.Delete(u.ctx(), root, false), "readonly", "not_empty")
				u.isDirectory(root)
			}
			u.has("/workspace/f", "x")
		}},
	}
}

// seeded is about the overlay over what is stored, and about what is read-only.
func seeded() []contractCheck {
	return []contractCheck{
		{"what is stored is seen", func(u *under) {
			u.seed("/workspace/d/f", "stored", false)
			u.has("/workspace/d/f", "stored")
			u.isDirectory("/workspace/d")
			u.lists("/workspace", true, "/workspace/d", "/workspace/d/f")
		}},
		{"what the call writes covers what is stored", func(u *under) {
			u.seed("/workspace/d/f", "stored", false)
			u.seed("/workspace/d/g", "stored too", false)
			u.write("/workspace/d/f", "mine")
			u.write("/workspace/d/e", "new")
			u.has("/workspace/d/f", "mine")
			u.has("/workspace/d/g", "stored too")
			u.lists("/workspace/d", false, "/workspace/d/e", "/workspace/d/f", "/workspace/d/g")
		}},
		{"hashes are compared with what the call sees", func(u *under) {
			u.seed("/workspace/f", "stored", false)
			u.write("/workspace/f", "mine")
			_, err := u.Write(u.ctx(), "/workspace/f", []byte("x"), hash("stored"))
			u.fails(err, "conflict")
			if _, err := u.Write(u.ctx(), "/workspace/f", []byte("x"), hash("mine")); err != nil {
				u.t.Fatal(err)
			}
		}},
		{"what the call deletes is hidden", func(u *under) {
			u.seed("/workspace/d/f", "stored", false)
			u.seed("/workspace/d/g", "stored", false)
			u.remove("/workspace/d/f", false)
			u.gone("/workspace/d/f")
			u.lists("/workspace/d", true, "/workspace/d/g")
			u.remove("/workspace/d/g", false)
			u.remove("/workspace/d", false)
			u.gone("/workspace/d")
		}},
		{"a directory that is made again after a delete has nothing of the old one", func(u *under) {
			u.seed("/workspace/d/e/f", "stored", false)
			u.seed("/workspace/d/g", "stored", false)
			u.remove("/workspace/d", true)
			u.write("/workspace/d/e/new", "new")
			u.lists("/workspace", true, "/workspace/d", "/workspace/d/e", "/workspace/d/e/new")
			u.gone("/workspace/d/g")
			u.gone("/workspace/d/e/f")
		}},
		{"limits count what the call sees", func(u *under) {
			for _, name := range []string{"a", "b", "c", "d"} {
				u.seed("/workspace/"+name, "stored", false)
			}
			u.remove("/workspace/a", false)
			u.remove("/workspace/b", false)
			files, err := u.List(u.ctx(), "/workspace", false, 2)
			if err != nil {
				u.t.Fatal(err)
			}
			if len(files) != 2 || files[0].Path != "/workspace/c" || files[1].Path != "/workspace/d" {
				u.t.Fatalf("list gives %q, want c and d", paths(files))
			}
		}},
		{"a read-only file stays as it is", func(u *under) {
			u.seed("/workspace/d/f", "fixed", true)
			f, err := u.Stat(u.ctx(), "/workspace/d/f")
			if err != nil || !f.ReadOnly {
				u.t.Fatalf("stat gives %+v, %v; want a read-only file", f, err)
			}
			_, err = u.Write(u.ctx(), "/workspace/d/f", []byte("x"), nil)
			u.fails(err, "readonly")
			_, err = u.Write(u.ctx(), "/workspace/d/f", []byte("x"), hash("fixed"))
			u.fails(err, "readonly")
			u.fails(u.Delete(u.ctx(), "/workspace/d/f", false), "readonly")
			u.write("/workspace/d/g", "beside it")
			u.has("/workspace/d/f", "fixed")
		}},
		{"a directory with something read-only in it is not deleted, not even in part", func(u *under) {
			u.seed("/workspace/d/a", "free", false)
			u.seed("/workspace/d/e/f", "fixed", true)
			u.fails(u.Delete(u.ctx(), "/workspace/d", true), "readonly")
			u.has("/workspace/d/a", "free")
			u.has("/workspace/d/e/f", "fixed")
		}},
		{"nothing below a read-only directory changes", func(u *under) {
			u.seed("/workspace/d/e/f", "fixed", false)
			if err := u.Seed(u.ctx(), tools.File{Path: "/workspace/d", Directory: true, ReadOnly: true}, nil); err != nil {
				u.t.Fatal(err)
			}
			for _, path := range []string{"/workspace/d/e/f", "/workspace/d/new", "/workspace/d/e/g/new"} {
				_, err := u.Write(u.ctx(), path, []byte("x"), nil)
				u.fails(err, "readonly")
			}
			for _, path := range []string{"/workspace/d/e/f", "/workspace/d/e", "/workspace/d"} {
				u.fails(u.Delete(u.ctx(), path, true), "readonly")
			}
			u.lists("/workspace", true, "/workspace/d", "/workspace/d/e", "/workspace/d/e/f")
			u.has("/workspace/d/e/f", "fixed")
		}},
	}
}
