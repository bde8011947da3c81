package runtime

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/turns"
)

// What a provider reports that a call cost is what counts, also of a call whose runner has died; and the sum of calls is no report.
func TestProvidersTellWhatCallsCost(t *testing.T) {
	t.Parallel()
	m := &models.Model{PriceInput: new(models.Nanos(1_000_000_000)), PriceOutput: new(models.Nanos(1_000_000_000))}
	said := models.Usage{InputTokens: 10, OutputTokens: 5, CostNanos: 777, ProviderCost: true}
	var u turns.Uncounted
	u.Add(turns.MeteredCall{Usage: ask.Rated(m, models.Usage{InputTokens: 1})})
	u.Add(turns.MeteredCall{Usage: ask.Rated(m, said)})
	if u.Newest != said {
		t.Errorf("the newest call is %+v", u.Newest)
	}
	if want := (models.Usage{InputTokens: 11, OutputTokens: 5, CostNanos: 1777}); u.Usage != want {
		t.Errorf("both are %+v, want %+v", u.Usage, want)
	}

	known := turns.Tally{Asked: turns.AskedOf(m), Took: u.Usage, Said: &said}
	var lost turns.LostCall
	if err := lost.Read(&models.Checkpoint{Usage: jsonx.MustEncode(known)}); err != nil {
		t.Fatal(err)
	}
	if got := ask.Rated(lost.Asked.Prices(), *lost.Said); got != said || lost.Took != u.Usage {
		t.Errorf("after a death: %+v and %+v", got, lost.Took)
	}
}
