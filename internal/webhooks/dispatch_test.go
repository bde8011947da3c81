package webhooks_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

// What happens after a webhook was made is told to it, once, in order, and to nobody else.
func TestEventsAreDelivered(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, other, d := w.tenant(), w.tenant(), w.dispatcher(nil)
		mine, all, theirs := newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)
		n.happens(titled("before"))
		row, secret := n.webhook(mine.URL + "/hook?a=b")
		n.webhook(all.URL, webhooks.Kinds()...)
		other.webhook(theirs.URL)
		n.happens(titled("ä"), events.SessionActivated{}, events.FileWritten{Path: "/f"}, titled("b"))
		n.happens(titled("c"))
		w.run(d)
		w.run(d)
		if got := mine.titles(); got != "ä b c" {
			t.Errorf("told was %q", got)
		}
		if got := theirs.all(); len(got) > 0 {
			t.Errorf("others were told %v", got)
		}
		var kinds []string
		for _, g := range all.all() {
			kinds = append(kinds, g.Kind)
		}
		if got := fmt.Sprint(kinds); got != "[SESSION_TITLE_CHANGED SESSION_ACTIVATED SESSION_TITLE_CHANGED SESSION_TITLE_CHANGED]" {
			t.Errorf("the one that wants all was told %s", got)
		}
		list := n.deliveries(row)
		if len(list) != 3 {
			t.Fatalf("there are %d deliveries", len(list))
		}
		feed, err := events.NewLog(w.db).ReadFeed(t.Context(), n.by.OrgID, 2, events.Limit{Events: 1, Bytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		g, e := mine.all()[0], feed[0]
		want := fmt.Sprintf(`{"id":%q,"eventId":%q,"kind":"SESSION_TITLE_CHANGED","orgId":%q,"sessionId":%q,"turnId":null,"position":%d,`+
			`"occurredAt":"2026-03-01T12:00:00.000Z","data":{"title":"ä"}}`, list[0].ID, e.ID, n.by.OrgID, n.session, *e.FeedPosition)
		if g.Body != want {
			t.Errorf("the body is  %s,\nwant %s", g.Body, want)
		}
		if g.Delivery != list[0].ID.String() || g.Kind != "SESSION_TITLE_CHANGED" || g.Agent != "Ostler-Webhooks/1" || g.Type != "application/json" || g.Method != http.MethodPost {
			t.Errorf("got %+v", g)
		}
		now := w.clock.Now()
		if !verify(secret, g.Body, g.Signature, now) || verify(secret, g.Body+" ", g.Signature, now) || verify(secret[1:], g.Body, g.Signature, now) ||
			verify(secret, g.Body, g.Signature, now.Add(6*time.Minute)) {
			t.Errorf("the signature is %s", g.Signature)
		}
		for _, del := range list {
			if del.Attempts != 1 || *del.Status != 204 || del.Error != nil || del.NextAttemptAt != nil || *del.DeliveredAt != models.MillisOf(now) {
				t.Errorf("kept is %+v", del)
			}
		}
		page, err := w.Deliveries(t.Context(), n.by.OrgID, row.ID, nil, 2)
		if err != nil || len(page) != 2 || page[0].ID != list[2].ID || page[1].ID != list[1].ID {
			t.Errorf("the newest are %v, %v", page, err)
		}
		page, err = w.Deliveries(t.Context(), n.by.OrgID, row.ID, &page[1].ID, 2)
		if err != nil || len(page) != 1 || page[0].ID != list[0].ID {
			t.Errorf("the rest is %v, %v", page, err)
		}
		newest, err := w.NewestDeliveries(t.Context(), n.by.OrgID, []models.WebhookID{row.ID, models.NewID[models.WebhookEntity]()}, 2)
		if got := newest[row.ID]; err != nil || len(newest) != 2 || len(got) != 2 || got[0].ID != list[2].ID || got[1].ID != list[1].ID || *got[0].Status != 204 {
			t.Errorf("the newest are %v, %v", newest, err)
		}
	})
}

