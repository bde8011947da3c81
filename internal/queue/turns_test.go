package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm"
	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// line is a queue with turns in it.
type line struct {
	*Queue

	t     testing.TB
	ctx   context.Context
	orgs  []models.OrgID
	turns []models.TurnID
}

// newLine makes turns, each at the head of a session of its own, ready since 1, 2, 3 and so on; as many as there are numbers, that
// many in an organization of their own.
func newLine(t testing.TB, db *store.DB, numbers ...int) *line {
	t.Helper()
	l := &line{Queue: New(db), t: t, ctx: context.Background()}
	if db.Writer != nil { // These tests are not about power failures.
		if _, err := db.Writer.ExecContext(l.ctx, "PRAGMA synchronous = OFF"); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range numbers {
		l.org(n)
	}
	return l
}

func (l *line) org(n int) {
	l.t.Helper()
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o"}
	org.Slug = org.ID.String()
	h := models.Harness{OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", Capabilities: []models.CapabilityRef{}}
	l.orgs = append(l.orgs, org.ID)
	err := l.db.WriteAcross(l.ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&org).Error; err != nil {
			return err
		}
		if err := tx.Create(&h).Error; err != nil {
			return err
		}
		for i := range n {
			turn := models.Turn{OrgID: org.ID, ID: models.NewID[models.TurnEntity](), Status: models.TurnQueued, Phase: models.PhaseInput,
				InputMessageID: models.NewID[models.MessageEntity]()}
			turn.QueuedAt, turn.ReadyAt = models.Millis(i+1), models.Millis(i+1).Ptr()
			s := models.Session{
				OrgID: org.ID, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}, CurrentTurnID: &turn.ID,
			}
			turn.SessionID = s.ID
			if err := tx.Create(&s).Error; err != nil {
				return err
			}
			if err := tx.Create(&turn).Error; err != nil {
				return err
			}
			l.turns = append(l.turns, turn.ID)
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *line) runner() models.RunnerID {
	l.t.Helper()
	r := models.Runner{ID: models.NewID[models.RunnerEntity](), Host: "h"}
	if err := l.Register(l.ctx, r); err != nil {
		l.t.Fatal(err)
	}
	return r.ID
}

func (l *line) claim(r models.RunnerID, n int) []models.Turn {
	l.t.Helper()
	c, err := l.Claim(l.ctx, Ask{Runner: r, Turns: n})
	if err != nil {
		l.t.Fatal(err)
	}
	if len(c.Turns) > n {
		l.t.Fatalf("asked for %d turns, got %d", n, len(c.Turns))
	}
	return c.Turns
}

func (l *line) read(id models.TurnID) models.Turn {
	l.t.Helper()
	var t models.Turn
	if err := store.CrossOrg(l.db.ReadAcross(l.ctx)).Where("id = ?", id).First(&t).Error; err != nil {
		l.t.Fatal(err)
	}
	return t
}

// free checks that a turn is back in the queue.
func (l *line) free(what string, id models.TurnID, ready models.Millis, epoch int64, takeovers, recoveries int) {
	l.t.Helper()
	t := l.read(id)
	if t.RunnerID != nil || t.ReadyAt == nil || *t.ReadyAt != ready || t.LeaseEpoch != epoch || t.Takeovers != takeovers || t.Recoveries != recoveries {
		l.t.Errorf("%s: the turn is %+v", what, t)
	}
}

func each(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		t.Parallel()
		test(t, db)
	})
}

