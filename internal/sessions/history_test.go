package sessions

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/commit/historytest"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Many clients want different ends of the same turns and waits at once, and note what they asked and were told; others look at rows and
// logs. Then a checker looks for an order of their operations in which a plain model, where the first end wins, gives the same answers.
// On PostgreSQL two processes serve them, each with a committer of its own.

// What a round is made of: so many turns, at each of which so many clients are at once, each with so many operations.
const (
	historyTurns   = 16
	historyRacers  = 8
	historyRepeats = 3
)

// racing is what clients race with.
type racing struct {
	*env

	nodes []*env
	// people are who the clients act for, one each.
	people  []*auth.Principal
	history historytest.History
	// ends counts how turns and waits have ended.
	ends map[string]int
}

// contest is what clients race for: a turn, and what it waits for if it is parked.
type contest struct {
	session models.SessionID
	turn    models.TurnID
	wait    models.WaitID
	// quorum is that of the approval; fails tells that the turn fails when nobody decides in time.
	quorum int
	fails  bool
}

func (c *contest) parked() bool { return !c.wait.IsZero() }

func newRacing(e *env, faults commit.Faults) *racing {
	e.t.Helper()
	if e.db.Writer != nil { // These tests are not about power failures.
		if _, err := e.db.Writer.ExecContext(e.t.Context(), "PRAGMA synchronous = OFF"); err != nil {
			e.t.Fatal(err)
		}
	}
	r := &racing{env: e, nodes: []*env{e.another(faults)}, ends: map[string]int{}}
	if e.db.Pool != nil {
		r.nodes = append(r.nodes, e.another(faults))
	}
	e.by = e.person(models.RoleOwner)
	for range historytest.Clients {
		r.people = append(r.people, e.person(models.RoleMember))
	}
	return r
}

// parkFor makes a turn that waits for an approval, which is overdue in a second.
func (r *racing) parkFor(c *contest) error {
	turn, err := r.parkIn(r.by, NewSession{}, waitingCall{
		id: "a", tool: "pay", arguments: `{}`, kind: models.WaitApproval, approval: turns.Approval{Quorum: c.quorum},
		deadline: r.later(time.Second), failTurn: c.fails,
	})
	if err != nil {
		return err
	}
	c.session, c.turn = turn.SessionID, turn.ID
	found, err := r.svc.WaitsOfTurns(r.t.Context(), r.by.OrgID, []models.TurnID{turn.ID})
	if err != nil {
		return err
	}
	if open := found[turn.ID]; len(open) == 1 {
		c.wait = open[0].ID
		return nil
	}
	return fmt.Errorf("the turn waits for %d things", len(found[turn.ID]))
}

func (r *racing) node() *env { return r.nodes[rand.IntN(len(r.nodes))] }

