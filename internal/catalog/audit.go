package catalog

import (
	"github.com/ostler-dev/ostler/internal/models"
)

// deed is a change of a harness or an agent, as its history and the audit log tell it.
type deed struct {
	// verb is what was done, e.g. "updated".
	verb string
	// reason is what was said about it; nil for nothing.
	reason *string
	// from is the revision that was restored; 0 for other changes.
	from int
}

// details returns what the audit log tells of a change: which fields it gave other values, and the revision that it made. The values are in
// the history.
func (d deed) details(before, after models.JSON, revision int) (map[string]any, error) {
	changes, err := Differences(before, after)
	if err != nil {
		return nil, err
	}
	fields := make([]string, len(changes))
	for i, c := range changes {
		fields[i] = c.Field
	}
	m := map[string]any{"fields": fields, "revision": revision}
	if d.from > 0 {
		m["from"] = d.from
	}
	return m, nil
}

// providerFields names the fields of a provider that a change gave other values. Of the key it tells only that.
func providerFields(before, after *models.Provider) []string {
	return changed(
		field{"name", before.Name != after.Name},
		field{"baseUrl", !equalPtr(before.BaseURL, after.BaseURL)},
		field{"apiKey", string(before.Credentials) != string(after.Credentials)},
	)
}

// modelFields is providerFields for a model.
func modelFields(before, after *models.Model) []string {
	return changed(
		field{"displayName", before.DisplayName != after.DisplayName},
		field{"enabled", before.Enabled != after.Enabled},
		field{"contextWindowTokens", !equalPtr(before.ContextWindowTokens, after.ContextWindowTokens)},
		field{"maxOutputTokens", !equalPtr(before.MaxOutputTokens, after.MaxOutputTokens)},
		field{"price", !equalPtr(before.PriceInput, after.PriceInput) || !equalPtr(before.PriceOutput, after.PriceOutput) ||
			!equalPtr(before.PriceCacheRead, after.PriceCacheRead) || !equalPtr(before.PriceCacheWrite, after.PriceCacheWrite)},
	)
}

type field struct {
	name    string
	changed bool
}

func changed(fields ...field) []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.changed {
			names = append(names, f.name)
		}
	}
	return names
}
