package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

// The simulation runs several processes, with the engine's own code in them, and their clients, on a database of SQLite. Who goes on
// next, what fails, who dies and who stands still is drawn from a seed: the same seed gives the same history. Nothing waits for
// the machine's clock.
//
// Read in this order: sim_actors_test.go (coroutines), sim_store_test.go and sim_node_test.go (a process and what it reaches),
// this file (the schedule), sim_check_test.go (what must hold of every history), sim_test.go (the tests).
type simulation struct {
	actors

	random  *rand.Rand
	store   *simStore
	clock   *clock.Manual
	hub     *events.Hub
	logger  *slog.Logger
	toolbox *toolbox
	nodes   []*simNode
	born    int

	org       models.OrgID
	principal *auth.Principal
	sessions  []models.SessionID
	messages  []*simMessage
	// clients is how many are at work.
	clients int

	// trouble is how likely each kind of it is, at each occasion.
	trouble struct{ held, commits, lost, queue, gone float64 }
	// healing is true when nothing goes wrong any more, and everybody comes to rest.
	healing bool

	// alone is true when there is one process at a time, on a file that it has locked: whoever starts proves all others dead.
	alone bool
	// planted are bugs that the checks must find.
	planted planted
	checks  checks
	ran     map[string]int
	told    told
	// spoil changes what the checks are shown, once, for the test of them, when it finds what it is looking for; then spoilt is set.
	spoil    func(w *simulation, r *record) bool
	spoilt   bool
	problems []string
	// saw counts what happened.
	saw  map[string]int
	hash io.Writer
	sum  func() uint64
	// log hears of everything that happens, for those who look into a seed; nil for nobody.
	log func(line string)
}

// planted are bugs, for the test of the checks. They are in the simulation's own parts, where the engine relies on them.
type planted struct {
	// keptEpochs: who takes a turn over doesn't raise its epoch.
	keptEpochs bool
	// heldClaims: turns are claimed that another runner holds.
	heldClaims bool
	// earlyAnswers: a command is answered before it is committed.
	earlyAnswers bool
	// lostNews: the first event of several is not published.
	lostNews bool
	// repeatableTools: all tools may be repeated, whatever they do.
	repeatableTools bool
	// forgottenStarts: the journal doesn't tell that calls have begun.
	forgottenStarts bool
}

// simMessage is a message that a client has sent.
type simMessage struct {
	in   sessions.NewMessage
	text string
	// acked is true when the client was told, and what.
	acked bool
	sent  turns.Sent
}

// newSimulation makes the simulation of a seed. The store is its own from then on, until the next one.
func newSimulation(seed uint64, s *simStore, box *toolbox, log func(string)) *simulation {
	h := fnv.New64a()
	w := &simulation{
		actors: actors{back: make(chan struct{})}, random: rand.New(rand.NewPCG(seed, 1)), store: s, org: simOrg,
		clock: clock.NewManual(time.UnixMilli(1_800_000_000_000)), logger: slog.New(slog.DiscardHandler), toolbox: box,
		ran: map[string]int{}, told: newTold(), saw: map[string]int{}, hash: h, sum: h.Sum64, log: log, checks: newChecks(),
	}
	if log != nil {
		w.logger = slog.New(slog.NewTextHandler(lines(log), nil))
	}
	w.broke = func(who string, v any) { w.failf("%s panicked: %v", who, v) }
	if err := w.exec(s.empty); err != nil {
		w.failf("empty the database: %v", err)
	}
	w.hub = events.NewHub(events.Config{Bus: simBus{w}, Clock: w.clock})
	w.principal = &auth.Principal{OrgID: w.org, UserID: models.UserID{15: 5}}
	return w
}

// lose draws whether a commit fails, and its reply is lost.
func (w *simulation) lose() error {
	if w.chance(w.trouble.lost) {
		w.notef("a commit is lost")
		return errSim
	}
	return nil
}

// chance draws whether something happens.
func (w *simulation) chance(p float64) bool { return p > 0 && w.random.Float64() < p }

// notef tells the trace what happens. Nothing in it may depend on anything but the seed: no random ids.
func (w *simulation) notef(format string, args ...any) {
	fmt.Fprintf(w.hash, format+"\n", args...)
	if w.log != nil {
		w.log(fmt.Sprintf(format, args...))
	}
}