// A receiver that fails is asked again at growing distances, the same each time, until it has been enough; then only when it is wanted.
func TestAttemptsAreMadeAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r, n, d := newReceiver(t, says(500)), w.tenant(), w.dispatcher(nil)
		row, secret := n.webhook(r.URL)
		n.happens(titled("a"))
		pauses := []time.Duration{
			30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 14 * time.Hour,
		}
		for i, p := range pauses {
			w.run(d)
			del := n.deliveries(row)[0]
			if len(r.all()) != i+1 || del.Attempts != i+1 || *del.Status != 500 || !strings.Contains(*del.Error, "status 500") ||
				*del.NextAttemptAt != models.MillisOf(w.clock.Now().Add(p)) || del.DeliveredAt != nil {
				t.Fatalf("after attempt %d, %d requests: %+v", i+1, len(r.all()), del)
			}
			w.clock.Advance(p - time.Millisecond)
			w.run(d)
			if len(r.all()) != i+1 {
				t.Fatalf("attempt %d came early", i+2)
			}
			w.clock.Advance(time.Millisecond)
		}
		w.run(d)
		w.clock.Advance(30 * 24 * time.Hour)
		w.run(d)
		del := n.deliveries(row)[0]
		if len(r.all()) != webhooks.MaxAttempts || del.Attempts != webhooks.MaxAttempts || del.NextAttemptAt != nil || del.DeliveredAt != nil {
			t.Fatalf("given up is %+v after %d requests", del, len(r.all()))
		}
		first := r.all()[0]
		for i, g := range r.all() {
			if g.Body != first.Body || g.Delivery != first.Delivery || g.ID != g.Delivery || g.EventID != del.EventID.String() {
				t.Errorf("attempt %d was %+v", i+1, g)
			}
		}
		if first.Signature == r.all()[1].Signature {
			t.Error("another attempt has the same signature, whose time is over")
		}

		// Somebody wants it again: one attempt, whatever becomes of it.
		if hook, err := w.Replay(t.Context(), n.by, del.ID); err != nil || hook.ID != row.ID {
			t.Fatalf("%+v, %v", hook, err)
		}
		w.run(d)
		if del := n.deliveries(row)[0]; del.Attempts != 9 || del.NextAttemptAt != nil {
			t.Errorf("a replay that failed is %+v", del)
		}
		r.mu.Lock()
		r.answer = nil
		r.mu.Unlock()
		for i := range 2 { // what was delivered, too
			if _, err := w.Replay(t.Context(), n.by, del.ID); err != nil {
				t.Fatal(err)
			}
			w.run(d)
			del := n.deliveries(row)[0]
			if del.Attempts != 10+i || *del.Status != 204 || del.Error != nil || del.NextAttemptAt != nil || *del.DeliveredAt != models.MillisOf(w.clock.Now()) {
				t.Errorf("a replay that succeeded is %+v", del)
			}
			w.clock.Advance(time.Hour)
		}
		all := r.all()
		last := all[len(all)-1]
		if last.Body != first.Body || last.Delivery != first.Delivery || !verify(secret, last.Body, last.Signature, w.clock.Now().Add(-time.Hour)) {
			t.Errorf("the replay was %+v", last)
		}
		if got := fmt.Sprint(n.recorded()); got != "[webhook.created USER"+strings.Repeat(" webhook.delivery.replayed USER", 3)+"]" {
			t.Errorf("recorded is %s", got)
		}
	})
}

