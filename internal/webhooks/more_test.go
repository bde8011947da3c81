package webhooks_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

// A change of the master key takes the secrets of webhooks along.
func TestSecretsSurviveAnotherMasterKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, r := w.tenant(), newReceiver(t, nil)
		row, first := n.webhook(r.URL)
		_, second, err := w.Update(t.Context(), n.by, row.ID, webhooks.Change{RotateSecret: true})
		if err != nil {
			t.Fatal(err)
		}
		both, err := secrets.NewKeeper(bytes.Repeat([]byte{8}, 32), bytes.Repeat([]byte{7}, 32))
		if err != nil {
			t.Fatal(err)
		}
		if changed, err := secrets.Rewrap(t.Context(), w.db, both, func(int) {}); err != nil || changed != 2 {
			t.Fatalf("%d values changed, %v", changed, err)
		}
		alone, err := secrets.NewKeeper(bytes.Repeat([]byte{8}, 32))
		if err != nil {
			t.Fatal(err)
		}
		n.happens(titled("a"))
		w.run(w.dispatcher(func(c *webhooks.DispatcherConfig) { c.Keeper = alone }))
		all := r.all()
		if len(all) != 1 || !verify(first, all[0].Body, all[0].Signature, w.clock.Now()) || !verify(second, all[0].Body, all[0].Signature, w.clock.Now()) {
			t.Errorf("got %+v", all)
		}
	})
}

// What is looked for again and again is found by an index, whatever the size of the tables.
func TestLooksUseIndexes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.tenant()
		row, _ := n.webhook("http://127.0.0.1:9/")
		for _, test := range []struct{ statement, index string }{
			{"SELECT org_id, id FROM webhooks WHERE enabled AND due_at <= 1 AND (leased_until IS NULL OR leased_until <= 1) ORDER BY due_at LIMIT 10", "webhooks_due"},
			{"SELECT org_id, id FROM webhooks WHERE enabled AND (org_id, id) > (?, ?) ORDER BY org_id, id LIMIT 10", "webhooks_enabled"},
			{"SELECT id FROM webhook_deliveries WHERE org_id = ? AND webhook_id = ? ORDER BY id DESC LIMIT 10", "webhook_deliveries_list"},
			{"SELECT id FROM webhook_deliveries WHERE org_id = ? AND webhook_id = ? AND next_attempt_at <= 1 ORDER BY next_attempt_at, id LIMIT 10", "webhook_deliveries_due"},
			{"SELECT next_attempt_at FROM webhook_deliveries WHERE org_id = ? AND webhook_id = ? AND next_attempt_at IS NOT NULL ORDER BY next_attempt_at LIMIT 1", "webhook_deliveries_due"},
			{"SELECT org_id, id FROM webhook_deliveries WHERE created_at < 1 ORDER BY created_at LIMIT 10", "webhook_deliveries_old"},
			{"SELECT org_id, id FROM webhooks WHERE deleted_at IS NOT NULL LIMIT 10", "webhooks_deleted"},
		} {
			var args []any
			if strings.Contains(test.statement, "?") {
				args = []any{n.by.OrgID, row.ID}
			}
			if plan := w.plan(test.statement, args...); !strings.Contains(plan, test.index) || strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s: %s", test.statement, plan)
			}
		}
	})
}

// plan returns what the database would do, with tables that are as large as it takes for an index to matter.
func (w *world) plan(statement string, args ...any) string {
	w.t.Helper()
	explain := "EXPLAIN QUERY PLAN "
	if w.db.Dialect == store.Postgres {
		explain = "EXPLAIN "
	}
	var lines []string
	err := w.db.WriteAcross(context.WithoutCancel(w.t.Context()), func(tx *gorm.DB) error {
		if w.db.Dialect == store.Postgres {
			// The tables are nearly empty: what counts is whether an index can serve.
			for _, off := range []string{"enable_seqscan", "enable_bitmapscan", "enable_sort"} {
				if err := tx.Exec("SET LOCAL " + off + " = off").Error; err != nil {
					return err
				}
			}
		}
		rows, err := tx.Raw(explain+statement, args...).Rows()
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				return err
			}
			lines = append(lines, fmt.Sprint(*values[len(values)-1].(*any)))
		}
		return rows.Err()
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(lines, "; ")
}

// A webhook that can't be sent for, because its secret doesn't open, is left alone for a while and holds nobody up.
func TestASecretThatDoesNotOpen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n, r, d := w.tenant(), newReceiver(t, nil), w.dispatcher(nil)
		row, _ := n.webhook(r.URL)
		n.webhook(r.URL)
		err := w.db.Write(t.Context(), n.by.OrgID, func(tx *gorm.DB) error {
			return store.OneRow(store.Of(tx.Model(&models.Webhook{}), n.by.OrgID).Where("id = ?", row.ID).Update("secret", []byte("broken")))
		})
		if err != nil {
			t.Fatal(err)
		}
		n.happens(titled("a"))
		w.run(d)
		if del := n.deliveries(row)[0]; len(r.all()) != 1 || del.Attempts != 0 || del.NextAttemptAt == nil {
			t.Errorf("%d requests, %+v", len(r.all()), del)
		}
	})
}
