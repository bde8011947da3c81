package queue

import (
	"context"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Rules: Q1.
func TestNoTurnIsClaimedTwice(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 200)
		var wg sync.WaitGroup
		var mu sync.Mutex
		claimed := map[models.Execution]models.RunnerID{}
		for range 8 {
			r := l.runner()
			wg.Go(func() {
				for {
					c, err := l.Claim(l.ctx, Ask{Runner: r, Executions: 7})
					list := c.Executions
					if err != nil || len(list) > 7 {
						t.Errorf("claimed %d executions, %v", len(list), err)
						return
					}
					if len(list) == 0 {
						return
					}
					mu.Lock()
					for _, x := range list {
						if _, twice := claimed[x.Execution]; twice {
							t.Errorf("%s was claimed twice", x.Execution)
						}
						claimed[x.Execution] = r
						if x.Epoch != 1 {
							t.Errorf("claimed is %+v", x)
						}
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(claimed) != len(l.executions) {
			t.Errorf("%d of %d were claimed", len(claimed), len(l.executions))
		}
		for _, held := range l.readAll() {
			if held.runner == nil || *held.runner != claimed[held.Execution] || held.Epoch != 1 || held.status != models.TurnRunning || held.ready != nil {
				t.Errorf("claimed is %+v", held)
			}
		}
	})
}

// Rules: Q1, Q2.
func TestTheOldestIsClaimedFirst(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 5)
		r := l.runner()
		var got []models.Execution
		for range l.executions {
			got = append(got, l.claim(r, 1)[0].Execution)
		}
		if !slices.Equal(got, l.executions) {
			t.Errorf("claimed %v, want %v", got, l.executions)
		}
		if more := l.claim(r, 1); len(more) != 0 {
			t.Errorf("claimed %d that aren't there", len(more))
		}
		held, err := l.Held(l.ctx, r)
		if err != nil || len(held) != len(l.executions) || slices.ContainsFunc(held, func(h Held) bool { return !slices.Contains(got, h.Execution) || h.Epoch != 1 }) {
			t.Errorf("the runner holds %v, %v", held, err)
		}
	})
}

func TestAnExecutionIsReleased(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 2)
		r := l.runner()
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for range l.executions {
			x := l.claim(r, 1)[0]
			do(l.Release(l.ctx, x.Held))
			l.free("released", x.Execution, x.Since, 2, 0, 0)
			do(l.Release(l.ctx, x.Held))
			do(l.Retry(l.ctx, x.Held))
			l.free("given back under an old epoch", x.Execution, x.Since, 2, 0, 0)
			x = l.claim(r, 1)[0]
			do(l.Retry(l.ctx, x.Held))
			l.free("to be tried again", x.Execution, x.Since, 4, 1, 0)
			if x = l.claim(r, 1)[0]; x.Epoch != 5 {
				t.Errorf("the epoch is %d", x.Epoch)
			}
		}
	})
}

// Rules: Q10.
func TestExecutionsAreTakenOver(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 4)
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
			t.Errorf("%d were taken over, by %v", sum, counts)
		}
		for _, m := range mine {
			l.free("taken over", m.Execution, m.Since, 2, 1, 1)
		}
		if held := l.read(others[0].Execution); *held.runner != alive {
			t.Errorf("what another runner holds is %+v", held)
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
		late := l.read(mine[0].Execution)
		l.update("ready_at = NULL, runner_id = ? WHERE id = ?", dead[:], late.ID[:])
		if n, err := l.TakeOverOrphans(l.ctx); err != nil || n != 1 {
			t.Errorf("%d orphans, %v", n, err)
		}
		if n := l.Recoveries(); n != int64(len(mine))+1 {
			t.Errorf("%d recoveries were counted", n)
		}
		l.free("orphaned", late.Execution, late.queued, late.Epoch+1, late.takeovers+1, late.recoveries+1)
		if held := l.read(others[0].Execution); *held.runner != alive {
			t.Errorf("what another runner holds is %+v", held)
		}
	})
}

