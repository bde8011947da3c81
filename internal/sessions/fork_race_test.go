package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// another makes what another process has: a committer and a service of its own.
func (e *env) another(faults commit.Faults) *env {
	e.t.Helper()
	other := *e
	other.commit = commit.New(commit.Config{DB: e.db, Clock: e.clock, Faults: faults})
	e.t.Cleanup(other.commit.Stop)
	other.svc = New(Config{DB: e.db, Committer: other.commit, Catalog: e.catalog, Clock: e.clock})
	return &other
}

// writtenIn returns the files as the events of a log tell of them, without directories.
func writtenIn(t testing.TB, log []models.Event) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, ev := range log {
		if ev.Kind != models.EventFileWritten {
			continue
		}
		p, err := events.Decode(ev.Kind, ev.Data)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := p.(events.FileWritten)
		if delete(found, f.Path); !f.Deleted {
			found[f.Path] = f.Hash
		}
	}
	return found
}

// wantConsistent checks that a session is whole: its log, and that its files are those that its log tells of.
func (e *env) wantConsistent(s *models.Session) {
	e.t.Helper()
	log := e.wholeLog(e.t.Context(), s.ID, 100)
	wantOwn(e.t, s, log)
	if err := events.CheckLog(log); err != nil {
		e.t.Fatal(err)
	}
	files := e.entries(s.ID)
	maps.DeleteFunc(files, func(_, what string) bool { return what == "/" })
	for path, what := range files {
		_, files[path], _ = strings.Cut(what, ":")
	}
	wantEntries(e.t, files, writtenIn(e.t, log))
}

// Forks are made in two processes while the original is written to in both: each fork is the original as it was at one moment.
//
// Rules: K1.
func TestForksWhileTheOriginalIsWrittenTo(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		other := e.another(nil)
		s := e.create()
		first := e.wholeTurn(s.ID, "m", put("/workspace/a", "1"))
		var work sync.WaitGroup
		forks := make(chan *models.Session, 1000)
		for _, at := range []*env{e, other} {
			work.Go(func() {
				for i := range 12 {
					_, _, err := at.svc.WriteFile(t.Context(), e.by, NewFile{
						SessionID: s.ID, Path: "/workspace/" + string(rune('a'+i%3)), Content: strings.Repeat("x", i), Encoding: "text",
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
			for range 2 {
				work.Go(func() {
					for i := range 8 {
						in := NewFork{SessionID: s.ID}
						if i%2 == 0 {
							in.ThroughTurnID = &first
						}
						f, err := at.svc.Fork(t.Context(), e.by, in)
						if fault.Is(err, fault.Conflict) {
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						forks <- f
					}
				})
			}
		}
		work.Go(func() {
			for range 6 {
				e.wholeTurn(s.ID, "n", put("/workspace/d/e", "e"), edit{path: "/workspace/b"})
			}
		})
		work.Wait()
		close(forks)
		for f := range forks {
			e.wantConsistent(f)
		}
		e.wantConsistent(e.get(s.ID))
	})
}

// The same request at the same time, in two processes, makes one fork.
//
// Rules: K1.
func TestARepeatedForkIsMadeOnce(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		other := e.another(nil)
		s := e.create()
		e.wholeTurn(s.ID, "m")
		var work sync.WaitGroup
		var mu sync.Mutex
		made := map[models.SessionID]bool{}
		for _, at := range []*env{e, other, e, other} {
			work.Go(func() {
				f, err := at.svc.Fork(t.Context(), e.by, NewFork{SessionID: s.ID, IdempotencyKey: ptr("k")})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				made[f.ID] = true
			})
		}
		work.Wait()
		if list, err := e.svc.List(t.Context(), e.by.OrgID, Filter{}, Sorting{}, nil, 10); err != nil || len(list) != 2 || len(made) != 1 {
			t.Errorf("%d forks were answered, and there are %d sessions, %v", len(made), len(list), err)
		}
	})
}

// faultsAt breaks batches at a point as often as it is told.
type faultsAt struct {
	mu    sync.Mutex
	point string
	left  int
	hit   func()
}

func (f *faultsAt) set(point string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.point, f.left = point, n
}

func (f *faultsAt) At(point string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if point != f.point || f.left == 0 {
		return nil
	}
	f.left--
	if f.hit != nil {
		f.hit()
	}
	return errors.New("injected at " + point)
}

// However the transaction fails, there is the whole fork, once, or nothing of it.
//
// Rules: K1.
func TestAForkIsOneTransaction(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		faults := &faultsAt{}
		at := e.another(faults)
		s := e.create()
		first := e.plan(s.ID, "todo")
		e.wholeTurn(s.ID, "m", put("/workspace/a", "1"))
		for _, point := range []string{"begin", "loaded", "written", "committed"} {
			faults.set(point, 2)
			f := at.fork(s.ID)
			e.wantForkOf(f, s, e.get(s.ID).LastSequence)
			e.wantConsistent(f)
			faults.set(point, 1)
			e.wantForkOf(at.fork(s.ID, first), s, at.endOf(first))
		}
		rows := e.rowsOfForks()
		ctx, cancel := context.WithCancel(t.Context())
		faults.hit = cancel
		faults.set("written", 1<<30)
		if _, err := at.svc.Fork(ctx, e.by, NewFork{SessionID: s.ID, ThroughTurnID: &first, IdempotencyKey: ptr("k")}); !errors.Is(err, context.Canceled) {
			t.Fatalf("a fork that can't be committed gives %v", err)
		}
		if got := e.rowsOfForks(); got != rows {
			t.Errorf("there are %d rows of forks, want %d", got, rows)
		}
	})
}