func TestReceiversAskForTime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, d := w.tenant(), w.dispatcher(nil)
		for value, want := range map[string]time.Duration{
			"1": 30 * time.Second, "3600": time.Hour, "9999999": 6 * time.Hour, "-5": 30 * time.Second, "soon": 30 * time.Second,
			start.Add(2 * time.Hour).Format(http.TimeFormat): 2 * time.Hour,
			start.Add(-time.Hour).Format(http.TimeFormat):    30 * time.Second,
		} {
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Retry-After", value)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			row, _ := n.webhook(r.URL)
			n.happens(titled("a"))
			w.run(d)
			if del := n.deliveries(row)[0]; *del.NextAttemptAt != models.MillisOf(start.Add(want)) {
				t.Errorf("%s: the next attempt is at %v, want %v", value, del.NextAttemptAt.Time(), start.Add(want))
			}
		}
	})
}

func TestPauses(t *testing.T) {
	t.Parallel()
	var least, most time.Duration
	for i := 1; i < webhooks.MaxAttempts; i++ {
		low, high := webhooks.NextPause(i, 0, 0), webhooks.NextPause(i, 1, 0)
		if low >= high || i > 1 && low <= webhooks.NextPause(i-1, 0, 0) {
			t.Errorf("the pause after %d attempts is from %v to %v", i, low, high)
		}
		least, most = least+low, most+high
	}
	if least < 18*time.Hour || most > 28*time.Hour {
		t.Errorf("all attempts take from %v to %v", least, most)
	}
}

// A receiver that says that it is gone gets nothing more, until somebody enables the webhook again.
func TestAReceiverIsGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r, n, d := newReceiver(t, says(http.StatusGone)), w.tenant(), w.dispatcher(nil)
		row, _ := n.webhook(r.URL)
		n.happens(titled("a"), titled("b"))
		w.run(d)
		list := n.deliveries(row)
		if hook := n.reload(row); hook.Enabled || len(r.all()) != 1 || *list[0].Status != 410 || list[0].NextAttemptAt != nil || list[1].Attempts != 0 {
			t.Fatalf("%d requests, %+v, %+v", len(r.all()), hook, list)
		}
		if got := fmt.Sprint(n.recorded()); got != "[webhook.created USER webhook.disabled SYSTEM]" {
			t.Errorf("recorded is %s", got)
		}
		n.happens(titled("missed"))
		w.clock.Advance(time.Hour)
		w.run(d)
		if _, err := w.Replay(t.Context(), n.by, list[0].ID); !fault.Is(err, fault.Conflict) {
			t.Errorf("a replay of a disabled webhook: %v", err)
		}
		r.mu.Lock()
		r.answer = nil
		r.mu.Unlock()
		on := true
		if _, _, err := w.Update(t.Context(), n.by, row.ID, webhooks.Change{Enabled: &on}); err != nil {
			t.Fatal(err)
		}
		n.happens(titled("c"))
		w.run(d)
		if got := r.titles(); got != "a b c" {
			t.Errorf("told was %q", got)
		}
	})
}

// A webhook that fails for three days is disabled; one that succeeds in between, or that nothing was sent to for long, is not.
func TestAWebhookThatOnlyFails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var ok atomic.Bool
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			if !ok.Load() {
				w.WriteHeader(http.StatusBadGateway)
			}
		})
		n, d := w.tenant(), w.dispatcher(nil)
		row, _ := n.webhook(r.URL)
		fails := func(days float64) {
			for range int(days * 4) {
				n.happens(titled("a"))
				w.run(d)
				w.clock.Advance(6 * time.Hour)
			}
		}
		fails(2)
		ok.Store(true)
		n.happens(titled("b"))
		w.run(d)
		ok.Store(false)
		fails(2.5)
		if !n.reload(row).Enabled {
			t.Fatal("it was disabled although it has succeeded")
		}
		w.clock.Advance(20 * 24 * time.Hour)
		if _, err := d.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		// What was pending fails, too: as the first of its kind.
		fails(2.5)
		if !n.reload(row).Enabled {
			t.Fatal("it was disabled although nothing was sent for weeks")
		}
		fails(1)
		if n.reload(row).Enabled {
			t.Fatal("it was not disabled")
		}
		if got := fmt.Sprint(n.recorded()); got != "[webhook.created USER webhook.disabled SYSTEM]" {
			t.Errorf("recorded is %s", got)
		}
	})
}

