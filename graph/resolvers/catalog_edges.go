package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
)

// maxChain bounds a walk along parents, should they ever close to a circle.
const maxChain = 16

// ownOrg reports whether an organization is the one that the token is bound to. The others of a person are shown by name
// only: what they hold needs a token of theirs.
func ownOrg(ctx context.Context, o *model.Org) bool {
	return o.ID == auth.FromContext(ctx).OrgID.String()
}

// harnessEdge resolves an edge to a harness; null when it leads nowhere.
func (r *Resolver) harnessEdge(ctx context.Context, id *models.HarnessID) (*model.Harness, error) {
	return edge(ctx, r.loadersOf(ctx).harnesses, id, encodeHarness)
}

// agentEdge resolves an edge to an agent; null when it leads nowhere.
func (r *Resolver) agentEdge(ctx context.Context, id *models.AgentID) (*model.Agent, error) {
	return edge(ctx, r.loadersOf(ctx).agents, id, encodeAgent)
}

// modelEdge resolves an edge to a model; null when it leads nowhere.
func (r *Resolver) modelEdge(ctx context.Context, id *models.ModelID) (*model.Model, error) {
	return edge(ctx, r.loadersOf(ctx).models, id, encodeModel)
}

// modelEdges resolves edges to models, in one statement. Those that lead nowhere are left out.
func (r *Resolver) modelEdges(ctx context.Context, ids []models.ModelID) ([]*model.Model, error) {
	r.loadersOf(ctx).expectModels(ids)
	list := make([]*model.Model, 0, len(ids))
	for _, id := range ids {
		m, err := r.modelEdge(ctx, &id)
		if err != nil {
			return nil, err
		}
		if m != nil {
			list = append(list, m)
		}
	}
	return list, nil
}

// preview resolves previewEffectiveConfig; null when the harness or the session is unknown.
func (r *Resolver) preview(ctx context.Context, harnessID *string, agent *model.CreateAgentInput, sessionID *string) (*catalog.Effective, error) {
	p := auth.FromContext(ctx)
	if sessionID != nil {
		if harnessID != nil || agent != nil {
			return nil, errSessionAlone
		}
		id, err := decodeID[models.SessionEntity](*sessionID, "sessionId")
		if err != nil {
			return nil, err
		}
		if !p.Can(auth.SessionsRead) {
			return nil, nil
		}
		return r.Catalog.PreviewSession(ctx, p.OrgID, id)
	}
	var draft catalog.Draft
	var err error
	if draft.HarnessID, err = decodeIDPtr[models.HarnessEntity](harnessID, "harnessId"); err != nil {
		return nil, err
	}
	if agent != nil {
		in, err := decodeNewAgent(*agent)
		if err != nil {
			return nil, err
		}
		draft.Agent = &in
	}
	return r.Catalog.Preview(ctx, p.OrgID, draft)
}
