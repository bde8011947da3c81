package sessions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// stored is an Overlay with a way beneath it, for the conformance tests.
type stored struct {
	*Overlay
	e *env
}

func newStored(e *env) *stored { return &stored{e.overlay(e.create().ID), e} }

func (e *env) overlay(session models.SessionID) *Overlay {
	return e.svc.Workspace().Overlay(e.by.OrgID, session, NewChanges())
}

var _ filesStore = (*stored)(nil)

// Seed implements filesStore.
func (s *stored) Seed(ctx context.Context, file tools.File, content []byte) error {
	return s.e.commit.Submit(ctx, &seedFile{org: s.org, session: s.session, file: file, content: content})
}

// Commit implements filesStore.
func (s *stored) Commit(ctx context.Context) error {
	err := s.e.commit.Submit(ctx, &writeFile{org: s.org, session: s.session, changes: s.changes})
	s.changes = NewChanges()
	return err
}

// seedFile stores an entry as it is, whatever stands against it.
type seedFile struct {
	org     models.OrgID
	session models.SessionID
	file    tools.File
	content []byte
}

func (c *seedFile) Needs() commit.Needs {
	n := commit.Needs{Org: c.org, Session: c.session, Files: []commit.FileNeed{{Path: c.file.Path}}}
	for _, dir := range parents(c.file.Path) {
		n.Files = append(n.Files, commit.FileNeed{Path: dir})
	}
	return n
}

func (c *seedFile) Apply(tx *commit.Tx) error {
	for _, dir := range parents(c.file.Path) {
		if _, exists := tx.File(dir); !exists {
			tx.PutFile(models.SessionFile{Path: dir, Directory: true}, nil)
		}
	}
	f := models.SessionFile{Path: c.file.Path, Directory: c.file.Directory, Readonly: c.file.ReadOnly}
	var blob *models.Blob
	if !f.Directory {
		sum := sha256.Sum256(c.content)
		f.Size, f.Hash, f.Encoding = int64(len(c.content)), sum[:], tools.EncodingText
		blob = &models.Blob{Hash: f.Hash, Size: f.Size, Content: append([]byte{}, c.content...)}
	}
	tx.PutFile(f, blob)
	// A command that only stores files would count as one that changes nothing.
	tx.SaveTodos([]models.Todo{})
	return nil
}

func TestOverlayConforms(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		testFiles(t, func(t *testing.T) filesStore {
			at := *e
			at.t = t
			return newStored(&at)
		})
	})
}

// TestFileBytes makes many random changes, in calls that commit or are refused, and compares what the session counts with what it
// has.
func TestFileBytes(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := newStored(e)
		r := rand.New(rand.NewPCG(1, 1)) // the same in every run
		ctx := t.Context()
		path := func() string {
			p := "/workspace"
			for range 1 + r.IntN(3) {
				p += "/" + string("abc"[r.IntN(3)])
			}
			return p
		}
		conflicts := 0
		for range 150 {
			other := e.overlay(s.session)
			for range 1 + r.IntN(4) {
				if r.IntN(3) == 0 {
					_ = s.Delete(ctx, path(), r.IntN(2) == 0)
				} else {
					p := path()
					var expected *string
					if f, err := s.Stat(ctx, p); err == nil && r.IntN(2) == 0 {
						expected = &f.Hash
					}
					_, _ = s.Write(ctx, p, bytes.Repeat([]byte{'x'}, r.IntN(50)), expected)
				}
			}
			if r.IntN(3) == 0 {
				// Somebody else commits in between.
				_, _ = other.Write(ctx, path(), bytes.Repeat([]byte{'y'}, r.IntN(50)), nil)
				_ = e.commit.Submit(ctx, &writeFile{org: e.by.OrgID, session: s.session, changes: other.changes})
			}
			var refused *tools.PathError
			if err := s.Commit(ctx); errors.As(err, &refused) {
				conflicts++
			} else if err != nil {
				t.Fatal(err)
			}
			e.wantCounted(s.session)
		}
		if conflicts == 0 {
			t.Error("nothing stood against anything: the test is too tame")
		}
	})
}

// wantCounted compares the session's count of bytes with its files, and looks whether each entry has its directories.
func (e *env) wantCounted(session models.SessionID) {
	e.t.Helper()
	var list []models.SessionFile
	if err := store.Of(e.db.ReadAcross(e.t.Context()), e.by.OrgID).Where("session_id = ?", session).Find(&list).Error; err != nil {
		e.t.Fatal(err)
	}
	at := map[string]models.SessionFile{}
	var sum int64
	for _, f := range list {
		at[f.Path] = f
		sum += f.Size
	}
	for _, f := range list {
		for _, dir := range parents(f.Path) {
			if !at[dir].Directory {
				e.t.Fatalf("%s is stored, and %s is no directory", f.Path, dir)
			}
		}
	}
	s, err := e.svc.Get(e.t.Context(), e.by.OrgID, session)
	if err != nil {
		e.t.Fatal(err)
	}
	if s.FileBytes != sum {
		e.t.Fatalf("the session counts %d bytes, its files have %d", s.FileBytes, sum)
	}
}

