package resolvers

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
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

func (r *Resolver) createPaymentPolicy(ctx context.Context, in model.CreatePaymentPolicyInput) (*model.PaymentPolicyPayload, error) {
	policy, err := decodeNewPolicy(&in)
	if err != nil {
		return r.paymentPolicyPayload(ctx, nil, err)
	}
	row, err := r.Payments.Create(ctx, auth.FromContext(ctx), policy)
	return r.paymentPolicyPayload(ctx, row, err)
}

func (r *Resolver) paymentPolicies(ctx context.Context) ([]*model.PaymentPolicy, error) {
	rows, err := r.Payments.Policies(ctx, auth.FromContext(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	list := make([]*model.PaymentPolicy, len(rows))
	for i := range rows {
		list[i] = encodePaymentPolicy(&rows[i])
	}
	return list, nil
}

func (r *Resolver) paymentPage(ctx context.Context, first *int, after *string) (*model.PaymentConnection, error) {
	w, err := idWindow[models.PaymentEntity](first, after, 20)
	if err != nil {
		return nil, err
	}
	org := auth.FromContext(ctx).OrgID
	rows, err := r.Payments.List(ctx, org, w.After, w.Limit+1)
	if err != nil {
		return nil, err
	}
	rows, info := trim(rows, w, func(p models.Payment) string { return idCursor(p.ID) })
	page := &model.PaymentConnection{
		Edges: make([]*model.PaymentEdge, len(rows)), Nodes: make([]*model.Payment, len(rows)), PageInfo: info,
		Count: func() (*int, error) { return counted(r.Payments.Count(ctx, org)) },
	}
	for i := range rows {
		page.Nodes[i] = encodePayment(&rows[i])
		page.Edges[i] = &model.PaymentEdge{Cursor: idCursor(rows[i].ID), Node: page.Nodes[i]}
	}
	return page, nil
}

func (r *Resolver) paymentPolicyPayload(ctx context.Context, row *models.PaymentPolicy, err error) (*model.PaymentPolicyPayload, error) {
	list, err := r.changed(ctx, err)
	if err != nil {
		return nil, err
	}
	out := &model.PaymentPolicyPayload{UserErrors: list}
	if len(list) == 0 {
		out.Policy = encodePaymentPolicy(row)
	}
	return out, nil
}

func (r *Resolver) updatePaymentPolicy(ctx context.Context, id string, in model.UpdatePaymentPolicyInput) (*model.PaymentPolicyPayload, error) {
	policy, err := decodeID[models.PaymentPolicyEntity](id, "id")
	if err != nil {
		return r.paymentPolicyPayload(ctx, nil, err)
	}
	change, err := decodePolicyChange(&in)
	if err != nil {
		return r.paymentPolicyPayload(ctx, nil, err)
	}
	row, err := r.Payments.Update(ctx, auth.FromContext(ctx), policy, change)
	return r.paymentPolicyPayload(ctx, row, err)
}

func (r *Resolver) deletePaymentPolicy(ctx context.Context, id string) (*model.DeletePayload, error) {
	policy, err := decodeID[models.PaymentPolicyEntity](id, "id")
	if err == nil {
		err = r.Payments.Delete(ctx, auth.FromContext(ctx), policy)
	}
	list, err := r.changed(ctx, err)
	if err != nil {
		return nil, err
	}
	out := &model.DeletePayload{UserErrors: list}
	if len(list) == 0 {
		out.DeletedID = &id
	}
	return out, nil
}

func (r *Resolver) settlePayment(ctx context.Context, id string, in model.SettlePaymentInput) (*model.PaymentPayload, error) {
	var row *models.Payment
	payment, err := decodeID[models.PaymentEntity](id, "id")
	if err == nil {
		said := payments.Settlement{Paid: in.Paid}
		if in.Reference != nil {
			said.Reference = *in.Reference
		}
		row, err = r.Payments.Settle(ctx, auth.FromContext(ctx), payment, said)
	}
	list, err := r.changed(ctx, err)
	if err != nil {
		return nil, err
	}
	out := &model.PaymentPayload{UserErrors: list}
	if len(list) == 0 {
		out.Payment = encodePayment(row)
	}
	return out, nil
}
