package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
)

// newFilter takes over the arguments of a list of harnesses or agents.
func newFilter(search *string, includeArchived *bool) catalog.Filter {
	var f catalog.Filter
	if search != nil {
		f.Search = *search
	}
	if includeArchived != nil {
		f.IncludeArchived = *includeArchived
	}
	return f
}

func (r *Resolver) harnessPage(ctx context.Context, first *int, after *string, f catalog.Filter) (*model.HarnessConnection, error) {
	w, err := idWindow[models.HarnessEntity](first, after, 20)
	if err != nil {
		return nil, err
	}
	org := auth.FromContext(ctx).OrgID
	rows, err := r.Catalog.ListHarnesses(ctx, org, f, w.After, w.Limit+1)
	if err != nil {
		return nil, err
	}
	expected := r.loadersOf(ctx)
	for i := range rows {
		expected.harnesses.put(rows[i].ID, &rows[i])
	}
	return connection(rows, w, func(h *models.Harness) string { return idCursor(h.ID) }, func(row *models.Harness) *model.Harness {
		expected.expectHarness(row)
		return encodeHarness(row)
	}, func() (int, error) { return r.Catalog.CountHarnesses(ctx, org, f) }), nil
}

func (r *Resolver) agentPage(ctx context.Context, first *int, after *string, f catalog.Filter) (*model.AgentConnection, error) {
	w, err := idWindow[models.AgentEntity](first, after, 20)
	if err != nil {
		return nil, err
	}
	org := auth.FromContext(ctx).OrgID
	rows, err := r.Catalog.ListAgents(ctx, org, f, w.After, w.Limit+1)
	if err != nil {
		return nil, err
	}
	expected := r.loadersOf(ctx)
	return connection(rows, w, func(a *models.Agent) string { return idCursor(a.ID) }, func(row *models.Agent) *model.Agent {
		expected.agents.put(row.ID, row)
		expected.expectAgent(row)
		return encodeAgent(row)
	}, func() (int, error) { return r.Catalog.CountAgents(ctx, org, f) }), nil
}
