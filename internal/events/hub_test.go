package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// reader reads a subscription in the background and notes what comes.
type reader struct {
	sub  *events.Subscription
	mu   sync.Mutex
	got  []string
	err  error
	done chan struct{}
}

func read(t *testing.T, h *events.Hub, key events.Key, after *int64) *reader {
	t.Helper()
	return readWith(t, h, key, events.Options{After: after})
}

func readWith(t *testing.T, h *events.Hub, key events.Key, opts events.Options) *reader {
	t.Helper()
	sub, err := h.Subscribe(t.Context(), key.Org, key.Session, opts)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{sub: sub, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			item, err := sub.Next(t.Context())
			if err != nil {
				r.err = err
				return
			}
			r.mu.Lock()
			r.got = append(r.got, describe(item))
			r.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		sub.Close()
		<-r.done
	})
	return r
}

// describe returns an event in short: its sequence, or what an ephemeral one says with the sequence that it carries.
func describe(item *events.Item) string {
	if !item.Ephemeral {
		return fmt.Sprint(item.Event.Sequence)
	}
	p, _ := item.Payload()
	switch p := p.(type) {
	case events.OutputDelta:
		return fmt.Sprintf("text[%d]%q@%d", p.Offset, p.Delta, item.Event.Sequence)
	case events.ThinkingDelta:
		return fmt.Sprintf("thinking[%d]%q@%d", p.Offset, p.Delta, item.Event.Sequence)
	case events.ToolProgress:
		return fmt.Sprintf("progress %s@%d", p.Message, item.Event.Sequence)
	case events.GenerationRetrying:
		return fmt.Sprintf("retrying %s after %s %d/%dms@%d", p.NextModel, p.Code, p.Attempt, p.DelayMs, item.Event.Sequence)
	case events.CaughtUp:
		return fmt.Sprintf("caught up@%d", item.Event.Sequence)
	}
	return "?"
}

// expect waits until nothing moves any more, and compares what came since the last time.
func (r *reader) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(r.take(), " | "); got != strings.Join(want, " | ") {
		t.Fatalf("got\n%s, want\n%s", got, strings.Join(want, " | "))
	}
}

func (r *reader) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

type scene struct {
	*testing.T
	m       *memory
	net     *network
	turn    models.TurnID
	message models.MessageID
	a, b    *events.Hub
	busB    *nodeBus
}

// play sets two nodes on one session up, a with its commits and b, and lets time stand still unless the test sleeps.
func play(t *testing.T, change func(*events.Config), test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{
			T: t, m: newMemory(), net: &network{fate: faithful}, turn: models.NewID[models.TurnEntity](),
			message: models.NewID[models.MessageEntity](),
		}
		s.a = startHub(t, s.m, s.net.join(), change)
		s.busB = s.net.join()
		s.b = startHub(t, s.m, s.busB, change)
		s.m.commit(models.TurnID{}, events.SessionStarted{})
		test(s)
	})
}

func (s *scene) publish(payloads ...events.Payload) {
	s.a.Publish(s.m.key.Org, s.m.key.Session, s.m.commit(s.turn, payloads...))
}

func (s *scene) titles(n int) []events.Payload {
	list := make([]events.Payload, n)
	for i := range list {
		list[i] = events.SessionTitleChanged{}
	}
	return list
}

func (s *scene) begin() {
	s.publish(events.SessionActivated{}, events.TurnStarted{}, events.OutputStarted{MessageID: s.message})
}

func (s *scene) delta(epoch int64, attempt, offset int, text string) events.Delta {
	return events.Delta{
		OrgID: s.m.key.Org, SessionID: s.m.key.Session, TurnID: s.turn, MessageID: s.message,
		Epoch: epoch, Attempt: attempt, Offset: offset, Text: text,
	}
}

func TestResumeIsExact(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.publish(s.titles(3)...)
		all, some, none := read(s.T, s.b, s.m.key, new(int64(0))), read(s.T, s.b, s.m.key, new(int64(3))), read(s.T, s.b, s.m.key, nil)
		all.expect(s.T, "1", "2", "3", "4", "caught up@4")
		some.expect(s.T, "4", "caught up@4")
		none.expect(s.T)
		s.publish(s.titles(2)...)
		for _, r := range []*reader{all, some, none} {
			r.expect(s.T, "5", "6")
		}
	})
}

