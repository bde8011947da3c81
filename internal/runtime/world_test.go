package runtime

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"net/http"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/approvals"
	"github.com/ostler-dev/ostler/internal/tools/ask"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/callbacks"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/expr"
	"github.com/ostler-dev/ostler/internal/tools/files"
	"github.com/ostler-dev/ostler/internal/tools/userhooks"
	"github.com/ostler-dev/ostler/internal/turns"
)

// patience bounds how long a test waits for something that must happen. No test depends on how long it really takes.
const patience = time.Minute

// world is a database with one organization, and nodes that work on it as processes would.
type world struct {
	t       *testing.T
	db      *store.DB
	clock   *clock.Manual
	catalog *catalog.Service
	log     *events.Log
	queue   *queue.Queue
	bus     events.Bus
	probe   *probe
	tools   *tools.Registry
	hooks   *hooks.Runner
	org     models.OrgID
	by      *auth.Principal
	harness models.HarnessID
	script  models.ModelID
	echo    models.ModelID
	// unposted is true when budgets were made with something spent that was never posted.
	unposted bool
	// quiet nodes log nothing, not even with -v.
	quiet bool

	news *news
}

// news tells that something was committed.
type news struct {
	mu sync.Mutex
	ch chan struct{}
}

func newNews() *news { return &news{ch: make(chan struct{})} }

func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ch
}

func (n *news) spread() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.ch)
	n.ch = make(chan struct{})
}

// within returns the same world for a subtest.
func (w *world) within(t *testing.T) *world {
	t.Helper()
	at := *w
	at.t, at.news = t, newNews()
	return &at
}

// newWorld makes a world on a fresh database.
func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, db: db, clock: clock.NewManual(time.UnixMilli(1_800_000_000_000)), log: events.NewLog(db), queue: queue.New(db, queue.Turns()),
		bus: events.NewLocalBus(), probe: newProbe(), org: models.NewID[models.OrgEntity](), news: newNews(),
	}
	t.Cleanup(func() { _ = w.bus.Close() })
	compiler, err := expr.New()
	if err != nil {
		t.Fatal(err)
	}
	w.hooks = hooks.NewRunner(hooks.Config{Client: http.DefaultClient, Secrets: noSecrets{}, Expressions: compiler, Clock: w.clock})
	anywhere := egress.New(egress.Config{AllowLoopback: true})
	w.tools, err = tools.NewRegistry(core.Capability(), files.Capability(), budget.Capability(), w.probe.capability(), approvals.Capability(compiler),
		userhooks.Capability(compiler, anywhere), ask.Capability(), callbacks.Capability(), w.probe.policy())
	if err != nil {
		t.Fatal(err)
	}
	if w.catalog, err = catalog.New(catalog.Config{DB: db, Registry: w.tools, Keeper: keeper, Clock: w.clock}); err != nil {
		t.Fatal(err)
	}
	w.settle("test")
	return w
}

// another returns the same world for another organization.
func (w *world) another() *world {
	at := *w
	at.org = models.NewID[models.OrgEntity]()
	at.settle(at.org.String())
	return &at
}