// again opens the database of a world once more, as another process would.
func (w *world) again() *store.DB {
	w.t.Helper()
	cfg := store.Config{RowSecurity: true}
	if w.db.Pool != nil {
		cfg.URL = w.db.Pool.Config().ConnString()
	} else {
		var file string
		if err := w.db.Reader.QueryRowContext(w.t.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
			w.t.Fatal(err)
		}
		cfg.URL = "sqlite:" + file
	}
	db, err := store.Open(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return db
}

// A process dies after the receiver has had the request, and before that is written down. Somebody makes it again, the same.
func TestAProcessDiesBetweenSendingAndRecording(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		db := w.again()
		var once sync.Once
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			once.Do(func() { _ = db.Close() }) // nothing reaches the database from that process any more
			w.WriteHeader(http.StatusNoContent)
		})
		n := w.tenant()
		row, _ := n.webhook(r.URL)
		n.happens(titled("a"))
		dies := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.DB = db })
		if err := dies.Feed(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := dies.Send(t.Context()); err == nil {
			t.Fatal("it lives")
		}
		if del := n.deliveries(row)[0]; len(r.all()) != 1 || del.Attempts != 0 || del.DeliveredAt != nil {
			t.Fatalf("%d requests, %+v", len(r.all()), del)
		}
		d := w.dispatcher(nil)
		w.run(d)
		if len(r.all()) != 1 {
			t.Fatal("somebody else sends while the first one may live")
		}
		w.clock.Advance(time.Minute)
		w.run(d)
		all := r.all()
		if len(all) != 2 || all[0].Delivery != all[1].Delivery || all[0].Body != all[1].Body {
			t.Fatalf("got %+v", all)
		}
		if del := n.deliveries(row)[0]; del.Attempts != 1 || del.DeliveredAt == nil || del.NextAttemptAt != nil {
			t.Errorf("kept is %+v", del)
		}
	})
}

// A process that is stopped in the middle of an attempt leaves it to the others, at once.
func TestAStopInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		arrived := make(chan struct{})
		r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request, n int) {
			if n == 1 {
				close(arrived)
				<-req.Context().Done()
			}
		})
		n := w.tenant()
		row, _ := n.webhook(r.URL)
		n.happens(titled("a"))
		ticks := make(chan time.Time)
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.Ticks = ticks })
		begin(t, d)
		ticks <- time.Time{}
		within(t, "the attempt", arrived)
		d.Stop()
		d.Stop()
		if del := n.deliveries(row)[0]; del.Attempts != 0 {
			t.Errorf("kept is %+v", del)
		}
		w.run(w.dispatcher(nil))
		if del := n.deliveries(row)[0]; del.Attempts != 1 || del.DeliveredAt == nil || len(r.all()) != 2 {
			t.Errorf("%d requests, %+v", len(r.all()), del)
		}
	})
}

// Several processes at once tell everything, and each thing once.
func TestTwoDispatchers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const tenants, count = 3, 40
		r := newReceiver(t, nil)
		var list []*tenant
		want := map[string]int{}
		for i := range tenants {
			n := w.tenant()
			n.webhook(r.URL)
			n.webhook(r.URL)
			list = append(list, n)
			for j := range count {
				want[fmt.Sprint(i, "-", j)] = 2
			}
		}
		nodes := []*webhooks.Dispatcher{w.dispatcher(nil), w.dispatcher(nil), w.dispatcher(nil)}
		var wg sync.WaitGroup
		for i, n := range list {
			wg.Go(func() {
				for j := range count {
					n.happens(titled(fmt.Sprint(i, "-", j)))
				}
			})
		}
		for _, d := range nodes {
			wg.Go(func() {
				for range 10 {
					w.run(d)
				}
			})
		}
		wg.Wait()
		w.run(nodes[0])
		had, ids := map[string]int{}, map[string]bool{}
		for _, g := range r.all() {
			had[g.Data.Title]++
			ids[g.Delivery] = true
		}
		if fmt.Sprint(had) != fmt.Sprint(want) || len(ids) != 2*tenants*count {
			t.Errorf("%d deliveries: %v", len(ids), had)
		}
	})
}

