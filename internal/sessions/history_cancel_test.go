package sessions

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/commit/historytest"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Cancels race with the end of a turn: that of its runner, or, where it is parked, that of its time.

type (
	endInput struct {
		Do   endDo
		Turn models.TurnID
		// Parked is true when no runner holds the turn.
		Parked bool
		// By is who cancels.
		By models.ActorRef
	}
	endOutput struct {
		// Status is how the turn has ended, as far as the client is told; empty when it goes on.
		Status models.TurnStatus
		// By is who has cancelled it, in the end or for the time being.
		By models.ActorRef
		// Lost is true when the client is refused.
		Lost bool
	}
	// endState has no status while the turn goes on. By is whose cancel its runner will find.
	endState struct {
		Status models.TurnStatus
		By     models.ActorRef
	}
	endDo string
)

const (
	doCancel endDo = "cancel"
	doFinish endDo = "finish"
	doExpire endDo = "expire"
	doRow    endDo = "look at the row"
	doLog    endDo = "look at the log"
)

// endModel: the first cancel counts, until the turn has ended otherwise. One that is held ends when its runner finds the cancel, which
// it does in the commit that would have completed it; one that is parked ends at once.
var endModel = porcupine.Model{
	Partition: historytest.PartitionBy(func(in endInput) models.TurnID { return in.Turn }),
	Init:      func() any { return endState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(endState), input.(endInput), output.(endOutput)
		switch in.Do {
		case doCancel:
			if s.Status != "" && s.Status != models.TurnCancelled {
				return out == endOutput{Status: s.Status, Lost: true}, s
			}
			if s.By == "" {
				s.By = in.By
			}
			if in.Parked {
				s.Status = models.TurnCancelled
			}
			return out == endOutput{By: s.By}, s
		case doFinish:
			if s.Status != "" {
				return out.Lost, s
			}
			s.Status = models.TurnCompleted
			if s.By != "" {
				s.Status = models.TurnCancelled
			}
			return out == endOutput{Status: s.Status}, s
		case doExpire:
			if s.Status == "" {
				s.Status = models.TurnFailed
			}
			return true, s
		case doLog:
			if s.Status == "" {
				return out == endOutput{}, s // Only ends are logged, not what was asked for.
			}
		case doRow:
		}
		return out == endOutput{Status: s.Status, By: s.By}, s
	},
	DescribeOperation: historytest.Describe,
}

// ending is how clients reach a turn.
type ending struct {
	*racing

	cancel func(n *env, by *auth.Principal, turn models.TurnID) (*models.Turn, error)
	finish func(n *env, c *finishTurn) error
	row    func(turn models.TurnID) (*models.Turn, error)
}

func newEnding(r *racing) *ending {
	return &ending{
		racing: r,
		cancel: func(n *env, by *auth.Principal, turn models.TurnID) (*models.Turn, error) {
			return n.svc.CancelTurn(n.t.Context(), by, turn, nil)
		},
		finish: func(n *env, c *finishTurn) error { return n.commit.Submit(n.t.Context(), c) },
		row:    func(turn models.TurnID) (*models.Turn, error) { return r.svc.Turn(r.t.Context(), r.by.OrgID, turn) },
	}
}

// holdTurn claims the turn at the head of the line, and begins its first step.
type holdTurn struct {
	org     models.OrgID
	session models.SessionID
}

func (c *holdTurn) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Bytes: 1000}
}

func (c *holdTurn) Apply(tx *commit.Tx) error {
	t, output := tx.Turn, models.NewID[models.MessageEntity]()
	tx.ClaimTurn(models.NewID[models.RunnerEntity]())
	turns.Begin(tx)
	tx.ConsumeInbox()
	t.Phase, t.Iteration, t.OutputMessageID = models.PhaseReason, 1, &output
	tx.Emit(&t.ID, events.ReasonStarted{Iteration: 1})
	tx.Emit(&t.ID, events.OutputStarted{MessageID: output, Model: "m", Iteration: 1})
	return nil
}

// finishTurn is the last commit of a runner: the answer, and with it the end, which is that of a cancel if there is one. The engine's
// own needs a model.
type finishTurn struct {
	org     models.OrgID
	session models.SessionID
	lease   commit.Lease
	// deaf makes it overlook cancels.
	deaf bool

	// as is how the turn has ended, set anew by each Apply.
	as models.TurnStatus
}

func (c *finishTurn) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Lease: &c.lease, Ends: true, Bytes: 1000}
}

