package events_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

func (s *scene) store(epoch int64, attempt int, text, thinking string) {
	s.m.store(models.Checkpoint{TurnID: s.turn, MessageID: s.message, Epoch: epoch, Attempt: attempt, Text: text, Thinking: thinking})
}

func (s *scene) complete() {
	s.publish(events.OutputCompleted{Message: events.Message{ID: s.message}})
}

// Rules: V2.
func TestTextIsStreamed(t *testing.T) {
	play(t, nil, func(s *scene) {
		here, there := read(s.T, s.a, s.m.key, nil), read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.begin()
		for _, r := range []*reader{here, there} {
			r.expect(s.T, "2", "3", "4")
		}
		thought := s.delta(1, 1, 0, "hm")
		thought.Thinking = true
		s.a.PublishDelta(thought)
		s.a.PublishDelta(s.delta(1, 1, 0, "He"))
		for _, r := range []*reader{here, there} {
			r.expect(s.T, `thinking[0]"hm"@4`, `text[0]"He"@4`)
		}
		s.a.PublishDelta(s.delta(1, 1, 2, "llo 😀"))
		for _, r := range []*reader{here, there} {
			r.expect(s.T, `text[2]"llo 😀"@4`)
		}
		s.a.PublishDelta(s.delta(1, 1, 8, "!"))
		s.complete()
		for _, r := range []*reader{here, there} {
			r.expect(s.T, `text[8]"!"@4`, "5")
		}
		s.a.PublishDelta(s.delta(1, 1, 9, "late"))
		here.expect(s.T)
		there.expect(s.T)
	})
}

func TestASlowReaderGetsTextMerged(t *testing.T) {
	play(t, nil, func(s *scene) {
		sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{})
		if err != nil {
			s.Fatal(err)
		}
		defer sub.Close()
		s.begin()
		for i := range 1000 {
			s.a.PublishDelta(s.delta(1, 1, i, "x"))
		}
		s.complete()
		for _, want := range []string{"2", "3", "4", `text[0]"` + strings.Repeat("x", 1000) + `"@4`, "5"} {
			item, err := sub.Next(s.Context())
			if err != nil || describe(item) != want {
				s.Fatalf("got %v, %v; want %s", describe(item), err, want)
			}
		}
	})
}

// Rules: V3.
func TestLateJoinersGetTheTextSoFar(t *testing.T) {
	play(t, nil, func(s *scene) {
		first := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.begin()
		s.a.PublishDelta(s.delta(1, 1, 0, "one "))
		s.a.PublishDelta(s.delta(1, 1, 4, "two "))
		synctest.Wait()
		// This node has heard everything.
		late := read(s.T, s.b, s.m.key, new(int64(2)))
		late.expect(s.T, "3", "4", "caught up@4", `text[0]"one two "@4`)
		now := read(s.T, s.b, s.m.key, nil)
		now.expect(s.T, `text[0]"one two "@4`)
		// The other has heard nothing yet, and the checkpoint is behind.
		s.store(1, 1, "one ", "")
		other := read(s.T, s.a, s.m.key, nil)
		other.expect(s.T, `text[0]"one "@4`)
		s.a.PublishDelta(s.delta(1, 1, 8, "three "))
		other.expect(s.T)
		s.store(1, 1, "one two three ", "")
		s.a.PublishDelta(s.delta(1, 1, 14, "four"))
		other.expect(s.T)
		pass(500 * time.Millisecond)
		other.expect(s.T, `text[4]"two three four"@4`)
		if n := s.m.count(&s.m.checkpoints); n > 3 {
			s.Errorf("the checkpoint was read %d times", n)
		}
		s.complete()
		for _, r := range []*reader{late, now, first, other} {
			if got := r.take(); got[len(got)-1] != "5" {
				s.Errorf("got %v", got)
			}
		}
	})
}

// Rules: V1.
func TestDeadRunnersAreNotHeard(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.begin()
		s.a.PublishDelta(s.delta(1, 1, 0, "old"))
		r.expect(s.T, "2", "3", "4", `text[0]"old"@4`)
		s.publish(events.ReasonRecovered{})
		s.a.PublishDelta(s.delta(2, 1, 0, "ne"))
		r.expect(s.T, "5", `text[0]"ne"@5`)
		s.a.PublishDelta(s.delta(1, 1, 3, " ghost"))
		s.a.PublishDelta(s.delta(2, 1, 2, "w"))
		r.expect(s.T, `text[2]"w"@5`)
		s.a.PublishDelta(s.delta(2, 2, 0, "retry"))
		s.a.PublishDelta(s.delta(2, 1, 3, " ghost"))
		r.expect(s.T, `text[0]"retry"@5`)
	})
}

func TestTextWaitsForItsBeginning(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.net.fate = func() []time.Duration { return nil }
		s.begin()
		s.net.fate = faithful
		s.a.PublishDelta(s.delta(1, 1, 0, "early"))
		r.expect(s.T)
		// The sweep finds the events; the text was kept.
		pass(16 * time.Second)
		r.expect(s.T, "2", "3", "4", `text[0]"early"@4`)
	})
}

// Rules: V3.
func TestTextComesFromTheCheckpointWhileTheBusIsGone(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.begin()
		r.expect(s.T, "2", "3", "4")
		s.net.set(true)
		s.a.PublishDelta(s.delta(1, 1, 0, "some text"))
		s.store(1, 1, "some text", "a thought")
		pass(1100 * time.Millisecond)
		r.expect(s.T, `thinking[0]"a thought"@4`, `text[0]"some text"@4`)
	})
}

