package resolvers

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
)

func encodePaymentPolicy(p *models.PaymentPolicy) *model.PaymentPolicy {
	return &model.PaymentPolicy{
		ID: p.ID.String(), Name: p.Name, Capabilities: p.Capabilities, Hosts: p.Hosts, Rail: model.PaymentRail(p.Rail), URL: p.URL,
		Currency: models.CurrencyUSD, MaxPerRequest: usd(p.MaxRequest), MaxPerTurn: usd(p.MaxTurn), MaxPerDay: usd(p.MaxDay),
		ApprovalAbove: encodeUSD(p.ApprovalAbove), Enabled: p.Enabled, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

func encodePayment(p *models.Payment) *model.Payment {
	out := &model.Payment{
		ID: p.ID.String(), PolicyID: p.PolicyID.String(), SessionID: p.SessionID.String(), TurnID: p.TurnID.String(), Capability: p.Capability,
		Tool: p.Tool, Host: p.Host, Purpose: p.Purpose, Currency: models.CurrencyUSD, Amount: usd(p.Amount), Paid: encodeUSD(p.Paid),
		Status: model.PaymentStatus(p.Status), Reference: p.Reference, Error: p.Error, Attempts: int(p.Attempts), CreatedAt: p.CreatedAt, SettledAt: p.SettledAt,
	}
	if p.WaitID != nil {
		out.WaitID = new(p.WaitID.String())
	}
	return out
}

func usd(a models.Amount) decimal.Decimal { return budget.Decimal(models.CurrencyUSD, a) }

func encodeUSD(a *models.Amount) *decimal.Decimal {
	if a == nil {
		return nil
	}
	return new(usd(*a))
}

// dollars reads amounts of an input, and keeps the first that can't be kept.
type dollars struct{ err error }

func (d *dollars) read(v decimal.Decimal, field string) models.Amount {
	a, err := budget.Parse(models.CurrencyUSD, v)
	if err != nil && d.err == nil {
		d.err = fault.New(fault.Invalid, "%s.", err).At("input", field)
	}
	return a
}

func (d *dollars) optional(v *decimal.Decimal, field string) *models.Amount {
	if v == nil {
		return nil
	}
	return new(d.read(*v, field))
}

func decodeNewPolicy(in *model.CreatePaymentPolicyInput) (payments.NewPolicy, error) {
	var d dollars
	policy := payments.NewPolicy{
		Name: in.Name, Capabilities: in.Capabilities, Hosts: in.Hosts, URL: in.URL, Secret: in.Secret,
		MaxRequest: d.read(in.MaxPerRequest, "maxPerRequest"), MaxTurn: d.read(in.MaxPerTurn, "maxPerTurn"), MaxDay: d.read(in.MaxPerDay, "maxPerDay"),
		ApprovalAbove: d.optional(in.ApprovalAbove, "approvalAbove"),
	}
	return policy, d.err
}

func decodePolicyChange(in *model.UpdatePaymentPolicyInput) (payments.Change, error) {
	var d dollars
	change := payments.Change{
		Name: in.Name, Capabilities: in.Capabilities, Hosts: in.Hosts, URL: in.URL, Secret: in.Secret,
		MaxRequest: d.optional(in.MaxPerRequest, "maxPerRequest"), MaxTurn: d.optional(in.MaxPerTurn, "maxPerTurn"),
		MaxDay: d.optional(in.MaxPerDay, "maxPerDay"), Enabled: in.Enabled,
	}
	if in.ApprovalAbove.IsSet() {
		change.ApprovalAbove = new(d.optional(in.ApprovalAbove.Value(), "approvalAbove"))
	}
	return change, d.err
}

func (r *Resolver) paymentPolicyPayload(ctx context.Context, row *models.PaymentPolicy, err error) (*model.PaymentPolicyPayload, error) {
	out := &model.PaymentPolicyPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Policy = encodePaymentPolicy(row)
	})
}
