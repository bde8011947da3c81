package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLateJoiner subscribes in the middle of an answer: the first delta begins at 0 and holds all text so far, and the
// deltas that follow fit.
//
// Rules: V3.
func TestLateJoiner(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "slow", slow))
		early := c.subscribe(t, session, 0)
		text := "Grüße 🐎 " + prose // characters of one and two UTF-16 units
		c.message(t, session, text)
		early.untilKind(t, "OUTPUT_DELTA", 8)
		soFar := texts{}
		message := ""
		for _, e := range early.all() {
			if e.Kind == "OUTPUT_DELTA" {
				soFar.add(t, e)
				message = deltaOf(t, e).MessageID
			}
		}
		late := c.subscribe(t, session, 0)
		other := c.subscribe(t, session, 0)
		for _, s := range []*subscription{late, other} {
			have := s.untilKind(t, "OUTPUT_DELTA", 1)
			if count(have, "OUTPUT_COMPLETED") > 0 {
				t.Fatal("the answer was complete before the late subscriber came")
			}
			for _, e := range have {
				if e.Kind != "OUTPUT_DELTA" {
					continue
				}
				d := deltaOf(t, e)
				if d.Offset != 0 || !strings.HasPrefix(d.Delta, soFar.of(message)) {
					t.Errorf("the first delta of a late subscriber is %+v; %q had come before it", d, soFar.of(message))
				}
				break
			}
		}
		var logs [][]event
		for _, s := range []*subscription{early, late, other} {
			seen := s.untilKind(t, "SESSION_IDLED", 1)
			gapless(t, seen, 0)
			deltasAddUp(t, seen)
			if count(seen, "OUTPUT_DELTA") < 2 {
				t.Errorf("a subscriber saw %d deltas", count(seen, "OUTPUT_DELTA"))
			}
			for _, e := range seen {
				if e.Kind == "OUTPUT_COMPLETED" && e.output(t).text() != text {
					t.Errorf("the answer is %q", e.output(t).text())
				}
			}
			logs = append(logs, durable(seen))
		}
		log := c.history(t, session)
		for _, l := range logs {
			sameLog(t, l, log)
		}
	})
}

type delta struct {
	MessageID string `json:"messageId"`
	Offset    int    `json:"offset"`
	Delta     string `json:"delta"`
}

func deltaOf(t *testing.T, e event) delta {
	t.Helper()
	var d delta
	if err := json.Unmarshal(e.Data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestResumeAnywhere subscribes after every sequence of a finished session with tools: each time exactly the rest comes.
func TestResumeAnywhere(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "helper", "sim-default", "core", "files"))
		s := c.subscribe(t, session, 0)
		id := c.message(t, session, "Write hello world to file notes.txt and then read it back")
		s.untilKind(t, "SESSION_IDLED", 1)
		log := c.history(t, session)
		balanced(t, log)
		if count(log, "TOOL_COMPLETED") != 2 || count(log, "FILE_WRITTEN") != 1 {
			t.Fatalf("the turn has not used its tools: %v", log)
		}
		if got := c.turn(t, id); got.Status != "COMPLETED" || !strings.Contains(got.FinalMessage.Content[0].Text, "hello world") {
			t.Errorf("the turn is %+v", got)
		}
		var file struct {
			Session struct{ File struct{ Content string } }
		}
		c.do(t, `query($id: ID!) { session(id: $id) { file(path: "notes.txt") { content } } }`, map[string]any{"id": session}, &file)
		if file.Session.File.Content != "hello world" {
			t.Errorf("the file holds %q", file.Session.File.Content)
		}
		for after := 0; after <= len(log); after++ {
			rest := c.subscribe(t, session, after).untilKind(t, "CAUGHT_UP", 1)
			gapless(t, rest, after)
			if got := len(durable(rest)); got != len(log)-after || rest[len(rest)-1].Kind != "CAUGHT_UP" {
				t.Errorf("after %d came %v", after, rest)
			}
		}
	})
}

// TestWithoutAfter begins now: nothing of the past comes.
func TestWithoutAfter(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	c := signIn(t, p)
	session := c.session(t, c.agent(t, "echo", "sim-echo"))
	s := c.subscribe(t, session, 0)
	c.message(t, session, "one")
	s.untilKind(t, "SESSION_IDLED", 1)
	now := c.subscribeTo(t, `subscription($id: ID!) { sessionEvents(sessionId: $id) { kind sequence turnId data } }`, map[string]any{"id": session})
	// The server answers a query on the same socket after it has begun the subscription.
	from := last(s.all())
	eventually(t, "the second subscriber is there", func() error {
		c.message(t, session, "two")
		if last(now.all()) == 0 {
			return errNotYet
		}
		return nil
	})
	have := now.untilKind(t, "SESSION_IDLED", 1)
	if count(have, "CAUGHT_UP") != 0 || have[0].Sequence <= from {
		t.Errorf("a stream without after gave %v", have)
	}
	// Who comes while an answer is being given gets its text so far first, which has no sequence of its own.
	before := have[0].Sequence
	if len(durable(have[:1])) == 1 {
		before--
	}
	gapless(t, have, before)
}

// TestChosenKinds leaves all other kinds out.
func TestChosenKinds(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	c := signIn(t, p)
	session := c.session(t, c.agent(t, "echo", "sim-echo"))
	s := c.subscribeTo(t, `subscription($id: ID!) { sessionEvents(sessionId: $id, after: 0, kinds: [TURN_COMPLETED, SESSION_IDLED]) { kind sequence turnId data } }`,
		map[string]any{"id": session})
	s.untilKind(t, "CAUGHT_UP", 1) // else it may come after what is sent next
	c.message(t, session, "one")
	have := s.untilKind(t, "SESSION_IDLED", 1)
	if len(have) != 3 || have[0].Kind != "CAUGHT_UP" || have[1].Kind != "TURN_COMPLETED" {
		t.Errorf("got %v", have)
	}
}

// TestSteering sends a second message while the first is answered: it joins the turn at its next step.
//
// Rules: D1.
func TestSteering(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "slow", slow))
		s := c.subscribe(t, session, 0)
		first := c.message(t, session, prose)
		s.untilKind(t, "OUTPUT_DELTA", 2)
		second := c.message(t, session, "And this.")
		if first != second {
			t.Errorf("the message became a turn of its own: %s, %s", first, second)
		}
		s.untilKind(t, "SESSION_IDLED", 1)
		log := c.history(t, session)
		balanced(t, log)
		if count(log, "TURN_COMPLETED") != 1 || count(log, "REASON_COMPLETED") != 2 || count(log, "MESSAGE_RECEIVED") != 2 {
			t.Errorf("the log is %v", log)
		}
		if got := c.turn(t, first); got.FinalMessage == nil || got.FinalMessage.Content[0].Text != "And this." {
			t.Errorf("the turn is %+v", got)
		}
	})
}