// A receiver that doesn't answer, and a feed of ten thousand events before it, hold nobody else up: neither another webhook of the same
// organization nor another organization.
func TestAStuckReceiver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		stuck := newReceiver(t, func(_ http.ResponseWriter, req *http.Request, _ int) {
			select {
			case <-release:
			case <-req.Context().Done():
			}
		})
		n, other := w.tenant(), w.tenant()
		for range 5 {
			n.webhook(stuck.URL)
		}
		const count = 10_000
		for range count / 500 {
			var list []events.Payload
			for range 500 {
				list = append(list, events.SessionActivated{})
			}
			n.happens(append(list, titled("x"))...)
		}
		mine, theirs := make(chan struct{}), make(chan struct{})
		tells := func(done chan struct{}) *receiver {
			return newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.WriteHeader(http.StatusNoContent)
				close(done)
			})
		}
		n.webhook(tells(mine).URL)
		other.webhook(tells(theirs).URL)
		n.happens(titled("mine"))
		other.happens(titled("theirs"))
		ticks := make(chan time.Time)
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) {
			// Five are stuck: there is one more place for their organization, and one for others.
			c.OrgAtOnce, c.AtOnce, c.Timeout, c.Ticks = 6, 7, time.Hour, ticks
		})
		begin(t, d)
		ticks <- time.Time{}
		within(t, "the delivery to another organization", theirs)
		within(t, "the delivery to another webhook", mine)
	})
}

// All receivers of an organization hang, and there are more of them than this process sends for at once: others have their place.
func TestAnOrganizationOfStuckReceivers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		release, told := make(chan struct{}), make(chan struct{})
		t.Cleanup(func() { close(release) })
		stuck := newReceiver(t, func(_ http.ResponseWriter, req *http.Request, _ int) {
			select {
			case <-release:
			case <-req.Context().Done():
			}
		})
		n, other := w.tenant(), w.tenant()
		for range 6 {
			n.webhook(stuck.URL)
		}
		n.happens(titled("stuck"))
		w.clock.Advance(time.Second) // they are more overdue
		other.webhook(newReceiver(t, func(http.ResponseWriter, *http.Request, int) { close(told) }).URL)
		other.happens(titled("a"))
		ticks := make(chan time.Time)
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) {
			c.OrgAtOnce, c.AtOnce, c.Timeout, c.Ticks = 3, 4, time.Hour, ticks
		})
		begin(t, d)
		ticks <- time.Time{}
		within(t, "the delivery to another organization", told)
	})
}

// What this process has committed is sent without a look at the clock, and nothing is asked for organizations without webhooks.
func TestCommitsWakeTheDispatcher(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		told := make(chan struct{}, 2)
		r := newReceiver(t, func(http.ResponseWriter, *http.Request, int) { told <- struct{}{} })
		ticks := make(chan time.Time)
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.Ticks = ticks })
		w.committed = d.Committed
		n, other := w.tenant(), w.tenant()
		n.webhook(r.URL)
		begin(t, d)
		ticks <- time.Time{} // it learns who has webhooks
		ticks <- time.Time{}
		other.happens(titled("nobody"))
		n.happens(titled("a"))
		<-told
		n.happens(titled("b"))
		<-told
		if got := r.titles(); got != "a b" {
			t.Errorf("told was %q", got)
		}
	})
}