// A runner hears of what it holds that is marked, and which of it was cancelled.
func TestMarkedExecutions(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 4)
		r, other := l.runner(), l.runner()
		mine, theirs := l.claim(r, 3), l.claim(other, 1)
		l.update("attention = TRUE WHERE id <> ?", mine[2].ID[:])
		l.update("cancel = '{}' WHERE id <> ?", mine[1].ID[:])
		marked, err := l.Marked(l.ctx, r)
		if err != nil || len(marked) != 2 || !slices.Contains(marked, mine[0].Execution) || !slices.Contains(marked, mine[1].Execution) {
			t.Errorf("marked are %v of %v, %v", marked, mine, err)
		}
		for i, x := range append(mine, theirs...) {
			cancelled, err := l.Cancelled(l.ctx, r, x.Execution)
			if err != nil || cancelled != (i == 0 || i == 2) {
				t.Errorf("number %d is cancelled: %v, %v", i, cancelled, err)
			}
		}
	})
}

func TestARunnerGoesInGoodOrder(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 2)
		r, other := l.runner(), l.runner()
		left, kept := l.claim(r, 1)[0], l.claim(other, 1)[0]
		for range 2 {
			if err := l.Remove(l.ctx, r); err != nil {
				t.Fatal(err)
			}
			l.free("left behind", left.Execution, left.Since, 2, 0, 0)
		}
		if held := l.read(kept.Execution); *held.runner != other {
			t.Errorf("what another runner holds is %+v", held)
		}
		if err := l.ReleaseAll(l.ctx); err != nil {
			t.Fatal(err)
		}
		if n := l.Recoveries(); n != 1 {
			t.Errorf("%d recoveries were counted: who goes in good order leaves none", n)
		}
		l.free("after a restart", kept.Execution, kept.Since, 2, 1, 1)
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
	l := newLine(t, withTurns(db), 1)
	r := l.runner()
	x := l.claim(r, 1)[0].Execution
	tx, err := db.Pool.Begin(l.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(l.ctx, "UPDATE turns SET status = 'COMPLETED', runner_id = NULL WHERE id = $1", x.ID[:]); err != nil {
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
		t.Errorf("%d were taken over", n)
	}
	if turn := l.read(x); turn.ready != nil || turn.Epoch != 1 || turn.status != models.TurnCompleted {
		t.Errorf("the turn is %+v", turn)
	}
}

// Whatever happens to executions: a change of who may write raises the epoch, and nobody holds what the model says that he doesn't.
//
// Rules: Q1.
func TestEpochsOnlyRise(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 3)
		rapid.Check(t, func(rt *rapid.T) {
			l.reset()
			runners := []models.RunnerID{l.runner(), l.runner()}
			listed := map[models.RunnerID]bool{runners[0]: true, runners[1]: true}
			holder, epochs := map[models.Execution]models.RunnerID{}, map[models.Execution]int64{}
			takeovers, recoveries := map[models.Execution]int{}, map[models.Execution]int{}
			var claimed []Held
			drop := func(id models.Execution, takes, recovered int) {
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
						rt.Fatalf("runner %s is not on the list and was given %d executions", r, len(list))
					}
					for _, x := range list {
						if h, taken := holder[x.Execution]; taken {
							rt.Fatalf("%s is held by %s and was claimed", x.Execution, h)
						}
						holder[x.Execution] = r
						epochs[x.Execution]++
						claimed = append(claimed, x.Held)
					}
				case "release", "retry":
					if len(claimed) == 0 {
						continue
					}
					old := rapid.SampledFrom(claimed).Draw(rt, "lease")
					give := map[string]func(context.Context, Held) error{"release": l.Release, "retry": l.Retry}[op]
					err = give(l.ctx, old)
					if _, held := holder[old.Execution]; held && epochs[old.Execution] == old.Epoch {
						drop(old.Execution, map[string]int{"retry": 1}[op], 0)
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
					rt.Fatalf("%d executions, want %d, %v", n, want, err)
				}
				for _, x := range l.readAll() {
					id := x.Execution
					h, held := holder[id]
					if x.Epoch != epochs[id] || (x.runner != nil) != held || (held && *x.runner != h) || (x.ready == nil) != held {
						rt.Fatalf("%s is %+v, want %s %v %d", id, x, h, held, epochs[id])
					}
					if x.takeovers != takeovers[id] || x.recoveries != recoveries[id] || x.ready != nil && *x.ready != x.queued {
						rt.Fatalf("%s is %+v, want %d takeovers, %d recoveries, and its place in the queue", id, x, takeovers[id], recoveries[id])
					}
				}
			}
		})
	})
}

// reset makes all executions ready again, as nobody has claimed them yet, and empties the list of runners.
func (l *line) reset() {
	l.t.Helper()
	l.update("ready_at = queued_at, runner_id = NULL, status = 'QUEUED', lease_epoch = 0, takeovers = 0, recoveries = 0")
	l.write("DELETE FROM runners")
}
