package payments_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/tools"
)

func TestPoliciesAreKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, other := w.tenant(), w.tenant()
		row := n.policy(func(p *payments.NewPolicy) {
			p.Name, p.Hosts = " Books ", []string{"b.test", "*.A.test.", "b.test"}
		})
		if row.Name != "Books" || fmt.Sprint(row.Hosts) != "[*.a.test b.test]" || !row.Enabled || row.Rail != models.RailWebhook {
			t.Errorf("got %+v", row)
		}
		if kept := rows[models.PaymentPolicy](n)[0]; bytes.Contains(kept.Secret, []byte(secret)) || len(kept.Secret) == 0 {
			t.Error("the secret is stored as it is, or not at all")
		}
		w.clock.Advance(time.Second)
		above := 3 * one
		pointer, none := &above, (*models.Amount)(nil)
		changed, err := w.Update(t.Context(), n.by, row.ID, payments.Change{MaxDay: new(7 * one), ApprovalAbove: &pointer})
		if err != nil || changed.MaxDay != 7*one || changed.MaxTurn != row.MaxTurn || *changed.ApprovalAbove != 3*one || changed.UpdatedAt != row.UpdatedAt+1000 {
			t.Errorf("got %+v, %v", changed, err)
		}
		w.clock.Advance(time.Second)
		if same, err := w.Update(t.Context(), n.by, row.ID, payments.Change{MaxDay: new(7 * one), Hosts: []string{"b.test", "*.a.test"}}); err != nil || same.UpdatedAt != changed.UpdatedAt {
			t.Errorf("a change of nothing: %+v, %v", same, err)
		}
		if changed, err = w.Update(t.Context(), n.by, row.ID, payments.Change{ApprovalAbove: &none}); err != nil || changed.ApprovalAbove != nil {
			t.Errorf("got %+v, %v", changed, err)
		}
		second := n.policy(nil)
		if list, err := w.Policies(t.Context(), n.by.OrgID); err != nil || len(list) != 2 || list[0].ID != row.ID || list[1].ID != second.ID {
			t.Errorf("the list is %+v, %v", list, err)
		}
		// Others see and change nothing of it.
		if list, err := w.Policies(t.Context(), other.by.OrgID); err != nil || len(list) != 0 {
			t.Errorf("they see %+v, %v", list, err)
		}
		if _, err := w.Update(t.Context(), other.by, row.ID, payments.Change{MaxDay: new(one)}); !fault.Is(err, fault.NotFound) {
			t.Errorf("they change it: %v", err)
		}
		if err := w.Delete(t.Context(), other.by, row.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("they delete it: %v", err)
		}
		if err := w.Delete(t.Context(), n.by, row.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.Delete(t.Context(), n.by, row.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("deleted twice: %v", err)
		}
		if kept := rows[models.PaymentPolicy](n)[0]; len(kept.Secret) != 0 || kept.DeletedAt == nil {
			t.Errorf("what is left of it is %+v", kept)
		}
		var actions []string
		for _, e := range rows[models.AuditEntry](n) {
			actions = append(actions, e.Action)
			if strings.Contains(e.Details, secret) || strings.Contains(e.Details, "/pay") {
				t.Errorf("the audit log tells %s", e.Details)
			}
		}
		if got := strings.ReplaceAll(strings.Join(actions, "|"), "payment_policy.", ""); got != "created|updated|updated|created|deleted" {
			t.Errorf("recorded is %s", got)
		}
	})
}