// What another process has committed is heard over the bus.
func TestTheBusWakesTheDispatcher(t *testing.T) {
	server, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() {
		server.Shutdown()
		server.WaitForShutdown()
	})
	if !server.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server doesn't start")
	}
	connect := func(t *testing.T) events.Bus {
		t.Helper()
		b, err := events.ConnectNATS(events.NATSConfig{URL: server.ClientURL(), Name: t.Name()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		connected := make(chan struct{}, 1)
		defer b.OnReconnect(func() { connected <- struct{}{} })()
		if !b.Connected() {
			<-connected
		}
		return b
	}
	each(t, func(t *testing.T, w *world) {
		told := make(chan struct{}, 1)
		r := newReceiver(t, func(http.ResponseWriter, *http.Request, int) { told <- struct{}{} })
		ticks := make(chan time.Time)
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.Ticks, c.Bus = ticks, connect(t) })
		hub := events.NewHub(events.Config{Log: events.NewLog(w.db), Bus: connect(t), Clock: w.clock})
		n := w.tenant()
		w.committed = func(c *commit.Committed) {
			for _, s := range c.Sessions {
				hub.Publish(s.Org, s.Session, s.Events)
			}
		}
		n.webhook(r.URL)
		begin(t, d)
		ticks <- time.Time{} // it learns who has webhooks
		ticks <- time.Time{}
		n.happens(titled("a"))
		within(t, "the delivery", told)
	})
}

func TestWhyNothingWasReached(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		away := newReceiver(t, func(w http.ResponseWriter, req *http.Request, _ int) {
			http.Redirect(w, req, "http://inner.test:1/private", http.StatusTemporaryRedirect)
		})
		slow := newReceiver(t, func(_ http.ResponseWriter, req *http.Request, _ int) { <-req.Context().Done() })
		closed := newReceiver(t, nil)
		closed.Close()
		n := w.tenant()
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.Timeout = 50 * time.Millisecond })
		rows := map[string]*models.Webhook{}
		for url, want := range map[string]string{
			away.URL: "redirect", slow.URL: "did not answer within 50 ms", closed.URL: "could not be reached",
		} {
			rows[want], _ = n.webhook(url)
		}
		n.happens(titled("a"))
		w.run(d)
		for want, row := range rows {
			del := n.deliveries(row)[0]
			if !strings.Contains(*del.Error, want) || strings.Contains(*del.Error, "inner.test") {
				t.Errorf("want %q: %+v", want, del)
			}
			if answered := want == "redirect"; (del.Status != nil) != answered || answered && *del.Status != http.StatusTemporaryRedirect {
				t.Errorf("want the status of an answer, and only of one: %+v", del)
			}
		}
		// An address that was fine once is refused when it is dialled, and its real place is not told.
		row := rows["could not be reached"]
		strict := w.dispatcher(func(c *webhooks.DispatcherConfig) { c.Client = egress.New(egress.Config{}).HTTP() })
		w.clock.Advance(time.Minute)
		w.run(strict)
		if del := n.deliveries(row)[0]; del.Attempts != 2 || !strings.Contains(*del.Error, "own machine") {
			t.Errorf("got %+v", del)
		}
	})
}

// Deliveries go after thirty days, and those of deleted webhooks at once, in batches; nothing else does.
// transport is a function that makes requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A panic over one delivery is like any failure: others are sent, the process lives on, and the delivery is tried again.
func TestAPanicWhileSending(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var logged bytes.Buffer
		n, bad := w.tenant(), newReceiver(t, nil)
		good := newReceiver(t, nil)
		n.webhook(bad.URL)
		n.webhook(good.URL)
		panics := true
		d := w.dispatcher(func(c *webhooks.DispatcherConfig) {
			c.AtOnce = 1 // so that the log has one writer
			c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			c.Client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				if panics && "http://"+r.URL.Host == bad.URL {
					panic("no sense")
				}
				return w.client.HTTP().Transport.RoundTrip(r)
			})}
		})
		n.happens(titled("a"))
		w.run(d)
		if good.titles() != "a" || bad.titles() != "" || !strings.Contains(logged.String(), "panic: no sense") {
			t.Errorf("%q was sent to one, %q to the other; logged %s", good.titles(), bad.titles(), &logged)
		}
		panics = false
		w.clock.Advance(time.Minute)
		w.run(d)
		if bad.titles() != "a" {
			t.Errorf("%q was sent again", bad.titles())
		}
	})
}

