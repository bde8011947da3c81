package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// node prepares a program of e2e/clients, with its argument as JSON.
func node(t *testing.T, program string, argument any) *exec.Cmd {
	t.Helper()
	if _, err := os.Stat("clients/node_modules/.package-lock.json"); err != nil {
		t.Fatal("the clients are not installed: run the tests by `make test`, or `npm ci` in e2e/clients")
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "node", program, string(encode(argument)))
	cmd.Dir = "clients"
	cmd.SysProcAttr = dieWithParent()
	return cmd
}

// run returns what a program of e2e/clients has printed.
func run(t *testing.T, program string, argument any) []byte {
	t.Helper()
	var out, errors bytes.Buffer
	cmd := node(t, program, argument)
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, out.Bytes(), errors.Bytes())
	}
	return out.Bytes()
}

// TestAudits runs the audits of the GraphQL-over-HTTP working group's reference implementation.
func TestAudits(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	out := run(t, "audit.mjs", map[string]string{"url": p.url + "/graphql", "token": signIn(t, p).Token})
	passed := 0
	for line := range bytes.Lines(out) {
		var audit struct {
			ID     string `json:"id"`
			Name   string `json:"name"`
			Status string `json:"status"`
			Reason string `json:"reason"`
		}
		if err := json.Unmarshal(line, &audit); err != nil {
			t.Fatal(err)
		}
		if audit.Status == "ok" {
			passed++
		} else {
			t.Errorf("%s %s: %s: %s", audit.ID, audit.Name, audit.Status, audit.Reason)
		}
	}
	if passed != 61 {
		t.Errorf("%d audits passed, want 61", passed)
	}
	t.Logf("S2: %d of 61 audits", passed)
}

// TestRealClients has each client do what it is used for: queries, mutations, subscriptions, and what is refused.
func TestRealClients(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	c := signIn(t, p)
	session := c.session(t, c.agent(t, "echo", "sim-echo"))
	run(t, "use.mjs", map[string]string{"url": p.url + "/graphql", "token": c.Token, "session": session})
}

// TestRelayCompiler compiles documents against the schema that the server gives.
func TestRelayCompiler(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	dir := t.TempDir()
	run(t, "relay.mjs", map[string]string{"url": p.url + "/graphql", "token": signIn(t, p).Token, "dir": dir})
	for _, name := range []string{"SessionsQuery", "SessionsPaginationQuery", "SessionsSendMutation", "SessionsEventsSubscription"} {
		if _, err := os.Stat(filepath.Join(dir, "artifacts", name+".graphql.js")); err != nil {
			t.Errorf("relay-compiler made no %s: %v", name, err)
		}
	}
}

// follower is a client of e2e/clients that follows a session.
type follower struct {
	subscription
	name string
}

// followers runs clients, each at an address of its own, until the test ends.
func followers(t *testing.T, token, session string, urls map[string]string) map[string]*follower {
	t.Helper()
	type client struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	all := map[string]*follower{}
	var clients []client
	for name, url := range urls {
		all[name] = &follower{name: name, subscription: subscription{more: make(chan struct{}), done: make(chan struct{})}}
		clients = append(clients, client{name, url})
	}
	cmd := node(t, "follow.mjs", map[string]any{"token": token, "session": session, "clients": clients})
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		err := readFollowers(stdout, all)
		for _, f := range all {
			f.add(nil, err)
		}
	})
	t.Cleanup(func() {
		_ = stdin.Close()
		reading.Wait()
		if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("the clients ended with %v: %s", err, stderr.Bytes())
		}
	})
	return all
}

