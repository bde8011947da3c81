package runtime

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/commit/memtest"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// queuePair is the queue of a database and that of the simulation, with the same turns.
type queuePair struct {
	rt       *rapid.T
	w        *world
	memory   *commit.Memory
	sim      simQueue
	runners  []models.RunnerID
	turns    []models.TurnID
	commits  *commit.Simulation
	database *commit.Committer
	// claimed are turns as some claim gave them, whatever has become of them.
	claimed []models.Turn
}

// both submits a command made for each.
func (q *queuePair) both(command func() commit.Command) {
	if err := q.database.Submit(context.Background(), command()); err != nil {
		q.rt.Fatal(err)
	}
	s := q.commits.Enqueue(command())
	if err := q.commits.Step(); err != nil {
		q.rt.Fatal(err)
	}
	if err, ok := s.Answer(); err != nil || !ok {
		q.rt.Fatalf("the simulation's commit: %v, answered %v", err, ok)
	}
}

// add makes a session with a turn at the head of its line, and one behind it.
func (q *queuePair) add() {
	s := models.NewID[models.SessionEntity]()
	q.both(func() commit.Command {
		return &simCommand{commit.Needs{Org: q.w.org, Session: s, Create: true, Bytes: 100}, func(tx *commit.Tx) error {
			tx.CreateSession(models.Session{
				OrgID: q.w.org, ID: s, HarnessID: q.w.harness, Tags: []string{}, CreatedByKind: models.ActorUser, CreatedAt: tx.Now,
				Status: models.SessionStarted,
			})
			tx.Emit(nil, events.SessionStarted{HarnessID: q.w.harness})
			return nil
		}}
	})
	for range 2 {
		turn, message := models.NewID[models.TurnEntity](), models.NewID[models.MessageEntity]()
		q.both(func() commit.Command {
			return &simCommand{commit.Needs{Org: q.w.org, Session: s, Bytes: 100}, func(tx *commit.Tx) error {
				m := models.Message{ID: message, TurnID: turn, Role: models.MessageUser, Content: []models.Part{}, CreatedAt: tx.Now}
				m.Sequence = tx.Emit(&turn, events.MessageReceived{Message: events.Message{ID: message}, Delivery: string(sessions.Queue)})
				tx.AddMessage(m)
				tx.AddTurn(models.Turn{ID: turn, InputMessageID: message})
				return nil
			}}
		})
		q.turns = append(q.turns, turn)
	}
	q.w.clock.Advance(time.Millisecond)
}

