package budget

import (
	"math"
	"math/big"

	"github.com/ostler-dev/ostler/internal/models"
)

// perCredit is how many tokens make a credit.
const perCredit = 1000

// CostOf returns what a model call took of a currency. metered reports whether model calls are measured in it at all.
func CostOf(currency string, u models.Usage) (cost models.Amount, metered bool) {
	switch currency {
	case models.CurrencyUSD:
		return models.Amount(max(u.CostNanos, 0)), true
	case models.CurrencyTokens:
		return tokens(u), true
	case models.CurrencyCredits:
		return credits(tokens(u)), true
	}
	return 0, false
}

// tokens counts those of all buckets, which are disjoint; reasoning tokens are among the output.
func tokens(u models.Usage) models.Amount {
	sum := models.Amount(0)
	for _, n := range [...]int64{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens} {
		sum = add(sum, models.Amount(max(n, 0)))
	}
	return sum
}

func credits(tokens models.Amount) models.Amount {
	const scaled = 1_000_000_000 / perCredit
	if tokens > math.MaxInt64/scaled {
		return math.MaxInt64
	}
	return tokens * scaled
}

// Call is a model call that is about to be made.
type Call struct {
	// InputTokens bounds what the prompt takes.
	InputTokens int64
	// MaxTokens is the output limit that is wanted.
	MaxTokens int
	// Input, Output, CacheRead and CacheWrite are the prices in 10^-9 dollars per million tokens; nil where unknown.
	Input, Output, CacheRead, CacheWrite *models.Nanos
}

// sane takes numbers that are below nothing for nothing: a bound or a price that is wrong must not make room.
func (c Call) sane() Call {
	c.InputTokens, c.MaxTokens = max(c.InputTokens, 0), max(c.MaxTokens, 0)
	for _, p := range []**models.Nanos{&c.Input, &c.Output, &c.CacheRead, &c.CacheWrite} {
		if *p != nil && **p < 0 {
			*p = new(models.Nanos)
		}
	}
	return c
}

// Priced reports whether the worst case can be told in dollars.
func (c *Call) Priced() bool { return c.Input != nil && c.Output != nil }

// worst returns what a call takes of a currency at most, with an output limit.
func (c *Call) worst(currency string, output int64) models.Amount {
	switch currency {
	case models.CurrencyTokens:
		return add(models.Amount(c.InputTokens), models.Amount(output))
	case models.CurrencyCredits:
		return credits(add(models.Amount(c.InputTokens), models.Amount(output)))
	}
	if !c.Priced() {
		return 0
	}
	// A token of the prompt is of one bucket: at worst of the dearest.
	in := *c.Input
	for _, p := range []*models.Nanos{c.CacheRead, c.CacheWrite} {
		if p != nil {
			in = max(in, *p)
		}
	}
	var sum, part big.Int
	sum.Mul(big.NewInt(c.InputTokens), big.NewInt(int64(in)))
	sum.Add(&sum, part.Mul(big.NewInt(output), big.NewInt(int64(*c.Output))))
	return perMillion(&sum)
}

const million = 1_000_000

// perMillion rounds up once.
func perMillion(sum *big.Int) models.Amount {
	sum.Add(sum, big.NewInt(million-1)).Quo(sum, big.NewInt(million))
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return models.Amount(sum.Int64())
}

// mostOutput returns the largest output limit with which a call takes no more of a currency than there is; less than zero when the prompt
// alone takes more.
func (c *Call) mostOutput(currency string, available models.Amount) int64 {
	if !covers(available, c.worst(currency, 0)) {
		return -1
	}
	low, high := int64(0), int64(c.MaxTokens)
	for low < high {
		middle := low + (high-low+1)/2
		if covers(available, c.worst(currency, middle)) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}
