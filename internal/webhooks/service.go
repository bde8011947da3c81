// Package webhooks tells addresses of an organization what happens in it. The organization's feed is the outbox: it is written in the
// transaction of each change, so nothing that was committed is forgotten, and turns pay nothing for it. A Dispatcher makes deliveries
// of the feed and sends them, at least once each.
package webhooks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// MaxWebhooks is how many webhooks an organization may have.
	MaxWebhooks = 20
	// secretLen is the length of a secret, in bytes.
	secretLen = 32
	// rotationGrace is how long, after a rotation, the earlier secret still signs.
	rotationGrace = 24 * time.Hour
)

// Config is what a Service works with. All fields are required.
type Config struct {
	DB     *store.DB
	Keeper *secrets.Keeper
	Clock  clock.Clock
	// Addresses decides which addresses may be used; egress.Client does.
	Addresses Addresses
}

// Service is the one place where webhooks are made and changed. It is safe for concurrent use.
type Service struct {
	db        *store.DB
	keeper    *secrets.Keeper
	clock     clock.Clock
	addresses Addresses
}

// NewService fails when the configuration is incomplete.
func NewService(cfg Config) (*Service, error) {
	if cfg.DB == nil || cfg.Keeper == nil || cfg.Clock == nil || cfg.Addresses == nil {
		return nil, errors.New("the service of webhooks needs a database, a keeper of secrets, a clock and who decides about addresses")
	}
	return &Service{db: cfg.DB, keeper: cfg.Keeper, clock: cfg.Clock, addresses: cfg.Addresses}, nil
}

// Create makes a webhook of the caller's organization, for what happens from now on, and returns it with its secret, which is shown this
// once.
func (s *Service) Create(ctx context.Context, by *auth.Principal, url string, kinds []models.EventKind) (*models.Webhook, []byte, error) {
	if err := s.checkURL(url); err != nil {
		return nil, nil, err
	}
	kinds, err := cleanKinds(kinds)
	if err != nil {
		return nil, nil, err
	}
	now := clock.Millis(s.clock)
	row := models.Webhook{
		OrgID: by.OrgID, ID: models.NewID[models.WebhookEntity](), URL: url, Kinds: kinds, Enabled: true, CreatedAt: now, UpdatedAt: now,
	}
	secret, err := s.newSecret(&row)
	if err != nil {
		return nil, nil, err
	}
	err = s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		// Of those who create one at once, each sees what those before it have made.
		if err := store.LockOrg(tx, by.OrgID); err != nil {
			return err
		}
		var n int64
		if err := live(tx.Model(&models.Webhook{}), by.OrgID).Count(&n).Error; err != nil {
			return fmt.Errorf("count webhooks of %s: %w", by.OrgID, err)
		}
		if n >= MaxWebhooks {
			return fault.New(fault.LimitReached, "The organization has reached the limit of %d webhooks. Delete one that is no longer needed.", MaxWebhooks)
		}
		if row.Position, err = feedHead(tx, by.OrgID); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return fmt.Errorf("store a webhook: %w", err)
		}
		return audit.RecordBy(ctx, tx, now, by, "webhook.created", row.ID.String(), map[string]any{"after": describe(&row)})
	})
	if err != nil {
		return nil, nil, err
	}
	return &row, secret, nil
}

// Change is what to change of a webhook. What is nil stays.
type Change struct {
	URL     *string
	Kinds   []models.EventKind
	Enabled *bool
	// RotateSecret creates a new secret for the webhook. The earlier one signs, too, for a day.
	RotateSecret bool
}

