package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// checks is what is watched while a history goes on.
type checks struct {
	epochs map[models.TurnID]int64
	ended  map[models.TurnID]models.TurnStatus
	// waits are as they were last seen, cancels the first request for the end of each turn.
	waits   map[models.WaitID]models.Wait
	cancels map[models.TurnID]models.Cancel
	// published is how far each session's events were told of.
	published map[models.SessionID]int64
	leased    map[*simNode][]leased
	steps     int
}

// leased is a command that a runner has submitted, and the lease that it named.
type leased struct {
	lease commit.Lease
	s     *commit.Submitted
}

func newChecks() checks {
	return checks{
		epochs: map[models.TurnID]int64{}, ended: map[models.TurnID]models.TurnStatus{}, published: map[models.SessionID]int64{},
		leased: map[*simNode][]leased{}, waits: map[models.WaitID]models.Wait{}, cancels: map[models.TurnID]models.Cancel{},
	}
}

func (w *simulation) submitted(n *simNode, cmd commit.Command, s *commit.Submitted) {
	if l := cmd.Needs().Lease; l != nil {
		w.checks.leased[n] = append(w.checks.leased[n], leased{*l, s})
	}
}

// published hears of what was committed, once each, in order.
func (w *simulation) published(session models.SessionID, list []models.Event) {
	if w.planted.lostNews && len(list) > 1 {
		list = list[1:]
	}
	for _, e := range list {
		w.notef("session %d: %d %s", session[15], e.Sequence, e.Kind)
		if e.Sequence != w.checks.published[session]+1 {
			w.failf("law 3: sequence %d was published after %d", e.Sequence, w.checks.published[session])
		}
		w.checks.published[session] = e.Sequence
	}
}

// before notes under which epochs the turns are that a process has commands for.
func (c *checks) before(w *simulation, n *simNode) map[models.TurnID]models.Turn {
	turns := map[models.TurnID]models.Turn{}
	for _, l := range c.leased[n] {
		for _, t := range w.turns("id = ?", l.lease.ID[:]) {
			turns[t.ID] = t
		}
	}
	return turns
}

// after checks law 2: what was committed under a lease was committed while it held.
func (c *checks) after(w *simulation, n *simNode, before map[models.TurnID]models.Turn) {
	c.leased[n] = slices.DeleteFunc(c.leased[n], func(l leased) bool {
		err, answered := l.s.Answer()
		if errors.Is(err, commit.ErrLeaseLost) {
			w.saw["lease lost"]++
		}
		if answered && err == nil {
			if t := before[models.TurnID(l.lease.ID)]; t.LeaseEpoch != l.lease.Epoch || t.Status != models.TurnRunning || t.RunnerID == nil {
				w.failf("law 2: a command under epoch %d of turn %s was committed, which was %s under %d, held by %v",
					l.lease.Epoch, t.ID, t.Status, t.LeaseEpoch, t.RunnerID)
			}
		}
		return answered
	})
}

// now checks from time to time what holds of every state.
func (c *checks) now(w *simulation) {
	if c.steps++; c.steps%24 == 0 || len(w.problems) > 0 {
		c.state(w)
	}
}

func (c *checks) state(w *simulation) { c.record(w, w.look(false)) }

