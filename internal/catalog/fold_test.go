package catalog_test

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
)

func genLayer() *rapid.Generator[catalog.Layer] {
	return rapid.Custom(func(t *rapid.T) catalog.Layer {
		var l catalog.Layer
		l.Prompt = rapid.SampledFrom([]string{"", "a", "b", "c\n\nd"}).Draw(t, "prompt")
		for range rapid.IntRange(0, 4).Draw(t, "capabilities") {
			l.Capabilities = append(l.Capabilities, models.CapabilityRef{
				ID:     rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "id"),
				Config: models.JSON(rapid.SampledFrom([]string{"", "{}", `{"n":1}`}).Draw(t, "config")),
			})
		}
		if rapid.Bool().Draw(t, "model") {
			l.ModelID = &models.ModelID{byte(rapid.IntRange(1, 9).Draw(t, "modelID"))}
		}
		for range rapid.IntRange(0, 2).Draw(t, "fallbacks") {
			l.Fallbacks = append(l.Fallbacks, models.ModelID{byte(rapid.IntRange(1, 9).Draw(t, "fallback"))})
		}
		if rapid.Bool().Draw(t, "iterations") {
			n := rapid.IntRange(1, 1000).Draw(t, "n")
			l.MaxIterations = &n
		}
		return l
	})
}

func text(t interface{ Fatal(...any) }, l catalog.Layer) string {
	b, err := json.Marshal(l) //nolint:musttag // to compare only
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFoldIsAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := rapid.SliceOfN(genLayer(), 0, 8).Draw(t, "layers")
		whole := catalog.Fold(layers...)
		at := rapid.IntRange(0, len(layers)).Draw(t, "at")
		to := rapid.IntRange(at, len(layers)).Draw(t, "to")
		part := catalog.Fold(layers[at:to]...)
		rest := slices.Concat(layers[:at], []catalog.Layer{part}, layers[to:])
		if a, b := text(t, whole), text(t, catalog.Fold(rest...)); a != b {
			t.Fatalf("folding %d to %d beforehand changes the result:\n%s\n%s", at, to, a, b)
		}
	})
}

func TestFoldChangesNothingWhereNothingIsSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := catalog.Fold(genLayer().Draw(t, "layer"))
		for _, f := range []catalog.Layer{catalog.Fold(l), catalog.Fold(catalog.Layer{}, l), catalog.Fold(l, catalog.Layer{}), catalog.Fold(l, catalog.Layer{}, catalog.Layer{})} {
			if a, b := text(t, l), text(t, f); a != b {
				t.Fatalf("%s became %s", a, b)
			}
		}
	})
}

func TestFoldKeepsTheLayersAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := rapid.SliceOfN(genLayer(), 1, 5).Draw(t, "layers")
		before := make([]string, 0, len(layers))
		for _, l := range layers {
			before = append(before, text(t, l))
		}
		catalog.Fold(layers...)
		for i, l := range layers {
			if text(t, l) != before[i] {
				t.Fatalf("layer %d changed", i)
			}
		}
	})
}

func TestFold(t *testing.T) {
	five, nine := 5, 9
	m1, m2 := models.ModelID{1}, models.ModelID{2}
	got := catalog.Fold(
		catalog.Layer{Prompt: "root", Capabilities: refs("a", "b"), ModelID: &m1, Fallbacks: []models.ModelID{m2, m1}, MaxIterations: &five},
		catalog.Layer{
			Capabilities: []models.CapabilityRef{{ID: "b", Config: models.JSON("1")}, {ID: "c"}}, Fallbacks: []models.ModelID{m1}, MaxIterations: &nine,
		},
		catalog.Layer{Prompt: "leaf", Capabilities: []models.CapabilityRef{{ID: "a", Config: models.JSON("2")}}, ModelID: &m2},
	)
	want := catalog.Layer{
		Prompt: "root\n\nleaf", ModelID: &m2, Fallbacks: []models.ModelID{m1}, MaxIterations: &nine,
		Capabilities: []models.CapabilityRef{{ID: "a", Config: models.JSON("2")}, {ID: "b", Config: models.JSON("1")}, {ID: "c"}},
	}
	if text(t, got) != text(t, want) {
		t.Fatalf("got %s", text(t, got))
	}
}

func TestPrice(t *testing.T) {
	n := func(v models.Nanos) *models.Nanos { return &v }
	full := models.Model{PriceInput: n(3_000_000_000), PriceOutput: n(15_000_000_000), PriceCacheRead: n(300_000_000), PriceCacheWrite: n(3_750_000_000)}
	cheap := models.Model{PriceInput: n(1), PriceOutput: n(1)}
	huge := models.Model{PriceInput: n(9e18), PriceOutput: n(9e18)}
	for name, c := range map[string]struct {
		model  models.Model
		usage  models.Usage
		cost   models.Nanos
		priced bool
	}{
		"nothing used":               {full, models.Usage{}, 0, true},
		"each at its own price":      {full, models.Usage{InputTokens: 1000, OutputTokens: 10, CacheReadTokens: 100, CacheWriteTokens: 1}, 3_000_000 + 150_000 + 30_000 + 3_750, true},
		"reasoning is in the output": {full, models.Usage{OutputTokens: 10, ReasoningTokens: 10}, 150_000, true},
		"rounded up once":            {cheap, models.Usage{InputTokens: 1, OutputTokens: 1}, 1, true},
		"rounded up only if needed":  {cheap, models.Usage{InputTokens: 500_000, OutputTokens: 500_000}, 1, true},
		"one more":                   {cheap, models.Usage{InputTokens: 500_000, OutputTokens: 500_001}, 2, true},
		"without a price":            {models.Model{}, models.Usage{InputTokens: 5}, 0, false},
		"without a price, unused":    {models.Model{}, models.Usage{}, 0, false},
		"a part without a price":     {cheap, models.Usage{InputTokens: 1_000_000, CacheReadTokens: 1}, 1, false},
		"beyond any amount":          {huge, models.Usage{InputTokens: 1 << 62}, 1<<63 - 1, true},
	} {
		cost, priced := catalog.Price(&c.model, c.usage)
		if cost != c.cost || priced != c.priced {
			t.Errorf("%s: got %d, %v", name, cost, priced)
		}
		rated := c.usage
		rated.CostNanos, rated.Unpriced = c.cost, !c.priced
		if got := catalog.Rate(&c.model, c.usage); got != rated {
			t.Errorf("%s: rated as %+v", name, got)
		}
		// What the provider has reported is the cost, whatever the prices are, nothing included.
		for _, reported := range []models.Nanos{0, 7} {
			u := c.usage
			u.CostNanos, u.ProviderCost = reported, true
			if got := catalog.Rate(&c.model, u); got != u {
				t.Errorf("%s, reported as %d: rated as %+v", name, reported, got)
			}
		}
	}
}