// Update changes a webhook and returns it, with its new secret if that was rotated. One that is enabled again begins with what happens from
// now on, and goes on with deliveries that were pending. A change that changes nothing is recorded nowhere.
func (s *Service) Update(ctx context.Context, by *auth.Principal, id models.WebhookID, in Change) (*models.Webhook, []byte, error) {
	if in.URL != nil {
		if err := s.checkURL(*in.URL); err != nil {
			return nil, nil, err
		}
	}
	if in.Kinds != nil {
		var err error
		if in.Kinds, err = cleanKinds(in.Kinds); err != nil {
			return nil, nil, err
		}
	}
	var row models.Webhook
	var secret []byte
	err := s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		var err error
		secret = nil
		if row, err = lockWebhook(tx, by.OrgID, id); err != nil {
			return err
		}
		now, before := clock.Millis(s.clock), row
		if in.URL != nil {
			row.URL = *in.URL
		}
		if in.Kinds != nil {
			row.Kinds = in.Kinds
		}
		if in.Enabled != nil && *in.Enabled != row.Enabled {
			if err := switchTo(tx, &row, *in.Enabled); err != nil {
				return err
			}
		}
		if in.RotateSecret {
			if secret, err = s.rotate(&row, now); err != nil {
				return err
			}
		}
		if secret == nil && row.URL == before.URL && slices.Equal(row.Kinds, before.Kinds) && row.Enabled == before.Enabled {
			return nil
		}
		row.UpdatedAt = now
		err = store.OneRow(store.Of(tx.Model(&models.Webhook{}), by.OrgID).Where("id = ?", id).
			Select("url", "kinds", "enabled", "secret", "previous_secret", "previous_until", "position", "due_at", "failing_since", "failed_at", "updated_at").
			Updates(&row))
		if err != nil {
			return fmt.Errorf("change webhook %s: %w", id, err)
		}
		details := map[string]any{"before": describe(&before), "after": describe(&row)}
		if secret != nil {
			details["secretRotated"] = true
		}
		return audit.RecordBy(ctx, tx, now, by, "webhook.updated", id.String(), details)
	})
	if err != nil {
		return nil, nil, err
	}
	return &row, secret, nil
}

// switchTo enables a webhook from the present end of the feed on, or disables it.
func switchTo(tx *gorm.DB, row *models.Webhook, enabled bool) error {
	row.Enabled = enabled
	if !enabled {
		return nil
	}
	row.FailingSince, row.FailedAt = nil, nil
	var err error
	if row.Position, err = feedHead(tx, row.OrgID); err != nil {
		return err
	}
	row.DueAt, err = nextDue(tx, row.OrgID, row.ID)
	return err
}

// Delete ends a webhook, whatever is pending. Its deliveries are removed later, little by little.
func (s *Service) Delete(ctx context.Context, by *auth.Principal, id models.WebhookID) error {
	return s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lockWebhook(tx, by.OrgID, id)
		if err != nil {
			return err
		}
		now := clock.Millis(s.clock)
		err = store.OneRow(store.Of(tx.Model(&models.Webhook{}), by.OrgID).Where("id = ?", id).Updates(map[string]any{
			"enabled": false, "deleted_at": now, "updated_at": now, "secret": []byte{}, "previous_secret": nil, "previous_until": nil, "due_at": nil,
		}))
		if err != nil {
			return fmt.Errorf("delete webhook %s: %w", id, err)
		}
		return audit.RecordBy(ctx, tx, now, by, "webhook.deleted", id.String(), map[string]any{"before": describe(&row)})
	})
}

// KindTest is the kind of a delivery that Test has made.
const KindTest models.EventKind = "TEST"

