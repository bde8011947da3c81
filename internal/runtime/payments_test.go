package runtime

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/tools"
)

// paying lets the tools of a node pay, by a policy for the probes and a rail that counts its payments by their keys.
func (w *world) paying(url string, change ...func(*payments.NewPolicy)) nodeOption {
	return func(c *Config) {
		keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
		if err != nil {
			w.t.Fatal(err)
		}
		client := egress.New(egress.Config{AllowLoopback: true})
		w.t.Cleanup(client.CloseIdleConnections)
		service, err := payments.NewService(payments.Config{
			DB: w.db, Committer: c.Committer, Keeper: keeper, Capabilities: w.tools, Addresses: client, Client: client.HTTP(), Clock: w.clock,
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			w.t.Fatal(err)
		}
		c.Payments = service
		if list, err := service.Policies(w.t.Context(), w.org); err != nil || len(list) > 0 {
			return
		}
		in := payments.NewPolicy{
			Name: "p", Capabilities: []string{"probe"}, Hosts: []string{"example.com"}, URL: url, Secret: strings.Repeat("secret", 8),
			MaxRequest: 5, MaxTurn: 50, MaxDay: 50,
		}
		for _, c := range change {
			c(&in)
		}
		if _, err = service.Create(w.t.Context(), w.by, in); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestToolsPay has a tool pay, too much and from a capability that may not; and a process die just after a payment: the call runs again
// in the next one, and gets the receipt of the first.
func TestToolsPay(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var asked atomic.Int64
		rail := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			_, _ = io.WriteString(out, `{"status":"paid","reference":"r-`+r.Header.Get("Idempotency-Key")+`"}`)
		}))
		t.Cleanup(rail.Close)
		pays := func(ctx context.Context, c *tools.Call, amount models.Amount) tools.Result {
			receipt, err := c.Pay(ctx, tools.PaymentRequest{Host: "example.com", Amount: amount, Purpose: "a test", Step: "pay"})
			if err != nil {
				return tools.Fail(err.Error())
			}
			return tools.Success(receipt.Reference)
		}
		g := w.probe.add()
		w.probe.on("dies", func(ctx context.Context, c *tools.Call) tools.Result {
			r := pays(ctx, c, 5)
			if w.probe.ran("dies") == 1 {
				g.hold()
			}
			return r
		})
		w.probe.on("much", func(ctx context.Context, c *tools.Call) tools.Result { return pays(ctx, c, 6) })
		w.probe.on("stepless", func(ctx context.Context, c *tools.Call) tools.Result {
			_, err := c.Pay(ctx, tools.PaymentRequest{Host: "example.com", Amount: 1, Purpose: "a test"})
			return tools.Fail(fmt.Sprint(err))
		})
		n := w.start(w.paying(rail.URL))
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("again", "much")), says(callTool("again", "stepless")), says(callTool("again", "dies")), says(text("done"))))
		<-g.arrived
		n.die()
		other := w.start(w.paying(rail.URL))
		the[events.TurnCompleted](t, w.idle(s))
		shown := resultsShown(other)
		if len(shown) != 3 || !strings.HasPrefix(shown[0].Error, tools.PaymentOverLimit) || !strings.HasPrefix(shown[1].Error, tools.CodeEmptyStepID) || !shown[2].Success ||
			!strings.HasPrefix(string(shown[2].Result), `"r-pay_`) {
			t.Errorf("the model was shown %+v", shown)
		}
		if w.probe.ran("dies") != 2 || asked.Load() != 1 {
			t.Errorf("the call ran %d times, the rail was asked %d times", w.probe.ran("dies"), asked.Load())
		}
	})
}

// TestToolsThatCannotPay has a tool ask where nobody makes payments.
func TestToolsThatCannotPay(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.probe.on("pays", func(ctx context.Context, c *tools.Call) tools.Result {
			_, err := c.Pay(ctx, tools.PaymentRequest{Host: "example.com", Amount: 1, Purpose: "a test", Step: "s"})
			return tools.Fail(fmt.Sprint(err))
		})
		n := w.start()
		s := w.newSession(n)
		n.send(s, script(t, says(callTool("again", "pays")), says(text("done"))))
		the[events.TurnCompleted](t, w.idle(s))
		if shown := resultsShown(n); len(shown) != 1 || !strings.HasPrefix(shown[0].Error, tools.CodeUnavailable) {
			t.Errorf("the model was shown %+v", shown)
		}
	})
}
