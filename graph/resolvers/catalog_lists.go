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
	rows, info := trim(rows, w, func(h models.Harness) string { return idCursor(h.ID) })
	page := &model.HarnessConnection{
		Edges: make([]*model.HarnessEdge, len(rows)), Nodes: make([]*model.Harness, len(rows)), PageInfo: info,
		Count: func() (*int, error) { return counted(r.Catalog.CountHarnesses(ctx, org, f)) },
	}
	expected := r.loadersOf(ctx)
	for i := range rows {
		expected.harnesses.put(rows[i].ID, &rows[i])
	}
	for i := range rows {
		expected.expectHarness(&rows[i])
		page.Nodes[i] = encodeHarness(&rows[i])
		page.Edges[i] = &model.HarnessEdge{Cursor: idCursor(rows[i].ID), Node: page.Nodes[i]}
	}
	return page, nil
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
	rows, info := trim(rows, w, func(a models.Agent) string { return idCursor(a.ID) })
	page := &model.AgentConnection{
		Edges: make([]*model.AgentEdge, len(rows)), Nodes: make([]*model.Agent, len(rows)), PageInfo: info,
		Count: func() (*int, error) { return counted(r.Catalog.CountAgents(ctx, org, f)) },
	}
	expected := r.loadersOf(ctx)
	for i := range rows {
		expected.agents.put(rows[i].ID, &rows[i])
		expected.expectAgent(&rows[i])
		page.Nodes[i] = encodeAgent(&rows[i])
		page.Edges[i] = &model.AgentEdge{Cursor: idCursor(rows[i].ID), Node: page.Nodes[i]}
	}
	return page, nil
}
