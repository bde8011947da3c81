package wire

import (
	"bytes"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// maxDollars bounds what a call may cost by a provider's account, so that sums of it never grow too large. What reports more is broken.
	maxDollars = 1_000_000
	// maxDigits and maxExponent bound what is computed with: a short text may stand for a number of a million digits.
	maxDigits, maxExponent = 64, 400
)

// Dollars reads a cost that a provider reports, a JSON number of dollars or a text with one: exactly, and rounded up to 10^-9 dollars.
// It is false for what is none: null, a negative number, or one that no call costs.
func Dollars(raw []byte) (models.Nanos, bool) {
	text := bytes.Trim(raw, `"`)
	if len(text) == 0 || len(text) > maxDigits {
		return 0, false
	}
	d, err := decimal.NewFromString(string(text))
	if err != nil || d.IsNegative() || d.Exponent() > maxExponent || d.Exponent() < -maxExponent || d.GreaterThan(decimal.NewFromInt(maxDollars)) {
		return 0, false
	}
	const places = 9
	return models.Nanos(d.Shift(places).Ceil().IntPart()), true
}