func (w *simulation) failf(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
	if w.log != nil {
		w.log("PROBLEM: " + fmt.Sprintf(format, args...))
	}
}

// run plays a whole history and tells what was wrong with it.
func (w *simulation) run() []string {
	defer w.killAll(nil)
	for range 1 + w.random.IntN(3) {
		if !w.alone || len(w.nodes) == 0 {
			w.newNode()
		}
	}
	for range 1 + w.random.IntN(3) {
		w.openSession()
	}
	w.brew()
	for range 1 + w.random.IntN(3) {
		w.clients++
		w.spawn(fmt.Sprintf("client %d", w.clients), nil, func() {
			w.client()
			w.clients--
		})
	}
	for range 150 + w.random.IntN(350) {
		w.step()
		if len(w.problems) > 0 {
			return w.problems
		}
	}
	w.heal()
	if len(w.problems) == 0 {
		w.checkEnd()
	}
	return w.problems
}

// brew decides what goes wrong in this history: in some nothing of a kind does.
func (w *simulation) brew() {
	for _, p := range []*float64{&w.trouble.held, &w.trouble.commits, &w.trouble.lost, &w.trouble.queue, &w.trouble.gone} {
		if w.random.IntN(2) == 0 {
			*p = w.random.Float64() * 0.15
		}
	}
	w.trouble.gone /= 5
}

// openSession makes a session, in good order.
func (w *simulation) openSession() {
	s := models.SessionID{0: 7, 15: byte(len(w.sessions) + 1)}
	w.sessions = append(w.sessions, s)
	n := w.nodes[0]
	opened := n.commits.Enqueue(&simCommand{commit.Needs{Org: w.org, Session: s, Create: true, Bytes: 100}, func(tx *commit.Tx) error {
		tx.CreateSession(models.Session{
			OrgID: w.org, ID: s, HarnessID: simHarness, Tags: []string{}, CreatedByKind: models.ActorUser, CreatedAt: tx.Now,
			Status: models.SessionStarted,
		})
		tx.Emit(nil, events.SessionStarted{HarnessID: simHarness})
		return nil
	}})
	if err := n.commits.Step(); err != nil {
		w.failf("create a session: %v", err)
	}
	if err, ok := opened.Answer(); err != nil || !ok {
		w.failf("create a session: %v, answered %v", err, ok)
	}
}

// simCommand is a command made of a function.
type simCommand struct {
	needs commit.Needs
	apply func(tx *commit.Tx) error
}

func (c *simCommand) Needs() commit.Needs       { return c.needs }
func (c *simCommand) Apply(tx *commit.Tx) error { return c.apply(tx) }

// step lets one thing happen.
func (w *simulation) step() {
	switch r := w.random.IntN(100); {
	case r < 4:
		w.mishap()
	case r < 9:
		w.clock.Advance(time.Duration(1+w.random.IntN(2000)) * time.Millisecond)
	case r < 40 && w.flush():
	default:
		list := w.runnable()
		if len(list) == 0 {
			return
		}
		c := list[w.random.IntN(len(list))]
		w.notef("%s goes on", c.name)
		w.actors.run(c)
		w.sweep()
	}
	w.checks.now(w)
}

