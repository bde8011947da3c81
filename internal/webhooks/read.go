package webhooks

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// List returns the webhooks of an organization, newest first. There are MaxWebhooks at most.
func (s *Service) List(ctx context.Context, org models.OrgID) ([]models.Webhook, error) {
	var list []models.Webhook
	if err := live(s.db.Read(ctx, org), org).Order("id DESC").Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the webhooks of %s: %w", org, err)
	}
	return list, nil
}

// Webhook returns a webhook of an organization.
func (s *Service) Webhook(ctx context.Context, org models.OrgID, id models.WebhookID) (*models.Webhook, error) {
	row, err := webhookByID(s.db.Read(ctx, org), org, id)
	return &row, err
}

// Deliveries returns the deliveries of a webhook, newest first: at most limit of those after a position.
func (s *Service) Deliveries(
	ctx context.Context, org models.OrgID, webhook models.WebhookID, after *models.DeliveryID, limit int,
) ([]models.WebhookDelivery, error) {
	q := store.Of(s.db.Read(ctx, org), org).Omit("body").Where("webhook_id = ?", webhook)
	if after != nil {
		q = q.Where("id < ?", *after)
	}
	var list []models.WebhookDelivery
	if err := q.Order("id DESC").Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the deliveries of %s: %w", webhook, err)
	}
	return list, nil
}

// deliveryColumns are those that lists show: all but the body.
const deliveryColumns = "org_id, id, webhook_id, event_id, session_id, kind, attempts, status, error, duration_ms, response, next_attempt_at, delivered_at, created_at"

// NewestDeliveries returns the newest deliveries of several webhooks, up to limit of each, in one statement.
func (s *Service) NewestDeliveries(
	ctx context.Context, org models.OrgID, webhooks []models.WebhookID, limit int,
) (map[models.WebhookID][]models.WebhookDelivery, error) {
	which := store.Owned{Table: "webhook_deliveries", Columns: deliveryColumns, Owner: "webhook_id", Order: "id DESC", Limit: limit}
	return store.ListOf(ctx, s.db, org, webhooks, which, func(d *models.WebhookDelivery) models.WebhookID { return d.WebhookID })
}

// Delivery returns a delivery of a webhook, without its body; nil when there is none.
func (s *Service) Delivery(ctx context.Context, org models.OrgID, webhook models.WebhookID, id models.DeliveryID) (*models.WebhookDelivery, error) {
	return findDelivery(s.db.Read(ctx, org).Where("webhook_id = ?", webhook), org, id)
}

// Bodies returns what is sent in deliveries.
func (s *Service) Bodies(ctx context.Context, org models.OrgID, ids []models.DeliveryID) (map[models.DeliveryID]string, error) {
	var list []models.WebhookDelivery
	if err := store.Of(s.db.Read(ctx, org), org).Select("id", "body").Where("id IN ?", ids).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("read the bodies of %d deliveries: %w", len(ids), err)
	}
	found := make(map[models.DeliveryID]string, len(list))
	for i := range list {
		found[list[i].ID] = list[i].Body
	}
	return found, nil
}

// live limits a statement to the webhooks of an organization that weren't deleted.
func live(db *gorm.DB, org models.OrgID) *gorm.DB {
	return store.Of(db, org).Where("deleted_at IS NULL")
}

func webhookByID(db *gorm.DB, org models.OrgID, id models.WebhookID) (models.Webhook, error) {
	found, err := store.First[models.Webhook](live(db, org).Where("id = ?", id))
	if err != nil {
		return models.Webhook{}, fmt.Errorf("read webhook %s of %s: %w", id, org, err)
	}
	if found == nil {
		return models.Webhook{}, fault.New(fault.NotFound, "There is no webhook with the id %s.", id).At("id")
	}
	return *found, nil
}

// lockWebhook returns a webhook that nobody else changes until the transaction ends.
func lockWebhook(tx *gorm.DB, org models.OrgID, id models.WebhookID) (models.Webhook, error) {
	return webhookByID(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org, id)
}

// findDelivery returns a delivery without its body; nil when the organization has none with this id.
func findDelivery(db *gorm.DB, org models.OrgID, id models.DeliveryID) (*models.WebhookDelivery, error) {
	found, err := store.First[models.WebhookDelivery](store.Of(db, org).Omit("body").Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("read delivery %s of %s: %w", id, org, err)
	}
	return found, nil
}

// feedHead returns the newest position of an organization's feed; 0 before the first event.
func feedHead(db *gorm.DB, org models.OrgID) (int64, error) {
	var found []int64
	if err := store.Of(db.Model(&models.OrgFeed{}), org).Pluck("position", &found).Error; err != nil {
		return 0, fmt.Errorf("read the end of the feed of %s: %w", org, err)
	}
	if len(found) == 0 {
		return 0, nil
	}
	return found[0], nil
}

// nextDue returns when the next delivery of a webhook is due; nil when there is none.
func nextDue(db *gorm.DB, org models.OrgID, id models.WebhookID) (*models.Millis, error) {
	var found []models.Millis
	err := store.Of(db.Model(&models.WebhookDelivery{}), org).Where("webhook_id = ? AND next_attempt_at IS NOT NULL", id).
		Order("next_attempt_at").Limit(1).Pluck("next_attempt_at", &found).Error
	if err != nil {
		return nil, fmt.Errorf("look for the next delivery of %s: %w", id, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}