func TestOldDeliveriesGo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, r, d := w.tenant(), newReceiver(t, nil), w.dispatcher(nil)
		kept, _ := n.webhook(r.URL)
		gone, _ := n.webhook(r.URL)
		empty, _ := n.webhook(r.URL, models.EventTurnFailed)
		n.happens(titled("old"))
		w.run(d)
		w.clock.Advance(30 * 24 * time.Hour)
		n.happens(titled("new"))
		w.run(d)
		err := w.db.Write(t.Context(), n.by.OrgID, func(tx *gorm.DB) error {
			old := make([]models.WebhookDelivery, 1100)
			for i := range old {
				old[i] = models.WebhookDelivery{
					OrgID: n.by.OrgID, ID: models.NewID[models.DeliveryEntity](), WebhookID: gone.ID,
					EventID: models.NewID[models.EventEntity](), SessionID: n.session, CreatedAt: models.MillisOf(w.clock.Now()),
				}
			}
			return tx.CreateInBatches(old, 100).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		if removed, err := d.Sweep(t.Context()); err != nil || removed != 0 {
			t.Fatalf("%d rows went to the millisecond, %v", removed, err)
		}
		w.clock.Advance(time.Millisecond)
		for _, id := range []models.WebhookID{gone.ID, empty.ID} {
			if err := w.Delete(t.Context(), n.by, id); err != nil {
				t.Fatal(err)
			}
		}
		// Two old ones; the new one and those that were put of the deleted webhook; the two deleted webhooks.
		if removed, err := d.Sweep(t.Context()); err != nil || removed != 2+1101+2 {
			t.Errorf("%d rows went, %v", removed, err)
		}
		if list := n.deliveries(kept); len(list) != 1 || !strings.Contains(list[0].Body, "new") {
			t.Errorf("left is %v", list)
		}
		var left []models.Webhook
		if err := store.Of(w.db.Read(t.Context(), n.by.OrgID), n.by.OrgID).Find(&left).Error; err != nil || len(left) != 1 {
			t.Errorf("left is %v, %v", left, err)
		}
	})
}

// A webhook is told nothing more once it was deleted or disabled, not even what is pending.
func TestWhatIsPendingEndsWithTheWebhook(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, r, d := w.tenant(), newReceiver(t, nil), w.dispatcher(nil)
		off, _ := n.webhook(r.URL)
		gone, _ := n.webhook(r.URL)
		n.happens(titled("a"))
		if err := d.Feed(t.Context()); err != nil {
			t.Fatal(err)
		}
		no := false
		if _, _, err := w.Update(t.Context(), n.by, off.ID, webhooks.Change{Enabled: &no}); err != nil {
			t.Fatal(err)
		}
		pending := n.deliveries(gone)[0]
		if err := w.Delete(t.Context(), n.by, gone.ID); err != nil {
			t.Fatal(err)
		}
		w.run(d)
		if got := r.all(); len(got) > 0 {
			t.Errorf("told was %v", got)
		}
		if _, err := w.Replay(t.Context(), n.by, pending.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("a replay for a deleted webhook: %v", err)
		}
	})
}

