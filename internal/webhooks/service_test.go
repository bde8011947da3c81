package webhooks_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

func TestWebhooksAreKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, n := t.Context(), w.tenant()
		row, secret := n.webhook("http://127.0.0.1:9/hook?key=k1", models.EventTurnFailed, models.EventTurnCompleted, models.EventTurnFailed)
		if len(secret) != 32 || !row.Enabled || row.Position != 1 || fmt.Sprint(row.Kinds) != "[TURN_COMPLETED TURN_FAILED]" {
			t.Errorf("got %+v and a secret of %d bytes", row, len(secret))
		}
		kept := n.reload(row)
		if bytes.Contains(kept.Secret, secret) {
			t.Error("the secret is stored as it is")
		}
		w.clock.Advance(time.Second)
		off := false
		changed, none, err := w.Update(ctx, n.by, row.ID, webhooks.Change{Kinds: titles, Enabled: &off})
		if err != nil || none != nil || changed.Enabled || fmt.Sprint(changed.Kinds) != "[SESSION_TITLE_CHANGED]" || changed.URL != row.URL {
			t.Errorf("got %+v, %v", changed, err)
		}
		if kept := n.reload(row); kept.Enabled || kept.UpdatedAt != row.UpdatedAt+1000 || !bytes.Equal(kept.Secret, row.Secret) {
			t.Errorf("stored is %+v", kept)
		}
		// What changes nothing is no change.
		if _, _, err := w.Update(ctx, n.by, row.ID, webhooks.Change{URL: &row.URL, Kinds: titles, Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		second, _ := n.webhook("http://127.0.0.1:9/")
		if list, err := w.List(ctx, n.by.OrgID); err != nil || len(list) != 2 || list[0].ID != second.ID || list[1].ID != row.ID {
			t.Errorf("the list is %+v, %v", list, err)
		}
		if err := w.Delete(ctx, n.by, row.ID); err != nil {
			t.Fatal(err)
		}
		if list, err := w.List(ctx, n.by.OrgID); err != nil || len(list) != 1 {
			t.Errorf("after one was deleted the list is %+v, %v", list, err)
		}
		for what, err := range map[string]error{
			"delete": w.Delete(ctx, n.by, row.ID),
			"update": func() error { _, _, err := w.Update(ctx, n.by, row.ID, webhooks.Change{Enabled: &off}); return err }(),
			"read":   func() error { _, err := w.Webhook(ctx, n.by.OrgID, row.ID); return err }(),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s of a deleted webhook: %v", what, err)
			}
		}
		var gone []models.Webhook
		if err := store.Of(w.db.Read(ctx, n.by.OrgID), n.by.OrgID).Where("id = ?", row.ID).Find(&gone).Error; err != nil || len(gone) != 1 || len(gone[0].Secret) > 0 {
			t.Errorf("a deleted webhook keeps its secret: %+v, %v", gone, err)
		}
		want := "[webhook.created USER webhook.updated USER webhook.created USER webhook.deleted USER]"
		if got := fmt.Sprint(n.recorded()); got != want {
			t.Errorf("recorded is %s, want %s", got, want)
		}
		var audit []models.AuditEntry
		if err := store.Of(w.db.Read(ctx, n.by.OrgID), n.by.OrgID).Find(&audit).Error; err != nil {
			t.Fatal(err)
		}
		for _, e := range audit {
			if strings.Contains(e.Details, "k1") {
				t.Errorf("the audit tells the key in an address: %s", e.Details)
			}
		}
	})
}

func TestWhatIsNoWebhook(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		strict, err := webhooks.NewService(webhooks.Config{DB: w.db, Keeper: w.keeper, Clock: w.clock, Addresses: egress.New(egress.Config{})})
		if err != nil {
			t.Fatal(err)
		}
		n := w.tenant()
		row, _, err := strict.Create(t.Context(), n.by, "https://example.com/hook", titles)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{
			"", "hook", "https://", "ftp://example.com/", "http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/",
			"https://169.254.169.254/", "https://localhost/", "https://user:pass@example.com/", "https://2130706433/", "https://0x7f.1/",
			"https://example.com:0/", "https://[::ffff:127.0.0.1]/", "https://example.com/\x00", "https://example.com/" + strings.Repeat("a", 2048),
		} {
			_, _, made := strict.Create(t.Context(), n.by, url, titles)
			_, _, changed := strict.Update(t.Context(), n.by, row.ID, webhooks.Change{URL: &url})
			for _, err := range []error{made, changed} {
				if f := fault.As(err); f == nil || f.Code != fault.Invalid || fmt.Sprint(f.Path) != "[input url]" {
					t.Errorf("%q: %v", url, err)
				}
			}
		}
		for _, kinds := range [][]models.EventKind{{}, {models.EventOutputDelta}, {models.EventTurnCompleted, models.EventToolStarted}, {"NOPE"}} {
			_, _, made := strict.Create(t.Context(), n.by, "https://example.com/", kinds)
			_, _, changed := strict.Update(t.Context(), n.by, row.ID, webhooks.Change{Kinds: kinds})
			for _, err := range []error{made, changed} {
				f := fault.As(err)
				if f == nil || f.Code != fault.Invalid || fmt.Sprint(f.Path) != "[input kinds]" {
					t.Errorf("%v: %v", kinds, err)
				} else if len(kinds) > 0 && (!strings.Contains(f.Message, "TURN_COMPLETED, ") || !strings.Contains(f.Message, string(kinds[len(kinds)-1]))) {
					t.Errorf("%v: the message names neither what is wrong nor what is right: %s", kinds, f.Message)
				}
			}
		}
		if kinds := webhooks.Kinds(); !slices.Contains(kinds, models.EventApprovalRequested) || !slices.Contains(kinds, models.EventTurnSealed) ||
			slices.Contains(kinds, models.EventOutputCompleted) {
			t.Errorf("the kinds are %v", kinds)
		}
		if got := n.recorded(); len(got) != 1 {
			t.Errorf("recorded is %v", got)
		}
	})
}

