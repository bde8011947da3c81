package runtime

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf16"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// watcher is somebody who watches a session and joins what is said in it.
type watcher struct {
	w   *world
	sub *events.Subscription
	// text and thinking are what was joined, in the units that offsets count.
	text, thinking []uint16
	deltas         int
}

func (n *node) watch(s models.SessionID) *watcher {
	n.w.t.Helper()
	sub, err := n.hub.Subscribe(n.w.t.Context(), n.w.org, s, events.Options{})
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.w.t.Cleanup(sub.Close)
	return &watcher{w: n.w, sub: sub}
}

// until reads on until something holds. A piece that doesn't go on where the one before it ended is an error.
func (v *watcher) until(what string, holds func(*events.Item) bool) {
	v.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		item, err := v.sub.Next(ctx)
		if err != nil {
			v.w.t.Fatalf("watched in vain: %s: %v; heard was %q, thought %q", what, err, v.said(), v.thought())
		}
		p, err := item.Payload()
		if err != nil {
			v.w.t.Fatal(err)
		}
		switch p := p.(type) {
		case events.OutputDelta:
			v.text = v.join(v.text, p.Offset, p.Delta)
		case events.ThinkingDelta:
			v.thinking = v.join(v.thinking, p.Offset, p.Delta)
		}
		if holds(item) {
			return
		}
	}
}

func (v *watcher) join(to []uint16, offset int, delta string) []uint16 {
	v.w.t.Helper()
	v.deltas++
	if offset != len(to) {
		v.w.t.Errorf("a piece %q has the offset %d, and %d units were before it", delta, offset, len(to))
	}
	return append(to, utf16.Encode([]rune(delta))...)
}

func (v *watcher) said() string    { return string(utf16.Decode(v.text)) }
func (v *watcher) thought() string { return string(utf16.Decode(v.thinking)) }

// heard waits until all of an answer was heard.
func (v *watcher) heard(text, thinking string) {
	v.w.t.Helper()
	v.until("all that was said", func(*events.Item) bool { return v.said() == text && v.thought() == thinking })
}

// ended waits until a turn has ended.
func (v *watcher) ended() {
	v.w.t.Helper()
	v.until("the end of the turn", func(i *events.Item) bool { return i.Event.Kind == models.EventTurnCompleted })
}

// saying plays a model that says things piece by piece, waits at the gate, and then answers with parts.
func saying(g *gate, pieces []llm.Delta, parts ...models.Part) playFunc {
	return func(ctx context.Context, _ llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		for _, d := range pieces {
			emit(d)
		}
		g.pass(ctx)
		return answer(llm.FinishStop, parts...), nil
	}
}

// checkpoint waits for the checkpoint of a session in which a model speaks.
func (w *world) checkpoint(s models.SessionID) models.Checkpoint {
	w.t.Helper()
	var list []models.Checkpoint
	w.eventually("there is a checkpoint", func() bool {
		if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Where("session_id = ?", s).Find(&list).Error; err != nil {
			w.t.Fatal(err)
		}
		return len(list) > 0
	})
	return list[0]
}

// TestDeltasJoin has those who watch put an answer together from its pieces: offsets count UTF-16 units, as browsers do, of each
// channel by itself.
//
// Rules: P9.
func TestDeltasJoin(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		v := n.watch(s)
		first, last := n.puppet.add(), n.puppet.add()
		text, thinking := "a😀é漢𝄞👩‍👩‍👧z", "Hm 🤔𝄞!"
		rest := saying(last, []llm.Delta{{Text: "漢𝄞"}, {Text: "👩‍👩‍👧"}, {Thinking: "!"}, {Text: "z"}},
			models.Part{Type: models.PartThinking, Text: thinking}, textPart(text))
		n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
			_, _ = saying(first, []llm.Delta{{Thinking: "Hm 🤔"}, {Text: "a😀"}, {Thinking: "𝄞"}, {}, {Text: "é"}})(ctx, req, emit)
			return rest(ctx, req, emit)
		})
		n.send(s, "go")
		// What is not heard before the answer is there would not be sent any more: the message that ends the step has it.
		v.heard("a😀é", "Hm 🤔𝄞")
		first.open()
		v.heard(text, thinking)
		last.open()
		v.ended()
		if v.said() != text || v.thought() != thinking || v.deltas < 4 {
			t.Errorf("%d pieces make %q and %q", v.deltas, v.said(), v.thought())
		}
		log := w.idle(s)
		if got := the[events.ThinkingCompleted](t, log).Text; got != thinking {
			t.Errorf("in the end it has thought %q", got)
		}
		if got := turns.Joined(the[events.OutputCompleted](t, log).Message.Content, models.PartText); got != text {
			t.Errorf("in the end it has said %q", got)
		}
	})
}

