package webhooks

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// The reasons to disable a webhook, for its audit entry.
const (
	reasonGone    = "the receiver answered that it is gone (410)"
	reasonFailing = "all attempts have failed for three days"
)

// record writes down what became of an attempt, and reports whether the webhook goes on. An attempt that another process has recorded
// meanwhile, because this one was silent for longer than its lease, counts once.
func (d *Dispatcher) record(ctx context.Context, sent *models.WebhookDelivery, out outcome) (goes bool, err error) {
	err = d.cfg.DB.Write(ctx, sent.OrgID, func(tx *gorm.DB) error {
		goes = false
		now := clock.Millis(d.cfg.Clock)
		hook, err := lockAny(tx, webhookKey{OrgID: sent.OrgID, ID: sent.WebhookID})
		if err != nil || hook == nil || hook.DeletedAt != nil {
			return err
		}
		row, err := findDelivery(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), sent.OrgID, sent.ID)
		if err != nil {
			return err
		}
		goes = hook.Enabled
		if row == nil || row.Attempts != sent.Attempts {
			return nil
		}
		err = store.OneRow(store.Of(tx.Model(&models.WebhookDelivery{}), sent.OrgID).Where("id = ?", sent.ID).
			Updates(d.after(sent, row, out, now)))
		if err != nil {
			return err
		}
		reason := ""
		if out.problem == "" {
			if hook.FailingSince == nil {
				return nil
			}
			return d.mark(tx, hook, map[string]any{"failing_since": nil, "failed_at": nil})
		}
		if hook.FailingSince == nil || *hook.FailedAt < millis(now, -quiet) {
			hook.FailingSince = &now
		}
		changes := map[string]any{"failing_since": *hook.FailingSince, "failed_at": now}
		switch {
		case !hook.Enabled:
		case out.gone:
			reason = reasonGone
		case *hook.FailingSince <= millis(now, -disableAfter):
			reason = reasonFailing
		}
		if reason == "" {
			return d.mark(tx, hook, changes)
		}
		goes, changes["enabled"], changes["updated_at"] = false, false, now
		if err := d.mark(tx, hook, changes); err != nil {
			return err
		}
		return audit.Record(ctx, tx, now, audit.Entry{
			Org: hook.OrgID, ActorKind: models.ActorSystem, Action: "webhook.disabled", Target: hook.ID.String(),
			Details: map[string]any{"reason": reason, "before": describe(hook), "failingSince": hook.FailingSince},
		})
	})
	if err != nil {
		return false, fmt.Errorf("record an attempt of %s: %w", sent.ID, err)
	}
	return goes, nil
}

// after returns what changes of a delivery with an attempt. One that failed is tried again by itself, up to MaxAttempts times; a
// test isn't, nor is one that was delivered before or that the receiver wants no more. What was asked for while the attempt was under way stays.
func (d *Dispatcher) after(sent, row *models.WebhookDelivery, out outcome, now models.Millis) map[string]any {
	changes := map[string]any{
		"attempts": row.Attempts + 1, "status": out.status, "error": nil, "duration_ms": out.took.Milliseconds(), "response": out.response,
	}
	var next *models.Millis
	switch {
	case out.problem == "":
		changes["delivered_at"] = now
	case row.DeliveredAt == nil && row.Attempts+1 < MaxAttempts && row.Kind != KindTest && !out.gone:
		next = millis(now, nextPause(row.Attempts+1, d.cfg.Chance(), out.wait)).Ptr()
	}
	if out.problem != "" {
		changes["error"] = out.problem
	}
	if row.NextAttemptAt != nil && sent.NextAttemptAt != nil && *row.NextAttemptAt == *sent.NextAttemptAt {
		changes["next_attempt_at"] = next
	}
	return changes
}

func (d *Dispatcher) mark(tx *gorm.DB, hook *models.Webhook, changes map[string]any) error {
	if err := store.OneRow(store.Of(tx.Model(&models.Webhook{}), hook.OrgID).Where("id = ?", hook.ID).Updates(changes)); err != nil {
		return fmt.Errorf("store the state of webhook %s: %w", hook.ID, err)
	}
	return nil
}

// lockAny is lockWebhook for one that may be deleted, or gone: nil then.
func lockAny(tx *gorm.DB, key webhookKey) (*models.Webhook, error) {
	found, err := store.First[models.Webhook](store.Of(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), key.OrgID).Where("id = ?", key.ID))
	if err != nil {
		return nil, fmt.Errorf("lock webhook %s: %w", key.ID, err)
	}
	return found, nil
}