func TestAnOrganizationHasSoManyWebhooks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, other := w.tenant(), w.tenant()
		var made, refused atomic.Int64
		var wg sync.WaitGroup
		for range webhooks.MaxWebhooks + 5 {
			wg.Go(func() {
				_, _, err := w.Create(t.Context(), n.by, "http://127.0.0.1:9/", titles)
				switch {
				case err == nil:
					made.Add(1)
				case fault.Is(err, fault.LimitReached):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made.Load() != webhooks.MaxWebhooks || refused.Load() != 5 {
			t.Errorf("%d were made and %d refused", made.Load(), refused.Load())
		}
		other.webhook("http://127.0.0.1:9/")
		list, err := w.List(t.Context(), n.by.OrgID)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Delete(t.Context(), n.by, list[0].ID); err != nil {
			t.Fatal(err)
		}
		n.webhook("http://127.0.0.1:9/")
	})
}

// Another organization's webhook and delivery are like none.
func TestWebhooksOfOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, mine, theirs, r := t.Context(), w.tenant(), w.tenant(), newReceiver(t, nil)
		row, _ := theirs.webhook(r.URL)
		theirs.happens(titled("a"))
		mine.happens(titled("b"))
		w.run(w.dispatcher(nil))
		if got := r.titles(); got != "a" {
			t.Fatalf("they were told %q", got)
		}
		delivery := theirs.deliveries(row)[0]
		off := false
		tries := func(hook models.WebhookID, del models.DeliveryID) []error {
			_, _, update := w.Update(ctx, mine.by, hook, webhooks.Change{Enabled: &off})
			_, replay := w.Replay(ctx, mine.by, del)
			_, read := w.Webhook(ctx, mine.by.OrgID, hook)
			_, test := w.Test(ctx, mine.by, hook)
			return []error{update, w.Delete(ctx, mine.by, hook), replay, read, test}
		}
		unknown, none := models.NewID[models.WebhookEntity](), models.NewID[models.DeliveryEntity]()
		foreign, missing := tries(row.ID, delivery.ID), tries(unknown, none)
		for i := range foreign {
			f, m := fault.As(foreign[i]), fault.As(missing[i])
			if f == nil || m == nil || f.Code != fault.NotFound || fmt.Sprint(f.Path) != fmt.Sprint(m.Path) ||
				strings.NewReplacer(row.ID.String(), "x", delivery.ID.String(), "x").Replace(f.Message) != strings.NewReplacer(unknown.String(), "x", none.String(), "x").Replace(m.Message) {
				t.Errorf("%v and %v", foreign[i], missing[i])
			}
		}
		if list, err := w.Deliveries(ctx, mine.by.OrgID, row.ID, nil, 10); err != nil || len(list) > 0 {
			t.Errorf("I see %v, %v", list, err)
		}
		if del, err := w.Delivery(ctx, mine.by.OrgID, row.ID, delivery.ID); err != nil || del != nil {
			t.Errorf("I see %v, %v", del, err)
		}
		if bodies, err := w.Bodies(ctx, mine.by.OrgID, []models.DeliveryID{delivery.ID}); err != nil || len(bodies) > 0 {
			t.Errorf("I see %v, %v", bodies, err)
		}
		found, err := w.NewestDeliveries(ctx, mine.by.OrgID, []models.WebhookID{row.ID}, 10)
		if err != nil || len(found[row.ID]) > 0 {
			t.Errorf("I see %v, %v", found, err)
		}
		if kept := theirs.reload(row); !kept.Enabled {
			t.Error("I have changed theirs")
		}
	})
}

func TestSecretsRotate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, r, d := w.tenant(), newReceiver(t, nil), w.dispatcher(nil)
		row, first := n.webhook(r.URL)
		changed, second, err := w.Update(t.Context(), n.by, row.ID, webhooks.Change{RotateSecret: true})
		if err != nil || len(second) != 32 || bytes.Equal(first, second) || bytes.Equal(changed.Secret, row.Secret) {
			t.Fatalf("got %v", err)
		}
		signed := func(title string) (bool, bool) {
			t.Helper()
			n.happens(titled(title))
			w.run(d)
			all := r.all()
			g := all[len(all)-1]
			if g.Data.Title != title {
				t.Fatalf("got %+v", g)
			}
			return verify(first, g.Body, g.Signature, w.clock.Now()), verify(second, g.Body, g.Signature, w.clock.Now())
		}
		if old, current := signed("a"); !old || !current {
			t.Errorf("signed by the old one %v, the new one %v", old, current)
		}
		w.clock.Advance(24 * time.Hour)
		if old, current := signed("b"); old || !current {
			t.Errorf("a day later signed by the old one %v, the new one %v", old, current)
		}
		if got := fmt.Sprint(n.recorded()); got != "[webhook.created USER webhook.updated USER]" {
			t.Errorf("recorded is %s", got)
		}
	})
}

func TestAnIncompleteConfiguration(t *testing.T) {
	t.Parallel()
	if _, err := webhooks.NewService(webhooks.Config{}); err == nil {
		t.Error("a service of nothing was made")
	}
	if _, err := webhooks.NewDispatcher(webhooks.DispatcherConfig{}); err == nil {
		t.Error("a dispatcher of nothing was made")
	}
}
