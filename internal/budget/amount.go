// Package budget is the rules of budgets, as pure functions on their rows: what amounts are (amount.go), which period it is (period.go,
// rolling.go), what a call costs at worst and in the end (rate.go), and whether a step may begin (gate.go). Those who hold the lock of
// the rows apply them: the engine within its steps, and the service that people manage budgets with.
//
// The rules are those of budgets.md in the specification.
package budget

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/models"
)

// MaxAmount is the largest amount, in the smallest unit of a currency: 9·10⁹ of those that have nine digits behind the point.
const MaxAmount models.Amount = 9_000_000_000_000_000_000

// currencyName is what a currency may be called.
var currencyName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// CheckCurrency reports what is wrong with the name of a currency.
func CheckCurrency(name string) error {
	if !currencyName.MatchString(name) {
		return fmt.Errorf("%.40q is not a currency: want usd, tokens, credits, tool_calls, or a unit of your own, of up to 32 lower-case letters, digits and underscores", name)
	}
	return nil
}

// Digits returns how many digits a currency has behind the point.
func Digits(currency string) int32 {
	switch currency {
	case models.CurrencyTokens, models.CurrencyToolCalls:
		return 0
	}
	return 9
}

// Numbers with more digits or zeros than that are no amounts, whatever they are: they aren't worked with, nor shown.
const mostDigits, mostBits = 64, 256

// Parse reads an amount of a currency. It refuses more digits than the currency has, and what is too large.
func Parse(currency string, d decimal.Decimal) (models.Amount, error) {
	if e := d.Exponent(); e < -mostDigits || e > mostDigits || d.Coefficient().BitLen() > mostBits {
		return 0, fmt.Errorf("the number has too many digits: want an amount of %s as it is written without an exponent", currency)
	}
	scaled := d.Shift(Digits(currency))
	switch {
	case !scaled.IsInteger() && Digits(currency) == 0:
		return 0, fmt.Errorf("%s are counted in whole numbers; %s is not one", currency, d)
	case !scaled.IsInteger():
		return 0, fmt.Errorf("amounts in %s have at most %d decimal places; %s has more", currency, Digits(currency), d)
	case scaled.Abs().GreaterThan(decimal.NewFromInt(int64(MaxAmount))):
		return 0, fmt.Errorf("%s is too large: the maximum is %s %s", d, Decimal(currency, MaxAmount), currency)
	}
	return models.Amount(scaled.IntPart()), nil
}

// Decimal returns an amount as people write it.
func Decimal(currency string, a models.Amount) decimal.Decimal {
	return decimal.New(int64(a), -Digits(currency))
}

// Words returns an amount as people read it, rounded: dollars to the cent, below ten cents to two significant digits, all else to three
// decimals. The dashboard rounds alike.
func Words(currency string, a models.Amount) string {
	d := Decimal(currency, a)
	if currency != models.CurrencyUSD {
		return d.Round(3).String() + " " + strings.ReplaceAll(currency, "_", " ")
	}
	places := int32(2)
	if size := d.Abs(); size.IsPositive() && size.LessThan(decimal.New(995, -4)) {
		places = max(2, 2-int32(size.NumDigits())-size.Exponent()) //nolint:gosec // G115: it has 19 digits at most
	}
	text := d.Abs().Round(places).String()
	if whole, fraction, _ := strings.Cut(text, "."); len(fraction) < 2 {
		text = whole + "." + (fraction + "00")[:2]
	}
	if d.IsNegative() {
		return "-$" + text
	}
	return "$" + text
}

// add returns a sum that stays at the largest number, or the smallest, when it is too large.
func add(a, b models.Amount) models.Amount {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// covers reports whether an amount suffices for what is needed. A need that was too large to be told is more than anything.
func covers(amount, need models.Amount) bool { return need <= amount && need < math.MaxInt64 }