func TestBadPolicies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		good := payments.NewPolicy{
			Name: "p", Capabilities: []string{"core"}, Hosts: []string{"a.test"}, URL: w.rail.url, Secret: secret, MaxRequest: 1, MaxTurn: 1, MaxDay: 1,
		}
		row := n.policy(nil)
		for what, c := range map[string]struct {
			path   string
			change func(*payments.NewPolicy)
		}{
			"no name":                  {"name", func(p *payments.NewPolicy) { p.Name = " " }},
			"a name of two lines":      {"name", func(p *payments.NewPolicy) { p.Name = "a\nb" }},
			"a long name":              {"name", func(p *payments.NewPolicy) { p.Name = strings.Repeat("x", 101) }},
			"no capability":            {"capabilities", func(p *payments.NewPolicy) { p.Capabilities = []string{} }},
			"an unknown capability":    {"capabilities", func(p *payments.NewPolicy) { p.Capabilities = []string{"core", "corn"} }},
			"not a host":               {"hosts", func(p *payments.NewPolicy) { p.Hosts = []string{} }},
			"any host":                 {"hosts", func(p *payments.NewPolicy) { p.Hosts = []string{"*"} }},
			"any host below the root":  {"hosts", func(p *payments.NewPolicy) { p.Hosts = []string{"*."} }},
			"a pattern in the middle":  {"hosts", func(p *payments.NewPolicy) { p.Hosts = []string{"a.*.test"} }},
			"an address for a host":    {"hosts", func(p *payments.NewPolicy) { p.Hosts = []string{"https://a.test"} }},
			"a port":                   {"hosts", func(p *payments.NewPolicy) { p.Hosts = []string{"a.test:80"} }},
			"no address":               {"url", func(p *payments.NewPolicy) { p.URL = "pay" }},
			"a long address":           {"url", func(p *payments.NewPolicy) { p.URL = "https://a.test/" + strings.Repeat("x", 2048) }},
			"an address with a scheme": {"url", func(p *payments.NewPolicy) { p.URL = "ftp://a.test/" }},
			"a short secret":           {"secret", func(p *payments.NewPolicy) { p.Secret = secret[1:] }},
			"a secret of two lines":    {"secret", func(p *payments.NewPolicy) { p.Secret = secret + "\n" }},
			"nothing per request":      {"maxPerRequest", func(p *payments.NewPolicy) { p.MaxRequest = 0 }},
			"less than nothing":        {"maxPerTurn", func(p *payments.NewPolicy) { p.MaxTurn = -1 }},
			"too much":                 {"maxPerDay", func(p *payments.NewPolicy) { p.MaxDay = 9_000_000_001 * one }},
			"approval below nothing":   {"approvalAbove", func(p *payments.NewPolicy) { p.ApprovalAbove = new(models.Amount(-1)) }},
		} {
			bad := good
			c.change(&bad)
			_, err := w.Create(t.Context(), n.by, bad)
			_, changing := w.Update(t.Context(), n.by, row.ID, payments.Change{
				Name: &bad.Name, Capabilities: bad.Capabilities, Hosts: bad.Hosts, URL: &bad.URL, Secret: &bad.Secret,
				MaxRequest: &bad.MaxRequest, MaxTurn: &bad.MaxTurn, MaxDay: &bad.MaxDay, ApprovalAbove: &bad.ApprovalAbove,
			})
			for _, err := range []error{err, changing} {
				if f := fault.As(err); f == nil || f.Code != fault.Invalid || fmt.Sprint(f.Path) != "[input "+c.path+"]" {
					t.Errorf("%s: got %v", what, err)
				}
			}
		}
		if kept := rows[models.PaymentPolicy](n); len(kept) != 1 || kept[0].UpdatedAt != row.UpdatedAt || !bytes.Equal(kept[0].Secret, row.Secret) {
			t.Errorf("something was stored: %+v", kept)
		}
		var created, over atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range payments.MaxPolicies / 4 {
					switch _, err := w.Create(t.Context(), n.by, good); {
					case err == nil:
						created.Add(1)
					case fault.Is(err, fault.LimitReached):
						over.Add(1)
					default:
						t.Error(err)
					}
				}
				_, err := w.Create(t.Context(), n.by, good)
				if err == nil {
					created.Add(1)
				}
			})
		}
		all.Wait()
		if created.Load() != payments.MaxPolicies-1 {
			t.Errorf("%d were created beside one, %d refused", created.Load(), over.Load())
		}
	})
}

// A new secret signs at once, and the earlier one beside it for a day; payments that are under way are asked for with them.
func TestTheSecretChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		row := n.policy(nil)
		second := strings.Repeat("second secret ", 4)
		if _, err := w.Update(t.Context(), n.by, row.ID, payments.Change{Secret: &second}); err != nil {
			t.Fatal(err)
		}
		knows := func(secret string) {
			w.rail.mu.Lock()
			defer w.rail.mu.Unlock()
			w.rail.secret = secret
		}
		n.paid("by the earlier one", one)
		knows(second)
		n.paid("by the new one", one)
		w.clock.Advance(24 * time.Hour)
		n.paid("by the new one, later", one)
		knows(secret)
		_, err := n.pay("by the earlier one, later", one)
		refused(t, "by the earlier one, later", err, tools.PaymentRefused)
		n.sound()
	})
}

