package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
)

func (r *Resolver) testProvider(ctx context.Context, input model.TestProviderInput) (*model.TestProviderPayload, error) {
	probe, err := r.probeProvider(ctx, input)
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	out := &model.TestProviderPayload{DurationMs: int(probe.Took.Milliseconds()), UserErrors: list}
	switch {
	case len(list) > 0:
	case probe.Failure != nil:
		out.Error = &model.TurnError{Code: string(probe.Failure.Code), Message: probe.Failure.Message}
	default:
		n := len(probe.Models)
		out.Ok, out.Models = true, &n
	}
	return out, nil
}

func (r *Resolver) probeProvider(ctx context.Context, input model.TestProviderInput) (catalog.Probe, error) {
	in := catalog.ProviderTest{BaseURL: input.BaseURL, APIKey: input.APIKey}
	var err error
	if in.ID, err = decodeIDPtr[models.ProviderEntity](input.ID, "input", "id"); err != nil {
		return catalog.Probe{}, err
	}
	if input.Kind != nil {
		kind := models.ProviderKind(*input.Kind)
		in.Kind = &kind
	}
	return r.Catalog.TestProvider(ctx, auth.FromContext(ctx), in)
}

func (r *Resolver) discoverModels(ctx context.Context, providerID string) (*model.DiscoverModelsPayload, error) {
	id, err := decodeID[models.ProviderEntity](providerID, "providerId")
	var found []catalog.Known
	if err == nil {
		found, err = r.Catalog.Discover(ctx, auth.FromContext(ctx), id)
	}
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	out := &model.DiscoverModelsPayload{Models: encodeKnown(found, &id), UserErrors: list}
	l := r.loadersOf(ctx)
	for i := range found {
		l.byName.expect(&catalog.ModelName{ProviderID: id, Name: found[i].Name})
	}
	return out, nil
}

// encodeKnown gives models that a provider offers; without a provider, those that are known of a kind.
func encodeKnown(known []catalog.Known, of *models.ProviderID) []*model.DiscoveredModel {
	out := make([]*model.DiscoveredModel, 0, len(known))
	for _, k := range known {
		m := &model.DiscoveredModel{
			Name: k.Name, DisplayName: k.DisplayName, ContextWindowTokens: k.ContextWindowTokens, MaxOutputTokens: k.MaxOutputTokens,
		}
		if k.Prices != nil {
			m.Price = &model.ModelPrice{
				Input: model.Dollars(k.Prices.Input), Output: model.Dollars(k.Prices.Output),
				CacheRead: model.DollarsPtr(k.Prices.CacheRead), CacheWrite: model.DollarsPtr(k.Prices.CacheWrite),
			}
		}
		if of != nil {
			m.ProviderID = *of
		}
		out = append(out, m)
	}
	return out
}

// addedModel resolves the edge from a model that a provider offers to the one that was added; null when none was.
func (r *Resolver) addedModel(ctx context.Context, obj *model.DiscoveredModel) (*model.Model, error) {
	if obj.ProviderID.IsZero() {
		return nil, nil
	}
	m, ok, err := r.loadersOf(ctx).byName.load(ctx, catalog.ModelName{ProviderID: obj.ProviderID, Name: obj.Name})
	if err != nil || !ok {
		return nil, err
	}
	return encodeModel(m), nil
}
