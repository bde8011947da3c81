package turns

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
)

// world is an organization in a database, with a committer. Nothing runs its turns.
type world struct {
	t       testing.TB
	db      *store.DB
	clock   *clock.Manual
	c       *commit.Committer
	org     models.OrgID
	harness models.HarnessID
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

func newWorld(t testing.TB, db *store.DB) *world {
	t.Helper()
	if db.Writer != nil { // These tests are not about power failures.
		if _, err := db.Writer.ExecContext(context.Background(), "PRAGMA synchronous = OFF"); err != nil {
			t.Fatal(err)
		}
	}
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: "o", CreatedAt: 1}
	h := models.Harness{
		OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive,
	}
	err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return errors.Join(tx.Create(&org).Error, tx.Create(&h).Error) })
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, clock: clock.NewManual(time.UnixMilli(1_800_000_000_000)), org: org.ID, harness: h.ID}
	w.c = commit.New(commit.Config{
		DB: db, Clock: w.clock,
	})
	t.Cleanup(w.c.Stop)
	return w
}

// member returns somebody who may decide about approvals.
func (w *world) member(t *testing.T) models.ActorID {
	t.Helper()
	user := models.User{ID: models.NewID[models.UserEntity]()}
	user.EmailKey = user.ID.String()
	m := models.Membership{OrgID: w.org, ID: models.NewID[models.MembershipEntity](), UserID: user.ID, Role: models.RoleMember, CreatedAt: 1}
	err := w.db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return errors.Join(tx.Create(&user).Error, tx.Create(&m).Error) })
	if err != nil {
		t.Fatal(err)
	}
	return models.ActorID(user.ID)
}

// change is a command on a session that sees all that this package looks at.
type change struct {
	org     models.OrgID
	session models.SessionID
	waits   []models.WaitID
	apply   func(tx *commit.Tx) error
}

func (c *change) Needs() commit.Needs {
	n := cancelNeeds(commit.Needs{Org: c.org, Session: c.session, Bytes: 4096})
	n.WaitIDs = c.waits
	return n
}

func (c *change) Apply(tx *commit.Tx) error { return c.apply(tx) }

// scene is a session of which the turn at the head of the line is at some point.
type scene struct {
	*world
	t       rapid.TB
	session models.SessionID
	turn    models.TurnID
}

// do commits a change of the session.
func (s *scene) do(apply func(tx *commit.Tx) error) {
	s.t.Helper()
	if err := s.try(apply); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) try(apply func(tx *commit.Tx) error, waits ...models.WaitID) error {
	return s.c.Submit(context.Background(), &change{org: s.org, session: s.session, waits: waits, apply: apply})
}

// on does something about a wait, as it is by then.
func (s *scene) on(id models.WaitID, do func(tx *commit.Tx, w models.Wait) error) error {
	return s.try(func(tx *commit.Tx) error {
		w, ok := tx.Wait(id)
		if !ok {
			return errors.New("there is no such wait")
		}
		return do(tx, w)
	}, id)
}

// newScene makes a session with a message for its first turn, which nobody has claimed.
func (w *world) newScene(t rapid.TB) *scene {
	t.Helper()
	s := &scene{world: w, t: t, session: models.NewID[models.SessionEntity]()}
	s.do(func(tx *commit.Tx) error {
		tx.CreateSession(models.Session{
			OrgID: w.org, ID: s.session, HarnessID: w.harness, Tags: []string{}, CreatedByKind: models.ActorUser, CreatedAt: tx.Now,
			Status: models.SessionStarted,
		})
		tx.Emit(nil, events.SessionStarted{HarnessID: w.harness})
		return nil
	})
	s.turn = s.send()
	return s
}

// send makes a turn of a message, at the end of the line.
func (s *scene) send() models.TurnID {
	s.t.Helper()
	turn, message := models.NewID[models.TurnEntity](), models.NewID[models.MessageEntity]()
	s.do(func(tx *commit.Tx) error {
		s.receive(tx, turn, message)
		tx.AddTurn(models.Turn{
			OrgID: s.org, ID: turn, SessionID: s.session, InputMessageID: message, QueuedAt: tx.Now, Status: models.TurnQueued,
			StartedByKind: models.ActorUser,
		})
		return nil
	})
	return turn
}

func (s *scene) receive(tx *commit.Tx, turn models.TurnID, message models.MessageID) {
	m := models.Message{
		OrgID: s.org, ID: message, SessionID: s.session, TurnID: turn, Role: models.MessageUser, CreatedAt: tx.Now,
		Content: []models.Part{{Type: models.PartText, Text: "go"}},
	}
	m.Sequence = tx.Emit(&turn, events.MessageReceived{
		Message: events.Message{ID: m.ID, Role: m.Role, Content: m.Content, CreatedAt: tx.Now}, Delivery: "STEER",
	})
	tx.AddMessage(m)
}

