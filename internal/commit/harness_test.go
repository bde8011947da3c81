package commit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// cmd is a command made of a function.
type cmd struct {
	needs Needs
	apply func(tx *Tx) error
}

func (c *cmd) Needs() Needs            { return c.needs }
func (c *cmd) Apply(tx *Tx) error      { return c.apply(tx) }
func (c *cmd) ends() *cmd              { c.needs.Ends = true; return c }
func (c *cmd) under(l *Lease) *cmd     { c.needs.Lease = l; return c }
func (c *cmd) key(k string) *cmd       { c.needs.Idempotency = &IdempotencyKey{"test", k}; return c }
func (c *cmd) file(f ...FileNeed) *cmd { c.needs.Files = append(c.needs.Files, f...); return c }

var errRefused = errors.New("refused by the command")

// faults calls a function at each point.
type faults struct {
	mu sync.Mutex
	at func(point string) error
}

func (f *faults) set(at func(point string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

func (f *faults) At(point string) error {
	f.mu.Lock()
	at := f.at
	f.mu.Unlock()
	if at == nil {
		return nil
	}
	return at(point)
}

// once fails the first visit of a point.
func once(point string) func(string) error {
	var done atomic.Bool
	return func(at string) error {
		if at != point || done.Swap(true) {
			return nil
		}
		return errors.New("injected at " + point)
	}
}

// world is an organization in a database, with a committer.
type world struct {
	t       testing.TB
	db      *store.DB
	org     models.OrgID
	harness models.HarnessID
	clock   *clock.Manual
	faults  *faults
	c       *Committer

	mu        sync.Mutex
	published map[models.SessionID][]models.Event
	ready     int
}

func newWorld(t testing.TB, db *store.DB) *world {
	t.Helper()
	w := &world{db: db}
	if db.Writer != nil { // These tests are not about power failures.
		if _, err := db.Writer.ExecContext(context.Background(), "PRAGMA synchronous = OFF"); err != nil {
			t.Fatal(err)
		}
	}
	w.t, w.clock, w.faults = t, clock.NewManual(time.UnixMilli(1_000_000)), &faults{}
	w.published = map[models.SessionID][]models.Event{}
	w.org, w.harness = seedOrg(t, db)
	t.Cleanup(func() { w.feed(w.org) }) // whatever the test did
	w.c = w.committer(nil)
	return w
}

// committer makes another one on the same database, as another process would.
func (w *world) committer(change func(*Config)) *Committer {
	w.t.Helper()
	cfg := Config{DB: w.db, Clock: w.clock, Faults: w.faults}
	if change != nil {
		change(&cfg)
	}
	c := New(cfg)
	c.Observe(w.committed)
	w.t.Cleanup(c.Stop)
	return c
}

func (w *world) committed(c *Committed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range c.Sessions {
		w.published[s.Session] = append(w.published[s.Session], s.Events...)
	}
	if c.Ready {
		w.ready++
	}
}

func seedOrg(t testing.TB, db *store.DB) (models.OrgID, models.HarnessID) {
	t.Helper()
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", CreatedAt: 1}
	org.Slug = org.ID.String()
	h := models.Harness{
		OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", Capabilities: []models.CapabilityRef{},
		Lifecycle: models.LifecycleActive,
	}
	err := write(db, func(tx *gorm.DB) error {
		if err := tx.Create(&org).Error; err != nil {
			return err
		}
		return tx.Create(&h).Error
	})
	if err != nil {
		t.Fatalf("seed an organization: %v", err)
	}
	return org.ID, h.ID
}

func write(db *store.DB, fn func(tx *gorm.DB) error) error {
	return db.WriteAcross(context.Background(), fn)
}

func (w *world) command(s models.SessionID, apply func(tx *Tx) error) *cmd {
	return &cmd{Needs{Org: w.org, Session: s, Bytes: 100}, apply}
}

func (w *world) create(s models.SessionID) *cmd {
	c := w.command(s, func(tx *Tx) error {
		tx.CreateSession(models.Session{
			OrgID: w.org, ID: s, HarnessID: w.harness, Tags: []string{}, CreatedByKind: models.ActorUser, CreatedAt: tx.Now,
			Status: models.SessionStarted,
		})
		tx.Emit(nil, events.SessionStarted{HarnessID: w.harness})
		return nil
	})
	c.needs.Create = true
	return c
}

// message is what send sends, and what became of it.
type message struct {
	id     models.MessageID
	turn   models.TurnID
	queue  bool
	runner models.RunnerID
	text   string
	// author is who sends it, if anybody; old writes them as before there was a kind beside the id.
	author *models.Actor
	old    bool
	// got is the turn that carries the message.
	got models.TurnID
}

func newMessage() *message {
	return &message{id: models.NewID[models.MessageEntity](), turn: models.NewID[models.TurnEntity](), text: "hello"}
}

// send is like the command of the same name in internal/sessions.
func (w *world) send(s models.SessionID, m *message) *cmd {
	return w.command(s, func(tx *Tx) error { return m.accept(tx) })
}

func (m *message) accept(tx *Tx) error {
	if tx.Session == nil {
		return errRefused
	}
	steer := !m.queue && tx.Turn != nil
	m.got = m.turn
	if steer {
		m.got = tx.Turn.ID
	}
	row := models.Message{
		ID: m.id, TurnID: m.got, Role: models.MessageUser, Content: []models.Part{{Type: models.PartText, Text: m.text}}, CreatedAt: tx.Now,
	}
	if m.author != nil {
		row.AuthorID = m.author.ID.Ptr()
		if !m.old {
			row.AuthorKind = &m.author.Kind
		}
	}
	row.Sequence = tx.Emit(&m.got, events.MessageReceived{Message: events.Message{ID: m.id, Content: row.Content}})
	tx.AddMessage(row)
	if steer {
		tx.Steer(m.id, m.author)
		return nil
	}
	if tx.AddTurn(models.Turn{ID: m.turn, InputMessageID: m.id}) && !m.runner.IsZero() {
		tx.ClaimTurn(m.runner)
	}
	return nil
}

// step shows the model what waits in the inbox.
func (w *world) step(s models.SessionID, l *Lease) *cmd {
	return w.command(s, func(tx *Tx) error {
		tx.ConsumeInbox()
		tx.Emit(&tx.Turn.ID, events.ReasonStarted{Iteration: 1})
		return nil
	}).under(l)
}

// end ends the turn, whatever is in its inbox.
func (w *world) end(s models.SessionID, l *Lease) *cmd {
	return w.command(s, func(tx *Tx) error {
		return tx.EndTurn(models.TurnFailed, models.StopError, events.TurnFailed{StopReason: models.StopError})
	}).under(l).ends()
}

// onlyEnd ends a turn whose messages were all consumed in the same command.
func (w *world) onlyEnd(s models.SessionID, l *Lease) *cmd {
	c := w.end(s, l)
	end := c.apply
	c.apply = func(tx *Tx) error {
		tx.ConsumeInbox()
		return end(tx)
	}
	return c
}

// cancel ends the current turn in the name of a user.
func (w *world) cancel(s models.SessionID) *cmd {
	return w.command(s, func(tx *Tx) error {
		if tx.Session == nil || tx.Turn == nil {
			return errRefused
		}
		return tx.EndTurn(models.TurnSealed, models.StopNoProgress, events.TurnSealed{StopReason: models.StopNoProgress})
	}).ends()
}

// do submits a command that must be committed.
func (w *world) do(c Command) {
	w.t.Helper()
	if err := w.c.Submit(context.Background(), c); err != nil {
		w.t.Fatalf("%T: %v", c, err)
	}
}

// session makes a session.
func (w *world) session() models.SessionID {
	w.t.Helper()
	s := models.NewID[models.SessionEntity]()
	w.do(w.create(s))
	return s
}

// working makes a session whose turn is claimed, and returns the turn's lease.
func (w *world) working() (models.SessionID, *Lease) {
	w.t.Helper()
	s := w.session()
	m := newMessage()
	m.runner = models.NewID[models.RunnerEntity]()
	w.do(w.send(s, m))
	return s, &Lease{models.ExecutionOf(m.turn), 1}
}

// batch submits commands in an order, so that those of one flusher are one batch unless it has to be divided. It returns their
// answers.
func batch(c *Committer, cmds ...Command) []error {
	list := make([]*pending, len(cmds))
	for _, f := range c.flushers {
		f.mu.Lock()
	}
	for i, cmd := range cmds {
		list[i] = &pending{cmd: cmd, needs: cmd.Needs(), reply: make(chan error, 1)}
		f := c.flushers[c.assignment.enter(list[i].needs.Org)]
		f.queue = append(f.queue, list[i])
	}
	for _, f := range c.flushers {
		f.signal()
		f.mu.Unlock()
	}
	errs := make([]error, len(cmds))
	for i, p := range list {
		errs[i] = <-p.reply
		c.assignment.leave(p.needs.Org)
	}
	return errs
}

func (w *world) readSession(s models.SessionID) models.Session {
	w.t.Helper()
	var row models.Session
	if err := store.Of(w.db.ReadAcross(context.Background()), w.org).Where("id = ?", s).First(&row).Error; err != nil {
		w.t.Fatalf("read session %s: %v", s, err)
	}
	return row
}

func (w *world) readTurn(id models.TurnID) models.Turn {
	w.t.Helper()
	var row models.Turn
	if err := store.Of(w.db.ReadAcross(context.Background()), w.org).Where("id = ?", id).First(&row).Error; err != nil {
		w.t.Fatalf("read turn %s: %v", id, err)
	}
	return row
}

// rows reads all rows of a session, in an order.
func rows[T any](w *world, s models.SessionID, order string) []T {
	w.t.Helper()
	var list []T
	if err := store.Of(w.db.ReadAcross(context.Background()), w.org).Where("session_id = ?", s).Order(order).Find(&list).Error; err != nil {
		w.t.Fatalf("read %T: %v", list, err)
	}
	return list
}

// kinds returns the kinds of a session's events, and fails unless their sequences are 1, 2, 3 and so on.
func (w *world) kinds(s models.SessionID) []models.EventKind {
	w.t.Helper()
	var list []models.EventKind
	for i, e := range rows[models.Event](w, s, "sequence") {
		if e.Sequence != int64(i+1) {
			w.t.Fatalf("event %d of session %s has sequence %d", i+1, s, e.Sequence)
		}
		list = append(list, e.Kind)
	}
	if n := w.readSession(s).LastSequence; n != int64(len(list)) {
		w.t.Fatalf("session %s says that it has %d events, it has %d", s, n, len(list))
	}
	return list
}

func must(t testing.TB, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("command %d: %v", i, err)
		}
	}
}

// exec runs a statement, written with question marks, as another process would.
func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	err := write(w.db, func(tx *gorm.DB) error { return tx.Exec(statement, args...).Error })
	if err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

// taken is what the takeover does to a turn of a dead runner.
func (w *world) taken(id models.TurnID) {
	w.t.Helper()
	w.exec("UPDATE turns SET ready_at = 1, runner_id = NULL, lease_epoch = lease_epoch + 1 WHERE id = ?", id[:])
}
