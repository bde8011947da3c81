package webhooks

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// webhookKey names a webhook.
type webhookKey struct {
	OrgID models.OrgID
	ID    models.WebhookID
}

// feedReader is a webhook that wants the feed of its organization.
type feedReader struct {
	webhookKey

	// Behind is true when the feed goes further than what the webhook has of it.
	Behind bool
}

// readers returns up to limit enabled webhooks, in the order of their keys, past the one that comes before them; the zero one is the start.
// It reads the index of those that are enabled, and nothing of organizations without any.
func readers(ctx context.Context, db *store.DB, after webhookKey, limit int) ([]feedReader, error) {
	var list []feedReader
	err := db.QueryAcross(ctx, func(r store.Row) error {
		var f feedReader
		if err := r.Scan(&f.OrgID, &f.ID, &f.Behind); err != nil {
			return err
		}
		list = append(list, f)
		return nil
	}, `SELECT w.org_id, w.id, w.position < coalesce(f.position, 0) FROM webhooks w LEFT JOIN org_feeds f ON f.org_id = w.org_id
WHERE w.enabled AND (w.org_id, w.id) > (?, ?) ORDER BY w.org_id, w.id LIMIT ?`, after.OrgID[:], after.ID[:], limit)
	if err != nil {
		return nil, fmt.Errorf("look for webhooks that are behind: %w", err)
	}
	return list, nil
}

// due returns up to limit enabled webhooks that have a delivery to send now and that nobody is sending for, the most overdue first. Those of
// the organizations in without are left out.
func due(ctx context.Context, db *store.DB, now models.Millis, without []models.OrgID, limit int) ([]webhookKey, error) {
	var list []webhookKey
	err := db.DueAcross(ctx, now, without, limit).Model(&models.Webhook{}).Select("org_id", "id").
		Where("enabled AND (leased_until IS NULL OR leased_until <= ?)", now).Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("look for webhooks that are due: %w", err)
	}
	return list, nil
}

// deleteOld deletes deliveries that were made before a time, and those of deleted webhooks, then these themselves. It returns how many
// rows. Several processes may do so at once.
func deleteOld(ctx context.Context, db *store.DB, before models.Millis) (int64, error) {
	var total int64
	for _, s := range []struct {
		text string
		args []any
	}{
		{`DELETE FROM webhook_deliveries WHERE (org_id, id) IN
(SELECT org_id, id FROM webhook_deliveries WHERE created_at < ? ORDER BY created_at LIMIT ?)`, []any{int64(before)}},
		{`DELETE FROM webhook_deliveries WHERE (org_id, id) IN (SELECT d.org_id, d.id FROM webhooks w
JOIN webhook_deliveries d ON d.org_id = w.org_id AND d.webhook_id = w.id WHERE w.deleted_at IS NOT NULL LIMIT ?)`, nil},
		{`DELETE FROM webhooks WHERE (org_id, id) IN (SELECT org_id, id FROM webhooks w WHERE w.deleted_at IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM webhook_deliveries d WHERE d.org_id = w.org_id AND d.webhook_id = w.id) LIMIT ?)`, nil},
	} {
		n, err := db.DeleteAcross(ctx, s.text, s.args...)
		total += n
		if err != nil {
			return total, fmt.Errorf("delete old webhook deliveries: %w", err)
		}
	}
	return total, nil
}
