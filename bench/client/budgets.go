package client

import (
	"context"
	"fmt"
)

// ample is a limit that no load ever reaches.
const ample = "9000000000"

// Bind puts each organization of the part under four budgets: its dollars, its tokens and its credits, and the tool calls of its agent.
// None of them is ever used up.
func (p Part) Bind(ctx context.Context) error {
	if err := p.product.renew(ctx); err != nil {
		return err
	}
	for _, o := range p.orgs {
		for _, b := range []struct{ subject, id, currency string }{
			{"ORG", o.id, "usd"}, {"ORG", o.id, "tokens"}, {"ORG", o.id, "credits"}, {"AGENT", o.agent, "tool_calls"},
		} {
			err := o.api.Do(ctx, `mutation($input: CreateBudgetInput!) { createBudget(input: $input) { budget { id } userErrors { code message path } } }`,
				map[string]any{"input": map[string]any{"subject": b.subject, "subjectId": b.id, "currency": b.currency, "limit": ample}}, nil)
			if err != nil {
				return fmt.Errorf("create a budget of %s: %w", b.currency, err)
			}
		}
	}
	return nil
}

// Orgs returns some organizations of the product: from one number to just before another one.
func (p *Product) Orgs(from, to int) Part { return Part{product: p, orgs: p.orgs[from:to]} }
