package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
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
	expected := r.loadersOf(ctx)
	id := func(h *models.Harness) models.HarnessID { return h.ID }
	list := func(ctx context.Context, org models.OrgID, f catalog.Filter, after *models.HarnessID, limit int) ([]models.Harness, error) {
		rows, err := r.Catalog.ListHarnesses(ctx, org, f, after, limit)
		for i := range rows {
			expected.harnesses.put(rows[i].ID, &rows[i])
		}
		return rows, err
	}
	return filteredPage(ctx, first, after, 20, f, id, list, r.Catalog.CountHarnesses, func(row *models.Harness) *model.Harness {
		expected.expectHarness(row)
		return encodeHarness(row)
	})
}

func (r *Resolver) agentPage(ctx context.Context, first *int, after *string, f catalog.Filter) (*model.AgentConnection, error) {
	expected := r.loadersOf(ctx)
	id := func(a *models.Agent) models.AgentID { return a.ID }
	return filteredPage(ctx, first, after, 20, f, id, r.Catalog.ListAgents, r.Catalog.CountAgents, func(row *models.Agent) *model.Agent {
		expected.agents.put(row.ID, row)
		expected.expectAgent(row)
		return encodeAgent(row)
	})
}