func (e *env) endOf(turn models.TurnID) int64 {
	e.t.Helper()
	t, err := e.svc.Turn(e.t.Context(), e.by.OrgID, turn)
	if err != nil {
		e.t.Fatal(err)
	}
	return *t.EndedSequence
}

// rowsOfForks counts all rows that a fork may leave.
func (e *env) rowsOfForks() (all int64) {
	e.t.Helper()
	for _, table := range []string{"sessions", "session_lineage", "session_files", "session_todos", "session_tags", "events", "idempotency_keys"} {
		var n int64
		if err := store.Of(e.db.ReadAcross(e.t.Context()), e.by.OrgID).Table(table).Count(&n).Error; err != nil {
			e.t.Fatal(err)
		}
		all += n
	}
	return all
}

// oldWrite writes files as it was done before events told what was at a path.
type oldWrite struct {
	org     models.OrgID
	session models.SessionID
	list    []edit
}

func (c *oldWrite) Needs() commit.Needs {
	n := commit.Needs{Org: c.org, Session: c.session, Bytes: 1000}
	for _, w := range c.list {
		n.Files = append(n.Files, commit.FileNeed{Path: w.path})
		for _, dir := range parents(w.path) {
			n.Files = append(n.Files, commit.FileNeed{Path: dir})
		}
	}
	return n
}

func (c *oldWrite) Apply(tx *commit.Tx) error {
	for _, w := range c.list {
		if w.content == nil {
			f, _ := tx.File(w.path)
			tx.RemoveFile(f)
			tx.Emit(nil, events.FileWritten{Path: w.path, Deleted: true})
			continue
		}
		for _, dir := range parents(w.path) {
			if _, exists := tx.File(dir); !exists {
				tx.PutFile(models.SessionFile{Path: dir, Directory: true}, nil)
			}
		}
		sum := sha256.Sum256(w.content)
		f := models.SessionFile{Path: w.path, Size: int64(len(w.content)), Hash: sum[:], Encoding: tools.EncodingText}
		tx.PutFile(f, &models.Blob{Hash: f.Hash, Size: f.Size, Content: w.content})
		tx.Emit(nil, events.FileWritten{Path: w.path, Hash: hex.EncodeToString(f.Hash), Size: f.Size})
	}
	return nil
}

// Events from before they told what they replaced make a fork look farther back.
func TestForkOfAnOldLog(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		old := func(list ...edit) {
			t.Helper()
			if err := e.commit.Submit(t.Context(), &oldWrite{org: e.by.OrgID, session: s.ID, list: list}); err != nil {
				t.Fatal(err)
			}
		}
		old(put("/workspace/a", "1"), put("/workspace/d/b", "b"), put("/workspace/gone", "g"), edit{path: "/workspace/gone"})
		first := e.wholeTurn(s.ID, "m")
		old(put("/workspace/a", "22"), put("/workspace/c", "c"), edit{path: "/workspace/d/b"}, put("/workspace/gone", "h"))
		second := e.wholeTurn(s.ID, "n", put("/workspace/a", "333"), edit{path: "/workspace/d"})
		old(edit{path: "/workspace/a"})
		e.wholeTurn(s.ID, "o", put("/workspace/a", "4"))
		for _, through := range []models.TurnID{first, second} {
			e.wantConsistent(e.fork(s.ID, through))
		}
		if got := e.entries(e.fork(s.ID, first).ID); got["/workspace/d"] != "/" {
			t.Errorf("the files are %v", got)
		}
	})
}
