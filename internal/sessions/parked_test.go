package sessions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// waitingCall is a call that a turn of a test waits for.
type waitingCall struct {
	id, tool  string
	arguments string
	kind      models.WaitKind
	approval  turns.Approval
	// payment is what the approval is about, when it isn't the call itself.
	payment  *models.PaymentTerms
	deadline *models.Millis
	failTurn bool
}

// beginAct brings the turn at the head of the line to where its calls have been claimed, and none has begun.
type beginAct struct {
	org     models.OrgID
	session models.SessionID
	calls   []waitingCall
}

func (c *beginAct) Needs() commit.Needs {
	return turns.Needs(commit.Needs{Org: c.org, Session: c.session, Bytes: 4096})
}

func (c *beginAct) Apply(tx *commit.Tx) error {
	t := tx.Turn
	turns.Begin(tx)
	tx.ConsumeInbox()
	t.Status, t.ReadyAt, t.Phase, t.Iteration, t.PendingCalls = models.TurnRunning, nil, models.PhaseAct, 1, len(c.calls)
	ids := make([]string, len(c.calls))
	for i, call := range c.calls {
		ids[i] = call.id
		record, err := json.Marshal(turns.Record{CallID: call.id, Iteration: 1, Position: tx.Session.LastSequence, Frozen: call.frozen()})
		if err != nil {
			return err
		}
		tx.AddEffect(models.Effect{
			ScopeID: models.ExecutionID(t.ID), ReplayKey: turns.CallKey(call.id), Kind: models.EffectTool, State: models.EffectClaimed,
			InputHash: call.frozen().InputHash(), Request: record, Attempt: 1, Ordinal: i,
		})
	}
	tx.Emit(&t.ID, events.ActStarted{Iteration: 1, ToolCallIDs: ids})
	return nil
}

func (w waitingCall) frozen() tools.Frozen {
	return tools.Frozen{
		ToolID: "t." + w.tool, Name: w.tool, DisplayName: w.tool, Arguments: json.RawMessage(w.arguments),
		Hints: tools.Hints{Client: w.kind == models.WaitClientTool},
	}
}

// parkAll makes all calls of the act wait.
type parkAll struct{ beginAct }

func (c *parkAll) Apply(tx *commit.Tx) error {
	var clients []turns.Call
	for i, e := range tx.Calls() {
		call, err := turns.ReadCall(e)
		if err != nil {
			return err
		}
		switch w := c.calls[i]; w.kind {
		case models.WaitClientTool:
			clients = append(clients, call)
			continue
		case models.WaitApproval:
			w.approval.FailTurn = w.failTurn
			if w.deadline != nil {
				w.approval.ExpiresIn = time.Duration(*w.deadline-tx.Now) * time.Millisecond
			}
			if w.payment != nil {
				call.Start(tx)
				call.RequestPayment(tx, *w.payment)
			} else {
				call.RequestApproval(tx, w.approval)
			}
		case models.WaitQuestion:
			call.AskUser(tx)
		default:
			call.Start(tx)
			request, err := json.Marshal(models.WaitRequest{Parked: true, FailTurn: w.failTurn})
			if err != nil {
				return err
			}
			call.Park(tx, models.Wait{Kind: w.kind, Identity: "x/" + w.id, Deadline: w.deadline, Request: request})
		}
		tx.SaveEffect(call.Effect)
	}
	if err := turns.Rest(tx, clients); err != nil {
		return err
	}
	if tx.Turn.Status != models.TurnWaiting {
		return fmt.Errorf("the turn does not rest: %d of %d wait", tx.Turn.WaitingCalls, tx.Turn.PendingCalls)
	}
	return nil
}

// parked makes a session whose turn waits for calls, and returns the turn with its waits, in the order of the calls.
func (e *env) parked(by *auth.Principal, calls ...waitingCall) (*models.Turn, []models.Wait) {
	e.t.Helper()
	return e.parkedIn(by, NewSession{}, calls...)
}