func TestProgressIsLive(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.a.PublishProgress(s.m.key.Org, s.m.key.Session, s.turn, events.ToolProgress{ToolCallID: "c", Message: "half"})
		s.a.PublishProgress(s.m.key.Org, s.m.key.Session, s.turn, events.ToolProgress{ToolCallID: "c", Message: "done"})
		r.expect(s.T, "progress half@1", "progress done@1")
	})
}

func TestRetriesAreLive(t *testing.T) {
	play(t, nil, func(s *scene) {
		here, there := read(s.T, s.a, s.m.key, nil), read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.a.PublishRetrying(s.m.key.Org, s.m.key.Session, s.turn, events.GenerationRetrying{
			NextModel: "m2", Code: "provider_unavailable", Attempt: 2, DelayMs: 70,
		})
		here.expect(s.T, "retrying m2 after provider_unavailable 2/70ms@1")
		there.expect(s.T, "retrying m2 after provider_unavailable 2/70ms@1")
	})
}

// TestAFailedAttemptIsWithdrawn has an attempt begin that says nothing, or nothing yet: what the one before it has said is taken
// back at once, and only once, on every node.
//
// Rules: V1.
func TestAFailedAttemptIsWithdrawn(t *testing.T) {
	play(t, nil, func(s *scene) {
		here, there := read(s.T, s.a, s.m.key, nil), read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.begin()
		thought := s.delta(1, 1, 0, "hm")
		thought.Thinking = true
		s.a.PublishDelta(thought)
		s.a.PublishDelta(s.delta(1, 1, 0, "half a"))
		for _, r := range []*reader{here, there} {
			r.expect(s.T, "2", "3", "4", `thinking[0]"hm"@4`, `text[0]"half a"@4`)
		}
		s.a.PublishDelta(s.delta(1, 2, 0, ""))
		s.a.PublishDelta(s.delta(1, 3, 0, ""))
		s.a.PublishDelta(s.delta(1, 2, 6, " word"))
		for _, r := range []*reader{here, there} {
			r.expect(s.T, `thinking[0]""@4`, `text[0]""@4`)
		}
		late := read(s.T, s.b, s.m.key, nil)
		late.expect(s.T)
		s.a.PublishDelta(s.delta(1, 3, 0, "whole"))
		for _, r := range []*reader{here, there, late} {
			r.expect(s.T, `text[0]"whole"@4`)
		}
	})
}

// TestACheckpointWithdrawsText has a node that heard nothing of the new attempt learn of it from the checkpoint.
func TestACheckpointWithdrawsText(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.begin()
		s.a.PublishDelta(s.delta(1, 1, 0, "half a"))
		r.expect(s.T, "2", "3", "4", `text[0]"half a"@4`)
		s.net.set(true)
		s.a.PublishDelta(s.delta(1, 2, 0, ""))
		s.store(1, 2, "", "")
		pass(1100 * time.Millisecond)
		r.expect(s.T, `text[0]""@4`)
	})
}

func TestALaggingReaderIsEndedAndCanResume(t *testing.T) {
	play(t, func(c *events.Config) { c.Buffer = 10 }, func(s *scene) {
		sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{})
		if err != nil {
			s.Fatal(err)
		}
		defer sub.Close()
		s.begin()
		// Ephemeral events make room before anything durable is lost.
		for range 100 {
			s.a.PublishProgress(s.m.key.Org, s.m.key.Session, s.turn, events.ToolProgress{Message: "x"})
			s.a.PublishDelta(s.delta(1, 1, 0, "x"))
		}
		for range 7 {
			s.publish(s.titles(1)...)
		}
		for n := int64(2); n <= 11; n++ {
			item, err := sub.Next(s.Context())
			if err != nil || item.Event.Sequence != n || item.Ephemeral {
				s.Fatalf("got %v, %v; want %d", item, err, n)
			}
		}
		if item, err := sub.Next(s.Context()); err != nil || describe(item) != `text[0]"x"@11` {
			s.Fatalf("the text was lost: %v, %v", item, err)
		}
		for range 11 {
			s.publish(s.titles(1)...)
		}
		var lagged *events.LaggedError
		last := int64(0)
		for err == nil {
			var item *events.Item
			if item, err = sub.Next(s.Context()); err == nil {
				last = item.Event.Sequence
			}
		}
		if !errors.As(err, &lagged) || lagged.LastSequence != last || last != 21 {
			s.Fatalf("got %v after %d", err, last)
		}
		read(s.T, s.b, s.m.key, &last).expect(s.T, "22", "caught up@22", `text[0]"x"@22`)
	})
}

func TestReadersShareWhatIsMadeForThem(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.begin()
		var subs [2]*events.Subscription
		for i := range subs {
			sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{})
			if err != nil {
				s.Fatal(err)
			}
			defer sub.Close()
			subs[i] = sub
		}
		s.publish(s.titles(1)...)
		s.a.PublishDelta(s.delta(1, 1, 0, "x"))
		s.a.PublishProgress(s.m.key.Org, s.m.key.Session, s.turn, events.ToolProgress{Message: "x"})
		for range 3 {
			one, err := subs[0].Next(s.Context())
			if err != nil {
				s.Fatal(err)
			}
			two, err := subs[1].Next(s.Context())
			if err != nil || one != two {
				s.Fatalf("%s was made twice; %v", describe(one), err)
			}
			rendered := 0
			for range 2 {
				if _, err := one.Rendered(func(*events.Item) (any, error) { rendered++; return nil, nil }); err != nil {
					s.Fatal(err)
				}
			}
			if rendered != 1 {
				s.Fatalf("%s was rendered %d times", describe(one), rendered)
			}
		}
	})
}