// step does something to both, which must answer alike.
func (q *queuePair) step() {
	ctx := context.Background()
	sql := Queue(q.w.queue)
	runner := func() models.RunnerID { return rapid.SampledFrom(q.runners).Draw(q.rt, "runner") }
	same := func(what string, a, b any, errA, errB error) {
		if fmt.Sprint(a) != fmt.Sprint(b) || (errA != nil) != (errB != nil) {
			q.rt.Fatalf("%s: the database gives %v, %v, the simulation %v, %v", what, a, errA, b, errB)
		}
	}
	q.w.clock.Advance(time.Millisecond)
	what := rapid.SampledFrom([]string{"add", "register", "claim", "claim", "claim", "release", "retry", "beat", "marked", "take over", "orphans", "remove", "all"}).
		Draw(q.rt, "what")
	switch {
	case what == "add":
		q.add()
	case what == "register" || len(q.runners) == 0:
		r := models.Runner{ID: models.NewID[models.RunnerEntity](), Host: "h"}
		q.runners = append(q.runners, r.ID)
		same(what, nil, nil, sql.Register(ctx, r), q.sim.Register(ctx, r))
	case what == "claim":
		r, n := runner(), rapid.IntRange(1, 3).Draw(q.rt, "n")
		if q.tied() {
			n = len(q.turns)
		}
		ask := queue.Ask{Runner: r, Turns: n, PerOrg: rapid.IntRange(n, n+1).Draw(q.rt, "per org")}
		if !q.tied() && rapid.Bool().Draw(q.rt, "few rooms") {
			ask.Capacities = map[models.OrgID]int{q.w.org: rapid.IntRange(0, n).Draw(q.rt, "room")}
		}
		c, errA := sql.Claim(ctx, ask)
		d, errB := q.sim.Claim(ctx, ask)
		same(what, ofTurns(c.Turns), ofTurns(d.Turns), errA, errB)
		q.claimed = append(q.claimed, c.Turns...)
		a, errA := sql.Held(ctx, r)
		b, errB := q.sim.Held(ctx, r)
		same("held", ofTurns(a), ofTurns(b), errA, errB)
	case what == "marked":
		r := runner()
		q.mark(rapid.SampledFrom(q.turns).Draw(q.rt, "turn"), rapid.Bool().Draw(q.rt, "cancel"))
		a, errA := sql.Marked(ctx, r)
		b, errB := q.sim.Marked(ctx, r)
		slices.SortFunc(a, func(x, y models.TurnID) int { return cmp.Compare(x.String(), y.String()) })
		slices.SortFunc(b, func(x, y models.TurnID) int { return cmp.Compare(x.String(), y.String()) })
		same(what, a, b, errA, errB)
		t := rapid.SampledFrom(q.turns).Draw(q.rt, "of")
		x, errA := sql.Cancelled(ctx, r, t)
		y, errB := q.sim.Cancelled(ctx, r, t)
		same("cancelled", x, y, errA, errB)
	case what == "release" && len(q.claimed) > 0:
		t := rapid.SampledFrom(q.claimed).Draw(q.rt, "turn")
		same(what, nil, nil, sql.Release(ctx, t), q.sim.Release(ctx, t))
	case what == "retry" && len(q.claimed) > 0:
		t := rapid.SampledFrom(q.claimed).Draw(q.rt, "turn")
		same(what, nil, nil, sql.Retry(ctx, t), q.sim.Retry(ctx, t))
	case what == "beat":
		r := runner()
		a, errA := sql.Beat(ctx, r)
		b, errB := q.sim.Beat(ctx, r)
		same(what, a, b, errA, errB)
	case what == "take over":
		r := runner()
		a, errA := sql.TakeOver(ctx, r)
		b, errB := q.sim.TakeOver(ctx, r)
		same(what, a, b, errA, errB)
	case what == "orphans":
		// What a runner holds that is off the list: one that a message is claimed for, in the commit that accepts it.
		if t := rapid.SampledFrom(q.turns).Draw(q.rt, "turn"); rapid.Bool().Draw(q.rt, "hold") {
			q.hold(t, models.NewID[models.RunnerEntity]())
		}
		a, errA := sql.TakeOverOrphans(ctx)
		b, errB := q.sim.TakeOverOrphans(ctx)
		same(what, a, b, errA, errB)
	case what == "remove":
		r := runner()
		same(what, nil, nil, sql.Remove(ctx, r), q.sim.Remove(ctx, r))
	case what == "all":
		same(what, nil, nil, sql.ReleaseAll(ctx), q.sim.ReleaseAll(ctx))
	}
	q.compare()
}

// tied reports whether turns are ready since the same time: those that went back together. Which of them is claimed first is left open.
func (q *queuePair) tied() bool {
	since := map[models.Millis]bool{}
	for _, t := range q.memory.Turns(func(t *models.Turn) bool { return t.ReadyAt != nil }) {
		if since[*t.ReadyAt] {
			return true
		}
		since[*t.ReadyAt] = true
	}
	return false
}

// hold gives a ready turn to a runner without the queue.
func (q *queuePair) hold(id models.TurnID, runner models.RunnerID) {
	changed, err := q.memory.ChangeTurns(func(t *models.Turn) bool {
		if t.ID != id || t.ReadyAt == nil {
			return false
		}
		t.ReadyAt, t.RunnerID, t.Status = nil, &runner, models.TurnRunning
		t.LeaseEpoch++
		return true
	})
	if err != nil {
		q.rt.Fatal(err)
	}
	if len(changed) == 1 {
		if _, err := storetest.Exec(context.Background(), q.w.db,
			"UPDATE turns SET ready_at = NULL, runner_id = ?, status = 'RUNNING', lease_epoch = lease_epoch + 1 WHERE id = ?", runner[:], id[:]); err != nil {
			q.rt.Fatal(err)
		}
	}
}

