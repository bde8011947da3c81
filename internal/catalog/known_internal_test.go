package catalog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

func TestTheTableOfPricesHolds(t *testing.T) {
	k, err := readKnown(priceTable)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Date   string            `json:"date"`
		Models []json.RawMessage `json:"models"`
	}
	if err := json.Unmarshal(priceTable, &doc); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.DateOnly, doc.Date); err != nil {
		t.Errorf("the date: %v", err)
	}
	total := 0
	for kind, list := range k.kinds {
		if kind == models.ProviderSimulated {
			continue
		}
		total += len(list)
		if kind != models.ProviderAnthropic && kind != models.ProviderOpenAI && kind != models.ProviderGemini {
			t.Errorf("the table has the kind %q, whose models nobody can know", kind)
		}
		for _, m := range list {
			p := m.Prices
			switch {
			case p.Input <= 0 || p.Output <= 0 || p.Input > p.Output:
				t.Errorf("%s: the prices %+v", m.Name, p)
			case p.CacheRead != nil && (*p.CacheRead <= 0 || *p.CacheRead > p.Input):
				t.Errorf("%s: reading from the cache costs %d, input %d", m.Name, *p.CacheRead, p.Input)
			case p.CacheWrite != nil && (*p.CacheWrite < p.Input || *p.CacheWrite > 2*p.Input):
				t.Errorf("%s: writing to the cache costs %d, input %d", m.Name, *p.CacheWrite, p.Input)
			}
			if m.ContextWindowTokens != nil && (*m.ContextWindowTokens < 1000 || *m.ContextWindowTokens > 10_000_000) {
				t.Errorf("%s: the context window is %d", m.Name, *m.ContextWindowTokens)
			}
			if m.MaxOutputTokens != nil && (m.ContextWindowTokens == nil || *m.MaxOutputTokens < 1000 || *m.MaxOutputTokens > *m.ContextWindowTokens) {
				t.Errorf("%s: the output limit is %d", m.Name, *m.MaxOutputTokens)
			}
			// What is filled in must be what createModel takes.
			row := models.Model{Name: m.Name}
			change := ModelChange{}
			m.fill(&change)
			if err := checkLine("name", m.Name, maxDisplayName); err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
			if err := fillModel(&row, change); err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
	}
	if total != len(doc.Models) || total < 20 {
		t.Errorf("%d of %d models were read", total, len(doc.Models))
	}
}

func TestModelsAreKnownByNameAliasAndVersion(t *testing.T) {
	k, err := readKnown(priceTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind       models.ProviderKind
		name, want string
	}{
		{models.ProviderAnthropic, "claude-sonnet-4-5", "claude-sonnet-4-5"},
		{models.ProviderAnthropic, "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"},
		{models.ProviderAnthropic, "claude-opus-4-0", "claude-opus-4"},
		{models.ProviderAnthropic, "claude-3-5-haiku-latest", "claude-3-5-haiku"},
		{models.ProviderAnthropic, "claude-sonnet-4-5-preview", ""},
		{models.ProviderAnthropic, "claude-sonnet", ""},
		{models.ProviderAnthropic, "gpt-5", ""},
		{models.ProviderOpenAI, "gpt-5-2025-08-07", "gpt-5"},
		// This state had another price than the later ones.
		{models.ProviderOpenAI, "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"},
		{models.ProviderOpenAI, "gpt-5-pro", ""},
		{models.ProviderOpenAI, "", ""},
		{models.ProviderOpenAICompatible, "gpt-5", ""},
		{models.ProviderGemini, "gemini-2.5-flash-001", "gemini-2.5-flash"},
		{models.ProviderGemini, "gemini-2.5-flash-lite", "gemini-2.5-flash-lite"},
		{models.ProviderSimulated, "sim-echo", "sim-echo"},
		{models.ProviderSimulated, "sim-echo-001", ""},
		{models.ProviderSimulated, "sim-lorem:2000", "sim-lorem:2000"},
	} {
		got := ""
		if m := k.find(c.kind, c.name); m != nil {
			got = m.Name
			if c.kind == models.ProviderSimulated && (m.Prices == nil || m.Prices.Input != 100_000_000 || m.Prices.Output != 400_000_000) {
				t.Errorf("%s costs %+v", c.name, m.Prices)
			}
		}
		if got != c.want {
			t.Errorf("%s %q is known as %q, want %q", c.kind, c.name, got, c.want)
		}
	}
}

func TestABrokenTableOfPricesIsRefused(t *testing.T) {
	const good = `{"date":"2026-01-01","source":"s","models":[{"kind":"OPENAI","name":"a","displayName":"A","input":"1","output":"2"}]}`
	if _, err := readKnown([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{
		"no date":       strings.Replace(good, "2026-01-01", "", 1),
		"unknown field": strings.Replace(good, `"input"`, `"inptu":"1","input"`, 1),
		"no price":      strings.Replace(good, `"1"`, `""`, 1),
		"a float":       strings.Replace(good, `"1"`, `"1e3"`, 1),
		"negative":      strings.Replace(good, `"1"`, `"-1"`, 1),
		"too exact":     strings.Replace(good, `"1"`, `"0.0000000001"`, 1),
		"too large":     strings.Replace(good, `"1"`, `"99999999999999999999"`, 1),
		"twice":         strings.Replace(good, `"name":"a"`, `"name":"a","aliases":["a"]`, 1),
		"no JSON":       "{",
	} {
		if _, err := readKnown([]byte(table)); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

func TestDollarsAreReadExactly(t *testing.T) {
	for in, want := range map[string]models.Nanos{
		"0": 0, "3": 3_000_000_000, "3.75": 3_750_000_000, "0.005": 5_000_000, "0.000000001": 1, "9000000000": 9_000_000_000_000_000_000,
	} {
		if got, err := parseDollars(in); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", ".5", "1.", "+1", "1,5", " 1", "1_0", "0x1"} {
		if got, err := parseDollars(in); err == nil {
			t.Errorf("%q was read as %d", in, got)
		}
	}
}
