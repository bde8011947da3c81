package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func (n *node) fork(s models.SessionID, through ...models.TurnID) *models.Session {
	n.w.t.Helper()
	in := sessions.NewFork{SessionID: s}
	if len(through) > 0 {
		in.ThroughTurnID = &through[0]
	}
	f, err := n.sessions.Fork(n.w.t.Context(), n.w.by, in)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return f
}

// shownLast is what the model was shown by the last request.
func (n *node) shownLast() string {
	requests := n.puppet.requests()
	return saidBy(requests[len(requests)-1].Messages)
}

// wantWhole checks the logs of sessions at rest.
func (w *world) wantWhole(sessions ...models.SessionID) {
	w.t.Helper()
	for _, s := range sessions {
		if err := events.CheckLog(w.events(s)); err != nil {
			w.t.Errorf("%s: %v", s, err)
		}
	}
}

// The model of a fork's turns is shown the history, whether or not the process has seen the original.
//
// Rules: K2.
func TestForkedTurnsSeeTheHistory(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		n.puppet.on(echoing)
		s := w.newSession(n)
		var ids []models.TurnID
		for i := range 3 {
			ids = append(ids, n.send(s, fmt.Sprintf("m%d", i)))
			w.idle(s)
		}
		f := n.fork(s, ids[1])
		n.send(f.ID, "other")
		w.idle(f.ID)
		if got, want := n.shownLast(), "Um0 Aok Um1 Aok Uother"; got != want {
			t.Errorf("shown is %s, want %s", got, want)
		}
		n.send(f.ID, "again")
		w.idle(f.ID)
		again := n.fork(f.ID)
		n.send(s, "m3")
		w.idle(s)
		if got, want := n.shownLast(), "Um0 Aok Um1 Aok Um2 Aok Um3"; got != want {
			t.Errorf("the original shows %s, want %s", got, want)
		}
		n.stop()
		other := w.start()
		other.puppet.on(echoing)
		other.send(again.ID, "last")
		w.idle(again.ID)
		if got, want := other.shownLast(), "Um0 Aok Um1 Aok Uother Aok Uagain Aok Ulast"; got != want {
			t.Errorf("the fork of the fork shows %s, want %s", got, want)
		}
		back := other.fork(again.ID, ids[0])
		other.send(back.ID, "back")
		w.idle(back.ID)
		if got, want := other.shownLast(), "Um0 Aok Uback"; got != want {
			t.Errorf("the fork from before the forks shows %s, want %s", got, want)
		}
		w.wantWhole(s, f.ID, again.ID, back.ID)
	})
}

// What is read of a long history is what the model will be shown, and no more; over many forks it fits together.
func TestALongLineOfForksIsReadInPages(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		n.puppet.on(echoing)
		s := w.newSession(n)
		var want []string
		for i := range 40 {
			text := fmt.Sprintf("m%d", i)
			n.send(s, text)
			w.idle(s)
			want = append(want, "U"+text, "Aok")
			if i%2 == 1 {
				s = n.fork(s).ID
			}
			if i%8 == 0 {
				// Nothing has happened there.
				s = n.fork(s).ID
			}
		}
		row := w.session(s)
		messages, more, err := n.engine.rows.messages(t.Context(), w.org, s, row.BaseSequence, 0, maxConversation)
		if err != nil || more {
			t.Fatalf("more is %v, %v", more, err)
		}
		var got []string
		for _, m := range messages {
			got = append(got, string(m.Role[:1])+m.Content[0].Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("read is\n%s, want\n%s", strings.Join(got, " "), strings.Join(want, " "))
		}
		half := messages[len(messages)/2]
		if rest, _, err := n.engine.rows.messages(t.Context(), w.org, s, row.BaseSequence, *half.Position, maxConversation); err != nil || len(rest) != len(messages)/2-1 {
			t.Errorf("%d messages come after the middle, %v", len(rest), err)
		}
		few, more, err := n.engine.rows.messages(t.Context(), w.org, s, row.BaseSequence, 0, 1)
		if err != nil || !more || len(few) == 0 || len(few) > messagesPage || few[len(few)-1].ID != messages[len(messages)-1].ID {
			t.Errorf("%d messages are read where one is enough, more is %v, %v", len(few), more, err)
		}
		n.send(s, "go")
		w.idle(s)
		if shown := n.shownLast(); shown != strings.Join(append(want, "Ugo"), " ") {
			t.Errorf("shown is %s", shown)
		}
		w.wantWhole(s)
	})
}

// A stream of a fork goes from the history of others into its own without a gap, and on into what happens.
//
// Rules: K2.
func TestStreamsOfAForkCrossItsBeginning(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		n.puppet.on(echoing)
		s := w.newSession(n)
		first := n.send(s, "one")
		w.idle(s)
		n.send(s, "two")
		w.idle(s)
		feed, err := n.hub.SubscribeOrg(t.Context(), w.org, events.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		f := n.fork(s, first)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		item, err := feed.Next(ctx)
		if err != nil || item.Event.Kind != models.EventSessionStarted || item.Event.SessionID != f.ID || item.Event.Sequence != f.BaseSequence+1 {
			t.Fatalf("the feed tells %+v, %v", item, err)
		}
		border := f.BaseSequence
		var subs []*events.Subscription
		for _, after := range []int64{0, 1, border - 1, border, border + 1} {
			sub, err := n.hub.Subscribe(t.Context(), w.org, f.ID, events.Options{After: &after})
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			subs = append(subs, sub)
			for at := after + 1; at <= border+1; at++ {
				item, err := sub.Next(ctx)
				if err != nil || item.Event.Sequence != at || item.Event.SessionID != f.ID || (at <= border && item.Event.FeedPosition != nil) {
					t.Fatalf("after %d, event %d is %+v, %v", after, at, item, err)
				}
			}
			if item, err := sub.Next(ctx); err != nil || item.Event.Kind != models.EventCaughtUp {
				t.Fatalf("after %d, the end is %+v, %v", after, item, err)
			}
		}
		n.send(f.ID, "three")
		w.idle(f.ID)
		last := w.session(f.ID).LastSequence
		for _, sub := range subs {
			for at := border + 2; at <= last; {
				item, err := sub.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if item.Ephemeral {
					continue
				}
				if item.Event.Sequence != at {
					t.Fatalf("live, event %d is %+v", at, item.Event)
				}
				at++
			}
		}
		w.wantWhole(s, f.ID)
	})
}