// settle makes the organization.
func (w *world) settle(slug string) {
	w.t.Helper()
	w.by = &auth.Principal{OrgID: w.org, Role: models.RoleOwner, Permissions: auth.RolePermissions(models.RoleOwner, false)}
	var parent models.HarnessID
	err := w.db.WriteAcross(w.t.Context(), func(tx *gorm.DB) error {
		row := models.Org{ID: w.org, Name: slug, Slug: slug, CreatedAt: 1}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		var model models.ModelID
		var err error
		parent, model, err = w.catalog.SeedOrg(w.t.Context(), tx, w.org, 1)
		if err != nil {
			return err
		}
		return tx.Model(&models.Org{}).Where("id = ?", w.org).Updates(models.Org{DefaultHarnessID: &parent, DefaultModelID: &model}).Error
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var list []models.Model
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	for _, m := range list {
		switch m.Name {
		case "sim-script":
			w.script = m.ID
		case "sim-echo":
			w.echo = m.ID
		}
	}
	w.harness = w.newHarness("probing", parent, nil)
}

// notInNames is what a harness is not named by.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// newHarness makes a harness with the probes, on sim-script.
func (w *world) newHarness(name string, parent models.HarnessID, iterations *int) models.HarnessID {
	w.t.Helper()
	h, err := w.catalog.CreateHarness(w.t.Context(), w.by, catalog.NewHarness{
		Name: notInNames.ReplaceAllString(name, "-"), DisplayName: &name, ParentID: &parent, DefaultModelID: &w.script, MaxIterations: iterations,
		Capabilities: []models.CapabilityRef{{ID: "probe"}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return h.ID
}

// eachWorld runs a test on both databases.
func eachWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

// until waits for a condition, which it looks at whenever something was committed.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		news := w.news.next()
		if holds() {
			return
		}
		select {
		case <-news:
		case <-deadline.C:
			w.t.Fatalf("waited in vain: %s\n%s", what, w.state())
		}
	}
}

// state returns where everything stands, for those who waited in vain.
func (w *world) state() string {
	var b strings.Builder
	err := w.db.QueryAcross(context.Background(), func(r store.Row) error {
		var id models.TurnID
		var status, phase string
		var ready *int64
		var runner *models.RunnerID
		var epoch, pending int64
		err := r.Scan(&id, &status, &phase, &ready, &runner, &epoch, &pending)
		fmt.Fprintf(&b, "%s %s %s ready=%v runner=%v epoch=%d pending=%d\n", id, status, phase, ready != nil, runner, epoch, pending)
		return err
	}, "SELECT id, status, phase, ready_at, runner_id, lease_epoch, pending_calls FROM turns WHERE status IN ('QUEUED', 'RUNNING')")
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return fmt.Sprintf("%s%v\n%s", b.String(), err, stacks)
}

func (w *world) newSession(n *node) models.SessionID { return w.newSessionOn(n, w.harness) }

func (w *world) newSessionOn(n *node, h models.HarnessID) models.SessionID {
	w.t.Helper()
	s, err := n.sessions.Create(w.t.Context(), w.by, sessions.NewSession{HarnessID: &h})
	if err != nil {
		w.t.Fatal(err)
	}
	return s.ID
}

// send sends a message that steers, and returns the turn that carries it.
func (n *node) send(session models.SessionID, text string) models.TurnID {
	n.w.t.Helper()
	return n.deliver(sessions.NewMessage{SessionID: session, Content: []sessions.NewPart{sessions.Text(text)}, Delivery: turns.Steer})
}

func (n *node) deliver(m sessions.NewMessage) models.TurnID {
	n.w.t.Helper()
	_, turn, err := n.sessions.Send(n.w.t.Context(), n.w.by, m)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return turn.ID
}

// idle waits until the session is at rest, checks its log, and returns it.
func (w *world) idle(session models.SessionID) []models.Event {
	w.t.Helper()
	// Hooks of a turn's end tell of themselves after it.
	var s *models.Session
	var list []models.Event
	w.until("the session comes to rest, and its log stands still", func() bool {
		s, list = w.session(session), w.events(session)
		return s.CurrentTurnID == nil && s.LastSequence == w.session(session).LastSequence
	})
	if err := events.CheckLog(list); err != nil {
		w.t.Fatalf("the log is wrong: %v\n%s", err, kinds(list))
	}
	w.sound(s, list)
	return list
}

// counted checks that what is counted with the feed of the organization is what there is, at one moment.
func (w *world) counted() {
	w.t.Helper()
	var sessions, turns, haveSessions, haveTurns int64
	err := w.db.QueryAcross(context.Background(), func(r store.Row) error {
		return r.Scan(&sessions, &turns, &haveSessions, &haveTurns)
	}, `SELECT sessions, queued_turns, (SELECT count(*) FROM sessions s WHERE s.org_id = f.org_id),
(SELECT count(*) FROM turns t WHERE t.org_id = f.org_id AND t.started_at IS NULL AND t.finished_at IS NULL) FROM org_feeds f WHERE f.org_id = ?`, w.org[:])
	if err != nil || sessions != haveSessions || turns != haveTurns {
		w.t.Errorf("counted are %d sessions and %d turns that wait, there are %d and %d: %v", sessions, turns, haveSessions, haveTurns, err)
	}
}

// sound checks what must hold of a session at rest beside its log.
func (w *world) sound(s *models.Session, list []models.Event) {
	w.t.Helper()
	session := s.ID
	if s.LastSequence != int64(len(list)) || s.QueuedTurns != 0 {
		w.t.Errorf("the session is at %d with %d queued turns, its log has %d events", s.LastSequence, s.QueuedTurns, len(list))
	}
	if s.Status == models.SessionActive {
		w.t.Error("a session at rest is ACTIVE")
	}
	w.counted()
	var usage models.Usage
	for _, t := range w.turns(session) {
		usage = usage.Add(t.Usage)
		if t.Status == models.TurnQueued || t.Status == models.TurnRunning || t.RunnerID != nil || t.ReadyAt != nil || t.PendingCalls != 0 {
			w.t.Errorf("turn %s is left %s with runner %v, ready at %v, %d pending calls", t.ID, t.Status, t.RunnerID, t.ReadyAt, t.PendingCalls)
		}
	}
	if usage != s.Usage {
		w.t.Errorf("the session's usage is %+v, that of its turns %+v", s.Usage, usage)
	}
	for _, m := range w.messages(session) {
		if m.Position == nil {
			w.t.Errorf("message %s is stranded in an inbox", m.ID)
		}
	}
	var open int64
	q := store.Of(w.db.ReadAcross(w.t.Context()), w.org)
	if err := q.Model(&models.Effect{}).Where("session_id = ? AND state <> ?", session, models.EffectSettled).Count(&open).Error; err != nil {
		w.t.Fatal(err)
	}
	var saved int64
	q = store.Of(w.db.ReadAcross(w.t.Context()), w.org)
	if err := q.Model(&models.Checkpoint{}).Where("session_id = ?", session).Count(&saved).Error; err != nil {
		w.t.Fatal(err)
	}
	if open != 0 || saved != 0 {
		w.t.Errorf("%d effects are open and %d checkpoints are left", open, saved)
	}
	var waits int64
	q = store.Of(w.db.ReadAcross(w.t.Context()), w.org)
	if err := q.Model(&models.Wait{}).Where("session_id = ? AND state = ?", session, models.WaitOpen).Count(&waits).Error; err != nil {
		w.t.Fatal(err)
	}
	if waits != 0 {
		w.t.Errorf("%d waits are open, and nobody waits", waits)
	}
	w.paired(session)
	w.booked(s)
}

// paired checks that every call that the model will be shown has exactly one result, and every result its call.
func (w *world) paired(session models.SessionID) {
	w.t.Helper()
	calls := map[string]int{}
	for _, m := range w.messages(session) {
		for _, p := range m.Content {
			switch p.Type {
			case models.PartToolCall:
				calls[p.ToolCallID]++
			case models.PartToolResult:
				calls[p.ToolCallID] += 100
			case models.PartText, models.PartThinking:
			}
		}
	}
	for id, n := range calls {
		if n != 101 {
			w.t.Errorf("call %s is there %d times with %d results", id, n%100, n/100)
		}
	}
}

// harnessOf returns the harness with the probes that says so of lost answers.
func (w *world) harnessOf(policy models.StreamRecovery) models.HarnessID {
	w.t.Helper()
	if policy != models.RecoveryFinalize {
		return w.harness
	}
	id := w.newHarness("finalizing "+models.NewID[models.HarnessEntity]().String(), w.harness, nil)
	_, err := storetest.Exec(w.t.Context(), w.db, "UPDATE harnesses SET stream_recovery = ? WHERE org_id = ? AND id = ?", string(policy), w.org[:], id[:])
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}
