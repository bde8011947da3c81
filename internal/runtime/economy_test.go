package runtime

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/turns"
)

var updateEconomy = flag.Bool("update-economy", false, "write testdata/economy.txt anew")

const economyFile = "testdata/economy.txt"

const economyHead = `# What turns cost: one with text (sendMessage, model, end), one with a call of a tool (sendMessage, model, tool, model,
# end), and 32 of those at once, whose commands are committed together; with nothing attached, and with four budgets,
# hooks before and after, and rules for approvals. All numbers are totals.
#
# TestEconomy compares. What it counts in the database must be the same; bytes may differ by 2 %, allocations by 5 %, either way.
# A higher number needs a reason in the commit that raises it. To write this file anew:
#
#   scripts/with-postgres go test ./internal/runtime -run 'TestEconomy$' -count=1 -update-economy
#
# statements    without BEGIN, COMMIT and the settings of tenancy
# trips         how often the program waits for PostgreSQL
# transactions  that were committed
# rows          inserted, updated and deleted; of a statement in several parts PostgreSQL reports the last one's
# bytes         of the arguments of statements that write
# allocations   in the test's process, without the race detector
#
`

// cost is what turns cost.
type cost struct {
	name                                  string
	statements, trips, transactions, rows int64
	bytes, allocations, kibibytes         int64
}

func (c cost) String() string {
	return fmt.Sprintf("%-28s %10d %6d %12d %6d %8d %11d %9d", c.name, c.statements, c.trips, c.transactions, c.rows, c.bytes, c.allocations, c.kibibytes)
}

// economyColumns is the line above the numbers.
var economyColumns = fmt.Sprintf("%-28s %10s %6s %12s %6s %8s %11s %9s", "# turns", "statements", "trips", "transactions", "rows", "bytes", "allocations", "KiB")

// differs tells in what two costs differ by more than what is allowed.
func (c cost) differs(want cost) (all []string) {
	for _, n := range []struct {
		name      string
		got, want int64
		permille  int64
	}{
		{"statements", c.statements, want.statements, 0}, {"round trips", c.trips, want.trips, 0},
		{"transactions", c.transactions, want.transactions, 0}, {"rows", c.rows, want.rows, 0}, {"bytes", c.bytes, want.bytes, 20},
		{"allocations", c.allocations, want.allocations, 50}, {"KiB", c.kibibytes, want.kibibytes, 50},
	} {
		if raced && (n.name == "allocations" || n.name == "KiB") {
			continue // the detector allocates, too
		}
		if diff := max(n.got-n.want, n.want-n.got); 1000*diff > n.permille*n.want {
			all = append(all, fmt.Sprintf("%d %s, want %d", n.got, n.name, n.want))
		}
	}
	return all
}

// TestEconomy counts what turns cost, and compares it with the table in testdata/economy.txt. A number that has become lower fails, too,
// until it is in the table, so that nothing can raise it again unseen.
//
// Rules: Q5.
func TestEconomy(t *testing.T) {
	want := readEconomy(t)
	var got []cost
	storetest.EachCounted(t, func(t *testing.T, db *store.DB, counter *storetest.Count) {
		w := newWorld(t, db)
		w.quiet = true
		for _, turns := range []struct {
			attached, kind string
			number         int
		}{
			{"nothing", "text", 1},
			{"nothing", "tool", 1},
			{"nothing", "tool", 32},
			{"everything", "text", 1},
			{"everything", "tool", 1},
			{"everything", "tool", 32},
		} {
			name := fmt.Sprintf("%s %s %s %d", db.Dialect, turns.attached, turns.kind, turns.number)
			if raced && turns.number > 1 {
				delete(want, name) // scripts/go-test runs this test without the detector, too
				continue
			}
			c := newEconomy(w.another(), counter, turns.attached == "everything", turns.kind == "tool", turns.number).measure(name)
			t.Log(c)
			got = append(got, c)
			if *updateEconomy {
				continue
			}
			for _, d := range c.differs(want[name]) {
				t.Errorf("%s: %s: see the head of %s", name, d, economyFile)
			}
			delete(want, name)
		}
		for name := range want {
			if strings.HasPrefix(name, string(db.Dialect)) {
				t.Errorf("%s is in %s and was not measured", name, economyFile)
			}
		}
	})
	if *updateEconomy {
		writeEconomy(t, got)
	}
}

func readEconomy(t *testing.T) map[string]cost {
	t.Helper()
	if *updateEconomy {
		return nil
	}
	text, err := os.ReadFile(economyFile)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]cost{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var c cost
		var db, attached, kind, turns string
		if _, err := fmt.Sscan(line, &db, &attached, &kind, &turns, &c.statements, &c.trips, &c.transactions, &c.rows, &c.bytes, &c.allocations, &c.kibibytes); err != nil {
			t.Fatalf("%s: %q: %v", economyFile, line, err)
		}
		c.name = strings.Join([]string{db, attached, kind, turns}, " ")
		all[c.name] = c
	}
	return all
}