// Rules: Q1.
func TestNoTurnIsClaimedTwice(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		l := newLine(t, db, 200)
		var wg sync.WaitGroup
		var mu sync.Mutex
		claimed := map[models.TurnID]models.RunnerID{}
		for range 8 {
			r := l.runner()
			wg.Go(func() {
				for {
					c, err := l.Claim(l.ctx, Ask{Runner: r, Turns: 7})
					list := c.Turns
					if err != nil || len(list) > 7 {
						t.Errorf("claimed %d turns, %v", len(list), err)
						return
					}
					if len(list) == 0 {
						return
					}
					mu.Lock()
					for _, turn := range list {
						if _, twice := claimed[turn.ID]; twice {
							t.Errorf("turn %s was claimed twice", turn.ID)
						}
						claimed[turn.ID] = r
						if turn.LeaseEpoch != 1 || turn.Status != models.TurnRunning || *turn.RunnerID != r || turn.ReadyAt != nil {
							t.Errorf("the turn is %+v", turn)
						}
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(claimed) != len(l.turns) {
			t.Errorf("%d of %d turns were claimed", len(claimed), len(l.turns))
		}
		for _, held := range l.readAll() {
			if *held.RunnerID != claimed[held.ID] || held.LeaseEpoch != 1 {
				t.Errorf("the turn is %+v", held)
			}
		}
	})
}

// Rules: Q1, Q2.
func TestTheOldestIsClaimedFirst(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		l := newLine(t, db, 5)
		r := l.runner()
		var got []models.TurnID
		for range l.turns {
			got = append(got, l.claim(r, 1)[0].ID)
		}
		if !slices.Equal(got, l.turns) {
			t.Errorf("claimed %v, want %v", got, l.turns)
		}
		if more := l.claim(r, 1); len(more) != 0 {
			t.Errorf("claimed %d turns that aren't there", len(more))
		}
		held, err := l.Held(l.ctx, r)
		if err != nil || len(held) != len(l.turns) {
			t.Errorf("the runner holds %d turns, %v", len(held), err)
		}
	})
}

func TestATurnIsGivenBack(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		l := newLine(t, db, 1)
		r := l.runner()
		id := l.turns[0]
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		turn := l.claim(r, 1)[0]
		do(l.Release(l.ctx, turn))
		l.free("released", id, turn.QueuedAt, 2, 0, 0)
		do(l.Release(l.ctx, turn))
		do(l.Retry(l.ctx, turn))
		l.free("given back under an old epoch", id, turn.QueuedAt, 2, 0, 0)
		turn = l.claim(r, 1)[0]
		do(l.Retry(l.ctx, turn))
		l.free("to be tried again", id, turn.QueuedAt, 4, 1, 0)
		if turn = l.claim(r, 1)[0]; turn.LeaseEpoch != 5 {
			t.Errorf("the epoch is %d", turn.LeaseEpoch)
		}
	})
}

// Rules: Q10.
func TestTurnsAreTakenOver(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		l := newLine(t, db, 4)
		dead, alive := l.runner(), l.runner()
		mine, others := l.claim(dead, 2), l.claim(alive, 1)
		var wg sync.WaitGroup
		counts := make([]int64, 4)
		for i := range counts {
			wg.Go(func() {
				n, err := l.TakeOver(l.ctx, dead)
				if err != nil {
					t.Errorf("take over: %v", err)
				}
				counts[i] = n
			})
		}
		wg.Wait()
		var sum int64
		for _, n := range counts {
			sum += n
		}
		if sum != 2 {
			t.Errorf("%d turns were taken over, by %v", sum, counts)
		}
		for _, m := range mine {
			l.free("taken over", m.ID, m.QueuedAt, 2, 1, 1)
		}
		if held := l.read(others[0].ID); *held.RunnerID != alive {
			t.Errorf("the turn of another runner is %+v", held)
		}
		if there, err := l.Beat(l.ctx, dead); there || err != nil {
			t.Errorf("the dead runner is on the list: %v, %v", there, err)
		}
		if there, err := l.Beat(l.ctx, alive); !there || err != nil {
			t.Errorf("the other runner is not on the list: %v, %v", there, err)
		}
		list, err := l.Runners(l.ctx)
		if err != nil || len(list) != 1 || list[0].ID != alive || list[0].Beat != 1 {
			t.Errorf("the list is %+v, %v", list, err)
		}
		// The dead one was only slow. The queue gives it nothing, but a message may that it accepts.
		if late := l.claim(dead, 1); len(late) != 0 {
			t.Errorf("the dead runner was given %+v", late)
		}
		late := l.read(mine[0].ID)
		if _, err := storetest.Exec(l.ctx, db, "UPDATE turns SET ready_at = NULL, runner_id = ? WHERE id = ?", dead[:], late.ID[:]); err != nil {
			t.Fatal(err)
		}
		if n, err := l.TakeOverOrphans(l.ctx); err != nil || n != 1 {
			t.Errorf("%d orphans, %v", n, err)
		}
		if n := l.Recoveries(); n != int64(len(mine))+1 {
			t.Errorf("%d recoveries were counted", n)
		}
		l.free("orphaned", late.ID, late.QueuedAt, late.LeaseEpoch+1, late.Takeovers+1, late.Recoveries+1)
		if held := l.read(others[0].ID); *held.RunnerID != alive {
			t.Errorf("the turn of another runner is %+v", held)
		}
	})
}