// A reader that can't deliver an event resumes at the place that it is told, and gets the event first, whether that was replayed or live.
func TestAnEventThatIsNotDeliveredComesAgain(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.publish(s.titles(3)...)
		sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{After: new(int64(0))})
		if err != nil {
			s.Fatal(err)
		}
		defer sub.Close()
		for n := range 8 { // four of the log, CAUGHT_UP, and live ones
			if n == 5 {
				s.publish(s.titles(3)...)
			}
			item, err := sub.Next(s.Context())
			if err != nil {
				s.Fatal(err)
			}
			var lagged *events.LaggedError
			if err := sub.Undelivered(item); !errors.As(err, &lagged) || !lagged.Memory {
				s.Fatalf("got %v", err)
			}
			if (lagged.Mark == events.Mark{}) != (n == 0) {
				s.Errorf("%s: the place before it is marked %v", describe(item), lagged.Mark)
			}
			again, err := s.a.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{After: &lagged.LastSequence, Mark: lagged.Mark})
			if err != nil {
				s.Fatal(err)
			}
			if got, err := again.Next(s.Context()); err != nil || describe(got) != describe(item) {
				s.Errorf("no. %d: got %v, %v, want %s", n, got, err, describe(item))
			}
			again.Close()
		}
	})
}

// Whoever has seen more than there is must hear it: what comes next would not be what follows on that.
func TestAStreamDoesNotBeginPastTheEnd(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.publish(s.titles(3)...)
		for _, hub := range []*events.Hub{s.a, s.b, s.b} { // nobody, and somebody, follows the session already
			_, err := hub.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{After: new(int64(5))})
			if past, ok := errors.AsType[*events.LostPlaceError](err); !ok || past.LastSequence != 4 {
				s.Errorf("got %v", err)
			}
			read(s.T, s.b, s.m.key, new(int64(4))).expect(s.T, "caught up@4")
		}
	})
}

// A database that was restored grows past the places that clients know again. Who says which event is there hears of it; who says only where it is
// can't be told.
func TestAStreamDoesNotBeginBehindAnotherEvent(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.publish(s.titles(3)...)
		log := slices.Clone(s.m.log)
		begin := func(hub *events.Hub, after int64) *reader {
			return readWith(s.T, hub, s.m.key, events.Options{After: &after, Mark: events.MarkOf(&log[after-1])})
		}
		for _, hub := range []*events.Hub{s.a, s.b, s.b} {
			begin(hub, 2).expect(s.T, "3", "4", "caught up@4")
			end := begin(hub, 4)
			end.expect(s.T, "caught up@4")
			if end.sub.Mark() != events.MarkOf(&log[3]) {
				s.Error("the mark of the place is lost")
			}
		}
		before := s.m.count(&s.m.reads)
		for range 10 { // they share the stream of those before
			read(s.T, s.b, s.m.key, new(int64(4))).expect(s.T, "caught up@4")
		}
		if reads := s.m.count(&s.m.reads) - before; reads != 0 {
			s.Errorf("without marks there were %d reads", reads)
		}
		s.m.mu.Lock()
		for i := range s.m.log[2:] {
			s.m.log[2+i].ID = models.NewID[models.EventEntity]()
		}
		s.m.mu.Unlock()
		for _, after := range []int64{3, 4} {
			r := begin(s.b, after)
			got := r.take()
			r.sub.Close()
			<-r.done
			if lost, ok := errors.AsType[*events.LostPlaceError](r.err); !ok || !lost.Replaced || lost.LastSequence != 4 || len(got) != 0 {
				s.Errorf("after %d: got %v, %v", after, got, r.err)
			}
		}
		begin(s.b, 2).expect(s.T, "3", "4", "caught up@4")
	})
}

func TestPlacesAreReadAsTheyAreWritten(t *testing.T) {
	for s, ok := range map[string]bool{
		"41": true, "0": true, "41.AQIDBAUGBwg": true, "": false, "-1": false, "x": false, "41.": false, "41.AQID": false, "41.AQIDBAUGBwgJ": false,
		"41.AQIDBAUGBw!": false, ".AQIDBAUGBwg": false, "41.AQIDBAUGBwg.": false,
	} {
		if sequence, m, got := events.ParsePlace(s); got != ok || ok && events.FormatPlace(sequence, m) != s {
			t.Errorf("%q: %d %v %v", s, sequence, m, got)
		}
	}
}

