package budget_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		currency, text string
		want           models.Amount
		wrong          string // a part of the message; empty for none
	}{
		{"usd", "1.5", 1_500_000_000, ""},
		{"usd", "0.000000001", 1, ""},
		{"usd", "-0.10", -100_000_000, ""},
		{"usd", "9000000000", budget.MaxAmount, ""},
		{"gpu_seconds", "30.000", 30_000_000_000, ""},
		{"tokens", "100.0", 100, ""},
		{"tokens", "9000000000000000000", budget.MaxAmount, ""},
		{"usd", "0.0000000001", 0, "at most 9 decimal places"},
		{"usd", "9000000000.000000001", 0, "too large"},
		{"tool_calls", "1.5", 0, "whole numbers"},
		{"tokens", "9000000000000000001", 0, "too large"},
		{"tokens", "18446744073709551617", 0, "too large"}, // 2^64 + 1
		{"usd", "1e10000", 0, "too many digits"},
		{"usd", "1e-10000", 0, "too many digits"},
		{"usd", strings.Repeat("9", 100_000), 0, "too many digits"},
	} {
		d, err := decimal.NewFromString(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := budget.Parse(c.currency, d)
		if got != c.want {
			t.Errorf("%.40s %s are %d, want %d", c.text, c.currency, got, c.want)
		}
		wantError(t, err, c.wrong)
	}
	for _, exponent := range []int32{math.MinInt32, math.MaxInt32} {
		_, err := budget.Parse("usd", decimal.New(1, exponent))
		wantError(t, err, "too many digits")
	}
}

// An amount is read as it is written, or refused: it is never another one.
func FuzzAmount(f *testing.F) {
	for _, text := range []string{"0", "1.5", "-0.000000001", "9000000000", "9000000000.000000001", "1e9", "1e-9", "1e1000000000", "9223372036854775808", ".5", "+7", "x"} {
		f.Add(text, int64(len(text)), "usd")
		f.Add(text, int64(math.MinInt64), "tokens")
	}
	f.Fuzz(func(t *testing.T, text string, n int64, currency string) {
		if d, err := decimal.NewFromString(text); err == nil {
			if amount, err := budget.Parse(currency, d); err == nil && !budget.Decimal(currency, amount).Equal(d) {
				t.Errorf("%s of %q became %s", d, currency, budget.Decimal(currency, amount))
			} else if err != nil && len(err.Error()) > 1000+len(currency) {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		}
		amount := models.Amount(n)
		back, err := budget.Parse(currency, budget.Decimal(currency, amount))
		if tooLarge := amount > budget.MaxAmount || amount < -budget.MaxAmount; tooLarge != (err != nil) || (err == nil && back != amount) {
			t.Errorf("%d of %q became %d: %v", amount, currency, back, err)
		}
	})
}

func TestCheckCurrency(t *testing.T) {
	for name, want := range map[string]error{
		"usd": nil, "tokens": nil, "gpu_seconds": nil, "a": nil, strings.Repeat("a", 32): nil,
		"": errors.ErrUnsupported, "USD": errors.ErrUnsupported, "1a": errors.ErrUnsupported, "a b": errors.ErrUnsupported, "usd\n": errors.ErrUnsupported,
		strings.Repeat("a", 33): errors.ErrUnsupported,
	} {
		if err := budget.CheckCurrency(name); (err == nil) != (want == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAmountsInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		currency string
		amount   models.Amount
		words    string
	}{
		{"usd", 0, "$0.00"}, {"usd", 1_932_500, "$0.0019"}, {"usd", 1_000_000, "$0.001"}, {"usd", 1, "$0.000000001"}, {"usd", 99_400_000, "$0.099"},
		{"usd", 99_500_000, "$0.10"}, {"usd", 2_000_000_000, "$2.00"}, {"usd", 957_645_300, "$0.96"}, {"usd", -1_932_500, "-$0.0019"},
		{"usd", 1_234_567_000_000, "$1234.57"}, {"tokens", 90, "90 tokens"}, {"tool_calls", 3, "3 tool calls"}, {"pages", 1_234_567_890, "1.235 pages"},
	} {
		if got := budget.Words(c.currency, c.amount); got != c.words {
			t.Errorf("%d %s is %q, want %q", c.amount, c.currency, got, c.words)
		}
	}
}
