package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// plan is what a round of the property test does; everything else follows from the seed.
type plan struct {
	seed                      uint64
	nodes, turns, readers     int
	lose, repeat, swap, stall int
	buffer                    int
	// dead takes the bus away for the whole round.
	dead bool
	// together has all readers on one connection.
	together bool
}

func drawPlan(t *rapid.T) plan {
	percent := rapid.SampledFrom([]int{0, 0, 10, 40, 100})
	return plan{
		seed:  rapid.Uint64().Draw(t, "seed"),
		nodes: rapid.IntRange(1, 3).Draw(t, "nodes"), turns: rapid.IntRange(1, 5).Draw(t, "turns"),
		readers: rapid.IntRange(1, 6).Draw(t, "readers"),
		lose:    percent.Draw(t, "lose"), repeat: percent.Draw(t, "repeat"), swap: percent.Draw(t, "swap"), stall: percent.Draw(t, "stall"),
		buffer: rapid.SampledFrom([]int{4, 16, 256}).Draw(t, "buffer"), dead: rapid.IntRange(0, 9).Draw(t, "dead") == 0,
		together: rapid.Bool().Draw(t, "together"),
	}
}

// TestEveryReaderSeesEverythingOnce: whatever the bus does and whenever readers join, leave and stall, each sees exactly
// the events past its after, in order; and the text that it puts together becomes the whole one.
//
// Rules: L3.
func TestEveryReaderSeesEverythingOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var found []error
		synctest.Test(t, func(t *testing.T) { found = playRound(t, p) })
		if len(found) > 0 {
			rt.Fatalf("%+v:\n%v", p, errors.Join(found...))
		}
	})
}

type round struct {
	plan
	m   *memory
	net *network
	// allowance is that of all readers; nil when each has its own.
	allowance *events.Allowance
	// calm is set while the network loses nothing.
	calm atomic.Bool

	mu     sync.Mutex
	random *rand.Rand
	found  []error
}

func (r *round) chance(percent int) bool { return r.pick(100) < percent }

func (r *round) pick(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(n)
}

func (r *round) rest(most time.Duration) { pass(time.Duration(r.pick(int(most)))) }

func (r *round) failf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Errorf(format, args...))
}

func (r *round) fate() []time.Duration {
	if r.calm.Load() {
		return faithful()
	}
	if r.chance(r.lose) {
		return nil
	}
	copies := []time.Duration{0}
	if r.chance(r.swap) {
		copies[0] = time.Duration(r.pick(int(60 * time.Millisecond)))
	}
	if r.chance(r.repeat) {
		copies = append(copies, time.Duration(r.pick(int(2*time.Second))))
	}
	return copies
}

func playRound(t *testing.T, p plan) []error {
	r := &round{plan: p, m: newMemory(), random: rand.New(rand.NewPCG(p.seed, 1))}
	if p.together {
		r.allowance = new(events.Allowance)
	}
	r.net = &network{fate: r.fate, down: p.dead}
	r.m.latency = func() { r.rest(5 * time.Millisecond) }
	hubs := make([]*events.Hub, p.nodes)
	for i := range hubs {
		hubs[i] = startHub(t, r.m, r.net.join(), func(c *events.Config) { c.Buffer = p.buffer })
	}
	r.m.commit(models.TurnID{}, events.SessionStarted{})

	ctx, cancel := context.WithCancel(t.Context())
	var readers []*follower
	var work sync.WaitGroup
	for range p.readers {
		f := &follower{round: r, hubs: hubs}
		readers = append(readers, f)
		work.Go(func() {
			r.rest(3 * time.Second)
			f.follow(ctx)
		})
	}
	text := r.act(hubs)
	// Whatever was lost is found within the time of a sweep over all.
	pass(40 * time.Second)
	synctest.Wait()
	for i, f := range readers {
		f.check(r, i, text)
	}
	r.finish(hubs)
	pass(40 * time.Second)
	synctest.Wait()
	cancel()
	work.Wait()
	if err := events.CheckLog(r.m.log); err != nil {
		r.failf("the log itself: %w", err)
	}
	for i, f := range readers {
		f.checkAll(r, i)
	}
	if r.allowance != nil && (!r.allowance.AtRest() || r.allowance.Live() != 0) {
		r.failf("something of the connection is held when all readers have left it")
	}
	return r.found
}

// act commits turns from all nodes and streams their texts. The last output stays open; its text is the result.
func (r *round) act(hubs []*events.Hub) string {
	var text string
	for i := range r.turns {
		turn, message := models.NewID[models.TurnEntity](), models.NewID[models.MessageEntity]()
		r.publish(hubs, turn, events.MessageReceived{Message: events.Message{ID: message}})
		r.publish(hubs, turn, events.SessionActivated{}, events.TurnStarted{InputMessageID: message}, events.ReasonStarted{},
			events.OutputStarted{MessageID: message})
		text = r.stream(hubs, turn, message)
		if i == r.turns-1 {
			break
		}
		r.finish(hubs)
	}
	return text
}

// finish completes the open output and its turn.
func (r *round) finish(hubs []*events.Hub) {
	r.m.mu.Lock()
	turn, message := r.m.turn, r.m.message
	r.m.mu.Unlock()
	r.publish(hubs, turn, events.OutputCompleted{Message: events.Message{ID: message}}, events.ReasonCompleted{})
	r.publish(hubs, turn, events.TurnCompleted{}, events.SessionIdled{})
}