func TestALongLogIsReplayedInPages(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.publish(s.titles(1234)...)
		one, two := read(s.T, s.b, s.m.key, new(int64(0))), read(s.T, s.b, s.m.key, new(int64(0)))
		for _, r := range []*reader{one, two} {
			if got := r.take(); len(got) != 1236 || got[1234] != "1235" || got[1235] != "caught up@1235" {
				s.Fatalf("got %d", len(got))
			}
		}
	})
}

func TestUnknownAndForeignSessionsLookTheSame(t *testing.T) {
	play(t, nil, func(s *scene) {
		unknown := models.NewID[models.SessionEntity]()
		_, err := s.a.Subscribe(s.Context(), s.m.key.Org, unknown, events.Options{})
		if !fault.Is(err, fault.NotFound) {
			s.Fatalf("unknown: %v", err)
		}
		foreign := models.NewID[models.OrgEntity]()
		_, err2 := s.a.Subscribe(s.Context(), foreign, s.m.key.Session, events.Options{After: new(int64(0))})
		if !fault.Is(err2, fault.NotFound) || strings.ReplaceAll(err.Error(), unknown.String(), s.m.key.Session.String()) != err2.Error() {
			s.Fatalf("foreign: %v", err2)
		}
		if _, err := s.a.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{After: new(int64(-1))}); !fault.Is(err, fault.Invalid) {
			s.Fatalf("after -1: %v", err)
		}
		synctest.Wait()
		if n := s.a.Sessions(); n != 0 {
			s.Fatalf("%d streams are left", n)
		}
	})
}

func TestTheLastToLeaveTurnsOffTheLight(t *testing.T) {
	play(t, nil, func(s *scene) {
		one, two := read(s.T, s.b, s.m.key, nil), read(s.T, s.b, s.m.key, new(int64(0)))
		synctest.Wait()
		if s.b.Sessions() != 1 || s.b.Subscribers() != 2 || s.busB.listeners() != 1 {
			s.Fatalf("%d sessions, %d subscribers, %d listeners", s.b.Sessions(), s.b.Subscribers(), s.busB.listeners())
		}
		one.sub.Close()
		one.sub.Close()
		if s.b.Subscribers() != 1 {
			s.Fatal("closing twice counts twice")
		}
		two.sub.Close()
		<-two.done
		if s.b.Sessions() != 0 || s.busB.listeners() != 0 {
			s.Fatalf("%d sessions, %d listeners", s.b.Sessions(), s.busB.listeners())
		}
		s.publish(s.titles(1)...)
	})
}

func TestAGapIsWaitedForThenRead(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, new(int64(1)))
		r.expect(s.T, "caught up@1")
		reads := s.m.count(&s.m.reads)
		s.net.fate = func() []time.Duration { return []time.Duration{10 * time.Millisecond} }
		s.publish(s.titles(1)...)
		s.net.fate = faithful
		s.publish(s.titles(1)...)
		r.expect(s.T)
		pass(10 * time.Millisecond)
		r.expect(s.T, "2", "3")
		pass(50 * time.Millisecond)
		if n := s.m.count(&s.m.reads); n != reads {
			s.Fatalf("what came late was read %d times", n-reads)
		}
		s.net.fate = func() []time.Duration { return nil }
		s.publish(s.titles(1)...)
		s.net.fate = faithful
		s.publish(s.titles(1)...)
		pass(19 * time.Millisecond)
		r.expect(s.T)
		pass(time.Millisecond)
		r.expect(s.T, "4", "5")
		if n := s.m.count(&s.m.reads); n != reads+1 {
			s.Fatalf("what was lost was read %d times", n-reads)
		}
	})
}

func TestALargeCommitIsReadAtOnce(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		s.publish(events.SessionTitleChanged{Title: new(strings.Repeat("x", 600<<10))})
		r.expect(s.T, "2")
	})
}