// Test sends a delivery that is of no event, once and as soon as possible, and returns the webhook.
func (s *Service) Test(ctx context.Context, by *auth.Principal, id models.WebhookID) (*models.Webhook, error) {
	var row models.Webhook
	err := s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		var err error
		if row, err = lockEnabled(tx, by.OrgID, id); err != nil {
			return err
		}
		now := clock.Millis(s.clock)
		del, err := delivery(&row, &models.Event{
			ID: models.NewID[models.EventEntity](), SessionID: models.SessionID(id), Kind: KindTest, OccurredAt: now,
			Data: models.JSON(`{"message":"This is a test."}`),
		}, now)
		if err != nil {
			return err
		}
		if err := tx.Create(&del).Error; err != nil {
			return fmt.Errorf("test webhook %s: %w", id, err)
		}
		if err := sendNow(tx, &row, now); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, now, by, "webhook.tested", id.String(), map[string]any{"deliveryId": del.ID})
	})
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// Replay makes another attempt of a delivery, also of one that has succeeded or was given up, as soon as possible, and returns its webhook.
// It succeeds for a delivery whose attempt is to come already, which then comes now.
func (s *Service) Replay(ctx context.Context, by *auth.Principal, id models.DeliveryID) (*models.Webhook, error) {
	missing := fault.New(fault.NotFound, "There is no delivery with the id %s. Deliveries are kept for %d days.", id, keepDays).At("id")
	var row models.Webhook
	err := s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		// Everybody locks a webhook before its deliveries.
		found, err := findDelivery(tx, by.OrgID, id)
		if err != nil {
			return err
		}
		if found == nil {
			return missing
		}
		if row, err = lockEnabled(tx, by.OrgID, found.WebhookID); fault.Is(err, fault.NotFound) {
			return missing
		} else if err != nil {
			return err
		}
		now := clock.Millis(s.clock)
		res := store.Of(tx.Model(&models.WebhookDelivery{}), by.OrgID).Where("id = ?", id).Update("next_attempt_at", now)
		if res.Error != nil {
			return fmt.Errorf("replay %s: %w", id, res.Error)
		}
		if res.RowsAffected == 0 {
			return missing
		}
		if err := sendNow(tx, &row, now); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, now, by, "webhook.delivery.replayed", id.String(), map[string]any{
			"webhookId": row.ID, "kind": found.Kind, "attempts": found.Attempts,
		})
	})
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// lockEnabled is lockWebhook for one that must be enabled.
func lockEnabled(tx *gorm.DB, org models.OrgID, id models.WebhookID) (models.Webhook, error) {
	row, err := lockWebhook(tx, org, id)
	if err == nil && !row.Enabled {
		err = fault.New(fault.Conflict, "The webhook %s is disabled. Enable it first.", id).At("id")
	}
	return row, err
}

// sendNow has a webhook, which must be locked, send what is due.
func sendNow(tx *gorm.DB, row *models.Webhook, now models.Millis) error {
	if row.DueAt != nil && *row.DueAt <= now {
		return nil
	}
	row.DueAt = &now
	if err := store.OneRow(store.Of(tx.Model(&models.Webhook{}), row.OrgID).Where("id = ?", row.ID).Update("due_at", now)); err != nil {
		return fmt.Errorf("send what is due of webhook %s: %w", row.ID, err)
	}
	return nil
}

// newSecret creates a secret for a webhook, and returns it.
func (s *Service) newSecret(row *models.Webhook) ([]byte, error) {
	secret := make([]byte, secretLen)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("make the secret of a webhook: %w", err)
	}
	var err error
	row.Secret, err = s.keeper.Seal(secret, secretPlace(row))
	return secret, err
}

// rotate creates a new secret for a webhook, and keeps the present one for a while. Of several rotations in that time only the last but one
// counts.
func (s *Service) rotate(row *models.Webhook, now models.Millis) ([]byte, error) {
	previous, err := s.keeper.Open(row.Secret, secretPlace(row))
	if err != nil {
		return nil, err
	}
	if row.PreviousSecret, err = s.keeper.Seal(previous, previousPlace(row)); err != nil {
		return nil, err
	}
	row.PreviousUntil = (now + models.Millis(rotationGrace.Milliseconds())).Ptr()
	return s.newSecret(row)
}

func secretPlace(row *models.Webhook) secrets.Place {
	return secrets.Place{Org: row.OrgID, Table: "webhooks", Column: "secret", Row: row.ID.String()}
}

func previousPlace(row *models.Webhook) secrets.Place {
	return secrets.Place{Org: row.OrgID, Table: "webhooks", Column: "previous_secret", Row: row.ID.String()}
}