// publish commits, and tells of it from some node, sometimes late: another commit may overtake it.
func (r *round) publish(hubs []*events.Hub, turn models.TurnID, payloads ...events.Payload) {
	rows := r.m.commit(turn, payloads...)
	hub := hubs[r.pick(len(hubs))]
	say := func() { hub.Publish(r.m.key.Org, r.m.key.Session, rows) }
	if r.chance(r.swap) {
		time.AfterFunc(time.Duration(r.pick(int(30*time.Millisecond))), say)
	} else {
		say()
	}
	r.rest(50 * time.Millisecond)
}

// stream sends a text by deltas, perhaps taken over halfway, and stores checkpoints.
func (r *round) stream(hubs []*events.Hub, turn models.TurnID, message models.MessageID) string {
	var text string
	for epoch := int64(1); epoch <= int64(1+r.pick(2)); epoch++ {
		hub := hubs[r.pick(len(hubs))]
		text = ""
		send := func(piece string) {
			hub.PublishDelta(events.Delta{
				OrgID: r.m.key.Org, SessionID: r.m.key.Session, TurnID: turn, MessageID: message, Epoch: epoch,
				Offset: len(utf16.Encode([]rune(text))), Text: piece,
			})
			text += piece
		}
		for range r.pick(30) {
			send(strings.Repeat(string([]rune("aé漢😀")[r.pick(4)]), 1+r.pick(3)))
			if r.chance(20) {
				r.m.store(models.Checkpoint{TurnID: turn, MessageID: message, Epoch: epoch, Text: text})
			}
			r.rest(100 * time.Millisecond)
		}
		// The last piece reaches everybody who listens, after all that was sent before.
		pass(3 * time.Second)
		r.calm.Store(true)
		send(fmt.Sprint("end ", epoch))
		r.calm.Store(false)
		r.m.store(models.Checkpoint{TurnID: turn, MessageID: message, Epoch: epoch, Text: text})
	}
	return text
}

// follower is a client: it subscribes, reads at its own pace, and resumes when it is thrown out or moves on.
type follower struct {
	*round
	hubs []*events.Hub

	mu       sync.Mutex
	last     int64
	open     models.MessageID
	text     []uint16
	finished bool
}

func (f *follower) follow(ctx context.Context) {
	f.last = int64(f.pick(f.m.length() + 1))
	for ctx.Err() == nil {
		f.visit(ctx)
	}
}

// visit is one subscription.
func (f *follower) visit(ctx context.Context) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if f.chance(30) {
		// A client that loses its connection after a while.
		ctx, leave = context.WithTimeout(ctx, time.Duration(f.pick(int(3*time.Second))))
		defer leave()
	}
	f.mu.Lock()
	after := f.last
	f.open, f.text = models.MessageID{}, nil
	f.mu.Unlock()
	sub, err := f.hubs[f.pick(len(f.hubs))].Subscribe(ctx, f.m.key.Org, f.m.key.Session, events.Options{After: &after, Allowance: f.allowance})
	if err != nil {
		if ctx.Err() == nil {
			f.failf("subscribe: %w", err)
		}
		return
	}
	defer sub.Close()
	caughtUp := false
	for {
		item, err := sub.Next(ctx)
		var lagged *events.LaggedError
		switch {
		case errors.As(err, &lagged):
			if lagged.LastSequence != f.last {
				f.failf("lagged after %d, but %d was delivered last", lagged.LastSequence, f.last)
			}
			return
		case err != nil:
			if ctx.Err() == nil {
				f.failf("next: %w", err)
			}
			return
		}
		f.take(item, &caughtUp)
		if f.chance(f.stall / 4) {
			f.rest(300 * time.Millisecond)
		}
	}
}

func (f *follower) take(item *events.Item, caughtUp *bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !item.Ephemeral {
		if item.Event.Sequence != f.last+1 {
			f.failf("%d came after %d", item.Event.Sequence, f.last)
		}
		f.last = item.Event.Sequence
		if item.Event.Kind == models.EventOutputCompleted {
			f.finished = true
		}
		if item.Event.Kind == models.EventOutputStarted {
			f.finished, f.text = false, nil
		}
		return
	}
	if item.Event.Sequence != f.last {
		f.failf("%s carries %d after %d", item.Event.Kind, item.Event.Sequence, f.last)
	}
	p, err := item.Payload()
	if err != nil {
		f.failf("payload: %w", err)
	}
	switch p := p.(type) {
	case events.CaughtUp:
		if *caughtUp {
			f.failf("caught up twice")
		}
		*caughtUp = true
	case events.OutputDelta:
		if !*caughtUp || f.finished {
			f.failf("a delta at %d; caught up %v, finished %v", f.last, *caughtUp, f.finished)
		}
		if p.MessageID != f.open {
			f.open, f.text = p.MessageID, nil
		}
		if p.Offset > len(f.text) {
			f.failf("a delta at %d of a text of %d", p.Offset, len(f.text))
			return
		}
		f.text = append(f.text[:p.Offset:p.Offset], utf16.Encode([]rune(p.Delta))...)
	}
}

// check looks at a follower while the last output is open and everything has come to rest.
func (f *follower) check(r *round, i int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := int64(r.m.length()); f.last != n {
		r.failf("reader %d has %d of %d", i, f.last, n)
	}
	if got := string(utf16.Decode(f.text)); got != text {
		r.failf("reader %d has the text %q, not %q", i, got, text)
	}
}

func (f *follower) checkAll(r *round, i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := int64(r.m.length()); f.last != n || !f.finished {
		r.failf("reader %d has %d of %d in the end", i, f.last, n)
	}
}
