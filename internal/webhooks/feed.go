package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// What one step takes from a feed: it is multiplied by the webhooks of the organization, and SQLite has one writer.
const (
	feedEvents = 100
	feedBytes  = 1 << 20
	// insertBatch is how many deliveries one statement makes.
	insertBatch = 100
)

// envelope is the body of a delivery.
type envelope struct {
	ID         models.DeliveryID `json:"id"`
	EventID    models.EventID    `json:"eventId"`
	Kind       models.EventKind  `json:"kind"`
	OrgID      models.OrgID      `json:"orgId"`
	SessionID  *models.SessionID `json:"sessionId"`
	TurnID     *models.TurnID    `json:"turnId"`
	Position   int64             `json:"position"`
	OccurredAt string            `json:"occurredAt"`
	Data       models.JSON       `json:"data"`
}

// advance turns the next events of an organization's feed into deliveries of its webhooks, and moves their positions, in one transaction:
// an event becomes exactly one delivery of each webhook that wants it, however often and wherever this runs. It reports whether there may be
// more, whether there is something to send, and whether the organization has webhooks at all.
func (d *Dispatcher) advance(ctx context.Context, org models.OrgID) (more, due, has bool, err error) {
	var hooks []models.Webhook
	err = enabled(d.cfg.DB.Read(ctx, org), org).Select("org_id", "id", "position").Find(&hooks).Error
	if err != nil {
		return false, false, false, fmt.Errorf("read the webhooks of %s: %w", org, err)
	}
	if len(hooks) == 0 {
		return false, false, false, nil
	}
	after := slices.MinFunc(hooks, func(a, b models.Webhook) int { return int(min(1, max(-1, a.Position-b.Position))) }).Position
	// The end is read first: of what is up to there, everything is visible afterwards.
	end, err := feedHead(d.cfg.DB.Read(ctx, org), org)
	if err != nil || after >= end {
		return false, false, true, err
	}
	page, err := d.cfg.Feed.ReadFeed(ctx, org, after, events.Limit{Events: feedEvents, Bytes: feedBytes})
	if err != nil {
		return false, false, true, err
	}
	// Without events up to the end, those that were there are gone, with their sessions.
	to := end
	if n := len(page); n > 0 {
		to = *page[n-1].FeedPosition
	}
	err = d.cfg.DB.Write(ctx, org, func(tx *gorm.DB) error {
		due, err = d.put(tx, org, after, to, page)
		return err
	})
	if err != nil {
		return false, false, true, fmt.Errorf("make the deliveries of %s: %w", org, err)
	}
	return to < end, due, true, nil
}

// enabled limits a statement to the webhooks of an organization that are at work.
func enabled(db *gorm.DB, org models.OrgID) *gorm.DB { return store.Of(db, org).Where("enabled") }

// put writes the deliveries of the events from after to to, for those webhooks that stand in between. Under the lock, a webhook that
// somebody else has moved meanwhile has what lies before its position.
func (d *Dispatcher) put(tx *gorm.DB, org models.OrgID, after, to int64, page []models.Event) (due bool, err error) {
	var hooks []models.Webhook
	err = enabled(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org).
		Where("position >= ? AND position < ?", after, to).Order("id").Find(&hooks).Error
	if err != nil {
		return false, fmt.Errorf("lock the webhooks of %s: %w", org, err)
	}
	now := clock.Millis(d.cfg.Clock)
	var rows []models.WebhookDelivery
	for i := range hooks {
		h := &hooks[i]
		before := len(rows)
		for j := range page {
			if e := &page[j]; *e.FeedPosition > h.Position && slices.Contains(h.Kinds, e.Kind) {
				row, err := delivery(h, e, now)
				if err != nil {
					return false, err
				}
				rows = append(rows, row)
			}
		}
		changes := map[string]any{"position": to}
		if len(rows) > before {
			due = true
			if h.DueAt == nil || *h.DueAt > now {
				changes["due_at"] = now
			}
		}
		if err := store.OneRow(store.Of(tx.Model(&models.Webhook{}), org).Where("id = ?", h.ID).Updates(changes)); err != nil {
			return false, fmt.Errorf("move webhook %s on: %w", h.ID, err)
		}
	}
	if len(rows) == 0 {
		return false, nil
	}
	return due, tx.CreateInBatches(rows, insertBatch).Error
}

func delivery(h *models.Webhook, e *models.Event, now models.Millis) (models.WebhookDelivery, error) {
	row := models.WebhookDelivery{
		OrgID: h.OrgID, ID: models.NewID[models.DeliveryEntity](), WebhookID: h.ID, EventID: e.ID, SessionID: e.SessionID, Kind: e.Kind,
		NextAttemptAt: &now, CreatedAt: now,
	}
	sent := envelope{
		ID: row.ID, EventID: e.ID, Kind: e.Kind, OrgID: h.OrgID, TurnID: e.TurnID,
		OccurredAt: e.OccurredAt.Time().Format("2006-01-02T15:04:05.000Z"), Data: e.Data,
	}
	if e.FeedPosition != nil { // a test has neither session nor position
		sent.SessionID, sent.Position = &e.SessionID, *e.FeedPosition
	}
	body, err := json.Marshal(sent)
	if err != nil {
		return row, fmt.Errorf("write event %s as JSON: %w", e.ID, err)
	}
	row.Body = string(body)
	return row, nil
}

// millis adds a span to a time of the database.
func millis(at models.Millis, d time.Duration) models.Millis {
	return at + models.Millis(d.Milliseconds())
}
