package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

var errSessionAlone = fault.New(fault.Invalid, "Give sessionId alone, or harnessId and agent.").At("sessionId")

// changed ends a mutation of the catalog: what edges of later fields read before may have changed.
func (r *Resolver) changed(ctx context.Context, err error) ([]*model.UserError, error) {
	r.loadersOf(ctx).forgetAll()
	return userErrors(err)
}

func (r *Resolver) providerPayload(ctx context.Context, row *models.Provider, err error) (*model.ProviderPayload, error) {
	list, err := r.changed(ctx, err)
	if err != nil {
		return nil, err
	}
	out := &model.ProviderPayload{UserErrors: list}
	if len(list) == 0 {
		out.Provider = r.encodeProvider(ctx, row)
	}
	return out, nil
}

func (r *Resolver) modelPayload(ctx context.Context, row *models.Model, err error) (*model.ModelPayload, error) {
	list, err := r.changed(ctx, err)
	if err != nil {
		return nil, err
	}
	out := &model.ModelPayload{UserErrors: list}
	if len(list) == 0 {
		out.Model = encodeModel(row)
	}
	return out, nil
}

func (r *Resolver) harnessPayload(ctx context.Context, row *models.Harness, err error) (*model.HarnessPayload, error) {
	list, err := r.changed(ctx, err)
	if err != nil {
		return nil, err
	}
	out := &model.HarnessPayload{UserErrors: list}
	if len(list) == 0 {
		out.Harness = encodeHarness(row)
	}
	return out, nil
}

func (r *Resolver) agentPayload(ctx context.Context, row *models.Agent, err error) (*model.AgentPayload, error) {
	list, err := r.changed(ctx, err)
	if err != nil {
		return nil, err
	}
	out := &model.AgentPayload{UserErrors: list}
	if len(list) == 0 {
		out.Agent = encodeAgent(row)
	}
	return out, nil
}
