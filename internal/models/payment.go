package models

// The entities of payments that have ids.
type (
	PaymentPolicyEntity struct{}
	PaymentEntity       struct{}
)

// Prefix implements Entity.
func (PaymentPolicyEntity) Prefix() string { return "ppol" }

// Prefix implements Entity.
func (PaymentEntity) Prefix() string { return "pay" }

// Typed ids of payments.
type (
	PaymentPolicyID = ID[PaymentPolicyEntity]
	PaymentID       = ID[PaymentEntity]
)

// PaymentRail is what moves the money.
type PaymentRail string

// RailWebhook is a server of the organization's that is called with signed requests.
const RailWebhook PaymentRail = "WEBHOOK"

// PaymentPolicy lets tools pay: which of them, to whom, and how much. All amounts are in usd.
type PaymentPolicy struct {
	OrgID OrgID           `gorm:"primaryKey"`
	ID    PaymentPolicyID `gorm:"primaryKey"`
	Name  string
	// Capabilities are those whose tools may pay, Hosts whom they may pay: example.com, or *.example.com for all below it.
	Capabilities []string `gorm:"serializer:json;type:json"`
	Hosts        []string `gorm:"serializer:json;type:json"`
	Rail         PaymentRail
	// URL is where the rail is asked.
	URL string
	// Secret signs what the rail is asked, PreviousSecret does so, too, until PreviousUntil. Both are sealed.
	Secret         []byte
	PreviousSecret []byte
	PreviousUntil  *Millis
	// MaxRequest, MaxTurn and MaxDay bound one payment, those of a turn and those of a day (UTC).
	MaxRequest Amount
	MaxTurn    Amount
	MaxDay     Amount
	// ApprovalAbove is the largest payment that needs nobody's approval; nil when none does.
	ApprovalAbove *Amount
	Enabled       bool
	CreatedAt     Millis `gorm:"autoCreateTime:false"`
	UpdatedAt     Millis `gorm:"autoUpdateTime:false"`
	// DeletedAt is when it was deleted: nothing is paid by it any more, and its payments stay.
	DeletedAt *Millis
}

// PaymentStatus tells how far a payment has come.
type PaymentStatus string

// The states of payments. ASKED and PENDING count against the limits of the policy as PAID does.
const (
	// PaymentAsked: the policy allows it; nothing is held of the budgets, and the rail knows nothing of it.
	PaymentAsked PaymentStatus = "ASKED"
	// PaymentPending: the amount is held, and the rail may have been asked. It is asked until it says what became of it.
	PaymentPending PaymentStatus = "PENDING"
	PaymentPaid    PaymentStatus = "PAID"
	// PaymentRefused: nothing was paid, and nothing is held.
	PaymentRefused PaymentStatus = "REFUSED"
)

// Payment is a payment that a tool has asked for. Up to PENDING its row is written by whoever holds the policy's lock, from then on by
// commands on its session.
type Payment struct {
	OrgID    OrgID     `gorm:"primaryKey"`
	ID       PaymentID `gorm:"primaryKey"`
	PolicyID PaymentPolicyID
	// SessionID and TurnID are not foreign keys: payments outlive what they were made in.
	SessionID SessionID
	TurnID    TurnID
	// WaitID is the approval that has allowed it; nil for one that needed none.
	WaitID *WaitID
	// IdempotencyKey is "{session}:{call}:{step}", unique in the organization.
	IdempotencyKey string
	Capability     string
	// Tool is the tool's id.
	Tool    string
	Host    string
	Purpose string
	// Amount is what was asked for, Paid what the rail has paid.
	Amount Amount
	Paid   *Amount
	Status PaymentStatus
	// Day counts from 1970 on, in UTC: the day whose limit the payment counts against.
	Day int64
	// Lines are what is held of budgets while the payment is PENDING, as JSON of []Held; they stay when it has ended.
	Lines JSON
	// Reference is what the rail calls it.
	Reference *string
	// Error says why it was refused, or why the rail's answer is not known yet.
	Error *string
	// Attempts counts how often the rail was asked.
	Attempts int64
	// DueAt is when somebody is to look after the payment; nil when it has ended.
	DueAt     *Millis
	CreatedAt Millis `gorm:"autoCreateTime:false"`
	SettledAt *Millis
}

// PaymentDay is what was paid by a policy on a day, and what is about to be.
type PaymentDay struct {
	OrgID    OrgID           `gorm:"primaryKey"`
	PolicyID PaymentPolicyID `gorm:"primaryKey"`
	// Day counts from 1970 on, in UTC.
	Day    int64 `gorm:"primaryKey;autoIncrement:false"`
	Amount Amount
}
