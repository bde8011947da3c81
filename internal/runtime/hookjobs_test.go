package runtime

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// receiver is a webhook of hooks that tells when it is asked, and answers when it may.
type receiver struct {
	url    string
	asked  chan struct{}
	answer chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{asked: make(chan struct{}, 100), answer: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		r.asked <- struct{}{}
		select {
		case <-r.answer:
		case <-q.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (w *world) hooked(url string) models.HarnessID {
	return w.harnessWith("hooked", ref("user_hooks", `{"hooks":[{"event":"turn_end","webhook":{"url":"`+url+`"},"timeoutMs":30000}]}`))
}

func (w *world) arrives(what string, c <-chan struct{}) {
	w.t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		w.t.Fatalf("waited in vain: %s", what)
	}
}

// A receiver that hangs costs its own organization only, however many turns it has.
func TestAHookThatHangsDelaysNobodyElse(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		hanging := newReceiver(t)
		h := w.hooked(hanging.url)
		for range 2 * orgJobs {
			s := w.newSessionOn(n, h)
			n.send(s, script(t, says(text("done"))))
			w.idle(s)
		}
		for range orgJobs {
			w.arrives("a hook of the organization that hangs", hanging.asked)
		}
		other := w.another()
		quick := newReceiver(t)
		close(quick.answer)
		s := other.newSessionOn(n, other.hooked(quick.url))
		if _, _, err := n.sessions.Send(t.Context(), other.by, sessions.NewMessage{
			SessionID: s, Content: []sessions.NewPart{sessions.Text(script(t, says(text("done"))))}, Delivery: turns.Steer,
		}); err != nil {
			t.Fatal(err)
		}
		w.arrives("the hook of another organization", quick.asked)
		if len(hanging.asked) > 0 {
			t.Errorf("%d hooks of the organization that hangs run beyond its share", len(hanging.asked))
		}
		close(hanging.answer)
	})
}

// A job that takes longer than its lease is not begun again by another process.
func TestALongHookRunsOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		often := func(c *Config) { c.PollInterval = time.Millisecond }
		n := w.start(often)
		w.start(often)
		hanging := newReceiver(t)
		s := w.newSessionOn(n, w.hooked(hanging.url))
		n.send(s, script(t, says(text("done"))))
		w.arrives("the hook", hanging.asked)
		for range 4 {
			before := w.hookJob(s).DueAt
			w.clock.Advance(jobLease * 3 / 4)
			w.eventually("the lease is renewed", func() bool { return w.hookJob(s).DueAt > before })
		}
		if len(hanging.asked) > 0 {
			t.Error("the hook ran again beside itself")
		}
		close(hanging.answer)
		w.until("the job is done", func() bool { w.news.spread(); return rowsOf[models.HookJob](w, s) == 0 })
	})
}

// hookJob returns the one job of a session.
func (w *world) hookJob(s models.SessionID) (j models.HookJob) {
	w.t.Helper()
	if err := store.Of(w.db.Read(w.t.Context(), w.org), w.org).Where("session_id = ?", s).Take(&j).Error; err != nil {
		w.t.Fatal(err)
	}
	return j
}