func (c *finishTurn) Apply(tx *commit.Tx) error {
	t := tx.Turn
	turns.AddMessage(tx, models.Message{
		ID: *t.OutputMessageID, TurnID: t.ID, Role: models.MessageAgent, Content: []models.Part{{Type: models.PartText, Text: "ok"}}, CreatedAt: tx.Now,
	}, nil)
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: 1, Success: true})
	if t.Cancel != nil && !c.deaf {
		c.as = models.TurnCancelled
		return turns.FinishCancelled(tx)
	}
	c.as = models.TurnCompleted
	return tx.EndTurn(models.TurnCompleted, models.StopEndTurn, events.TurnCompleted{StopReason: models.StopEndTurn})
}

// prepare makes a turn that is held, or one that waits for an approval which is overdue, and whose absence makes it fail.
func (r *ending) prepare(i int, c *contest) error {
	if i%4 == 0 {
		c.quorum, c.fails = 1, true
		return r.parkFor(c)
	}
	return r.hold(c)
}

// hold makes a turn that is held by a runner.
func (r *ending) hold(c *contest) error {
	turn, err := r.begin(r.by, NewSession{})
	if err != nil {
		return err
	}
	c.session, c.turn = turn.SessionID, turn.ID
	return r.commit.Submit(r.t.Context(), &holdTurn{r.by.OrgID, c.session})
}

func (r *ending) round() {
	r.t.Helper()
	list := make([]contest, historyTurns)
	r.each(list, r.prepare)
	r.clock.Advance(time.Second)
	r.race(list, func(client int, c *contest) {
		switch rand.IntN(6) {
		case 0, 1:
			r.doCancel(client, c)
		case 2, 3:
			r.doEnd(client, c)
		case 4:
			r.look(client, c, doRow)
		default:
			r.look(client, c, doLog)
		}
	})
	for i := range list {
		c := &list[i]
		r.doEnd(0, c)
		r.look(0, c, doRow)
		r.ends[string(r.look(0, c, doLog).Status)]++
		r.readLog(c.session, true)
	}
}

func (r *ending) doCancel(client int, c *contest) {
	in := endInput{Do: doCancel, Turn: c.turn, Parked: c.parked(), By: refOf(r.people[client])}
	called := r.history.Call()
	t, err := r.cancel(r.node(), r.people[client], c.turn)
	returned := r.history.Call()
	if why := r.refused(err); why != "" {
		r.history.Note("end", client, in, endOutput{Status: statusIn(why), Lost: true}, called, returned)
		return
	}
	// What is shown of the turn was read after the cancel. Who has cancelled it can't have changed, but it may have ended.
	saw := rowOutput(t)
	r.history.Note("end", client, in, endOutput{By: saw.By}, called, returned)
	in.Do = doRow
	r.history.Note("end", client, in, saw, called, returned)
}

// statusIn finds the status of which a refusal speaks.
func statusIn(why string) models.TurnStatus {
	for _, s := range []models.TurnStatus{models.TurnCompleted, models.TurnFailed, models.TurnCancelled, models.TurnSealed} {
		if strings.Contains(why, string(s)) {
			return s
		}
	}
	return ""
}

// doEnd lets the runner finish a turn that is held, and the sweep one that is parked.
func (r *ending) doEnd(client int, c *contest) {
	in := endInput{Do: doFinish, Turn: c.turn, Parked: c.parked()}
	if c.parked() {
		in.Do = doExpire
	}
	r.history.Record("end", client, in, func() any {
		n := r.node()
		if c.parked() {
			r.sweepFor(n, c.wait)
			return endOutput{}
		}
		f := &finishTurn{org: r.by.OrgID, session: c.session, lease: commit.Lease{Execution: models.ExecutionOf(c.turn), Epoch: 1}}
		if err := r.finish(n, f); err != nil {
			if !errors.Is(err, commit.ErrLeaseLost) {
				r.t.Errorf("a runner is told: %v", err)
			}
			return endOutput{Lost: true}
		}
		return endOutput{Status: f.as}
	})
}

func (r *ending) look(client int, c *contest, do endDo) (out endOutput) {
	r.history.Record("end", client, endInput{Do: do, Turn: c.turn, Parked: c.parked()}, func() any {
		if do == doLog {
			out = endIn(r.readLog(c.session, false), c.turn)
			return out
		}
		t, err := r.row(c.turn)
		if err != nil {
			r.t.Errorf("a turn can't be read: %v", err)
			return out
		}
		out = rowOutput(t)
		return out
	})
	return out
}

func rowOutput(t *models.Turn) (out endOutput) {
	if t.FinishedAt != nil {
		out.Status = t.Status
	}
	if t.Cancel != nil {
		out.By = t.Cancel.ByID
	}
	return out
}

