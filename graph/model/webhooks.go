package model

import "github.com/ostler-dev/ostler/internal/models"

// Webhook is an address that is told of what happens in an organization.
type Webhook struct {
	ID        string
	URL       string
	Kinds     []EventKind
	Enabled   bool
	CreatedAt models.Millis

	WebhookID models.WebhookID
}

// WebhookDelivery is the delivery of one event to a webhook.
type WebhookDelivery struct {
	ID            string
	EventID       string
	Kind          *EventKind
	SessionID     *string
	Attempts      int
	Status        *int
	Error         *string
	DurationMs    *int64
	Response      *string
	NextAttemptAt *models.Millis
	DeliveredAt   *models.Millis

	DeliveryID models.DeliveryID
}

// IsNode marks the type as a Node.
func (Webhook) IsNode() {}

// GetID implements Node.
func (w Webhook) GetID() string { return w.ID }
