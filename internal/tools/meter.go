package tools

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

// Meters are what a call takes of currencies, in their smallest units: units of an organization's own. That a call is one of
// tool_calls need not be said, and money and tokens are what models take.
type Meters map[string]models.Amount

// maxMeters is how many currencies a tool may be measured in.
const maxMeters = 16

// check reports what is wrong with meters, each time the same.
func (m Meters) check() error {
	if len(m) > maxMeters {
		return fmt.Errorf("it is measured in %d currencies; at most %d can be kept", len(m), maxMeters)
	}
	for _, currency := range slices.Sorted(maps.Keys(m)) {
		if err := budget.CheckCurrency(currency); err != nil {
			return err
		}
		switch currency {
		case models.CurrencyUSD, models.CurrencyTokens, models.CurrencyCredits, models.CurrencyToolCalls:
			return fmt.Errorf("%s is measured by the server; a tool can be measured in units of its own only", currency)
		}
		if a := m[currency]; a < 0 || a > budget.MaxAmount {
			return fmt.Errorf("a call can't use %s of %s; want 0 to %s", budget.Decimal(currency, a), currency, budget.Decimal(currency, budget.MaxAmount))
		}
	}
	return nil
}

// none are the measures of a call that has taken nothing.
func (m Meters) none() Meters {
	none := make(Meters, len(m))
	for currency := range m {
		none[currency] = 0
	}
	return none
}

// measured returns a result with its measures checked. What can't be used is not known: then the call has taken what it may take at most.
func measured(toolID string, was, r Result) Result {
	if err := was.Measures.check(); err != nil {
		return Result{ToolError: internalText, Internal: fmt.Errorf("the measures of tool %s can't be used: %w", toolID, err)}
	}
	r.Measures = was.Measures
	return r
}

// addMeters adds what the settings of a capability say that calls of its tools take.
func (b *builder) addMeters(c *capability, settings []byte) error {
	if c.Meters == nil {
		return nil
	}
	all, err := c.Meters(settings)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		reg := b.set.byName[name]
		if reg == nil || reg.source() != "capability "+c.ID {
			return fmt.Errorf("it has no tool %s that could be measured", name)
		}
		next := *reg
		next.manifest.Meters = maps.Clone(reg.manifest.Meters)
		if next.manifest.Meters == nil {
			next.manifest.Meters = Meters{}
		}
		maps.Copy(next.manifest.Meters, all[name])
		if err := next.manifest.Meters.check(); err != nil {
			return fmt.Errorf("tool %s: %w", name, err)
		}
		b.set.tools[slices.Index(b.set.tools, reg)], b.set.byName[name] = &next, &next
	}
	return nil
}