func TestWhatTheBusLosesIsFound(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.net.fate = func() []time.Duration { return nil }
		s.publish(s.titles(1)...)
		pass(14 * time.Second)
		r.expect(s.T)
		pass(1100 * time.Millisecond)
		r.expect(s.T, "2")
		// A session at work is looked at every second.
		s.publish(events.SessionActivated{})
		pass(15 * time.Second)
		r.expect(s.T, "3")
		s.publish(s.titles(1)...)
		pass(1100 * time.Millisecond)
		r.expect(s.T, "4")
		// And at once when the bus is connected again.
		s.publish(events.SessionIdled{})
		pass(1100 * time.Millisecond)
		r.expect(s.T, "5")
		s.net.set(true)
		s.publish(s.titles(1)...)
		s.net.set(false)
		pass(20 * time.Millisecond)
		r.expect(s.T, "6")
		positions := s.m.count(&s.m.positions)
		pass(14 * time.Second)
		if n := s.m.count(&s.m.positions) - positions; n > 1 {
			s.Fatalf("a session at rest was looked at %d times in 14 s", n)
		}
	})
}

func TestABrokenDatabaseIsTriedAgain(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		s.net.fate = func() []time.Duration { return nil }
		s.publish(s.titles(1)...)
		s.net.fate = faithful
		s.m.fail(errors.New("down"))
		s.publish(s.titles(1)...)
		pass(time.Minute)
		r.expect(s.T)
		if _, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{After: new(int64(0))}); err == nil {
			s.Fatal("want an error")
		}
		s.m.fail(nil)
		pass(250 * time.Millisecond)
		r.expect(s.T, "2", "3")
	})
}

func TestAMessageThatLiesIsNotBelieved(t *testing.T) {
	play(t, nil, func(s *scene) {
		r := read(s.T, s.b, s.m.key, nil)
		synctest.Wait()
		e := s.m.commit(s.turn, s.titles(1)...)[0]
		e.Sequence = 100
		s.m.mu.Lock()
		s.m.log = s.m.log[:1]
		s.m.mu.Unlock()
		s.a.Publish(s.m.key.Org, s.m.key.Session, []models.Event{e})
		pass(time.Second)
		reads := s.m.count(&s.m.reads)
		pass(time.Minute)
		if n := s.m.count(&s.m.reads); n != reads {
			s.Fatalf("it was looked for %d times more", n-reads)
		}
		s.publish(s.titles(1)...)
		r.expect(s.T, "2")
	})
}

func TestALongHoleIsReadByTheSubscribersThemselves(t *testing.T) {
	play(t, nil, func(s *scene) {
		one, two := read(s.T, s.b, s.m.key, nil), read(s.T, s.b, s.m.key, new(int64(1)))
		two.expect(s.T, "caught up@1")
		s.net.fate = func() []time.Duration { return nil }
		s.publish(s.titles(2000)...)
		s.net.fate = faithful
		s.publish(s.titles(1)...)
		pass(20 * time.Millisecond)
		for _, r := range []*reader{one, two} {
			if got := r.take(); len(got) != 2001 || got[0] != "2" || got[2000] != "2002" {
				s.Fatalf("got %d", len(got))
			}
		}
		s.publish(s.titles(1)...)
		one.expect(s.T, "2003")
		two.expect(s.T, "2003")
		if n := s.m.count(&s.m.reads); n > 12 {
			s.Fatalf("two subscribers read %d pages", n)
		}
	})
}

func TestStopEndsStreams(t *testing.T) {
	play(t, nil, func(s *scene) {
		live, replaying := read(s.T, s.b, s.m.key, nil), read(s.T, s.b, s.m.key, new(int64(0)))
		synctest.Wait()
		s.b.Stop()
		for _, r := range []*reader{live, replaying} {
			<-r.done
			if !errors.Is(r.err, events.ErrStopped) {
				s.Errorf("got %v", r.err)
			}
		}
		if _, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{}); !errors.Is(err, events.ErrStopped) {
			s.Errorf("a stopped hub took a subscriber: %v", err)
		}
		s.b.Publish(s.m.key.Org, s.m.key.Session, s.m.commit(s.turn, s.titles(1)...))
		s.b.PublishDelta(s.delta(1, 1, 0, "x"))
	})
}

func TestAReaderMayGiveUp(t *testing.T) {
	play(t, nil, func(s *scene) {
		sub, err := s.b.Subscribe(s.Context(), s.m.key.Org, s.m.key.Session, events.Options{})
		if err != nil {
			s.Fatal(err)
		}
		defer sub.Close()
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		if _, err := sub.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			s.Fatalf("got %v", err)
		}
	})
}