// A runner hears of its own turns that are marked, and which of them were cancelled.
func TestMarkedTurns(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		l := newLine(t, db, 4)
		r, other := l.runner(), l.runner()
		mine, theirs := l.claim(r, 3), l.claim(other, 1)
		l.exec("UPDATE turns SET attention = TRUE WHERE id <> ?", mine[2].ID[:])
		l.exec("UPDATE turns SET cancel = '{}' WHERE id <> ?", mine[1].ID[:])
		marked, err := l.Marked(l.ctx, r)
		if err != nil || len(marked) != 2 || !slices.Contains(marked, mine[0].ID) || !slices.Contains(marked, mine[1].ID) {
			t.Errorf("marked are %v of %v, %v", marked, mine, err)
		}
		for i, turn := range append(mine, theirs...) {
			cancelled, err := l.Cancelled(l.ctx, r, turn.ID)
			if err != nil || cancelled != (i == 0 || i == 2) {
				t.Errorf("turn %d is cancelled: %v, %v", i, cancelled, err)
			}
		}
	})
}

func TestARunnerGoesInGoodOrder(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		l := newLine(t, db, 2)
		r, other := l.runner(), l.runner()
		turn, kept := l.claim(r, 1)[0], l.claim(other, 1)[0]
		for range 2 {
			if err := l.Remove(l.ctx, r); err != nil {
				t.Fatal(err)
			}
			l.free("left behind", turn.ID, turn.QueuedAt, 2, 0, 0)
		}
		if held := l.read(kept.ID); *held.RunnerID != other {
			t.Errorf("the turn of another runner is %+v", held)
		}
		if err := l.ReleaseAll(l.ctx); err != nil {
			t.Fatal(err)
		}
		if n := l.Recoveries(); n != 1 {
			t.Errorf("%d recoveries were counted: who goes in good order leaves none", n)
		}
		l.free("after a restart", kept.ID, kept.QueuedAt, 2, 1, 1)
		if list, err := l.Runners(l.ctx); err != nil || len(list) != 0 {
			t.Errorf("the list is %+v, %v", list, err)
		}
	})
}

