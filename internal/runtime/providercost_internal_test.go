package runtime

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
)

// What a provider reports that a call cost is what counts, also of a call whose runner has died; and the sum of calls is no report.
func TestProvidersTellWhatCallsCost(t *testing.T) {
	t.Parallel()
	m := &catalog.RunModel{Model: models.Model{PriceInput: new(models.Nanos(1_000_000_000)), PriceOutput: new(models.Nanos(1_000_000_000))}}
	said := models.Usage{InputTokens: 10, OutputTokens: 5, CostNanos: 777, ProviderCost: true}
	var u uncounted
	u.add(meteredCall{model: m, usage: models.Usage{InputTokens: 1}}, false)
	u.add(meteredCall{model: m, usage: said}, false)
	if u.newest != said {
		t.Errorf("the newest call is %+v", u.newest)
	}
	if want := (models.Usage{InputTokens: 11, OutputTokens: 5, CostNanos: 1777}); u.usage != want {
		t.Errorf("both are %+v, want %+v", u.usage, want)
	}

	known := tally{Asked: askedOf(&m.Model), Took: u.usage, Said: &said}
	var lost lostCall
	if err := lost.read(&models.Checkpoint{Usage: encodeJSON(known)}); err != nil {
		t.Fatal(err)
	}
	if got := lost.Asked.price(*lost.Said); got != said || lost.Took != u.usage {
		t.Errorf("after a death: %+v and %+v", got, lost.Took)
	}
}
