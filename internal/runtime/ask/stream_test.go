package ask

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// timedBus notes when something is published.
type timedBus struct {
	events.Bus

	began time.Time
	heard []string
}

func (b *timedBus) Shared() bool { return true }

// Publish notes the text of a delta, which is the end of its message.
func (b *timedBus) Publish(_ string, data []byte) error {
	at := bytes.LastIndexFunc(data, func(c rune) bool { return c < 'A' || c > 'z' })
	b.heard = append(b.heard, fmt.Sprintf("%v %s", time.Since(b.began), data[at+1:]))
	return nil
}

// TestDeltasAreOnePerWindow has pieces of an answer come at known times: the first goes out at once, what comes within 50 ms of one that
// went out goes with the next, and after a silence the next piece waits for nothing.
//
// Rules: P9.
func TestDeltasAreOnePerWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := &timedBus{began: time.Now()}
		m := New(Config{
			Clock: clock.System{}, Hub: events.NewHub(events.Config{Bus: bus, Logger: slog.New(slog.DiscardHandler)}),
			Timers: events.SystemTimers{}, IdleTimeout: time.Minute, CallTimeout: time.Hour,
		})
		_, watch := m.watchIdle(t.Context())
		defer watch.end()
		s := newStream(m, models.Turn{}, models.MessageID{}, 1, watch, turns.Tally{})
		for _, piece := range []struct {
			at time.Duration
			llm.Delta
		}{
			{0, llm.Delta{Text: "A"}},
			{10 * time.Millisecond, llm.Delta{Text: "B"}},
			{20 * time.Millisecond, llm.Delta{Thinking: "Hm"}},
			{49 * time.Millisecond, llm.Delta{Text: "C"}},
			{60 * time.Millisecond, llm.Delta{Text: "D"}},
			{300 * time.Millisecond, llm.Delta{Text: "E"}},
			{301 * time.Millisecond, llm.Delta{Text: "F"}},
			{360 * time.Millisecond, llm.Delta{Text: "G"}},
		} {
			time.Sleep(time.Until(bus.began.Add(piece.at))) //nolint:forbidigo // of the bubble's clock
			s.emit(piece.Delta)
			synctest.Wait()
		}
		s.finish()
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's clock
		// What was not sent when the answer was there is in the event that follows.
		if want := []string{"0s A", "50ms BC", "50ms Hm", "100ms D", "300ms E", "350ms F"}; !slices.Equal(bus.heard, want) {
			t.Errorf("went out: %q, want %q", bus.heard, want)
		}
	})
}
