package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// evidence is all that the oracles judge: what clients know, what the database holds, what the tools' file holds.
type evidence struct {
	sessions []testimony
	// effects counts the lines that tools have appended, by idempotency key.
	effects map[string]int
	// left is what is still there when nobody works; each must be 0.
	left map[string]int64
	// stuck is what clients waited for in vain.
	stuck []string
	// before and after are what the nodes held before and after the load, by node; after may miss those that were not asked.
	before vitals
	after  map[string]vitals
}

// testimony is the evidence of one session.
type testimony struct {
	session  string
	messages []*message
	seen     []seen
	wrong    []string // that the follower noticed itself
	// texts tells of messages that are not what their deltas added up to, by the sequence of their end.
	texts map[int64]string
	log   []models.Event
}

// verdict is what the oracles found.
type verdict struct {
	violations map[string][]string // by oracle
	turns      int                 // that were acknowledged
	ends       map[models.EventKind]int
	// interrupted counts the calls whose outcome nobody knows; repeated the runs of idempotent calls beyond the first.
	calls, interrupted, repeated int
	// unanswered counts messages that were committed though the request's connection broke before an answer came.
	unanswered int
	// notRight are turns that did not end by TURN_COMPLETED.
	notRight []string
}

// oracles are those that every program is judged by, in order. O4, the ledger, is judged by R9: the others have no budgets.
func oracles() []string { return []string{"O1", "O2", "O3", "O5", "O6"} }

func (v *verdict) failf(oracle, format string, args ...any) {
	v.violations[oracle] = append(v.violations[oracle], fmt.Sprintf(format, args...))
}

// judge applies the oracles.
func judge(e *evidence) *verdict {
	v := &verdict{violations: map[string][]string{}, ends: map[models.EventKind]int{}}
	for _, text := range e.stuck {
		v.failf("O1", "a client waits in vain: %s", text)
	}
	known := map[string]bool{} // calls
	for i := range e.sessions {
		v.turnsOf(&e.sessions[i])
		v.logOf(&e.sessions[i])
		v.callsOf(&e.sessions[i], e.effects, known)
	}
	for key := range e.effects {
		if !known[callOf(key)] {
			v.failf("O3", "the tools' file has a line of a call that no log knows: %s", key)
		}
	}
	for what, n := range e.left {
		if n != 0 {
			v.failf("O5", "%d %s", n, what)
		}
	}
	for name, after := range e.after {
		v.vitalsOf(name, e.before, after)
	}
	return v
}

// turnsOf judges O1: an acknowledged message has one turn, which ends once.
func (v *verdict) turnsOf(t *testimony) {
	var received []models.Event
	begun, ends := map[string]bool{}, map[string]int{}
	for _, e := range t.log {
		switch e.Kind {
		case models.EventMessageReceived:
			received = append(received, e)
		case models.EventTurnStarted:
			begun[e.TurnID.String()] = true
		case models.EventTurnCompleted, models.EventTurnFailed, models.EventTurnSealed, "TURN_CANCELLED":
			ends[e.TurnID.String()]++
			v.ends[e.Kind]++
			if e.Kind != models.EventTurnCompleted {
				v.notRight = append(v.notRight, fmt.Sprintf("%s of %s in %s: %s", e.Kind, e.TurnID, t.session, e.Data))
			}
		}
	}
	if len(received) > len(t.messages) {
		v.failf("O1", "%s: the log has %d messages, %d were sent", t.session, len(received), len(t.messages))
	}
	turns := map[string]bool{}
	for i, m := range t.messages {
		if m.turn == "" {
			continue
		}
		v.turns++
		if turns[m.turn] {
			v.failf("O1", "%s: two messages that each were to have a turn of their own have the turn %s", t.session, m.turn)
		}
		turns[m.turn] = true
		if n := ends[m.turn]; n != 1 || !begun[m.turn] {
			v.failf("O1", "%s: the turn %s of an acknowledged message began: %t, has %d ends", t.session, m.turn, begun[m.turn], n)
		}
		if i >= len(received) {
			v.failf("O1", "%s: acknowledged message %d is not in the log", t.session, i+1)
			continue
		}
		if !m.broken.IsZero() && int64(received[i].OccurredAt) <= m.broken.UnixMilli() {
			v.unanswered++
		}
	}
	for turn := range begun {
		if !turns[turn] && len(received) <= len(turns) {
			v.failf("O1", "%s: the turn %s belongs to no acknowledged message", t.session, turn)
		}
	}
}