// endIn returns how a turn has ended according to the log; both ways when there are two.
func endIn(log []models.Event, turn models.TurnID) (out endOutput) {
	for _, e := range log {
		if e.TurnID == nil || *e.TurnID != turn {
			continue
		}
		switch e.Kind {
		case models.EventTurnCompleted:
			out.Status += models.TurnCompleted
		case models.EventTurnFailed:
			out.Status += models.TurnFailed
		case models.EventTurnSealed:
			out.Status += models.TurnSealed
		case models.EventTurnCancelled:
			out.Status += models.TurnCancelled
			if p, err := events.Decode(e.Kind, e.Data); err == nil {
				out.By = p.(events.TurnCancelled).ByID
			}
		default:
		}
	}
	return out
}

// Of cancels and ends one wins, and everybody is told which: who cancels, who ends, who looks at the turn and who reads the log.
//
// Rules: L5, C5.
func TestHistoriesOfCancels(t *testing.T) {
	ends := []string{"COMPLETED", "CANCELLED", "FAILED"}
	linearizable(t, "end", endModel, ends, func(r *racing) func() { return newEnding(r).round })
}

// A checker that finds nothing wrong with a bug is worth nothing.
//
// Rules: C5.
func TestHistoriesOfCancelsWithBugs(t *testing.T) {
	noticed(t, "end", endModel, []bug[*ending]{
		{
			name: "a completion that overlooks the cancel",
			plant: func(r *ending) {
				finish := r.finish
				r.finish = func(n *env, c *finishTurn) error {
					c.deaf = true
					return finish(n, c)
				}
			},
			schedule: func(r *ending, c *contest) {
				r.doCancel(1, c)
				r.doEnd(0, c)
			},
		},
		{
			name: "a cancel that comes too late and is told that it counts",
			plant: func(r *ending) {
				r.cancel = func(n *env, by *auth.Principal, turn models.TurnID) (*models.Turn, error) {
					if _, err := n.svc.CancelTurn(n.t.Context(), by, turn, nil); err != nil && !fault.Is(err, fault.Conflict) {
						return nil, err
					}
					return n.svc.Turn(n.t.Context(), by.OrgID, turn)
				}
			},
			schedule: func(r *ending, c *contest) {
				r.doEnd(0, c)
				r.doCancel(1, c)
			},
		},
		{
			name: "a cancel that is told to be too late and counts",
			plant: func(r *ending) {
				cancel := r.cancel
				r.cancel = func(n *env, by *auth.Principal, turn models.TurnID) (*models.Turn, error) {
					if _, err := cancel(n, by, turn); err != nil {
						return nil, err
					}
					return nil, fault.New(fault.Conflict, "The turn has ended already: it is %s.", models.TurnCompleted)
				}
			},
			schedule: func(r *ending, c *contest) {
				r.doCancel(1, c)
				r.doEnd(0, c)
			},
		},
		{
			name: "a second end that is told that it counts",
			plant: func(r *ending) {
				finish := r.finish
				r.finish = func(n *env, c *finishTurn) error {
					err := finish(n, c)
					if errors.Is(err, commit.ErrLeaseLost) {
						c.as = models.TurnCompleted
						return nil
					}
					return err
				}
			},
			schedule: func(r *ending, c *contest) {
				r.doEnd(0, c)
				r.doEnd(1, c)
			},
		},
		{
			name: "a second cancel that takes the place of the first",
			plant: func(r *ending) {
				cancel := r.cancel
				r.cancel = func(n *env, by *auth.Principal, turn models.TurnID) (*models.Turn, error) {
					t, err := cancel(n, by, turn)
					if err == nil && t.FinishedAt == nil {
						err = n.commit.Submit(n.t.Context(), &cancelAgain{turns.CancelTurn{By: by, Session: t.SessionID, Turn: turn}})
					}
					return t, err
				}
			},
			schedule: func(r *ending, c *contest) {
				r.doCancel(1, c)
				r.doCancel(2, c)
				r.look(3, c, doRow)
			},
		},
		{
			name:  "rows that are shown as they were",
			plant: func(r *ending) { r.row = remembered(r.row) },
			schedule: func(r *ending, c *contest) {
				r.look(0, c, doRow)
				r.doCancel(1, c)
				r.look(0, c, doRow)
			},
		},
	}, newEnding, (*ending).hold)
}

// cancelAgain cancels as if nobody had before.
type cancelAgain struct{ turns.CancelTurn }

func (c *cancelAgain) Apply(tx *commit.Tx) error {
	if tx.Turn == nil || tx.Turn.ID != c.Turn {
		return nil
	}
	tx.Turn.Cancel = nil
	return c.CancelTurn.Apply(tx)
}