// steer has a message come into the inbox of the turn, as sendMessage does.
func (s *scene) steer() (woke bool, err error) {
	message := models.NewID[models.MessageEntity]()
	err = s.try(func(tx *commit.Tx) error {
		s.receive(tx, tx.Turn.ID, message)
		tx.Steer(message, nil)
		woke, err = interruptWaits(tx)
		return err
	})
	return woke, err
}

// claim claims the turn for a runner, and begins it.
func (s *scene) claim() {
	s.t.Helper()
	s.do(func(tx *commit.Tx) error {
		tx.ClaimTurn(models.NewID[models.RunnerEntity]())
		Begin(tx)
		tx.ConsumeInbox()
		return nil
	})
}

// made is a call that a model has made, and what it waits for; empty for one that could run.
type made struct {
	kind models.WaitKind
	// client and question are what the tool is, beside what is decided before it runs.
	client, question bool
	// announced is true when the wait is there, and the call doesn't wait for it: it runs.
	announced bool
	approval  Approval
	// payment is true when the approval is about a payment of the call, which has begun.
	payment  bool
	deadline *models.Millis
	failTurn bool
}

func client() made                   { return made{kind: models.WaitClientTool, client: true} }
func question() made                 { return made{kind: models.WaitQuestion, question: true} }
func outside(k models.WaitKind) made { return made{kind: k} }
func approval(quorum int) made {
	return made{kind: models.WaitApproval, approval: Approval{Quorum: quorum}}
}
func payment() made { return made{kind: models.WaitApproval, payment: true} }
func (m made) until(at time.Duration) made {
	at2 := models.Millis(1_800_000_000_000 + at.Milliseconds())
	m.deadline = &at2
	return m
}

func callID(i int) string { return "call_" + string(rune('a'+i)) }

func (m made) frozen(i int) tools.Frozen {
	f := tools.Frozen{
		ToolID: "t.tool", Name: "tool", DisplayName: "Tool", Arguments: json.RawMessage(`{"n":` + string(rune('0'+i)) + `}`),
		Hints: tools.Hints{Client: m.client},
	}
	if m.question {
		f.Hints.Wait, f.Arguments = tools.WaitQuestion, json.RawMessage(`{"question":"Which?","options":["a","b"]}`)
	}
	return f
}

// act brings the turn to an act with these calls: those that wait do, the others run, and the turn rests if it can. It returns the waits in
// the order of the calls, with zero for none.
func (s *scene) act(list ...made) []models.WaitID {
	s.t.Helper()
	ids := make([]models.WaitID, len(list))
	s.do(func(tx *commit.Tx) error {
		t := tx.Turn
		t.Phase, t.Iteration, t.PendingCalls, t.WaitingCalls = models.PhaseAct, 1, len(list), 0
		started := events.ActStarted{Iteration: 1}
		for i := range list {
			started.ToolCallIDs = append(started.ToolCallIDs, callID(i))
		}
		position := tx.Emit(&t.ID, started)
		for i, m := range list {
			f := m.frozen(i)
			c := Call{Record: Record{CallID: callID(i), Iteration: 1, Position: position, Frozen: f}}
			c.Effect = models.Effect{
				ScopeID: models.ExecutionID(t.ID), ReplayKey: CallKey(c.Record.CallID), Kind: models.EffectTool, State: models.EffectClaimed,
				InputHash: f.InputHash(), Request: jsonx.MustEncode(c.Record), Epoch: t.LeaseEpoch, Attempt: 1, Ordinal: i,
			}
			tx.AddEffect(c.Effect)
		}
		return nil
	})
	s.do(func(tx *commit.Tx) error {
		open, err := openCalls(tx)
		if err != nil {
			return err
		}
		var clients []Call
		for i, c := range open {
			switch m := list[i]; {
			case m.announced:
				c.Start(tx)
				c.Announce(tx, WaitID(tx.Turn.ID, "x"), m.kind, "x")
			case m.kind == "":
				c.Start(tx)
			case m.kind == models.WaitClientTool:
				clients = append(clients, c)
				continue
			case m.kind == models.WaitQuestion:
				c.AskUser(tx)
			case m.payment:
				c.Start(tx)
				c.RequestPayment(tx, models.PaymentTerms{Key: c.Record.CallID, Host: "example.com", Amount: 1_500_000_000, Purpose: "a test"})
			case m.kind == models.WaitApproval:
				m.approval.FailTurn = m.failTurn
				if m.deadline != nil {
					m.approval.ExpiresIn = time.Duration(*m.deadline-tx.Now) * time.Millisecond
				}
				c.RequestApproval(tx, m.approval)
			default:
				c.Start(tx)
				c.Park(tx, models.Wait{
					Kind: m.kind, Identity: "x/" + c.Record.CallID, Deadline: m.deadline,
					Request: jsonx.MustEncode(models.WaitRequest{Parked: true, FailTurn: m.failTurn}),
				})
			}
			tx.SaveEffect(c.Effect)
		}
		if err := Rest(tx, clients); err != nil {
			return err
		}
		for _, w := range tx.OpenWaits() {
			ids[int((*w.ToolCallID)[len("call_")]-'a')] = w.ID
		}
		return nil
	})
	return ids
}