// flush lets a committer make a transaction. It reports whether one had something to do.
func (w *simulation) flush() bool {
	var list []*simNode
	for _, n := range w.nodes {
		if !n.dead && !n.frozen && n.commits.Waiting() > 0 {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return false
	}
	w.flushOf(list[w.random.IntN(len(list))])
	return true
}

func (w *simulation) flushOf(n *simNode) {
	before := w.checks.before(w, n)
	waiting := n.commits.Waiting()
	err := n.commits.Step()
	w.notef("%s: %d commands, %d are left, failed: %v", n.name("commit"), waiting, n.commits.Waiting(), err != nil)
	w.checks.after(w, n, before)
}

// mishap is what happens to processes.
func (w *simulation) mishap() {
	alive := w.alive()
	if len(alive) == 0 || !w.alone && w.random.IntN(6) == 0 && len(alive) < 4 {
		n := w.newNode()
		w.notef("%s", n.name("starts"))
		return
	}
	n := alive[w.random.IntN(len(alive))]
	switch w.random.IntN(6) {
	case 0:
		w.notef("%s", n.name("dies"))
		n.die()
	case 1:
		if !n.leaving && !n.frozen {
			w.notef("%s", n.name("goes down"))
			n.leave()
		}
	case 2, 3:
		w.notef("%s", n.name("freezes"))
		n.frozen = true
	default:
		for _, n := range alive {
			if n.frozen {
				w.notef("%s", n.name("thaws"))
				n.frozen = false
				break
			}
		}
	}
}

func (w *simulation) alive() []*simNode {
	var list []*simNode
	for _, n := range w.nodes {
		if !n.dead {
			list = append(list, n)
		}
	}
	return list
}

// healSteps is far more than any history needs to come to rest.
const healSteps = 20_000

// heal ends all trouble and lets everybody come to rest: each in turn, so that nobody waits for ever.
func (w *simulation) heal() {
	w.notef("all is well from now on")
	w.healing, w.trouble = true, struct{ held, commits, lost, queue, gone float64 }{}
	for _, n := range w.nodes {
		n.frozen = false
	}
	w.spawn("helper", nil, w.helper).loop = true
	for step := 0; step < healSteps; {
		if len(w.problems) > 0 || w.atRest() {
			return
		}
		if up := w.alive(); len(up) == 0 || !w.alone && len(up) == 1 && up[0].leaving {
			w.newNode()
		}
		for _, n := range w.alive() {
			if n.commits.Waiting() > 0 {
				w.flushOf(n)
				step++
			}
		}
		for _, c := range w.runnable() {
			if !c.gone {
				w.actors.run(c)
				step++
			}
		}
		w.sweep()
		w.clock.Advance(500 * time.Millisecond)
		step++
		w.checks.now(w)
	}
	w.failf("the sessions never come to rest:%s", w.state())
}

func (w *simulation) atRest() bool {
	if w.clients > 0 {
		return false
	}
	for _, n := range w.alive() {
		if n.leaving || n.commits.Waiting() > 0 {
			return false
		}
	}
	for _, c := range w.list {
		if !c.loop {
			return false
		}
	}
	var busy bool
	if err := w.store.QueryRow(context.Background(), w.org, "SELECT EXISTS (SELECT 1 FROM sessions WHERE org_id = ? AND current_turn_id IS NOT NULL)", w.org[:]).Scan(&busy); err != nil {
		w.failf("look for turns: %v", err)
	}
	return !busy
}

// state returns where everything stands.
func (w *simulation) state() string {
	out := fmt.Sprintf(" %d clients", w.clients)
	for _, t := range w.turns("finished_at IS NULL") {
		out += fmt.Sprintf("\nturn %s of %s: %s %s ready=%v runner=%v epoch=%d takeovers=%d pending=%d waiting=%d cancel=%v",
			t.ID, t.SessionID, t.Status, t.Phase, t.ReadyAt != nil, t.RunnerID, t.LeaseEpoch, t.Takeovers, t.PendingCalls, t.WaitingCalls, t.Cancel != nil)
	}
	for _, n := range w.alive() {
		out += fmt.Sprintf("\nnode %d: runner %s, leaving %v, %d commands, %d of %d slots free", n.number, n.engine.runnerID(), n.leaving,
			n.commits.Waiting(), len(n.engine.slots), cap(n.engine.slots))
	}
	for _, c := range w.list {
		out += "\n" + c.name
	}
	return out
}

// EffectiveForSession implements Catalog. Now and then something that a turn needs is gone.
func (w *simulation) EffectiveForSession(_ context.Context, _ models.OrgID, run catalog.Run) (*catalog.Effective, error) {
	if w.chance(w.trouble.gone) {
		w.notef("the harness is gone")
		return nil, &catalog.DependencyError{Dependency: "harness", ID: run.HarnessID.String(), State: models.LifecycleArchived}
	}
	return &catalog.Effective{
		SystemPrompt: "You are simulated.", MaxIterations: 4, HarnessRevision: 1, Toolset: w.toolbox.set,
		Model: &catalog.RunModel{
			Model: simModel, Provider: simProvider,
		},
	}, nil
}

// Endpoint implements Catalog.
func (*simulation) Endpoint(context.Context, *models.Provider) (llm.Endpoint, error) {
	return llm.Endpoint{}, nil
}

// client sends messages, some under keys, some again, and changes what sessions run with.
func (w *simulation) client() {
	for range 1 + w.random.IntN(12) {
		w.wait(nil)
		switch r := w.random.IntN(16); {
		case r < 2:
			w.changeModel()
			continue
		case r < 8:
			w.act()
			continue
		}
		w.send(w.compose())
	}
}

// deliveries are how messages are sent.
var deliveries = []turns.Delivery{
	turns.Steer, turns.Steer, turns.Steer, turns.Queue, turns.Queue, turns.Queue, turns.Reject, turns.Interrupt,
}

// compose makes a message, or takes one that was sent before, under its key.
func (w *simulation) compose() *simMessage {
	if len(w.messages) > 0 && w.random.IntN(5) == 0 {
		if old := w.messages[w.random.IntN(len(w.messages))]; old.in.IdempotencyKey != nil {
			return old
		}
	}
	m := &simMessage{text: fmt.Sprintf("message %d", len(w.messages))}
	m.in = sessions.NewMessage{
		SessionID: w.sessions[w.random.IntN(len(w.sessions))], Delivery: deliveries[w.random.IntN(len(deliveries))],
		Content: []sessions.NewPart{sessions.Text(m.text)}, ModelID: simChoice[w.random.IntN(len(simChoice))].Ptr(),
	}
	if w.random.IntN(2) == 0 {
		key := fmt.Sprintf("key %d", len(w.messages))
		m.in.IdempotencyKey = &key
	}
	w.messages = append(w.messages, m)
	return m
}

// send sends a message by some process; when that dies, again by another if there is a key.
func (w *simulation) send(m *simMessage) {
	for {
		var n *simNode
		w.wait(func() bool { return len(w.alive()) > 0 })
		alive := w.alive()
		n = alive[w.random.IntN(len(alive))]
		c := sessions.NewSending(context.Background(), w.principal, m.in, []models.Part{{Type: models.PartText, Text: m.text}}, n.engine)
		// Another client may send the same meanwhile: this one may have been refused before that.
		accepted := m.acked
		err := n.Submit(context.Background(), c.Command())
		if c.Again(err) {
			err = n.Submit(context.Background(), c.Command())
		}
		if !n.dead {
			c.Done(err)
		}
		w.notef("%s: sent, died %v, refused %v", m.text, errors.Is(err, errNodeDied), err != nil)
		switch {
		case err == nil && m.acked && m.sent == c.Sent():
			w.saw["answered again"]++
		case err == nil && m.acked:
			w.failf("%s was answered with %v and with %v under one key", m.text, m.sent, c.Sent())
		case err == nil:
			m.acked, m.sent = true, c.Sent()
		case fault.Is(err, fault.SessionBusy) && m.in.Delivery == turns.Reject && !accepted:
			w.saw["refused messages"]++
		case !errors.Is(err, errNodeDied):
			w.failf("%s was refused: %v", m.text, err)
		case m.in.IdempotencyKey != nil:
			continue
		}
		w.misuse(n, m)
		return
	}
}

// misuse tries a key with another input.
func (w *simulation) misuse(n *simNode, m *simMessage) {
	if m.in.IdempotencyKey == nil || !m.acked || w.random.IntN(4) > 0 {
		return
	}
	in := m.in
	in.Content = []sessions.NewPart{sessions.Text("something else")}
	c := sessions.NewSending(context.Background(), w.principal, in, []models.Part{{Type: models.PartText, Text: "something else"}}, nil)
	err := n.Submit(context.Background(), c.Command())
	if f := fault.As(err); !errors.Is(err, errNodeDied) && (f == nil || f.Code != fault.IdempotencyMismatch) {
		w.failf("another input under the key of %s: %v", m.text, err)
	}
}

// changeModel makes a session ask for another model from its next step on.
func (w *simulation) changeModel() {
	alive := w.alive()
	if len(alive) == 0 {
		return
	}
	s, model := w.sessions[w.random.IntN(len(w.sessions))], simChoice[w.random.IntN(len(simChoice))].Ptr()
	_ = alive[w.random.IntN(len(alive))].Submit(context.Background(), &simCommand{commit.Needs{Org: w.org, Session: s, Bytes: 100}, func(tx *commit.Tx) error {
		tx.Session.ModelID = model
		tx.SaveDetails()
		return nil
	}})
}

// fromLogger is what the lines of the engine's logger begin with.
const fromLogger = "log: "

// lines is a writer of whole lines.
type lines func(string)

func (l lines) Write(b []byte) (int, error) {
	l(fromLogger + string(bytes.TrimSpace(b)))
	return len(b), nil
}
