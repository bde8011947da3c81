package e2e

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/coder/websocket"
)

// bus is a NATS server that can be killed and started again.
type bus struct {
	addr           netip.AddrPort
	user, password string
	server         *server.Server
}

func newBus(t *testing.T) *bus {
	t.Helper()
	return newBusWith(t, "", "")
}

// newBusWith is a bus that lets in who has the password alone.
func newBusWith(t *testing.T, user, password string) *bus {
	t.Helper()
	b := &bus{addr: netip.MustParseAddrPort(freeAddr(t)), user: user, password: password}
	b.start(t)
	t.Cleanup(b.kill)
	return b
}

func (b *bus) url() string {
	if b.user != "" {
		return "nats://" + b.user + ":" + b.password + "@" + b.addr.String()
	}
	return "nats://" + b.addr.String()
}

func (b *bus) start(t *testing.T) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: b.addr.Addr().String(), Port: int(b.addr.Port()), Username: b.user, Password: b.password, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	b.server = s
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not listen")
	}
}

func (b *bus) kill() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// cluster is a PostgreSQL place with a bus, for several processes.
type cluster struct {
	*place
	bus *bus
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{newPlace(t, "postgres"), newBus(t)}
	c.env["OSTLER_NATS_URL"] = c.bus.url()
	// Tokens name the server by its public address: behind one address all nodes have the same.
	c.env["OSTLER_PUBLIC_URL"] = "http://ostler.test"
	c.env["OSTLER_LEASE"], c.env["OSTLER_HEARTBEAT"] = "1500ms", "300ms"
	return c
}

func (c *cluster) api(t *testing.T) *process    { return start(t, c.env, "serve", "--role=api") }
func (c *cluster) runner(t *testing.T) *process { return start(t, c.env, "serve", "--role=runner") }

// TestKilledRunner kills the process that runs a turn while the model speaks; another one is started, and ends the turn.
// Subscribers at two API nodes see all of it live, without gap or repeat.
//
// Rules: Q11.
func TestKilledRunner(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	first, second := cluster.api(t), cluster.api(t)
	runner := cluster.runner(t)
	c := signIn(t, first)
	session := c.session(t, c.agent(t, "slow", slow))
	a, b := c.subscribe(t, session, 0), c.at(second).subscribe(t, session, 0)
	id := c.message(t, session, prose)
	a.untilKind(t, "OUTPUT_DELTA", 4)
	b.untilKind(t, "OUTPUT_DELTA", 4)
	runner.kill()
	if n := count(a.all(), "OUTPUT_COMPLETED"); n != 0 {
		t.Fatal("the answer was complete before the runner was killed")
	}
	cluster.runner(t)
	log := func() []event {
		a.untilKind(t, "SESSION_IDLED", 1)
		b.untilKind(t, "SESSION_IDLED", 1)
		return c.history(t, session)
	}()
	balanced(t, log)
	for _, s := range []*subscription{a, b} {
		seen := s.all()
		gapless(t, seen, 0)
		deltasAddUp(t, seen)
		sameLog(t, seen, log)
	}
	if count(log, "REASON_RECOVERED") != 1 {
		t.Errorf("want one REASON_RECOVERED: %v", log)
	}
	if got := c.turn(t, id); got.Status != "COMPLETED" || got.Recoveries != 1 || got.FinalMessage.Content[0].Text != prose {
		t.Errorf("the turn is %+v", got)
	}
}

// TestRunnerThatStops sends SIGTERM to the process that runs a turn of several steps. It gives the turn back between two
// steps, and another runner goes on: nothing is done twice, and nothing counts as a recovery.
//
// Rules: Q15.
func TestRunnerThatStops(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	api, runner := cluster.api(t), cluster.runner(t)
	c := signIn(t, api)
	session := c.session(t, c.agent(t, "scripted", "sim-script", "core"))
	s := c.subscribe(t, session, 0)
	id := c.message(t, session, `{"ms_per_token": 20, "responses": [
		{"chunks": [{"text": "One moment, I look at my watch, which takes as long as it takes to say this. "}, {"tool_call": {"name": "echo", "arguments": {"text": "tick"}}}]},
		{"chunks": [{"text": "Once more, and again with many words, so that there is time. "}, {"tool_call": {"name": "echo", "arguments": {"text": "tock"}}}]},
		{"chunks": [{"text": "Done."}]}]}`)
	s.untilKind(t, "OUTPUT_DELTA", 2)
	runner.terminate(t)
	cluster.runner(t)
	if code := runner.exit(t); code != 0 {
		t.Errorf("the runner ended with code %d\n%s", code, runner.out)
	}
	s.untilKind(t, "SESSION_IDLED", 1)
	log := c.history(t, session)
	balanced(t, log)
	sameLog(t, s.all(), log)
	if count(log, "TOOL_COMPLETED") != 2 || count(log, "REASON_STARTED") != 3 || count(log, "REASON_RECOVERED") != 0 {
		t.Errorf("the log is %v", log)
	}
	if got := c.turn(t, id); got.Status != "COMPLETED" || got.Recoveries != 0 {
		t.Errorf("the turn is %+v", got)
	}
}