// TestChangesMeetOthers lets somebody else change things between a call's look and its commit.
func TestChangesMeetOthers(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		for _, c := range []struct {
			name string
			seed string
			do   func(o *Overlay) error
			// meanwhile is seeded before the commit.
			meanwhile tools.File
			want      string
		}{
			{"a file became read-only", "/workspace/a", write("/workspace/a"), tools.File{Path: "/workspace/a", ReadOnly: true}, "readonly"},
			{"its directory became read-only", "/workspace/d/a", write("/workspace/d/a"), tools.File{Path: "/workspace/d", Directory: true, ReadOnly: true}, "readonly"},
			{"a directory came in the way", "/workspace/x", write("/workspace/a"), tools.File{Path: "/workspace/a", Directory: true}, "is_directory"},
			{"a file came in the way", "/workspace/x", write("/workspace/a/b"), tools.File{Path: "/workspace/a"}, "not_directory"},
			{"a directory is not empty any more", "/workspace/d/a", func(o *Overlay) error {
				return errors.Join(o.Delete(context.Background(), "/workspace/d/a", false), o.Delete(context.Background(), "/workspace/d", false))
			}, tools.File{Path: "/workspace/d/new"}, "not_empty"},
			{"something read-only came into what is deleted", "/workspace/d/a", remove("/workspace/d"), tools.File{Path: "/workspace/d/new", ReadOnly: true}, "readonly"},
			{"something came into what is deleted", "/workspace/d/a", remove("/workspace/d"), tools.File{Path: "/workspace/d/new"}, ""},
			{"it is written by both", "/workspace/a", write("/workspace/a"), tools.File{Path: "/workspace/a"}, ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				at := *e
				at.t = t
				s := newStored(&at)
				if err := s.Seed(t.Context(), tools.File{Path: c.seed}, []byte("seeded")); err != nil {
					t.Fatal(err)
				}
				if err := c.do(s.Overlay); err != nil {
					t.Fatal(err)
				}
				if err := s.Seed(t.Context(), c.meanwhile, []byte("meanwhile")); err != nil {
					t.Fatal(err)
				}
				before := at.kinds(s.session)
				err := s.Commit(t.Context())
				var refused *tools.PathError
				if errors.As(err, &refused) != (c.want != "") || (refused != nil && refused.Code != c.want) {
					t.Fatalf("the commit gives %v, want %q", err, c.want)
				}
				if c.want != "" && at.kinds(s.session) != before {
					t.Error("a refused commit has written events")
				}
				at.wantCounted(s.session)
			})
		}
	})
}

func write(path string) func(o *Overlay) error {
	return func(o *Overlay) error {
		_, err := o.Write(context.Background(), path, []byte("mine"), nil)
		return err
	}
}

func remove(path string) func(o *Overlay) error {
	return func(o *Overlay) error { return o.Delete(context.Background(), path, true) }
}

func TestQuotas(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := newStored(e)
		_, err := s.Write(t.Context(), "/workspace/large", make([]byte, MaxFileBytes+1), nil)
		var refused *tools.PathError
		if !errors.As(err, &refused) || refused.Code != "too_large" {
			t.Errorf("a file that is too large gives %v", err)
		}
		// The session is nearly full: what it counts is what is believed.
		err = e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return store.Of(tx, e.by.OrgID).Model(&models.Session{}).Where("id = ?", s.session).Update("file_bytes", MaxSessionBytes-10).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range []struct {
			size int
			want string
		}{{11, "quota_exceeded"}, {10, ""}, {1, "quota_exceeded"}, {0, ""}} {
			if _, err := s.Write(t.Context(), fmt.Sprintf("/workspace/%d", i), make([]byte, c.size), nil); err != nil {
				t.Fatal(err)
			}
			err := s.Commit(t.Context())
			var refused *tools.PathError
			if errors.As(err, &refused) != (c.want != "") || (refused != nil && refused.Code != c.want) {
				t.Errorf("%d more bytes give %v, want %q", c.size, err, c.want)
			}
		}
		// Making room is always allowed, also when there is too much already.
		if err := s.Delete(t.Context(), "/workspace/1", false); err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(t.Context()); err != nil {
			t.Errorf("a delete in a full session gives %v", err)
		}
	})
}