// A replay that is asked for while an attempt is under way is not lost.
func TestAReplayInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		var row *models.Webhook
		r := newReceiver(t, func(_ http.ResponseWriter, _ *http.Request, count int) {
			if count == 1 {
				w.clock.Advance(time.Second)
				if _, err := w.Replay(context.WithoutCancel(t.Context()), n.by, n.deliveries(row)[0].ID); err != nil {
					t.Error(err)
				}
			}
		})
		row, _ = n.webhook(r.URL)
		n.happens(titled("a"))
		w.run(w.dispatcher(nil))
		if del := n.deliveries(row)[0]; len(r.all()) != 2 || del.Attempts != 2 || del.NextAttemptAt != nil {
			t.Errorf("%d requests, %+v", len(r.all()), del)
		}
	})
}

// Of a long answer of a receiver the beginning is kept, and the rest isn't even read.
func TestALongAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			for range 1000 {
				if _, err := w.Write(bytes.Repeat([]byte("ä\x00\xff"), 10_000)); err != nil {
					return
				}
			}
		})
		row, _ := n.webhook(r.URL)
		n.happens(titled("a"))
		w.run(w.dispatcher(nil))
		del := n.deliveries(row)[0]
		if del.DeliveredAt == nil || del.Error != nil || len(*del.Response) > 1<<10+len("…") || !strings.HasPrefix(*del.Response, "ä") ||
			!text.Storable(*del.Response) {
			t.Errorf("kept is %+v", del)
		}
	})
}

// A test is sent once, whatever comes of it, and says how it went.
func TestATest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, d := w.tenant(), w.dispatcher(nil)
		r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request, _ int) {
			w.clock.Advance(70 * time.Millisecond)
			http.Error(rw, "unknown kind", http.StatusBadRequest)
		})
		row, secret := n.webhook(r.URL)
		if _, err := w.Test(t.Context(), n.by, row.ID); err != nil {
			t.Fatal(err)
		}
		w.run(d)
		w.clock.Advance(30 * 24 * time.Hour)
		w.run(d)
		all, del := r.all(), n.deliveries(row)[0]
		if len(all) != 1 || all[0].Kind != "TEST" || !verify(secret, all[0].Body, all[0].Signature, start) {
			t.Fatalf("the receiver got %+v", all)
		}
		if !strings.Contains(all[0].Body, `"kind":"TEST"`) || !strings.Contains(all[0].Body, `"sessionId":null,"turnId":null`) {
			t.Errorf("the body is %s", all[0].Body)
		}
		if *del.Status != 400 || *del.Response != "unknown kind\n" || *del.DurationMs != 70 || del.NextAttemptAt != nil || del.Attempts != 1 {
			t.Errorf("kept is %+v", del)
		}
		bodies, err := w.Bodies(t.Context(), n.by.OrgID, []models.DeliveryID{del.ID})
		if err != nil || bodies[del.ID] != all[0].Body {
			t.Errorf("the body is told as %v, %v", bodies, err)
		}
		if got := n.reload(row); !got.Enabled {
			t.Error("a test that failed has disabled the webhook")
		}
		off := false
		if _, _, err := w.Update(t.Context(), n.by, row.ID, webhooks.Change{Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Test(t.Context(), n.by, row.ID); !fault.Is(err, fault.Conflict) {
			t.Errorf("a test of one that is disabled: %v", err)
		}
	})
}

// Sessions don't wait for each other, and each one's events come in order.
func TestOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, r, d := w.tenant(), newReceiver(t, nil), w.dispatcher(nil)
		n.webhook(r.URL)
		var want []string
		sessions := []models.SessionID{n.session, n.newSession(), n.newSession()}
		for i := range 15 {
			for s, id := range sessions {
				n.happensIn(id, titled(fmt.Sprint(s, "-", i)))
				if s == 0 {
					want = append(want, fmt.Sprint(s, "-", i))
				}
			}
		}
		w.run(d)
		var had []string
		for _, g := range r.all() {
			if g.SessionID == n.session.String() {
				had = append(had, g.Data.Title)
			}
		}
		if !slices.Equal(had, want) || len(r.all()) != 45 {
			t.Errorf("%d came, those of a session as %v", len(r.all()), had)
		}
	})
}
