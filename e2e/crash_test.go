package e2e

import (
	"strings"
	"testing"
)

// prose is an answer that takes sim-latency:50:20 a second and a half.
var prose = strings.TrimSpace(strings.Repeat("The ostler leads the horses out at dawn. ", 8))

const slow = "sim-latency:50:20"

// TestKilledInMidStream kills the only process while a model speaks. After a restart at the same place the turn goes on by
// itself, and a client that comes back with its last sequence misses nothing and sees nothing twice.
//
// Rules: Q11, J11.
func TestKilledInMidStream(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		env := place.with(map[string]string{"OSTLER_LEASE": "1500ms", "OSTLER_HEARTBEAT": "300ms"})
		p := start(t, env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "slow", slow))
		before := c.subscribe(t, session, 0)
		id := c.message(t, session, prose)
		before.untilKind(t, "OUTPUT_DELTA", 5)
		p.kill()
		<-before.done
		seen := before.all()
		gapless(t, seen, 0)
		if n := count(seen, "OUTPUT_COMPLETED"); n != 0 {
			t.Fatal("the answer was complete before the process was killed")
		}

		p.again(t, env)
		after := c.subscribe(t, session, last(seen))
		rest := after.untilKind(t, "SESSION_IDLED", 1)
		gapless(t, rest, last(seen))
		deltasAddUp(t, rest)
		if count(rest, "REASON_RECOVERED") != 1 {
			t.Errorf("want one REASON_RECOVERED after the restart: %v", rest)
		}
		got := c.turn(t, id)
		if got.Status != "COMPLETED" || got.Recoveries != 1 || got.FinalMessage == nil || got.FinalMessage.Content[0].Text != prose {
			t.Errorf("the turn is %+v", got)
		}
		log := c.history(t, session)
		balanced(t, log)
		sameLog(t, append(durable(seen), rest...), log)

		// The session is as good as before.
		next := c.message(t, session, "Once more.")
		after.untilKind(t, "SESSION_IDLED", 2)
		if got := c.turn(t, next); got.Status != "COMPLETED" || got.Recoveries != 0 {
			t.Errorf("the turn after the crash is %+v", got)
		}
		balanced(t, c.history(t, session))
	})
}

// TestKilledWithAQueue kills the process with messages of every kind accepted: none is lost, none is answered twice.
//
// Rules: L6.
func TestKilledWithAQueue(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		env := place.with(map[string]string{"OSTLER_LEASE": "1500ms", "OSTLER_HEARTBEAT": "300ms"})
		p := start(t, env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "slow", slow))
		s := c.subscribe(t, session, 0)
		turns := map[string]string{c.message(t, session, prose): prose}
		s.untilKind(t, "OUTPUT_DELTA", 2)
		for _, text := range []string{"First in line.", "Second in line."} {
			var sent struct {
				SendMessage struct{ Turn struct{ ID string } }
			}
			c.do(t, `mutation($id: ID!, $text: String!) { sendMessage(input: {sessionId: $id, content: [{text: $text}], delivery: QUEUE}) {
				turn { id } userErrors { code message } } }`, map[string]any{"id": session, "text": text}, &sent)
			turns[sent.SendMessage.Turn.ID] = text
		}
		p.kill()
		p.again(t, env)
		s = c.subscribe(t, session, 0)
		s.untilKind(t, "SESSION_IDLED", 1)
		log := c.history(t, session)
		balanced(t, log)
		sameLog(t, s.all(), log)
		if n := count(log, "TURN_COMPLETED"); n != 3 || len(turns) != 3 {
			t.Errorf("%d of %d turns were completed", n, len(turns))
		}
		for id, text := range turns {
			if got := c.turn(t, id); got.FinalMessage == nil || got.FinalMessage.Content[0].Text != text {
				t.Errorf("the turn of %q is %+v", text, got)
			}
		}
	})
}
