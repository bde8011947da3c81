package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

var errSessionAlone = fault.New(fault.Invalid, "Pass either sessionId alone, or harnessId and agent.").At("sessionId")

// changed ends a mutation: what edges of later fields read before may have changed. It returns err.
func (r *Resolver) changed(ctx context.Context, err error) error {
	r.loadersOf(ctx).forgetAll()
	return err
}

func (r *Resolver) providerPayload(ctx context.Context, row *models.Provider, err error) (*model.ProviderPayload, error) {
	out := &model.ProviderPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Provider = r.encodeProvider(ctx, row)
	})
}

func (r *Resolver) modelPayload(ctx context.Context, row *models.Model, err error) (*model.ModelPayload, error) {
	out := &model.ModelPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Model = encodeModel(row)
	})
}

func (r *Resolver) harnessPayload(ctx context.Context, row *models.Harness, err error) (*model.HarnessPayload, error) {
	out := &model.HarnessPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Harness = encodeHarness(row)
	})
}

func (r *Resolver) agentPayload(ctx context.Context, row *models.Agent, err error) (*model.AgentPayload, error) {
	out := &model.AgentPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Agent = encodeAgent(row)
	})
}
