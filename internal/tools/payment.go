package tools

import (
	"context"

	"github.com/ostler-dev/ostler/internal/models"
)

// The codes of payments that were not made, as the model reads them.
const (
	// PaymentNoPolicy: no policy of the organization lets this tool pay this host.
	PaymentNoPolicy = "payment_not_allowed"
	// PaymentInvalid: what was asked for makes no sense.
	PaymentInvalid = "payment_invalid"
	// PaymentOverLimit: it is more than the policy allows for a request, a turn or a day.
	PaymentOverLimit = "payment_over_limit"
	// PaymentDenied: it is more than the policy allows without a person's approval, and a person has denied it.
	PaymentDenied = "payment_denied"
	// PaymentApprovalExpired: nobody has decided about it in time.
	PaymentApprovalExpired = "payment_approval_expired"
	// PaymentOverBudget: a budget that binds the session has no room for it.
	PaymentOverBudget = "payment_over_budget"
	// PaymentRefused: the rail has refused it. Nothing was paid.
	PaymentRefused = "payment_refused"
	// PaymentUnknown: nobody knows yet whether it was paid. The server goes on asking.
	PaymentUnknown = "payment_unknown"
)

// PaymentError is a payment that was not made, or isn't known to be. Its text is for the model.
type PaymentError struct {
	// Code is one of the constants above.
	Code    string
	Message string
}

func (e *PaymentError) Error() string { return e.Code + ": " + e.Message }

// ApprovalNeededError is a payment that a person has to approve first. It is for the engine, which asks people and has the call run again
// when they have decided.
type ApprovalNeededError struct{ Terms models.PaymentTerms }

func (e *ApprovalNeededError) Error() string { return "the payment waits for a person's approval" }

// PaymentRequest is a payment that a tool asks for.
type PaymentRequest struct {
	// Host is who is paid: a name like api.example.com.
	Host string
	// Amount is in 10^-9 usd.
	Amount models.Amount
	// Purpose says what for, in words for people.
	Purpose string
	// Step tells the payments of one call apart. The same step of the same call is the same payment, whatever crashes or retries in between.
	Step string
}

// PaymentReceipt tells of a payment that was made.
type PaymentReceipt struct {
	ID models.PaymentID
	// Reference is what the rail calls it.
	Reference string
	// Amount is what was paid, in 10^-9 usd.
	Amount models.Amount
}

// PaymentOrder is a request with who makes it.
type PaymentOrder struct {
	PaymentRequest

	OrgID     models.OrgID
	SessionID models.SessionID
	TurnID    models.TurnID
	// Epoch is that of the lease that the call runs under: who has lost it can't pay any more.
	Epoch int64
	// CapabilityID and ToolID are what asks.
	CapabilityID, ToolID string
	// IdempotencyKey is "{session}:{call}:{step}".
	IdempotencyKey string
}

// PaymentAuthority decides about payments and makes them: neither tools nor models ever see what they are made with. Refusals are
// *PaymentError, and *ApprovalNeededError is for what people have to decide first; other errors are the server's, and asking again is safe.
type PaymentAuthority interface {
	Pay(ctx context.Context, order PaymentOrder) (PaymentReceipt, error)
}

// Pay asks for a payment, and returns its receipt when it was made; asked for again it is not made again. Refusals are *PaymentError, which
// tell the model why, or *EffectError where tools can't pay. Where a person has to approve it first the error is neither, and the tool is to
// come to its end: as with DurableAwait the call then waits, and runs again from its start when somebody has decided.
func (c *Call) Pay(ctx context.Context, r PaymentRequest) (PaymentReceipt, error) {
	if err := c.durable(c.Payment != nil); err != nil {
		return PaymentReceipt{}, err
	}
	if !partName.MatchString(r.Step) {
		return PaymentReceipt{}, &EffectError{Code: CodeEmptyStepID, Message: "A payment must have a step: up to 64 letters, digits, _, . and -."}
	}
	return c.Payment(ctx, r)
}