// logOf judges O2: the log is whole, and who followed it has seen just that.
func (v *verdict) logOf(t *testimony) {
	if err := events.CheckLog(t.log); err != nil {
		v.failf("O2", "the log of %s: %v\n%s", t.session, err, outline(t.log))
	}
	for _, wrong := range t.wrong {
		v.failf("O2", "a follower of %s: %s", t.session, wrong)
	}
	for i := range t.log {
		if wrong := t.texts[t.log[i].Sequence]; wrong != "" && !t.stopped(t.log[i].TurnID) {
			v.failf("O2", "a follower of %s: %s", t.session, wrong)
		}
	}
	if len(t.seen) != len(t.log) {
		v.failf("O2", "a follower of %s saw %d events, the log has %d", t.session, len(t.seen), len(t.log))
	}
	for i := range min(len(t.seen), len(t.log)) {
		s, e := t.seen[i], t.log[i]
		if s.sequence != e.Sequence || s.kind != string(e.Kind) || s.id != e.ID.String() {
			v.failf("O2", "a follower of %s saw %+v where the log has %d %s %s", t.session, s, e.Sequence, e.Kind, e.ID)
			return
		}
	}
}

// stopped reports whether a turn was sealed: what it was at was cut short.
func (t *testimony) stopped(turn *models.TurnID) bool {
	return turn != nil && slices.ContainsFunc(t.log, func(e models.Event) bool {
		return e.Kind == models.EventTurnSealed && e.TurnID != nil && *e.TurnID == *turn
	})
}

// outline is a log in few words, for reports.
func outline(log []models.Event) string {
	var b strings.Builder
	for i := range log {
		fmt.Fprintf(&b, "  %d %s %s %d\n", log[i].Sequence, log[i].Kind, log[i].TurnID, log[i].OccurredAt)
	}
	return b.String()
}

// callOf cuts the tool's name off an idempotency key, "{session}:{call}:{tool}".
func callOf(key string) string { return key[:max(0, strings.LastIndexByte(key, ':'))] }

// callsOf judges O3: tools that must not run twice don't, and each outcome that is told is true.
func (v *verdict) callsOf(t *testimony, effects map[string]int, known map[string]bool) {
	lines := map[string]int{}
	for key, n := range effects {
		if strings.HasPrefix(key, t.session+":") {
			lines[callOf(key)] += n
		}
	}
	outcomes := map[string]int{}
	for _, e := range t.log {
		if e.Kind == models.EventToolStarted {
			var started events.ToolStarted
			if err := json.Unmarshal(e.Data, &started); err == nil {
				known[t.session+":"+started.ToolCallID] = true
			}
		}
		if e.Kind != models.EventToolCompleted {
			continue
		}
		var done events.ToolCompleted
		if err := json.Unmarshal(e.Data, &done); err != nil {
			v.failf("O3", "%s: event %d can't be read: %v", t.session, e.Sequence, err)
			continue
		}
		call := t.session + ":" + done.ToolCallID
		known[call] = true
		v.calls++
		if outcomes[call]++; outcomes[call] > 1 {
			v.failf("O3", "the call %s has %d outcomes", call, outcomes[call])
		}
		v.outcome(call, &done, lines[call], t.stopped(e.TurnID))
	}
	for call, n := range lines {
		if outcomes[call] == 0 {
			v.failf("O3", "the call %s ran %d times and has no outcome", call, n)
		}
	}
}