func (c *checks) record(w *simulation, r *record) {
	active := map[models.SessionID]models.TurnID{}
	for _, t := range r.turns {
		if t.LeaseEpoch < c.epochs[t.ID] {
			w.failf("law 2: the epoch of turn %s fell from %d to %d", t.ID, c.epochs[t.ID], t.LeaseEpoch)
		}
		c.epochs[t.ID] = t.LeaseEpoch
		if was, ended := c.ended[t.ID]; ended && was != t.Status {
			w.failf("law 5: turn %s was %s and is %s", t.ID, was, t.Status)
		}
		if t.FinishedAt != nil {
			c.ended[t.ID] = t.Status
			if t.RunnerID != nil || t.ReadyAt != nil {
				w.failf("law 5: turn %s has ended with runner %v, ready %v", t.ID, t.RunnerID, t.ReadyAt != nil)
			}
			continue
		}
		if t.RunnerID != nil || t.ReadyAt != nil || t.Status == models.TurnWaiting {
			if other, two := active[t.SessionID]; two {
				w.failf("turns %s and %s of session %s are both at the head of the line", other, t.ID, t.SessionID)
			}
			active[t.SessionID] = t.ID
		}
		if t.RunnerID != nil && t.ReadyAt != nil {
			w.failf("turn %s is held and waits to be claimed", t.ID)
		}
	}
	c.checkWaits(w, r)
	c.checkParked(w, r)
	c.checkCancels(w, r)
	for id, s := range r.sessions {
		head, there := active[id]
		// Law 6: work that can go on is somebody's, or to be had.
		if (s.CurrentTurnID != nil) != there || there && *s.CurrentTurnID != head {
			w.failf("law 6: the head of session %s is %v, that of its turns %v", id, s.CurrentTurnID, head)
		}
		if parked := there && r.turns[head].Status == models.TurnWaiting; parked != (s.Status == models.SessionWaiting) {
			w.failf("session %s is %s, and its turn is parked: %v", id, s.Status, parked)
		}
	}
}

// checkEnd checks a history whose sessions have all come to rest.
func (w *simulation) checkEnd() {
	w.checkTotals()
	r := w.look(true)
	w.checks.record(w, r)
	received := map[models.MessageID]int{}
	var texts []string
	for _, s := range w.sessions {
		log := of(r.events, s, func(e *models.Event) models.SessionID { return e.SessionID })
		slices.SortFunc(log, func(a, b models.Event) int { return cmp.Compare(a.Sequence, b.Sequence) })
		if err := events.CheckLog(log); err != nil {
			w.failf("the log of session %s is wrong: %v\n%s", s, err, kinds(log))
		}
		if last := r.sessions[s].LastSequence; last != int64(len(log)) || last != w.checks.published[s] {
			w.failf("law 3: session %s is at %d, has %d events, of which %d were published", s, last, len(log), w.checks.published[s])
		}
		messages := of(r.messages, s, func(m *models.Message) models.SessionID { return m.SessionID })
		w.checkMessages(s, messages, r.turns)
		for _, m := range messages {
			if m.Role == models.MessageUser {
				received[m.ID]++
				texts = append(texts, strings.TrimSuffix(m.Content[0].Text, edited))
			}
		}
		w.checkTurns(r, s, log)
	}
	w.checkSent(received, texts)
	w.checkDecisions(r)
	w.checkMetered(r)
	for _, e := range r.effects {
		if e.State != models.EffectSettled {
			w.failf("an effect is open: %+v", e)
		}
	}
	if len(r.checkpoints) > 0 {
		w.failf("%d checkpoints are left", len(r.checkpoints))
	}
	feed := slices.DeleteFunc(slices.Clone(r.events), func(e models.Event) bool { return e.FeedPosition == nil })
	slices.SortFunc(feed, func(a, b models.Event) int { return cmp.Compare(*a.FeedPosition, *b.FeedPosition) })
	if err := events.CheckFeed(feed); err != nil {
		w.failf("the feed is wrong: %v", err)
	}
}

// checkTotals checks that what is counted with the feed is what there is.
func (w *simulation) checkTotals() {
	waiting := int64(len(w.turns("started_at IS NULL AND finished_at IS NULL")))
	for _, f := range read[models.OrgFeed](w) {
		if have := int64(len(w.sessions)); f.Sessions != have || f.QueuedTurns != waiting {
			w.failf("counted are %d sessions and %d turns that wait, there are %d and %d", f.Sessions, f.QueuedTurns, have, waiting)
		}
	}
}

