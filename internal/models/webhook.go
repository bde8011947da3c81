package models

// WebhookEntity is a Webhook.
type WebhookEntity struct{}

// Prefix implements Entity.
func (WebhookEntity) Prefix() string { return "hook" }

// WebhookID is the id of a Webhook.
type WebhookID = ID[WebhookEntity]

// DeliveryEntity is a WebhookDelivery.
type DeliveryEntity struct{}

// Prefix implements Entity.
func (DeliveryEntity) Prefix() string { return "dlv" }

// DeliveryID is the id of a WebhookDelivery.
type DeliveryID = ID[DeliveryEntity]

// Webhook is an address that is told of what happens in an organization.
type Webhook struct {
	OrgID   OrgID     `gorm:"primaryKey"`
	ID      WebhookID `gorm:"primaryKey"`
	URL     string
	Kinds   []EventKind `gorm:"serializer:json;type:json"`
	Enabled bool
	// Secret signs deliveries, PreviousSecret does so, too, until PreviousUntil. Both are sealed.
	Secret         []byte
	PreviousSecret []byte
	PreviousUntil  *Millis
	// Position is how far the feed of the organization was turned into deliveries.
	Position int64
	// DueAt is when the next delivery is due; nil when there is none.
	DueAt *Millis
	// LeasedUntil is how long a process that sends deliveries has the webhook for itself; nil when none does.
	LeasedUntil *Millis
	// FailingSince is when the first of the attempts failed that have failed since the last success, FailedAt when the last one did.
	FailingSince *Millis
	FailedAt     *Millis
	CreatedAt    Millis `gorm:"autoCreateTime:false"`
	UpdatedAt    Millis `gorm:"autoUpdateTime:false"`
	// DeletedAt is when it was deleted: nobody sees it any more, its deliveries are removed little by little, then itself.
	DeletedAt *Millis
}

// WebhookDelivery is one event that a webhook is told of.
type WebhookDelivery struct {
	OrgID     OrgID      `gorm:"primaryKey"`
	ID        DeliveryID `gorm:"primaryKey"`
	WebhookID WebhookID
	EventID   EventID
	// SessionID is the id of the webhook itself for a test, which is of no session.
	SessionID SessionID
	Kind      EventKind
	// Body is what is sent, byte for byte.
	Body     string
	Attempts int
	// Status, Error, DurationMs and Response are those of the last attempt; no status and no response when there was no answer. The response is
	// the beginning of the answer's body.
	Status     *int
	Error      *string
	DurationMs *int64
	Response   *string
	// NextAttemptAt is nil when none is to come.
	NextAttemptAt *Millis
	// DeliveredAt is when it was last answered by success; nil for never.
	DeliveredAt *Millis
	CreatedAt   Millis `gorm:"autoCreateTime:false"`
}