func writeEconomy(t *testing.T, all []cost) {
	t.Helper()
	if raced || t.Failed() {
		t.Fatal("the table is not written from a run with the race detector, nor from one that failed")
	}
	text := economyHead + economyColumns + "\n"
	for _, c := range all {
		text += c.String() + "\n"
	}
	if err := os.WriteFile(economyFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// economy has a number of turns commit together: none of them goes into a batch before all of them are ready to. It is the engine's Committer.
type economy struct {
	*world

	counter *storetest.Count
	node    *node
	harness models.HarnessID
	turns   int
	// arrived hears of each turn that has something to commit, and which goes on when what it sent is closed.
	arrived chan chan struct{}
	// asked counts the calls of the model.
	asked atomic.Int64
	// plugged is what is to hold the committer.
	plugged atomic.Pointer[plug]
	stacks  []byte
}

// plug holds the committer behind the commit of one command.
type plug struct{ held, open chan struct{} }

func newEconomy(w *world, counter *storetest.Count, everything, tool bool, turns int) *economy {
	w.t.Helper()
	e := &economy{world: w, counter: counter, turns: turns, harness: w.harness, arrived: make(chan chan struct{}), stacks: make([]byte, 16<<20)}
	if everything {
		w.ampleBudgets()
		e.harness = w.harnessWith("everything", ref("user_hooks", `{"hooks":[
{"event":"user_prompt_submit","cel":{"expression":"true"}},
{"event":"pre_tool_use","cel":{"expression":"true"}},
{"event":"post_tool_use","cel":{"expression":"{'decision':'mutate','patch':{'additionalContext':'seen'}}"}}]}`),
			ref("approvals", `{"rules":[{"tools":["again"],"approve":"always"}]}`))
	}
	e.node = w.start(func(cfg *Config) { cfg.PollInterval, cfg.Slots, cfg.Committer = patience, 2*turns, e })
	e.node.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		if e.asked.Add(1) <= int64(e.turns) && tool {
			return answer(llm.FinishToolCalls, callPart("", "once", `{"tag":"economy"}`)), nil
		}
		return echoing(ctx, req, emit)
	})
	e.node.faults.on(func(point string) error {
		if p := e.plugged.Load(); p != nil && point == "committed" && e.plugged.CompareAndSwap(p, nil) {
			close(p.held)
			<-p.open
		}
		return nil
	})
	return e
}

// Submit implements Committer.
func (e *economy) Submit(ctx context.Context, c commit.Command) error {
	goOn := make(chan struct{})
	e.arrived <- goOn
	<-goOn
	return e.node.committer.Submit(ctx, c)
}

// together lets the turns submit what they have while the committer is held, so that it is in one batch.
func (e *economy) together(session models.SessionID, submit func()) {
	e.t.Helper()
	e.counter.On.Store(false)
	p := &plug{make(chan struct{}), make(chan struct{})}
	e.plugged.Store(p)
	var plugs sync.WaitGroup
	plugs.Go(func() {
		if err := e.node.committer.Submit(e.t.Context(), &plugCommand{e.org, session}); err != nil {
			e.t.Error(err)
		}
	})
	<-p.held
	e.counter.On.Store(true)
	submit()
	e.eventually("all turns wait for the committer", func() bool { return e.waiting() == e.turns+1 })
	close(p.open)
	plugs.Wait()
}

// ready waits until all turns have something to commit; none has when they have ended.
func (e *economy) ready() (list []chan struct{}) {
	ended := false
	e.eventually("all turns have something to commit, or have ended", func() bool {
		select {
		case goOn := <-e.arrived:
			list = append(list, goOn)
		default:
			// A slot that is not back yet would leave a turn of the next run to the queue, where nobody sees it.
			ended = len(e.node.engine.slots) == cap(e.node.engine.slots)
		}
		return ended || len(list) == e.turns
	})
	if ended {
		return nil
	}
	return list
}

// plugCommand commits something of a session that has nothing else to do.
type plugCommand struct {
	org     models.OrgID
	session models.SessionID
}

// Needs implements commit.Command.
func (c *plugCommand) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Bytes: 100}
}

// Apply implements commit.Command.
func (*plugCommand) Apply(tx *commit.Tx) error {
	tx.Emit(nil, events.FileWritten{Path: "/plug"})
	return nil
}

// waiting counts the goroutines that wait for the committer, and allocates nothing.
func (e *economy) waiting() (n int) {
	for one := range bytes.SplitSeq(e.stacks[:runtime.Stack(e.stacks, true)], []byte("\n\n")) {
		head, _, _ := bytes.Cut(one, []byte("\n"))
		if bytes.Contains(one, []byte("commit.(*Committer).Submit(")) && (bytes.Contains(head, []byte("[select")) || bytes.Contains(head, []byte("[chan receive"))) {
			n++
		}
	}
	return n
}