func (w *simulation) checkMessages(s models.SessionID, list []models.Message, turns map[models.TurnID]models.Turn) {
	calls := map[string]int{}
	for _, m := range list {
		// Only a message that was taken back before its turn began has not.
		if t := turns[m.TurnID]; m.Position == nil && (t.Status != models.TurnCancelled || t.StartedAt != nil || t.InputMessageID != m.ID) {
			w.failf("law 6: message %s of session %s is stranded in the inbox of turn %s", m.ID, s, m.TurnID)
		}
		if t, ok := turns[m.TurnID]; !ok || t.SessionID != s {
			w.failf("message %s is in turn %s, which is none of its session", m.ID, m.TurnID)
		}
		for _, p := range m.Content {
			switch p.Type {
			case models.PartToolCall:
				calls[p.ToolCallID]++
			case models.PartToolResult:
				calls[p.ToolCallID] += 100
				if strings.HasPrefix(p.Error, "interrupted") {
					w.saw["interrupted"]++
				}
				if w.ran[p.ToolCallID] > 1 {
					w.saw["tool ran again"]++
				}
			case models.PartText, models.PartThinking, models.PartImage:
			}
		}
	}
	for id, n := range calls {
		if n != 101 {
			w.failf("call %s is there %d times with %d results", id, n%100, n/100)
		}
	}
}

// checkTurns checks that each turn has one end in the log, and the session adds up.
func (w *simulation) checkTurns(r *record, s models.SessionID, log []models.Event) {
	ends := map[models.TurnID][]models.EventKind{}
	var recorded models.Usage
	for _, e := range log {
		switch e.Kind {
		case models.EventGenerationRecorded:
			if p, err := events.Decode(e.Kind, e.Data); err != nil {
				w.failf("%v", err)
			} else if p, ok := p.(events.GenerationRecorded); ok {
				recorded = recorded.Add(p.Usage)
			}
		case models.EventTurnCompleted, models.EventTurnFailed, models.EventTurnSealed, models.EventTurnCancelled:
			ends[*e.TurnID] = append(ends[*e.TurnID], e.Kind)
		case models.EventReasonRecovered:
			w.saw["REASON_RECOVERED"]++
		case models.EventTurnQueued:
			w.saw["turn queued"]++
		}
	}
	session := r.sessions[s]
	var usage models.Usage
	for id, t := range r.turns {
		if t.SessionID != s {
			continue
		}
		usage = usage.Add(t.Usage)
		want := models.EventKind("TURN_" + string(t.Status))
		if got := ends[id]; len(got) != 1 || got[0] != want {
			w.failf("law 5: turn %s is %s, and its ends in the log are %v", id, t.Status, got)
		}
		w.saw["turns"]++
		if w.told.cancelled[id] && t.Status != models.TurnCancelled {
			w.failf("the cancel of turn %s was accepted, and it is %s", id, t.Status)
		}
		if t.StopReason != nil {
			w.saw[string(*t.StopReason)]++
		}
		if t.PendingCalls != 0 || t.StopReason == nil {
			w.failf("turn %s has ended with %d pending calls, stop reason %v", id, t.PendingCalls, t.StopReason)
		}
	}
	if recorded != session.Usage {
		w.failf("session %s: usage %+v, recorded is %+v", s, session.Usage, recorded)
	}
	if usage != session.Usage || session.QueuedTurns != 0 || session.Status == models.SessionActive {
		w.failf("session %s: usage %+v, that of its turns %+v, %d queued, %s", s, session.Usage, usage, session.QueuedTurns, session.Status)
	}
}

// moved reports whether a message ended up in another turn than the one that its sender was told: the turn that was made for what
// its predecessor left.
func (w *simulation) moved(m *simMessage) bool {
	for _, row := range read[models.Message](w, "id = ?", m.sent.MessageID) {
		return row.TurnID != m.sent.TurnID
	}
	return false
}

// checkSent compares what clients were told with what is there.
func (w *simulation) checkSent(received map[models.MessageID]int, texts []string) {
	count := map[string]int{}
	for _, t := range texts {
		count[t]++
	}
	for _, m := range w.messages {
		if m.acked && w.moved(m) {
			w.saw["inherited messages"]++
		}
		if m.acked && received[m.sent.MessageID] != 1 {
			w.failf("O1: %s was acknowledged and is there %d times", m.text, received[m.sent.MessageID])
		}
		if n := count[m.text]; n > 1 || m.acked && n == 0 {
			w.failf("O1: %s is there %d times, acknowledged %v", m.text, n, m.acked)
		}
		delete(count, m.text)
	}
	if len(count) > 0 {
		w.failf("O1: nobody has sent %v", fmt.Sprint(count))
	}
}
