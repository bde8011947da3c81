package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
)

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

// encodeKnown returns models that a provider offers; without a provider, those that are known of a kind.
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