// TestKilledBus takes the bus away while a model speaks, and gives it back after the turn has ended. Wake-ups and live
// events are lost; the database makes up for them.
//
// Rules: Q3.
func TestKilledBus(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	api := cluster.api(t)
	cluster.runner(t)
	c := signIn(t, api)
	session := c.session(t, c.agent(t, "slow", slow))
	s := c.subscribe(t, session, 0)
	c.message(t, session, prose)
	s.untilKind(t, "OUTPUT_DELTA", 3)
	cluster.bus.kill()

	// The turn ends without the bus, and a message that comes now is found without a wake-up.
	s.untilKind(t, "TURN_COMPLETED", 1)
	id := c.message(t, session, "Is anybody there?")
	s.untilKind(t, "TURN_COMPLETED", 2)
	if got := c.turn(t, id); got.Status != "COMPLETED" {
		t.Errorf("the turn without a bus is %+v", got)
	}

	cluster.bus.start(t)
	// Deltas travel over the bus alone: when they come, it is back.
	eventually(t, "the bus is used again", func() error {
		n := count(s.all(), "OUTPUT_DELTA")
		c.message(t, session, "Three words again.")
		s.untilKind(t, "SESSION_IDLED", count(s.all(), "SESSION_ACTIVATED"))
		if count(s.all(), "OUTPUT_DELTA") == n {
			return errNotYet
		}
		return nil
	})
	eventually(t, "the stream is complete", func() error {
		if last(s.all()) < last(c.history(t, session)) {
			return errNotYet
		}
		return nil
	})
	log := c.history(t, session)
	balanced(t, log)
	gapless(t, s.all(), 0)
	sameLog(t, s.all(), log)
	if count(log, "REASON_RECOVERED") != 0 {
		t.Errorf("losing the bus is no reason to begin anew: %v", log)
	}
}

// TestNodeThatStops closes the sockets of an API node with 1012; the client goes on at another node, where it was.
func TestNodeThatStops(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	first, second := cluster.api(t), cluster.api(t)
	cluster.runner(t)
	c := signIn(t, first)
	session := c.session(t, c.agent(t, "slow", slow))
	s := c.subscribe(t, session, 0)
	c.message(t, session, prose)
	s.untilKind(t, "OUTPUT_DELTA", 3)
	first.terminate(t)
	if code := s.ended(t); code != websocket.StatusServiceRestart {
		t.Errorf("the socket was closed with %d, want 1012", code)
	}
	if code := first.exit(t); code != 0 {
		t.Errorf("the node ended with code %d\n%s", code, first.out)
	}
	seen := s.all()
	c = c.at(second)
	rest := c.subscribe(t, session, last(seen)).untilKind(t, "SESSION_IDLED", 1)
	gapless(t, rest, last(seen))
	deltasAddUp(t, rest)
	log := c.history(t, session)
	balanced(t, log)
	sameLog(t, append(durable(seen), rest...), log)
	if count(rest, "OUTPUT_DELTA") == 0 {
		t.Error("the rest of the answer did not come live")
	}
}

// TestStopAndRestart stops the only process with SIGTERM while a turn runs.
//
// Rules: Q15.
func TestStopAndRestart(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "scripted", "sim-script", "core"))
		s := c.subscribe(t, session, 0)
		id := c.message(t, session, `{"ms_per_token": 20, "responses": [
			{"chunks": [{"text": "I take my time before I do anything, as you can see. "}, {"tool_call": {"name": "echo", "arguments": {"text": "now"}}}]},
			{"chunks": [{"text": "That is all."}]}]}`)
		s.untilKind(t, "OUTPUT_DELTA", 2)
		p.terminate(t)
		if code := s.ended(t); code != websocket.StatusServiceRestart {
			t.Errorf("the socket was closed with %d, want 1012", code)
		}
		if code := p.exit(t); code != 0 {
			t.Errorf("the process ended with code %d\n%s", code, p.out)
		}
		seen := s.all()
		p.again(t, place.env)
		s = c.subscribe(t, session, last(seen))
		s.untilKind(t, "SESSION_IDLED", 1)
		log := c.history(t, session)
		balanced(t, log)
		sameLog(t, append(durable(seen), s.all()...), log)
		if got := c.turn(t, id); got.Status != "COMPLETED" || got.Recoveries != 0 || count(log, "TOOL_STARTED") != 1 || count(log, "REASON_RECOVERED") != 0 {
			t.Errorf("the turn is %+v, the log %v", got, log)
		}
	})
}

// TestStopWithoutGrace cuts a step short that does not end within the grace. That is no crash either.
//
// Rules: Q15.
func TestStopWithoutGrace(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.with(map[string]string{"OSTLER_SHUTDOWN_GRACE": "1ms"}))
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "slow", slow))
		s := c.subscribe(t, session, 0)
		id := c.message(t, session, prose)
		s.untilKind(t, "OUTPUT_DELTA", 2)
		p.terminate(t)
		if code := p.exit(t); code != 0 {
			t.Errorf("the process ended with code %d\n%s", code, p.out)
		}
		p.again(t, place.env)
		s = c.subscribe(t, session, 0)
		s.untilKind(t, "SESSION_IDLED", 1)
		balanced(t, c.history(t, session))
		if got := c.turn(t, id); got.Status != "COMPLETED" || got.Recoveries != 0 || got.FinalMessage.Content[0].Text != prose {
			t.Errorf("the turn is %+v", got)
		}
	})
}

// TestRunnerServesNoAPI looks at what a runner answers.
func TestRunnerServesNoAPI(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	runner := cluster.runner(t)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/graphql": 404, "/": 404} {
		res, err := newClient(runner.url).HTTP.Get(runner.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("GET %s of a runner answers %s, want %s", path, res.Status, strconv.Itoa(want))
		}
	}
	if out := runner.out.String(); strings.Contains(out, "level=ERROR") {
		t.Error(out)
	}
}
