package runtime

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// staging is the catalog, with models put in that a test makes up.
type staging struct {
	Catalog
	// model replaces the one that was found; nil for none.
	model     *catalog.RunModel
	fallbacks []*catalog.RunModel
}

func (c *staging) EffectiveForSession(ctx context.Context, org models.OrgID, run catalog.Run) (*catalog.Effective, error) {
	eff, err := c.Catalog.EffectiveForSession(ctx, org, run)
	if err != nil {
		return nil, err
	}
	own := *eff
	own.Fallbacks = c.fallbacks
	if c.model != nil {
		own.Model = c.model
	}
	return &own, nil
}

// stage makes a node's catalog a staged one.
func stage(c *staging) nodeOption {
	return func(cfg *Config) { c.Catalog, cfg.Catalog = cfg.Catalog, c }
}

// madeUp is a model of a provider of its own, which costs so much per million tokens of input and of output.
func madeUp(name string, kind models.ProviderKind, price models.Nanos) *catalog.RunModel {
	return &catalog.RunModel{
		Model:    models.Model{ID: models.NewID[models.ModelEntity](), Name: name, Enabled: true, PriceInput: &price, PriceOutput: &price},
		Provider: models.Provider{ID: models.NewID[models.ProviderEntity](), Name: "provider of " + name, Kind: kind},
	}
}

// naps are the waits between calls. They take no time, but are seen to.
type naps struct {
	clock *clock.Manual
	mu    sync.Mutex
	list  []time.Duration
	// hold stops the first one; nil for none.
	hold *gate
}

// rest makes a node's waits such ones, of half of what they may be.
func rest(p *naps) nodeOption {
	return func(cfg *Config) {
		cfg.Random = func() float64 { return 0.5 }
		cfg.Sleep = p.sleep
	}
}

func (p *naps) sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	p.list = append(p.list, d)
	hold := p.hold
	p.mu.Unlock()
	if hold != nil {
		hold.pass(ctx)
	}
	p.clock.Advance(d)
	return ctx.Err()
}

func (p *naps) taken() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Duration(nil), p.list...)
}

// timers are moved by hand: they are due when the clock says so and the test lets them look.
type timers struct {
	clock *clock.Manual
	mu    sync.Mutex
	list  map[int]timer
	next  int
	set   chan struct{}
}

type timer struct {
	at time.Time
	fn func()
}

func newTimers(c *clock.Manual) *timers {
	return &timers{clock: c, list: map[int]timer{}, set: make(chan struct{}, 1000)}
}

// AfterFunc implements events.Timers.
func (s *timers) AfterFunc(d time.Duration, fn func()) func() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.next
	s.next++
	s.list[id] = timer{s.clock.Now().Add(d), fn}
	s.set <- struct{}{}
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, pending := s.list[id]
		delete(s.list, id)
		return pending
	}
}

// pass lets time pass, and runs what is due then.
func (s *timers) pass(d time.Duration) {
	s.clock.Advance(d)
	now := s.clock.Now()
	s.mu.Lock()
	var due []func()
	for id, one := range s.list {
		if !one.at.After(now) {
			due = append(due, one.fn)
			delete(s.list, id)
		}
	}
	s.mu.Unlock()
	for _, fn := range due {
		fn()
	}
}

func (s *timers) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

// reply is one call of a played model.
type reply struct {
	says []llm.Delta
	// heard is waited for before it ends; nil for nothing.
	heard *gate
	resp  llm.Response
	err   error
}

// replies plays one after the other, and then ok.
func replies(list ...reply) playFunc {
	n := 0
	return func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		n++
		if n > len(list) {
			return echoing(ctx, req, emit)
		}
		for _, d := range list[n-1].says {
			emit(d)
		}
		if g := list[n-1].heard; g != nil {
			g.pass(ctx)
		}
		return list[n-1].resp, list[n-1].err
	}
}

// down is a failure that may pass.
func down() error {
	return &llm.Error{Code: llm.CodeUnavailable, Status: 503, Transient: true, Message: "It is down.", Cause: errors.New("secret detail")}
}

// asked returns the models of the calls that were made, in order.
func (n *node) asked() (names []string) {
	for _, r := range n.puppet.requests() {
		names = append(names, r.Model)
	}
	return names
}

// followed is what somebody has seen who followed a session until a turn ended.
type followed struct {
	retries []events.GenerationRetrying
	// texts is the text after each piece of it.
	texts []string
}

// follow follows a session. heard is opened at the first piece of text; nil for nothing.
func (v *watcher) follow(heard *gate) (f followed) {
	v.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var text []uint16
	for {
		item, err := v.sub.Next(ctx)
		if err != nil {
			v.w.t.Fatalf("followed in vain: %v; seen was %+v", err, f)
		}
		p, err := item.Payload()
		if err != nil {
			v.w.t.Fatal(err)
		}
		switch p := p.(type) {
		case events.GenerationRetrying:
			f.retries = append(f.retries, p)
		case events.OutputDelta:
			if p.Offset > len(text) {
				v.w.t.Fatalf("a piece %q has the offset %d, and %d units were before it", p.Delta, p.Offset, len(text))
			}
			text = append(text[:p.Offset:p.Offset], utf16.Encode([]rune(p.Delta))...)
			f.texts = append(f.texts, string(utf16.Decode(text)))
			if heard != nil {
				heard.open()
			}
		case events.TurnCompleted, events.TurnFailed:
			return f
		}
	}
}

// failedWith checks that a turn failed, and that its message says the same.
func failedWith(t *testing.T, log []models.Event, code llm.Code, fields string) models.Failure {
	t.Helper()
	failed := the[events.TurnFailed](t, log)
	if failed.StopReason != models.StopError || failed.Error.Code != string(code) || failed.Error.Message == "" || string(failed.Error.Fields) != fields {
		t.Errorf("it failed as %s: %s %s, want %s %s", failed.Error.Code, failed.Error.Message, failed.Error.Fields, code, fields)
	}
	outputs := payloads[events.OutputCompleted](t, log)
	e := outputs[len(outputs)-1].Message.Error
	if e == nil || e.Code != failed.Error.Code || e.Message != failed.Error.Message || string(e.Fields) != string(failed.Error.Fields) {
		t.Errorf("the message's error is %+v", e)
	}
	return failed.Error
}