// A takeover that meets the transaction which ends the turn waits for it, and then leaves the turn alone.
//
// Rules: Q10.
func TestATurnThatEndsIsNotTakenOver(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	l := newLine(t, db, 1)
	r := l.runner()
	id := l.claim(r, 1)[0].ID
	tx, err := db.Pool.Begin(l.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(l.ctx, "UPDATE turns SET status = 'COMPLETED', runner_id = NULL WHERE id = $1", id[:]); err != nil {
		t.Fatal(err)
	}
	done := make(chan int64)
	go func() {
		n, err := l.TakeOver(l.ctx, r)
		if err != nil {
			t.Error(err)
		}
		done <- n
	}()
	waiting := 0
	for waiting == 0 {
		err := db.Pool.QueryRow(l.ctx, "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(l.ctx); err != nil {
		t.Fatal(err)
	}
	if n := <-done; n != 0 {
		t.Errorf("%d turns were taken over", n)
	}
	if turn := l.read(id); turn.ReadyAt != nil || turn.LeaseEpoch != 1 || turn.Status != models.TurnCompleted {
		t.Errorf("the turn is %+v", turn)
	}
}

// Whatever happens to turns: a change of who may write raises the epoch, and nobody holds what the model says that he doesn't.
//
// Rules: Q1.
func TestEpochsOnlyRise(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB) {
		l := newLine(t, db, 3)
		rapid.Check(t, func(rt *rapid.T) {
			l.reset()
			runners := []models.RunnerID{l.runner(), l.runner()}
			listed := map[models.RunnerID]bool{runners[0]: true, runners[1]: true}
			holder, epochs := map[models.TurnID]models.RunnerID{}, map[models.TurnID]int64{}
			takeovers, recoveries := map[models.TurnID]int{}, map[models.TurnID]int{}
			var claimed []models.Turn
			drop := func(id models.TurnID, takes, recovered int) {
				delete(holder, id)
				epochs[id]++
				takeovers[id] += takes
				recoveries[id] += recovered
			}
			from := func(died int, gone func(models.RunnerID) bool) (n int64) {
				for id, r := range holder {
					if gone(r) {
						drop(id, died, died)
						n++
					}
				}
				return n
			}
			for range rapid.IntRange(1, 25).Draw(rt, "steps") {
				r := rapid.SampledFrom(runners).Draw(rt, "runner")
				var n, want int64
				var err error
				switch op := rapid.SampledFrom([]string{"claim", "claim", "release", "retry", "take over", "orphans", "remove", "all"}).Draw(rt, "op"); op {
				case "claim":
					list := l.claim(r, rapid.IntRange(1, 3).Draw(rt, "n"))
					if !listed[r] && len(list) > 0 {
						rt.Fatalf("runner %s is not on the list and was given %d turns", r, len(list))
					}
					for _, turn := range list {
						if h, taken := holder[turn.ID]; taken {
							rt.Fatalf("turn %s is held by %s and was claimed", turn.ID, h)
						}
						holder[turn.ID] = r
						epochs[turn.ID]++
					}
					claimed = append(claimed, list...)
				case "release", "retry":
					if len(claimed) == 0 {
						continue
					}
					turn := rapid.SampledFrom(claimed).Draw(rt, "turn")
					give := map[string]func(context.Context, models.Turn) error{"release": l.Release, "retry": l.Retry}[op]
					err = give(l.ctx, turn)
					if _, held := holder[turn.ID]; held && epochs[turn.ID] == turn.LeaseEpoch {
						drop(turn.ID, map[string]int{"retry": 1}[op], 0)
					}
				case "take over":
					n, err = l.TakeOver(l.ctx, r)
					want = from(1, func(h models.RunnerID) bool { return h == r })
					listed[r] = false
				case "orphans":
					n, err = l.TakeOverOrphans(l.ctx)
					want = from(1, func(h models.RunnerID) bool { return !listed[h] })
				case "remove":
					err = l.Remove(l.ctx, r)
					from(0, func(h models.RunnerID) bool { return h == r })
					listed[r] = false
				case "all":
					err = l.ReleaseAll(l.ctx)
					from(1, func(models.RunnerID) bool { return true })
					clear(listed)
				}
				if err != nil || n != want {
					rt.Fatalf("%d turns, want %d, %v", n, want, err)
				}
				for _, turn := range l.readAll() {
					id := turn.ID
					h, held := holder[id]
					if turn.LeaseEpoch != epochs[id] || (turn.RunnerID != nil) != held || (held && *turn.RunnerID != h) || (turn.ReadyAt == nil) != held {
						rt.Fatalf("turn %s is %+v, want %s %v %d", id, turn, h, held, epochs[id])
					}
					if turn.Takeovers != takeovers[id] || turn.Recoveries != recoveries[id] || turn.ReadyAt != nil && *turn.ReadyAt != turn.QueuedAt {
						rt.Fatalf("turn %s is %+v, want %d takeovers, %d recoveries, and its place in the queue", id, turn, takeovers[id], recoveries[id])
					}
				}
			}
		})
	})
}

// reset makes all turns ready again, as nobody has claimed them yet, and empties the list of runners.
func (l *line) reset() {
	l.t.Helper()
	err := l.db.WriteAcross(l.ctx, func(tx *gorm.DB) error {
		reset := tx.Exec("UPDATE turns SET ready_at = queued_at, runner_id = NULL, status = 'QUEUED', lease_epoch = 0, takeovers = 0, recoveries = 0")
		return errors.Join(reset.Error, tx.Exec("DELETE FROM runners").Error)
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// readAll returns all turns.
func (l *line) readAll() []models.Turn {
	l.t.Helper()
	var list []models.Turn
	if err := store.CrossOrg(l.db.ReadAcross(l.ctx)).Find(&list).Error; err != nil {
		l.t.Fatal(err)
	}
	return list
}