// measure has the turns run some times, and returns the median of what they cost.
func (e *economy) measure(name string) cost {
	e.t.Helper()
	const warm, runs = 2, 5
	var all []cost
	for i := range warm + runs {
		c := e.run()
		if i >= warm {
			all = append(all, c)
		}
	}
	e.node.stop() // or it would claim the turns of the next
	median := func(of func(cost) int64) int64 {
		var list []int64
		for _, c := range all {
			list = append(list, of(c))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	return cost{
		name: name, statements: median(func(c cost) int64 { return c.statements }), trips: median(func(c cost) int64 { return c.trips }),
		transactions: median(func(c cost) int64 { return c.transactions }), rows: median(func(c cost) int64 { return c.rows }),
		bytes: median(func(c cost) int64 { return c.bytes }), allocations: median(func(c cost) int64 { return c.allocations }),
		kibibytes: median(func(c cost) int64 { return c.kibibytes }),
	}
}

// run has all turns go from their messages to their ends.
func (e *economy) run() cost {
	e.t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what is pooled stays so
	quiet := e.newSession(e.node)
	var list []models.SessionID
	for range e.turns {
		list = append(list, e.newSessionOn(e.node, e.harness))
	}
	e.asked.Store(0)
	e.counter.Reset()
	var spent allocated
	var sends sync.WaitGroup
	e.together(quiet, func() {
		spent.begin()
		for _, s := range list {
			sends.Go(func() {
				_, _, err := e.node.sessions.Send(e.t.Context(), e.by, sessions.NewMessage{
					SessionID: s, Content: []sessions.NewPart{sessions.Text("go")}, Delivery: turns.Steer,
				})
				if err != nil {
					e.t.Error(err)
				}
			})
		}
	})
	sends.Wait()
	for waits := e.ready(); waits != nil; waits = e.ready() {
		spent.end()
		e.together(quiet, func() {
			spent.begin()
			for _, goOn := range waits {
				close(goOn)
			}
		})
	}
	spent.end()
	e.counter.On.Store(false)
	for _, s := range list {
		e.idle(s)
	}
	c := e.counter
	return cost{
		statements: c.Statements.Load(), trips: c.RoundTrips.Load(), transactions: c.Transactions.Load(), rows: c.Rows.Load(),
		bytes: c.Bytes.Load(), allocations: spent.objects, kibibytes: spent.bytes / 1024,
	}
}

// allocated adds up what is allocated.
type allocated struct {
	objects, bytes int64
	from           runtime.MemStats
}

func (a *allocated) begin() { runtime.ReadMemStats(&a.from) }

func (a *allocated) end() {
	var to runtime.MemStats
	runtime.ReadMemStats(&to)
	a.objects += int64(to.Mallocs - a.from.Mallocs)
	a.bytes += int64(to.TotalAlloc - a.from.TotalAlloc)
}

// ampleBudgets makes budgets that bind every session and are never used up.
func (w *world) ampleBudgets() {
	w.t.Helper()
	for _, currency := range []string{"usd", "tokens", "credits", "tool_calls"} {
		w.budget(currency, 1_000_000_000_000_000)
	}
}

// counted counts what an engine reads by itself.
type counted struct {
	rows
	sessions, conversations *atomic.Int64
}

func (c counted) session(ctx context.Context, org models.OrgID, id models.SessionID) (*sessionInfo, error) {
	c.sessions.Add(1)
	return c.rows.session(ctx, org, id)
}

func (c counted) messages(
	ctx context.Context, org models.OrgID, session models.SessionID, base, after int64, maxBytes int,
) ([]models.Message, bool, error) {
	c.conversations.Add(1)
	return c.rows.messages(ctx, org, session, base, after, maxBytes)
}

// A turn under budgets takes no commit more than one without, and reads no conversation that is known: neither in a new session nor in one whose
// last turn has ended here, however long the message is. One whose conversation isn't known, as another process has gone on with the session, takes one commit more, and
// reads it once.
//
// Rules: Q5, P20.
func TestEconomyUnderBudgets(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.ampleBudgets()
		n := w.start(priced())
		reads := counted{n.engine.rows, new(atomic.Int64), new(atomic.Int64)}
		n.engine.rows = reads
		other := w.start(priced())
		s := w.newSession(n)
		for i, turn := range []struct {
			on                              *node
			said                            string
			commits, sessions, conversation int64
		}{{n, "go", 2, 1, 0}, {n, strings.Repeat("on and on ", 1000), 2, 0, 0}, {other, "go", 3, 0, 0}, {n, "go", 3, 0, 1}, {n, "go", 2, 0, 0}} {
			turn.on.puppet.on(replies(took(10, 10, "done")))
			turn.on.commits.Store(0)
			reads.sessions.Store(0)
			reads.conversations.Store(0)
			id := turn.on.send(s, turn.said)
			turn.on.settled(s)
			if row := w.turn(id); row.Status != models.TurnCompleted {
				t.Fatalf("turn %d is %+v", i, row)
			}
			if turn.on.commits.Load() != turn.commits || reads.sessions.Load() != turn.sessions || reads.conversations.Load() != turn.conversation {
				t.Errorf("turn %d took %d commits, and read %d sessions and %d conversations; want %d, %d and %d", i, turn.on.commits.Load(),
					reads.sessions.Load(), reads.conversations.Load(), turn.commits, turn.sessions, turn.conversation)
			}
		}
	})
}