// mark tells a turn's runner to look at it.
func (q *queuePair) mark(id models.TurnID, cancel bool) {
	c := &models.Cancel{ByKind: models.ActorUser}
	if !cancel {
		c = nil
	}
	changed, err := q.memory.ChangeTurns(func(t *models.Turn) bool {
		if t.ID != id || t.RunnerID == nil {
			return false
		}
		t.Attention, t.Cancel = true, c
		return true
	})
	if err != nil {
		q.rt.Fatal(err)
	}
	if len(changed) == 0 {
		return
	}
	var doc any
	if cancel {
		doc = "{}"
	}
	if _, err := storetest.Exec(context.Background(), q.w.db, "UPDATE turns SET attention = TRUE, cancel = ? WHERE id = ?", doc, id[:]); err != nil {
		q.rt.Fatal(err)
	}
}

// ofTurns returns what the queue changes, in one order.
func ofTurns(list []models.Turn) []string {
	var out []string
	for _, t := range list {
		ready := models.Millis(0)
		if t.ReadyAt != nil {
			ready = *t.ReadyAt
		}
		out = append(out, fmt.Sprintf("%s %s ready %d runner %s epoch %d takeovers %d recoveries %d",
			t.ID, t.Status, ready, models.Value(t.RunnerID), t.LeaseEpoch, t.Takeovers, t.Recoveries))
	}
	slices.Sort(out)
	return out
}

func (q *queuePair) compare() {
	var all []models.Turn
	if err := store.Of(q.w.db.ReadAcross(context.Background()), q.w.org).Where("id IN ?", q.turns).Find(&all).Error; err != nil {
		q.rt.Fatal(err)
	}
	a, b := ofTurns(all), ofTurns(q.memory.Turns(func(*models.Turn) bool { return true }))
	if !slices.Equal(a, b) {
		q.rt.Fatalf("the database has\n%v\nthe simulation\n%v", a, b)
	}
	list, err := q.w.queue.Runners(context.Background())
	if err != nil {
		q.rt.Fatal(err)
	}
	// Those of other trials are on the database's list, too.
	list = slices.DeleteFunc(list, func(r models.Runner) bool { return !slices.Contains(q.runners, r.ID) })
	mine, _ := q.sim.Runners(context.Background())
	order := func(a, b models.Runner) int { return cmp.Compare(a.ID.String(), b.ID.String()) }
	slices.SortFunc(list, order)
	slices.SortFunc(mine, order)
	if fmt.Sprint(list) != fmt.Sprint(mine) {
		q.rt.Fatalf("on the database's list are %v, on the simulation's %v", list, mine)
	}
}

// The simulation's queue does what the database's does.
func TestTheSimulatedQueueAgreesWithTheDatabase(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		database := commit.New(commit.Config{DB: w.db, Clock: w.clock})
		t.Cleanup(database.Stop)
		rapid.Check(t, func(rt *rapid.T) {
			// The turns of the trial before are out of the way.
			if _, err := storetest.Exec(context.Background(), w.db, "UPDATE turns SET ready_at = NULL, runner_id = NULL, status = 'QUEUED'"); err != nil {
				rt.Fatal(err)
			}
			q := &queuePair{rt: rt, w: w, memory: commit.NewMemory(memtest.New()), database: database}
			var runners []models.Runner
			q.sim = simQueue{q.memory, &runners, &planted{}}
			q.commits = q.memory.Simulate(commit.Config{Clock: w.clock}, nil)
			q.add()
			for range rapid.IntRange(1, 20).Draw(rt, "steps") {
				q.step()
			}
		})
	})
}