// TestCheckpoints saves a long answer while it comes; it is not needed any more when the turn has ended, which idle checks.
//
// Rules: J10.
func TestCheckpoints(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		g := n.puppet.add()
		text := strings.Repeat("x", ask.CheckpointBytes)
		n.puppet.on(saying(g, []llm.Delta{{Thinking: "Hm."}, {Text: text}}, textPart(text)))
		turn := n.send(s, "go")
		saved := w.checkpoint(s)
		row := w.turn(turn)
		if saved.TurnID != turn || saved.MessageID != *row.OutputMessageID || saved.Epoch != row.LeaseEpoch || saved.Attempt != row.ModelCalls {
			t.Errorf("the checkpoint of %+v is for %s, message %s, epoch %d, attempt %d", row, saved.TurnID, saved.MessageID, saved.Epoch, saved.Attempt)
		}
		if saved.Text != text || saved.Thinking != "Hm." {
			t.Errorf("saved are %d bytes of text and the thinking %q", len(saved.Text), saved.Thinking)
		}
		g.open()
		the[events.TurnCompleted](t, w.idle(s))
	})
}

// TestSaidTooLate has a driver go on after it has returned, while its answer is being committed and after that: nobody hears it,
// and nothing of it is saved.
func TestSaidTooLate(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		v := n.watch(s)
		var emit atomic.Pointer[func(llm.Delta)]
		late := func() {
			if f := emit.Load(); f != nil {
				(*f)(llm.Delta{Text: strings.Repeat("late", ask.CheckpointBytes)})
				(*f)(llm.Delta{Thinking: "late"})
			}
		}
		n.puppet.on(func(_ context.Context, _ llm.Request, f func(llm.Delta)) (llm.Response, error) {
			emit.Store(&f)
			return answer(llm.FinishStop, textPart("ok")), nil
		})
		n.faults.on(func(string) error {
			late()
			return nil
		})
		n.send(s, "go")
		v.ended()
		log := w.idle(s)
		late()
		if got := turns.Joined(the[events.OutputCompleted](t, log).Message.Content, models.PartText); got != "ok" {
			t.Errorf("the answer is %q", got)
		}
		if v.deltas != 0 {
			t.Errorf("heard was %d pieces: %.20q, thought %q", v.deltas, v.said(), v.thought())
		}
		if after := w.idle(s); len(after) != len(log) {
			t.Errorf("what was said too late is in the log:\n%s", kinds(after[len(log):]))
		}
	})
}

// TestDirtyStream has a model say what databases refuse and JSON can't hold: pieces, checkpoint and message have the same in its
// place, and the turn gets on.
func TestDirtyStream(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		v := n.watch(s)
		g := n.puppet.add()
		long := strings.Repeat("x", ask.CheckpointBytes)
		dirty, clean := "a\x00b\xff😀\xed\xa0\x80", "a\uFFFDb\uFFFD😀\uFFFD\uFFFD\uFFFD"
		pieces := []llm.Delta{{Thinking: "t\x00\xff"}, {Text: dirty + long}}
		n.puppet.on(saying(g, pieces, models.Part{Type: models.PartThinking, Text: "t\x00\xff"}, textPart(dirty+long)))
		n.send(s, "go")
		v.heard(clean+long, "t\uFFFD\uFFFD")
		if saved := w.checkpoint(s); saved.Text != clean+long || saved.Thinking != "t\uFFFD\uFFFD" {
			t.Errorf("saved are %.30q and %q", saved.Text, saved.Thinking)
		}
		g.open()
		v.ended()
		log := w.idle(s)
		the[events.TurnCompleted](t, log)
		if got := turns.Joined(the[events.OutputCompleted](t, log).Message.Content, models.PartText); got != clean+long {
			t.Errorf("in the end it has said %.30q", got)
		}
		if got := the[events.ThinkingCompleted](t, log).Text; got != "t\uFFFD\uFFFD" {
			t.Errorf("in the end it has thought %q", got)
		}
	})
}
