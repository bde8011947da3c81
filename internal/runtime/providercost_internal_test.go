package runtime

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// What a provider reports that a call cost is what counts, also of a call whose runner has died; and the sum of calls is no report.
func TestProvidersTellWhatCallsCost(t *testing.T) {
	t.Parallel()
	m := &models.Model{PriceInput: new(models.Nanos(1_000_000_000)), PriceOutput: new(models.Nanos(1_000_000_000))}
	said := models.Usage{InputTokens: 10, OutputTokens: 5, CostNanos: 777, ProviderCost: true}
	var u uncounted
	u.add(meteredCall{usage: rated(m, models.Usage{InputTokens: 1})})
	u.add(meteredCall{usage: rated(m, said)})
	if u.newest != said {
		t.Errorf("the newest call is %+v", u.newest)
	}
	if want := (models.Usage{InputTokens: 11, OutputTokens: 5, CostNanos: 1777}); u.usage != want {
		t.Errorf("both are %+v, want %+v", u.usage, want)
	}

	known := tally{Asked: askedOf(m), Took: u.usage, Said: &said}
	var lost lostCall
	if err := lost.read(&models.Checkpoint{Usage: jsonx.MustEncode(known)}); err != nil {
		t.Fatal(err)
	}
	if got := rated(lost.Asked.prices(), *lost.Said); got != said || lost.Took != u.usage {
		t.Errorf("after a death: %+v and %+v", got, lost.Took)
	}
}