// each calls do for all contests at the same time.
func (r *racing) each(list []contest, do func(i int, c *contest) error) {
	r.t.Helper()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() { errs[i] = do(i, &list[i]) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

// race lets the clients loose. Those of a group begin with each contest at the same moment.
func (r *racing) race(list []contest, act func(client int, c *contest)) {
	const groups = historytest.Clients / historyRacers
	var clients sync.WaitGroup
	there := make([]sync.WaitGroup, len(list))
	for i := range there {
		there[i].Add(historyRacers)
	}
	for client := range historytest.Clients {
		clients.Go(func() {
			for i := client % groups; i < len(list); i += groups {
				there[i].Done()
				there[i].Wait()
				for range historyRepeats {
					act(client, &list[i])
				}
			}
		})
	}
	clients.Wait()
}

// refused returns what a loser is told; empty for nobody. Any other failure is one of the test.
func (r *racing) refused(err error) string {
	if err == nil {
		return ""
	}
	if !fault.Is(err, fault.Conflict) {
		r.t.Errorf("a client is told: %v", err)
	}
	return err.Error()
}

// readLog returns the log of a session, which must be in order.
func (r *racing) readLog(session models.SessionID, whole bool) []models.Event {
	log, err := events.NewLog(r.db).Read(r.t.Context(), r.by.OrgID, session, 0, events.Limit{Events: 5000, Bytes: 64 << 20})
	check := events.CheckPrefix
	if whole {
		check = events.CheckLog
	}
	if err == nil {
		err = check(log)
	}
	if err != nil {
		r.t.Errorf("the log of %s: %v", session, err)
	}
	return log
}

// sweepFor has a process end one wait, if it is overdue: a sweep that ends all at once would leave nothing to race for.
func (r *racing) sweepFor(n *env, wait models.WaitID) {
	d := n.deadlines()
	list, err := overdue(r.t.Context(), n.db, clock.Millis(n.clock), models.Wait{}, deadlineBatch)
	if err != nil {
		r.t.Errorf("a sweep: %v", err)
	}
	d.expire(r.t.Context(), slices.DeleteFunc(list, func(w models.Wait) bool { return w.ID != wait }))
}

// linearizable plays rounds until there are enough operations, while transactions fail, and wants all the ends to have come about.
func linearizable(t *testing.T, kind string, explain porcupine.Model, ends []string, start func(r *racing) (round func())) {
	t.Helper()
	each(t, func(t *testing.T, e *env) {
		var faults historytest.Faults
		r := newRacing(e, &faults)
		round := start(r)
		n, want := 0, historytest.Operations(t, 3000)
		missing := func() bool {
			return faults.Injected() == 0 || slices.ContainsFunc(ends, func(end string) bool { return r.ends[end] == 0 })
		}
		// What comes by chance gets some more chances.
		for i := 0; n < want || (missing() && n < 10*want); i++ {
			round()
			wrong, operations := r.history.Wrong(map[string]porcupine.Model{kind: explain})
			n += operations
			if len(wrong) > 0 {
				t.Fatalf("round %d: no order of the operations explains what clients were told\n%s", i, r.history.Odd())
			}
			if t.Failed() {
				return
			}
		}
		for _, end := range ends {
			if r.ends[end] == 0 {
				t.Errorf("nothing has ended as %s, so that nothing was raced for: %v", end, r.ends)
			}
		}
		if faults.Injected() == 0 {
			t.Error("nothing went wrong, so that nothing was tried")
		}
		t.Logf("%d operations, %d failures of transactions, ends: %v", n, faults.Injected(), r.ends)
	})
}

// bug is one that the checker must find, with a schedule that shows it: what clients do one after the other at a contest.
type bug[R any] struct {
	name     string
	contest  contest
	plant    func(r R)
	schedule func(r R, c *contest)
}

// noticed plays the schedules of bugs: the checker finds something wrong with the bug, and nothing without it.
func noticed[R any](t *testing.T, kind string, explain porcupine.Model, bugs []bug[R], over func(r *racing) R, prepare func(r R, c *contest) error) {
	t.Helper()
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			r := newRacing(newEnv(t, storetest.SQLite(t)), nil)
			for _, planted := range []bool{false, true} {
				actors, c := over(r), b.contest
				if err := prepare(actors, &c); err != nil {
					t.Fatal(err)
				}
				r.clock.Advance(time.Second)
				if planted {
					b.plant(actors)
				}
				b.schedule(actors, &c)
				wrong, operations := r.history.Wrong(map[string]porcupine.Model{kind: explain})
				if operations < 2 || (len(wrong) > 0) != planted {
					t.Errorf("with the bug: %t; wrong in %d operations is %q\n%s", planted, operations, wrong, r.history.Odd())
				}
			}
		})
	}
}

// remembered reads, and shows what it has read the time before.
func remembered[K comparable, V any](read func(K) (V, error)) func(K) (V, error) {
	last := map[K]V{}
	return func(k K) (V, error) {
		now, err := read(k)
		was, ok := last[k]
		if last[k] = now; ok {
			return was, nil
		}
		return now, err
	}
}