// outcome compares what the log tells of a call with how often it ran. stopped tells that its turn was sealed: then no call is run
// again.
func (v *verdict) outcome(call string, done *events.ToolCompleted, ran int, stopped bool) {
	interrupted := strings.HasPrefix(done.Error, "interrupted: ")
	switch {
	case done.ToolName == "append_once" && ran > 1:
		v.failf("O3", "the at-most-once call %s ran %d times", call, ran)
	case done.ToolName == "append_once" && done.Success && ran != 1:
		v.failf("O3", "the call %s is told to have succeeded and ran %d times", call, ran)
	case done.ToolName == "append_once" && interrupted && strings.Contains(done.Error, "had no effect") && ran != 0:
		v.failf("O3", "the call %s is told to have had no effect and ran %d times", call, ran)
	case interrupted && (done.ToolName == "append_once" || stopped):
		v.interrupted++
	case done.Success && ran < 1:
		v.failf("O3", "the call %s of %s is told to have succeeded and did not run", call, done.ToolName)
	case !done.Success:
		v.failf("O3", "the call %s of %s failed: %s", call, done.ToolName, done.Error)
	case ran > 1:
		v.repeated += ran - 1
	}
}

// What may remain after a load that was not there before it: connections that are kept, caches that are bounded.
const (
	slackGoroutines  = 12
	slackDescriptors = 40
	slackHeap        = 48 << 20 // bytes
)

// vitalsOf judges O6: what a living process holds is back where it was.
func (v *verdict) vitalsOf(name string, before, after vitals) {
	if after.goroutines > before.goroutines+slackGoroutines {
		v.failf("O6", "%s has %d goroutines, before the load %d", name, after.goroutines, before.goroutines)
	}
	if after.descriptors > before.descriptors+slackDescriptors {
		v.failf("O6", "%s has %d descriptors open, before the load %d", name, after.descriptors, before.descriptors)
	}
	if after.heap > before.heap+slackHeap {
		v.failf("O6", "%s holds %d bytes, before the load %d", name, after.heap, before.heap)
	}
}

// gather brings the evidence together after the load has ended.
func (a *arena) gather(ctx context.Context) (*evidence, error) {
	a.rest(ctx)
	e := &evidence{stuck: a.journal.stuck, before: a.idle}
	var err error
	if e.after, err = a.allVitals(ctx); err != nil {
		return nil, err
	}
	if e.effects, err = readLines(a.effects); err != nil {
		return nil, err
	}
	if e.left, err = a.leftovers(ctx); err != nil {
		return nil, err
	}
	for _, c := range a.journal.sessions {
		t := testimony{session: c.id, messages: c.messages, seen: c.follower.events, wrong: c.follower.wrong, texts: c.follower.otherTexts}
		if t.log, err = a.logOf(ctx, c.org.id, c.id); err != nil {
			return nil, err
		}
		if len(c.messages) == 0 {
			t.seen = nil // It was left before the follower could have seen anything.
			for _, event := range t.log {
				t.seen = append(t.seen, seen{event.Sequence, string(event.Kind), event.ID.String()})
			}
		}
		e.sessions = append(e.sessions, t)
	}
	return e, nil
}

// allVitals asks the nodes, which have nothing to do, until each is back where it was or stays where it is.
func (a *arena) allVitals(ctx context.Context) (map[string]vitals, error) {
	a.people.http.HTTP.CloseIdleConnections()
	all := map[string]vitals{}
	for _, n := range a.nodes {
		if !n.alive() {
			if a.killsItself() {
				continue
			}
			return nil, fmt.Errorf("%s has ended, and nobody killed it", n.name)
		}
		for range 20 {
			v, err := n.ask(ctx)
			if err != nil {
				return nil, err
			}
			all[n.name] = v
			probe := &verdict{violations: map[string][]string{}}
			if probe.vitalsOf(n.name, a.idle, v); len(probe.violations) == 0 {
				break
			}
			wait(ctx, 250*time.Millisecond)
		}
	}
	return all, nil
}
