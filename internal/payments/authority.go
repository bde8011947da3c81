package payments

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Pay implements tools.PaymentAuthority.
func (s *Service) Pay(ctx context.Context, o tools.PaymentOrder) (tools.PaymentReceipt, error) {
	if err := checkOrder(&o); err != nil {
		return tools.PaymentReceipt{}, err
	}
	p, err := s.ask(ctx, &o)
	if err != nil {
		return tools.PaymentReceipt{}, err
	}
	first := false
	if p.Status == models.PaymentAsked {
		c := &holdAmount{order: &o, payment: p.ID}
		if err := s.cfg.Committer.Submit(ctx, c); err != nil {
			return tools.PaymentReceipt{}, fmt.Errorf("reserve the amount of payment %s: %w", p.ID, err)
		}
		p, first = c.found, c.held
	}
	if p.Status == models.PaymentPending {
		if p, err = s.conclude(ctx, p, first); err != nil {
			return tools.PaymentReceipt{}, err
		}
	}
	return receipt(&p)
}

// receipt returns what became of a payment.
func receipt(p *models.Payment) (tools.PaymentReceipt, error) {
	switch p.Status {
	case models.PaymentPaid:
		return tools.PaymentReceipt{ID: p.ID, Reference: models.Value(p.Reference), Amount: *p.Paid}, nil
	case models.PaymentRefused:
		code, message, ok := strings.Cut(models.Value(p.Error), ": ")
		if !ok || !strings.HasPrefix(code, "payment_") {
			code, message = tools.PaymentRefused, models.Value(p.Error)
		}
		return tools.PaymentReceipt{}, &tools.PaymentError{Code: code, Message: message}
	case models.PaymentAsked, models.PaymentPending:
	}
	return tools.PaymentReceipt{}, refusal(tools.PaymentUnknown, "It is not known yet whether %s usd was paid to %s. The server keeps asking about payment %s. "+
		"Don't pay again, and tell the user.", usd(p.Amount), p.Host, p.ID)
}

// conclude asks the rail for a payment and settles it, when there is an answer; else it is asked for again later.
func (s *Service) conclude(ctx context.Context, p models.Payment, first bool) (models.Payment, error) {
	a := s.askRail(ctx, &p, first)
	if a.outcome == unknown {
		return s.later(ctx, p, a.problem)
	}
	c := &settlePayment{seen: p, paid: a.outcome == paid, amount: a.amount, reference: a.reference, problem: a.problem}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return p, fmt.Errorf("settle payment %s: %w", p.ID, err)
	}
	if c.done && a.outcome == paid && a.amount > p.Amount {
		s.cfg.Logger.WarnContext(ctx, "a rail has paid more than requested", "org", p.OrgID, "payment", p.ID, "asked", usd(p.Amount), "paid", usd(a.amount))
	}
	return c.found, nil
}

func checkOrder(o *tools.PaymentOrder) error {
	host, ok := hostName(o.Host)
	switch {
	case !ok:
		return refusal(tools.PaymentInvalid, "%.100q is not a host that can be paid: use one like api.example.com.", o.Host)
	case o.Amount <= 0 || o.Amount > budget.MaxAmount:
		return refusal(tools.PaymentInvalid, "%s usd can't be paid: the amount must be above 0.", usd(o.Amount))
	case strings.TrimSpace(o.Purpose) == "" || utf8.RuneCountInString(o.Purpose) > maxPurpose || !text.Storable(o.Purpose):
		return refusal(tools.PaymentInvalid, "Describe what is paid for, in up to %d characters.", maxPurpose)
	}
	o.Host = host
	return nil
}

// Settlement is what a person says became of a payment.
type Settlement struct {
	Paid bool
	// Reference is what the rail calls it; empty for none.
	Reference string
}

// Settle ends a payment whose rail doesn't answer, as a person says who has looked there.
func (s *Service) Settle(ctx context.Context, by *auth.Principal, id models.PaymentID, in Settlement) (*models.Payment, error) {
	p, err := s.Payment(ctx, by.OrgID, id)
	if err != nil {
		return nil, err
	}
	if len(in.Reference) > maxReference || !printable(in.Reference) {
		return nil, fault.New(fault.Invalid, "The reference must be one line of up to %d bytes.", maxReference).At("input", "reference")
	}
	over := fault.New(fault.Conflict, "The payment %s can't be settled: it has ended, or its rail was not asked yet.", id).At("id")
	if p.Status != models.PaymentPending {
		return nil, over
	}
	kind, actor := by.Actor()
	entry, err := audit.Draft(auth.RequestFrom(ctx), audit.Entry{
		Org: by.OrgID, ActorKind: kind, Actor: actor, Action: "payment.settled", Target: id.String(),
		Details: map[string]any{"paid": in.Paid, "reference": in.Reference, "amount": usd(p.Amount), "host": p.Host},
	})
	if err != nil {
		return nil, err
	}
	c := &settlePayment{
		seen: *p, paid: in.Paid, amount: p.Amount, reference: in.Reference,
		problem: refusal(tools.PaymentRefused, "A person has checked with the rail: it was not paid.").Error(), entry: &entry,
	}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, fmt.Errorf("settle payment %s: %w", id, err)
	}
	if !c.done {
		return nil, over
	}
	return &c.found, nil
}
