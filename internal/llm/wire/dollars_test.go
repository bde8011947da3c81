package wire_test

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestDollars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]models.Nanos{
		"0": 0, "0.0": 0, "1": 1_000_000_000, "0.000000001": 1, "0.0000000001": 1, "0.0000000010000001": 2, "1.2e-05": 12_000, "5.7E-7": 570,
		"0.30000000000000004": 300_000_001, "1000000": 1_000_000_000_000_000, `"0.25"`: 250_000_000, "1e-400": 1,
	} {
		if got, ok := wire.Dollars([]byte(text)); !ok || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "null", "true", "{}", "-0.1", "NaN", "1000000.01", "1e7", "1e999999999", "1e-999999999", "99999999999999999999999999999999999999999999999999999999999999999", "free",
	} {
		if got, ok := wire.Dollars([]byte(text)); ok {
			t.Errorf("%q counts as %d", text, got)
		}
	}
}
