package sessions

import (
	"encoding/json"
	"math/bits"
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

// Decisions race with the sweep that ends an approval whose time is over.

type (
	approvalInput struct {
		Do   approvalDo
		Wait models.WaitID
		// Quorum is how many have to approve, Fails tells that the turn fails when nobody decides in time.
		Quorum int
		Fails  bool
		// Person is who decides, By their id, Approve what.
		Person  int
		By      models.ActorRef
		Approve bool
	}
	approvalOutput struct {
		// Refused is what who decides is told: nothing, or one of the reasons below.
		Refused string
		Seen    approvalEnd
		// Failed is true when the turn has failed, as far as the log is asked.
		Failed bool
	}
	// approvalEnd is what is seen of an approval.
	approvalEnd struct {
		State models.WaitState
		// By is who has decided at last; nobody when the time was over.
		By models.ActorRef
		// Approvals counts those that agree.
		Approvals int
	}
	// approvalState knows besides who has approved and who has denied, a bit for each person.
	approvalState struct {
		State            models.WaitState
		By               models.ActorRef
		Approved, Denied uint64
	}
	approvalDo string
)

const (
	doDecide approvalDo = "decide"
	doSweep  approvalDo = "sweep"
	doWait   approvalDo = "look at the wait"
	doEvents approvalDo = "look at the log"
)

// Reasons why a decision is refused.
const (
	saysExpired   = "had expired"
	saysDecided   = "already been decided"
	saysOtherwise = "You have already decided differently"
)

func (s *approvalState) seen() approvalEnd {
	return approvalEnd{State: s.State, By: s.By, Approvals: bits.OnesCount64(s.Approved)}
}

// decide returns what somebody who decides is told.
func (s *approvalState) decide(in approvalInput) (refused string) {
	me := uint64(1) << in.Person
	switch {
	case (s.Approved|s.Denied)&me != 0:
		if (s.Approved&me != 0) != in.Approve {
			return saysOtherwise
		}
		return ""
	case s.State == models.WaitTimeout:
		return saysExpired
	case s.State != models.WaitOpen:
		return saysDecided
	case !in.Approve:
		s.Denied |= me
		s.State, s.By = models.WaitError, in.By
		return ""
	}
	s.Approved |= me
	if bits.OnesCount64(s.Approved) >= in.Quorum {
		s.State, s.By = models.WaitOK, in.By
	}
	return ""
}

// approvalModel: one denial, or as many approvals as are asked for, or the sweep ends it, whichever is first. Who repeats a decision
// changes nothing.
var approvalModel = porcupine.Model{
	Partition: historytest.PartitionBy(func(in approvalInput) models.WaitID { return in.Wait }),
	Init:      func() any { return approvalState{State: models.WaitOpen} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(approvalState), input.(approvalInput), output.(approvalOutput)
		switch in.Do {
		case doDecide:
			refused := s.decide(in)
			return out.Refused == refused, s
		case doSweep:
			if s.State == models.WaitOpen {
				s.State = models.WaitTimeout
			}
			return true, s
		case doEvents:
			if out.Failed != (s.State == models.WaitTimeout && in.Fails) {
				return false, s
			}
		case doWait:
		}
		return out.Seen == s.seen(), s
	},
	DescribeOperation: historytest.Describe,
}

// deciding is how clients reach an approval.
type deciding struct {
	*racing

	decide func(n *env, by *auth.Principal, d Decision) (*models.Wait, error)
	sweep  func(n *env, c *contest)
	wait   func(id models.WaitID) (*models.Wait, error)
}

func newDeciding(r *racing) *deciding {
	return &deciding{
		racing: r,
		decide: func(n *env, by *auth.Principal, d Decision) (*models.Wait, error) {
			w, _, err := n.svc.DecideApproval(n.t.Context(), by, d)
			return w, err
		},
		sweep: func(n *env, c *contest) { r.sweepFor(n, c.wait) },
		wait:  func(id models.WaitID) (*models.Wait, error) { return r.svc.Wait(r.t.Context(), r.by.OrgID, id) },
	}
}

func (r *deciding) round() {
	r.t.Helper()
	list := make([]contest, historyTurns)
	r.each(list, func(i int, c *contest) error {
		c.quorum, c.fails = 1+i/2%3, i%4 == 0
		return r.parkFor(c)
	})
	r.clock.Advance(time.Second)
	r.race(list, func(client int, c *contest) {
		switch rand.IntN(8) {
		case 0, 1, 2, 3:
			r.doDecide(client, c, rand.IntN(4) > 0)
		case 4:
			r.doSweep(client, c)
		case 5, 6:
			r.look(client, c, doWait)
		default:
			r.look(client, c, doEvents)
		}
	})
	for i := range list {
		c := &list[i]
		r.doSweep(0, c)
		r.look(0, c, doWait)
		r.ends[string(r.look(0, c, doEvents).Seen.State)]++
	}
}

func about(do approvalDo, c *contest) approvalInput {
	return approvalInput{Do: do, Wait: c.wait, Quorum: c.quorum, Fails: c.fails}
}

func (r *deciding) doDecide(client int, c *contest, approve bool) {
	in := about(doDecide, c)
	in.Person, in.By, in.Approve = client, refOf(r.people[client]), approve
	called := r.history.Call()
	w, err := r.decide(r.node(), r.people[client], Decision{WaitID: c.wait, Approve: in.Approve})
	returned := r.history.Call()
	r.history.Note("approval", client, in, approvalOutput{Refused: reasonIn(r.refused(err))}, called, returned)
	if err == nil {
		// What is shown of the approval was read after the decision.
		in.Do = doWait
		r.history.Note("approval", client, in, approvalOutput{Seen: waitEnd(w)}, called, returned)
	}
}

// reasonIn finds the reason in a refusal.
func reasonIn(refused string) string {
	for _, why := range []string{saysExpired, saysDecided, saysOtherwise} {
		if strings.Contains(refused, why) {
			return why
		}
	}
	return refused
}

func (r *deciding) doSweep(client int, c *contest) {
	r.history.Record("approval", client, about(doSweep, c), func() any {
		r.sweep(r.node(), c)
		return approvalOutput{}
	})
}

func (r *deciding) look(client int, c *contest, do approvalDo) (out approvalOutput) {
	r.history.Record("approval", client, about(do, c), func() any {
		if do == doEvents {
			out = approvalIn(r.readLog(c.session, false))
			return out
		}
		w, err := r.wait(c.wait)
		if err != nil {
			r.t.Errorf("a wait can't be read: %v", err)
			return out
		}
		out.Seen = waitEnd(w)
		return out
	})
	return out
}

func waitEnd(w *models.Wait) approvalEnd {
	return approvalEnd{State: w.State, By: turns.ReadResolution(*w).ByID, Approvals: w.Approvals}
}

// approvalIn returns what became of the one approval in a log. An end after another one shows as a state that there is not.
func approvalIn(log []models.Event) (out approvalOutput) {
	out.Seen.State = models.WaitOpen
	end := func(s models.WaitState, by models.ActorRef) {
		if out.Seen.State != models.WaitOpen {
			s = out.Seen.State + s
		}
		out.Seen.State, out.Seen.By = s, by
	}
	for _, e := range log {
		switch e.Kind {
		case models.EventTurnFailed:
			out.Failed = true
		case models.EventApprovalDecided:
			p, err := events.Decode(e.Kind, e.Data)
			if err != nil {
				continue // The log was checked.
			}
			d := p.(events.ApprovalDecided)
			if d.Approve {
				out.Seen.Approvals++
			}
			switch d.Outcome {
			case "APPROVED":
				end(models.WaitOK, d.ByID)
			case "DENIED":
				end(models.WaitError, d.ByID)
			case "EXPIRED":
				end(models.WaitTimeout, d.ByID)
			}
		default:
		}
	}
	return out
}

// Of decisions and the end of the time one wins, and everybody is told which: who decides, who looks at the approval and who reads the log.
//
// Rules: W1, W3, W10.
func TestHistoriesOfApprovals(t *testing.T) {
	ends := []string{string(models.WaitOK), string(models.WaitError), string(models.WaitTimeout)}
	linearizable(t, "approval", approvalModel, ends, func(r *racing) func() { return newDeciding(r).round })
}

// A checker that finds nothing wrong with a bug is worth nothing.
//
// Rules: W1.
func TestHistoriesOfApprovalsWithBugs(t *testing.T) {
	noticed(t, "approval", approvalModel, []bug[*deciding]{
		{
			name: "a sweep that ends what was decided", contest: contest{quorum: 1},
			plant: func(r *deciding) {
				sweep := r.sweep
				r.sweep = func(n *env, c *contest) {
					sweep(n, c)
					late := &expireAgain{turns.ExpireWait{Org: r.by.OrgID, Session: c.session, Wait: c.wait}}
					if err := n.commit.Submit(n.t.Context(), late); err != nil {
						n.t.Error(err)
					}
				}
			},
			schedule: func(r *deciding, c *contest) {
				r.doDecide(1, c, true)
				r.doSweep(0, c)
				r.look(2, c, doWait)
			},
		},
		{
			name: "a sweep that leaves some out", contest: contest{quorum: 1},
			plant: func(r *deciding) { r.sweep = func(*env, *contest) {} },
			schedule: func(r *deciding, c *contest) {
				r.doSweep(0, c)
				r.look(1, c, doWait)
			},
		},
		{
			name: "a decision that comes too late and is told that it counts", contest: contest{quorum: 1},
			plant: func(r *deciding) {
				decide := r.decide
				r.decide = func(n *env, by *auth.Principal, d Decision) (*models.Wait, error) {
					if _, err := decide(n, by, d); err != nil && !fault.Is(err, fault.Conflict) {
						return nil, err
					}
					return n.svc.Wait(n.t.Context(), by.OrgID, d.WaitID)
				}
			},
			schedule: func(r *deciding, c *contest) {
				r.doSweep(0, c)
				r.doDecide(1, c, true)
			},
		},
		{
			name: "a decision that counts, and is told to have come after the end of the time", contest: contest{quorum: 1},
			plant: func(r *deciding) {
				decide := r.decide
				r.decide = func(n *env, by *auth.Principal, d Decision) (*models.Wait, error) {
					if _, err := decide(n, by, d); err != nil {
						return nil, err
					}
					return nil, fault.New(fault.Conflict, "%s", saysExpired)
				}
			},
			schedule: func(r *deciding, c *contest) {
				r.doDecide(1, c, true)
				r.look(0, c, doWait)
			},
		},
		{
			name: "an approval that takes one person less than it should", contest: contest{quorum: 2},
			plant: func(r *deciding) {
				r.decide = func(n *env, by *auth.Principal, d Decision) (*models.Wait, error) {
					w, err := n.svc.Wait(n.t.Context(), by.OrgID, d.WaitID)
					if err != nil {
						return nil, err
					}
					c := &decideEasily{*turns.NewDecideApproval(by, w.SessionID, w.ID, d.Approve)}
					if err := n.commit.Submit(n.t.Context(), c); err != nil {
						return nil, err
					}
					return n.svc.Wait(n.t.Context(), by.OrgID, d.WaitID)
				}
			},
			schedule: func(r *deciding, c *contest) {
				r.doDecide(1, c, true)
				r.look(0, c, doWait)
			},
		},
		{
			name: "approvals that are shown as they were", contest: contest{quorum: 1},
			plant: func(r *deciding) { r.wait = remembered(r.wait) },
			schedule: func(r *deciding, c *contest) {
				r.look(0, c, doWait)
				r.doDecide(1, c, true)
				r.look(0, c, doWait)
			},
		},
	}, newDeciding, func(r *deciding, c *contest) error { return r.parkFor(c) })
}

// expireAgain ends a wait whether or not somebody has before.
type expireAgain struct{ turns.ExpireWait }

func (c *expireAgain) Apply(tx *commit.Tx) error {
	if w, ok := tx.Wait(c.Wait); ok {
		w.State = models.WaitTimeout
		tx.SaveWait(w)
	}
	return nil
}

// decideEasily counts the first approval twice.
type decideEasily struct{ turns.DecideApproval }

func (c *decideEasily) Apply(tx *commit.Tx) error {
	if w, ok := tx.Wait(c.Wait); ok && w.State == models.WaitOpen && len(tx.Decisions(c.Wait)) == 0 && c.Decision.Approve {
		request := turns.ReadRequest(w)
		request.Quorum--
		var err error
		if w.Request, err = json.Marshal(request); err != nil {
			return err
		}
		return turns.Decide(tx, w, c.Decision)
	}
	return c.DecideApproval.Apply(tx)
}

// refOf returns how a person is named in rows and in the log.
func refOf(by *auth.Principal) models.ActorRef {
	_, ref := by.ActorRef()
	return ref
}