// Who has looked at the rail can end a payment that it doesn't answer for, and then the policy can be deleted.
func TestPeopleSettleWhatTheRailDoesNot(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, other := w.tenant(), w.tenant()
		row := n.policy(nil)
		n.budget(100*one, nil)
		w.rail.answers(always(http.StatusBadGateway, " ", false))
		for _, paid := range []bool{true, false} {
			key := fmt.Sprint(paid)
			_, err := n.pay(key, 4*one)
			refused(t, "no answer", err, tools.PaymentUnknown)
			var id models.PaymentID
			for _, p := range rows[models.Payment](n) {
				if p.Status == models.PaymentPending {
					id = p.ID
				}
			}
			if err := w.Delete(t.Context(), n.by, row.ID); !fault.Is(err, fault.Conflict) {
				t.Errorf("a policy with a payment under way was deleted: %v", err)
			}
			in := payments.Settlement{Paid: paid, Reference: "by hand"}
			if _, err := w.Settle(t.Context(), other.by, id, in); !fault.Is(err, fault.NotFound) {
				t.Errorf("others settle it: %v", err)
			}
			if _, err := w.Settle(t.Context(), n.by, id, payments.Settlement{Reference: "a\nb"}); !fault.Is(err, fault.Invalid) {
				t.Errorf("a reference of two lines: %v", err)
			}
			got, err := w.Settle(t.Context(), n.by, id, in)
			if err != nil || (got.Status == models.PaymentPaid) != paid {
				t.Errorf("got %+v, %v", got, err)
			}
			if _, err := w.Settle(t.Context(), n.by, id, in); !fault.Is(err, fault.Conflict) {
				t.Errorf("settled twice: %v", err)
			}
			r, err := n.pay(key, 4*one)
			if paid && (err != nil || r.Reference != "by hand") || !paid && err == nil {
				t.Errorf("the call then gets %+v, %v", r, err)
			}
			n.sound()
		}
		w.sweep(24 * time.Hour)
		if _, requests := w.rail.count(); requests != 2 {
			t.Errorf("the rail was asked %d times", requests)
		}
		settled := 0
		for _, e := range rows[models.AuditEntry](n) {
			if e.Action == "payment.settled" {
				settled++
			}
		}
		if err := w.Delete(t.Context(), n.by, row.ID); err != nil || settled != 2 {
			t.Errorf("%d settlements are recorded; the policy is deleted: %v", settled, err)
		}
	})
}

func TestPaymentsAreListed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, other := w.tenant(), w.tenant()
		n.policy(nil)
		for i := range 5 {
			n.paid(fmt.Sprint(i), one)
		}
		var after *models.PaymentID
		seen := 0
		for {
			page, err := w.List(t.Context(), n.by.OrgID, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page {
				if after != nil && page[i].ID.String() >= after.String() {
					t.Error("not newest first")
				}
				after = &page[i].ID
			}
			if seen += len(page); len(page) < 2 {
				break
			}
		}
		if many, err := w.Count(t.Context(), n.by.OrgID); err != nil || many != 5 || seen != 5 {
			t.Errorf("%d are counted, %d seen, %v", many, seen, err)
		}
		if many, err := w.Count(t.Context(), other.by.OrgID); err != nil || many != 0 {
			t.Errorf("others count %d, %v", many, err)
		}
		if list, err := w.List(t.Context(), other.by.OrgID, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("others see %+v, %v", list, err)
		}
		if _, err := w.Payment(t.Context(), other.by.OrgID, *after); !fault.Is(err, fault.NotFound) {
			t.Errorf("others read it: %v", err)
		}
	})
}

// The sweeper looks when it is told to, and ends when it is stopped, twice if need be.
func TestTheSweeperLooksByItself(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		n.policy(nil)
		doomed := w.process(func(cfg *payments.Config) { cfg.Committer = &dying{Committer: w.committer, n: 1, after: true} })
		if _, err := doomed.Pay(t.Context(), n.order("a", one)); !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		w.clock.Advance(2 * time.Minute)
		ticks := make(chan time.Time)
		s := w.NewSweeper(ticks)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ticks <- time.Time{}
		for begun := time.Now(); rows[models.Payment](n)[0].Status == models.PaymentPending && time.Since(begun) < 20*time.Second; {
			runtime.Gosched()
		}
		s.Stop()
		if p := n.sound(); p[0].Status != models.PaymentPaid {
			t.Errorf("it is %+v", p[0])
		}
	})
}
