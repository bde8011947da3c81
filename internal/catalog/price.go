package catalog

import (
	"math"
	"math/big"

	"github.com/ostler-dev/ostler/internal/models"
)

// Rate puts the cost on what one call of a model took: what its provider has reported if it has, else what the prices make of it.
func Rate(m *models.Model, u models.Usage) models.Usage {
	if u.ProviderCost {
		u.Unpriced = false
		return u
	}
	cost, priced := Price(m, u)
	u.CostNanos, u.Unpriced = cost, !priced
	return u
}

// Price returns what usage costs with a model. The counts are disjoint: input tokens without those that were read from or
// written to the provider's cache. Reasoning tokens are part of the output tokens. The sum is exact and rounded
// up once, to a whole nano-dollar. priced reports whether every kind of token that was used has a price; if not, the
// amount is the cost of the rest.
func Price(m *models.Model, u models.Usage) (cost models.Nanos, priced bool) {
	var sum, product big.Int
	priced = true
	for _, part := range [...]struct {
		tokens int64
		price  *models.Nanos
	}{
		{u.InputTokens, m.PriceInput}, {u.OutputTokens, m.PriceOutput},
		{u.CacheReadTokens, m.PriceCacheRead}, {u.CacheWriteTokens, m.PriceCacheWrite},
	} {
		if part.tokens <= 0 {
			continue
		}
		if part.price == nil {
			priced = false
			continue
		}
		sum.Add(&sum, product.Mul(big.NewInt(part.tokens), big.NewInt(int64(*part.price))))
	}
	if m.PriceInput == nil && m.PriceOutput == nil {
		// A model without prices stays unpriced even where nothing was used, so that 0 is not shown as its cost.
		priced = false
	}
	const perMillion = 1_000_000
	sum.Add(&sum, big.NewInt(perMillion-1)).Quo(&sum, big.NewInt(perMillion))
	if !sum.IsInt64() {
		return math.MaxInt64, priced
	}
	return models.Nanos(sum.Int64()), priced
}