// parkedIn is parked with a session as it is asked for.
func (e *env) parkedIn(by *auth.Principal, in NewSession, calls ...waitingCall) (*models.Turn, []models.Wait) {
	e.t.Helper()
	turn, err := e.parkIn(by, in, calls...)
	if err != nil {
		e.t.Fatal(err)
	}
	open := e.waits(by, turn.ID)
	list := make([]models.Wait, len(calls))
	for i, c := range calls {
		for _, w := range open {
			if *w.ToolCallID == c.id {
				list[i] = w
			}
		}
	}
	return e.turn(by, turn.ID), list
}

// begin makes a session with a turn, which nobody has claimed.
func (e *env) begin(by *auth.Principal, in NewSession) (*models.Turn, error) {
	s, err := e.svc.Create(e.t.Context(), by, in)
	if err != nil {
		return nil, err
	}
	_, turn, err := e.svc.Send(e.t.Context(), by, NewMessage{SessionID: s.ID, Content: []NewPart{Text("go")}})
	return turn, err
}

// parkIn makes a session whose turn waits for calls.
func (e *env) parkIn(by *auth.Principal, in NewSession, calls ...waitingCall) (*models.Turn, error) {
	turn, err := e.begin(by, in)
	if err != nil {
		return nil, err
	}
	begin := beginAct{org: by.OrgID, session: turn.SessionID, calls: calls}
	for _, c := range []commit.Command{&begin, &parkAll{begin}} {
		if err := e.commit.Submit(e.t.Context(), c); err != nil {
			return nil, err
		}
	}
	return turn, nil
}

func (e *env) turn(by *auth.Principal, id models.TurnID) *models.Turn {
	e.t.Helper()
	t, err := e.svc.Turn(e.t.Context(), by.OrgID, id)
	if err != nil {
		e.t.Fatal(err)
	}
	return t
}

func (e *env) waits(by *auth.Principal, id models.TurnID) []models.Wait {
	e.t.Helper()
	list, err := e.svc.WaitsOfTurns(e.t.Context(), by.OrgID, []models.TurnID{id})
	if err != nil {
		e.t.Fatal(err)
	}
	return list[id]
}

func (e *env) wait(by *auth.Principal, id models.WaitID) *models.Wait {
	e.t.Helper()
	w, err := e.svc.Wait(e.t.Context(), by.OrgID, id)
	if err != nil {
		e.t.Fatal(err)
	}
	return w
}

// results returns what the calls of a session brought, in the order in which they ended.
func (e *env) results(session models.SessionID) []events.ToolCompleted {
	e.t.Helper()
	var list []events.ToolCompleted
	for _, ev := range e.log(session) {
		if ev.Kind != models.EventToolCompleted {
			continue
		}
		var p events.ToolCompleted
		if err := json.Unmarshal(ev.Data, &p); err != nil {
			e.t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// person returns somebody else of the organization.
func (e *env) person(role models.Role) *auth.Principal {
	e.t.Helper()
	id := models.NewID[models.UserEntity]()
	user := models.User{ID: id, Email: id.String() + "@b", EmailKey: id.String() + "@b"}
	member := models.Membership{OrgID: e.by.OrgID, ID: models.NewID[models.MembershipEntity](), UserID: id, Role: role, CreatedAt: 1}
	if err := e.db.WriteAcross(e.t.Context(), func(tx *gorm.DB) error { return cmp.Or(tx.Create(&user).Error, tx.Create(&member).Error) }); err != nil {
		e.t.Fatal(err)
	}
	return &auth.Principal{OrgID: e.by.OrgID, UserID: id, Role: role, Permissions: auth.RolePermissions(role, false)}
}

// later returns a deadline.
func (e *env) later(d time.Duration) *models.Millis {
	return turns.Deadline(models.MillisOf(e.clock.Now()), d)
}

// race runs functions at once and returns their errors in their order.
func race(fns ...func() error) []error {
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i, fn := range fns {
		wg.Go(func() {
			<-start
			errs[i] = fn()
		})
	}
	close(start)
	wg.Wait()
	return errs
}