func readFollowers(r io.Reader, all map[string]*follower) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var line struct {
			Client string `json:"client"`
			Error  string `json:"error"`
			Event  *event `json:"event"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		var err error
		if line.Event == nil {
			err = fmt.Errorf("the client gave up: %s", line.Error)
		}
		all[line.Client].add(line.Event, err)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

// add keeps an event; an error is the end.
func (f *follower) add(e *event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e != nil {
		f.events = append(f.events, *e)
	}
	if f.err == nil {
		f.err = err
	}
	close(f.more)
	f.more = make(chan struct{})
}

// untilSequence waits until everything up to a durable event has come.
func (f *follower) untilSequence(t *testing.T, sequence int) []event {
	t.Helper()
	return f.until(t, fmt.Sprintf("event %d at %s", sequence, f.name), func(have []event) bool {
		return len(have) > 0 && have[len(have)-1].Sequence >= sequence
	})
}

// plan is how much TestClientsFollowThroughDisconnects does.
type plan struct {
	Turns       int    `json:"turns"`
	Disconnects int    `json:"disconnects"`
	Restarts    int    `json:"restarts"`
	Seed        uint64 `json:"seed"`
}

// planned returns the plan: a short one, unless OSTLER_E2E_FOLLOW says {"turns", "disconnects", "restarts", "seed"} in JSON.
func planned(t *testing.T) plan {
	t.Helper()
	text := os.Getenv("OSTLER_E2E_FOLLOW")
	if text == "" {
		return plan{Turns: 4, Disconnects: 24, Restarts: 1, Seed: 1}
	}
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("OSTLER_E2E_FOLLOW: %v", err)
	}
	return p
}

// TestClientsFollowThroughDisconnects has all clients follow the same turns, by the recipes of docs/subscriptions.md,
// while their connections are cut and the server is restarted: each sees every event once, in order, and the text that is
// stored.
func TestClientsFollowThroughDisconnects(t *testing.T) {
	t.Parallel()
	plan := planned(t)
	place := newPlace(t, "sqlite")
	p := start(t, place.env)
	c := signIn(t, p)
	session := c.session(t, c.agent(t, "steady", "sim-latency:0:3"))
	names := []string{"graphql-ws", "graphql-sse", "apollo", "urql-sse", "urql-ws", "eventsource"}
	urls, cutters := map[string]string{}, map[string]*cutter{}
	few := min(3, plan.Disconnects/8) // for EventSource, which waits for seconds before it comes back
	for i, name := range names {
		others := len(names) - 1
		most := (plan.Disconnects - few + others - 1) / others
		if name == "eventsource" {
			most = few
		}
		cutters[name] = newCutter(t, p.addr, plan.Seed+uint64(i), most)
		urls[name] = cutters[name].url
	}
	all := followers(t, c.Token, session, urls)
	for _, name := range names {
		all[name].untilSequence(t, 1)
	}
	cuts := func() (n int) {
		for _, c := range cutters {
			n += c.count()
		}
		return n
	}
	for turn := 0; turn < plan.Turns || cuts() < plan.Disconnects && turn < 10*plan.Turns; turn++ {
		text := fmt.Sprintf("Turn %d. Grüße 🐎 %s", turn, prose)
		id := c.message(t, session, text)
		if plan.Restarts > 0 && turn%max(1, plan.Turns/(plan.Restarts+1)) == max(1, plan.Turns/(plan.Restarts+1))-1 {
			plan.Restarts--
			p.terminate(t) // in the middle of the turn
			p = p.again(t, place.env)
		}
		eventually(t, "the turn ends", func() error {
			if status := c.turn(t, id).Status; status != "COMPLETED" {
				return fmt.Errorf("%w: it is %s", errNotYet, status)
			}
			return nil
		})
	}
	log := c.history(t, session)
	balanced(t, log)
	for _, name := range names {
		seen := all[name].untilSequence(t, last(log))
		gapless(t, seen, 0)
		deltasAddUp(t, seen)
		sameLog(t, seen, log)
		t.Logf("%s: %d events, %d of them durable, through %d disconnects", name, len(seen), len(durable(seen)), cutters[name].count())
	}
	if n := cuts(); n < plan.Disconnects {
		t.Errorf("%d connections were cut, want %d", n, plan.Disconnects)
	}
}
