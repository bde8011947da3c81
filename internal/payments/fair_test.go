package payments_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
)

// A rail that hangs costs its own organization only, however many payments it has not answered.
func TestARailThatHangsDelaysNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		goOn := make(chan struct{})
		hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-goOn:
			case <-r.Context().Done():
			}
		}))
		t.Cleanup(hanging.Close)
		t.Cleanup(func() { close(goOn) })
		lost := func(n *tenant, key string) {
			doomed := w.process(func(cfg *payments.Config) { cfg.Committer = &dying{Committer: w.committer, n: 1, after: true} })
			if _, err := doomed.Pay(t.Context(), n.order(key, one/10)); !errors.Is(err, errDied) {
				t.Fatal(err)
			}
		}
		many, other := w.tenant(), w.tenant()
		many.policy(func(p *payments.NewPolicy) { p.URL = hanging.URL })
		other.policy(nil)
		for i := range 40 {
			lost(many, strconv.Itoa(i))
		}
		w.clock.Advance(time.Second)
		lost(other, "a")
		w.clock.Advance(2 * time.Minute)
		ticks := make(chan time.Time)
		s := w.NewSweeper(ticks)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		ticks <- time.Time{}
		for begun := time.Now(); rows[models.Payment](other)[0].Status != models.PaymentPaid; runtime.Gosched() {
			if time.Since(begun) > 15*time.Second {
				t.Fatal("the payment of another organization waits for a rail that hangs")
			}
		}
	})
}