// parked makes a session whose turn waits for all of these.
func (w *world) parked(t rapid.TB, list ...made) (*scene, []models.WaitID) {
	t.Helper()
	s := w.newScene(t)
	s.claim()
	ids := s.act(list...)
	if got := s.row().Status; got != models.TurnWaiting {
		t.Fatalf("the turn is %s", got)
	}
	s.sound()
	return s, ids
}

func rows[T any](s *scene, where string, args ...any) []T {
	s.t.Helper()
	var list []T
	q := store.Of(s.db.ReadAcross(context.Background()), s.org).Where("session_id = ?", s.session)
	if where != "" {
		q = q.Where(where, args...)
	}
	if err := q.Find(&list).Error; err != nil {
		s.t.Fatal(err)
	}
	return list
}

// row returns the first turn of the session.
func (s *scene) row() models.Turn {
	s.t.Helper()
	return rows[models.Turn](s, "id = ?", s.turn)[0]
}

func (s *scene) wait(id models.WaitID) models.Wait {
	s.t.Helper()
	return rows[models.Wait](s, "id = ?", id)[0]
}

// effect returns the journal's entry of a call.
func (s *scene) effect(i int) models.Effect {
	s.t.Helper()
	return rows[models.Effect](s, "replay_key = ?", CallKey(callID(i)))[0]
}

func (s *scene) log() []models.Event {
	s.t.Helper()
	list, err := events.NewLog(s.db).Read(context.Background(), s.org, s.session, 0, events.Limit{Events: 5000, Bytes: 1 << 30})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func (s *scene) count(kind models.EventKind) (n int) {
	for _, e := range s.log() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// result returns what a call brought; nil while it has brought nothing.
func (s *scene) result(i int) *events.ToolCompleted {
	s.t.Helper()
	for _, e := range s.log() {
		if e.Kind != models.EventToolCompleted {
			continue
		}
		p, err := events.Decode(e.Kind, e.Data)
		if err != nil {
			s.t.Fatal(err)
		}
		if done := p.(events.ToolCompleted); done.ToolCallID == callID(i) {
			return &done
		}
	}
	return nil
}

// sound checks what must hold of the session whatever has happened to it.
func (s *scene) sound() {
	s.t.Helper()
	if err := events.CheckPrefix(s.log()); err != nil {
		s.t.Fatal(err)
	}
	for _, e := range s.metered() {
		// Only what is settled is metered; that it is once, the key of the table sees to.
		settled := false
		for _, row := range rows[models.Effect](s, "state = ?", models.EffectSettled) {
			settled = settled || Call{Effect: row}.JournalID() == e.ID
		}
		if !settled {
			s.t.Fatalf("metered is a call that has not ended: %+v", e)
		}
	}
	active := 0
	for _, t := range rows[models.Turn](s, "") {
		if t.Status == models.TurnRunning || t.Status == models.TurnWaiting {
			active++
		}
		pending, waiting := 0, 0
		for _, e := range rows[models.Effect](s, "scope_id = ?", t.ID) {
			if e.State != models.EffectSettled {
				pending++
			}
			if e.State == models.EffectWaiting {
				waiting++
			}
		}
		if pending != t.PendingCalls || waiting != t.WaitingCalls {
			s.t.Fatalf("%d calls are pending and %d wait, the turn says %d and %d", pending, waiting, t.PendingCalls, t.WaitingCalls)
		}
		// A turn that waits has nothing else to do, and nobody holds it or looks for it.
		if t.Status == models.TurnWaiting && (pending == 0 || pending != waiting || t.RunnerID != nil || t.ReadyAt != nil) {
			s.t.Fatalf("the turn that waits is %+v", t)
		}
		if t.Status == models.TurnRunning && t.RunnerID == nil && t.ReadyAt == nil {
			s.t.Fatalf("nobody would ever go on with %+v", t)
		}
		parked := slices.DeleteFunc(rows[models.Wait](s, "turn_id = ? AND state = ?", t.ID, models.WaitOpen), func(w models.Wait) bool {
			return !ReadRequest(w).Parked
		})
		if len(parked) != waiting {
			s.t.Fatalf("%d calls wait for %d open waits", waiting, len(parked))
		}
		if t.FinishedAt != nil && (pending != 0 || t.RunnerID != nil || t.ReadyAt != nil || t.StopReason == nil) {
			s.t.Fatalf("the turn that has ended is %+v", t)
		}
	}
	if active > 1 {
		s.t.Fatalf("%d turns of the session are active", active)
	}
}

func (s *scene) read() models.Session {
	s.t.Helper()
	var row models.Session
	if err := store.Of(s.db.ReadAcross(context.Background()), s.org).Where("id = ?", s.session).Take(&row).Error; err != nil {
		s.t.Fatal(err)
	}
	return row
}
