package webhooks_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

// An organization with more to be told than a round sends goes to the end of the line after it: what others are owed doesn't wait until
// everything that is older has been sent.
func TestALongBacklogHoldsNobodyUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var order []string
		all := make(chan struct{})
		hear := func(name string) string {
			return newReceiver(t, func(http.ResponseWriter, *http.Request, int) {
				mu.Lock()
				defer mu.Unlock()
				w.clock.Advance(time.Millisecond)
				if order = append(order, name); len(order) == 201 {
					close(all)
				}
			}).URL
		}
		n, other := w.tenant(), w.tenant()
		n.webhook(hear("much"))
		list := make([]events.Payload, 200)
		for i := range list {
			list[i] = titled("a")
		}
		n.happens(list...)
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.AtOnce, c.Ticks = 1, make(chan time.Time) })
		if err := d.Feed(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(time.Second)
		other.webhook(hear("little"))
		other.happens(titled("a"))
		if err := d.Feed(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin(t, d)
		d.WakeSender()
		within(t, "the last delivery", all)
		mu.Lock()
		defer mu.Unlock()
		for i, name := range order {
			if name == "little" && i > 64 {
				t.Errorf("the other organization was told as the %dth", i+1)
			}
		}
	})
}

// restless tells a dispatcher with each statement of the database that the feed of an organization has gone on.
type restless struct {
	n    atomic.Int64
	note atomic.Pointer[func()]
}

func (r *restless) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	r.n.Add(1)
	if note := r.note.Load(); note != nil {
		(*note)()
	}
	return ctx
}

func (*restless) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A feed that goes on whenever it was looked at keeps nobody else from being looked for.
func TestAFeedThatNeverRestsHoldsNobodyUp(t *testing.T) {
	noise := &restless{}
	w := newWorld(t, storetest.Traced(t, noise))
	busy, other := w.tenant(), w.tenant()
	busy.webhook("http://127.0.0.1:1/")
	told := make(chan struct{})
	ticks := make(chan time.Time, 1)
	d := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.Ticks = ticks })
	if err := d.Feed(t.Context()); err != nil {
		t.Fatal(err)
	}
	other.webhook(newReceiver(t, func(http.ResponseWriter, *http.Request, int) { close(told) }).URL)
	other.happens(titled("a"))
	note := func() {
		d.Committed(&commit.Committed{Sessions: []commit.SessionEvents{{Org: busy.by.OrgID, Events: []models.Event{{FeedPosition: new(int64(1))}}}}})
	}
	noise.note.Store(&note)
	note()
	begin(t, d)
	statements := noise.n.Load()
	for noise.n.Load() < statements+10 { // it is at work on that feed now
		runtime.Gosched()
	}
	ticks <- time.Time{}
	within(t, "the delivery of the other organization", told)
}

// Organizations whose receivers hang leave places to those that are sent nothing yet.
func TestReceiversThatHangLeaveRoomForOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		asked, goOn := make(chan struct{}, 100), make(chan struct{})
		hanging := newReceiver(t, func(http.ResponseWriter, *http.Request, int) {
			asked <- struct{}{}
			<-goOn
		})
		defer close(goOn)
		for range 4 {
			n := w.tenant()
			n.webhook(hanging.URL)
			n.webhook(hanging.URL)
			n.happens(titled("a"))
		}
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) {
			c.AtOnce, c.OrgAtOnce, c.Ticks, c.Timeout = 8, 2, make(chan time.Time), time.Hour
		})
		if err := d.Feed(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin(t, d)
		d.WakeSender()
		for range 7 { // three times two, and one of the last quarter
			within(t, "a request to a receiver that hangs", asked)
		}
		told := make(chan struct{})
		other := w.tenant()
		other.webhook(newReceiver(t, func(http.ResponseWriter, *http.Request, int) { close(told) }).URL)
		other.happens(titled("a"))
		if err := d.Feed(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.WakeSender()
		within(t, "the delivery of another organization", told)
	})
}
