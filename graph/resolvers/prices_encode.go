package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
)

// priceHistory gives the newest prices of a model. They are read together for all models of a list.
func (r *Resolver) priceHistory(ctx context.Context, id models.ModelID, first *int) ([]*model.ModelPriceVersion, error) {
	w, err := newWindow(pageArgs{First: first}, 20, decodeSequenceCursor)
	if err != nil {
		return nil, err
	}
	rows, _, err := r.loadersOf(ctx).prices.page(w.Limit, func(*models.ModelPrice) {}).load(ctx, id)
	if err != nil {
		return nil, err
	}
	list := make([]*model.ModelPriceVersion, len(rows))
	for i := range rows {
		p := &rows[i]
		list[i] = &model.ModelPriceVersion{ValidFrom: p.ValidFrom, Price: encodePrice(p.Input, p.Output, p.CacheRead, p.CacheWrite)}
	}
	return list, nil
}
