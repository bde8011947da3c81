package resolvers

import (
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// decodeOpt takes over a field that may be left out.
func decodeOpt[T any](o graphql.Omittable[T]) catalog.Opt[T] {
	return catalog.Opt[T]{Given: o.IsSet(), Value: o.Value()}
}

// decodeOptID is decodeOpt for an id.
func decodeOptID[E models.Entity](o graphql.Omittable[*string], path ...string) (catalog.Opt[*models.ID[E]], error) {
	id, err := decodeIDPtr[E](o.Value(), path...)
	return catalog.Opt[*models.ID[E]]{Given: o.IsSet(), Value: id}, err
}

// decodeFallbacks reads a list of fallback models.
func decodeFallbacks(ids []string) ([]models.ModelID, error) {
	list := make([]models.ModelID, 0, len(ids))
	for i, s := range ids {
		id, err := decodeID[models.ModelEntity](s, "input", "fallbackModelIds", strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, nil
}

func decodeRefs(refs []*model.CapabilityRefInput) []models.CapabilityRef {
	out := make([]models.CapabilityRef, 0, len(refs))
	for _, r := range refs {
		out = append(out, models.CapabilityRef{ID: r.ID, Config: r.Config})
	}
	return out
}

// decodePrices takes over prices that may be left out.
func decodePrices(in graphql.Omittable[*model.ModelPriceInput]) (catalog.Opt[*catalog.Prices], error) {
	out := catalog.Opt[*catalog.Prices]{Given: in.IsSet()}
	p := in.Value()
	if p == nil {
		return out, nil
	}
	var prices catalog.Prices
	for _, f := range []struct {
		name string
		in   *decimal.Decimal
		to   func(models.Nanos)
	}{
		{"input", &p.Input, func(n models.Nanos) { prices.Input = n }},
		{"output", &p.Output, func(n models.Nanos) { prices.Output = n }},
		{"cacheRead", p.CacheRead, func(n models.Nanos) { prices.CacheRead = &n }},
		{"cacheWrite", p.CacheWrite, func(n models.Nanos) { prices.CacheWrite = &n }},
	} {
		if f.in == nil {
			continue
		}
		amount, err := budget.Parse(models.CurrencyUSD, *f.in)
		if err != nil {
			return out, fault.New(fault.Invalid, "The price can't be stored: %s.", err).At("input", "price", f.name)
		}
		f.to(models.Nanos(amount))
	}
	out.Value = &prices
	return out, nil
}

func decodeNewModel(in model.CreateModelInput) (out catalog.NewModel, err error) {
	out = catalog.NewModel{
		Name: in.Name, DisplayName: decodeOpt(in.DisplayName),
		ContextWindowTokens: decodeOpt(in.ContextWindowTokens), MaxOutputTokens: decodeOpt(in.MaxOutputTokens),
	}
	if out.ProviderID, err = decodeID[models.ProviderEntity](in.ProviderID, "input", "providerId"); err != nil {
		return out, err
	}
	out.Prices, err = decodePrices(in.Price)
	return out, err
}

func decodeModelChange(in model.UpdateModelInput) (out catalog.ModelChange, err error) {
	out = catalog.ModelChange{
		DisplayName: decodeOpt(in.DisplayName), Enabled: decodeOpt(in.Enabled),
		ContextWindowTokens: decodeOpt(in.ContextWindowTokens), MaxOutputTokens: decodeOpt(in.MaxOutputTokens),
	}
	out.Prices, err = decodePrices(in.Price)
	return out, err
}

func decodeNewHarness(in model.CreateHarnessInput) (out catalog.NewHarness, err error) {
	out = catalog.NewHarness{
		Name: in.Name, DisplayName: in.DisplayName, Description: in.Description, SystemPrompt: in.SystemPrompt,
		Capabilities: decodeRefs(in.Capabilities), MaxIterations: in.MaxIterations, StreamRecovery: (*models.StreamRecovery)(in.StreamRecovery),
	}
	if out.ParentID, err = decodeIDPtr[models.HarnessEntity](in.ParentID, "input", "parentId"); err != nil {
		return out, err
	}
	if out.DefaultModelID, err = decodeIDPtr[models.ModelEntity](in.DefaultModelID, "input", "defaultModelId"); err != nil {
		return out, err
	}
	out.FallbackModelIDs, err = decodeFallbacks(in.FallbackModelIds)
	return out, err
}

func decodeHarnessChange(in model.UpdateHarnessInput) (out catalog.HarnessChange, err error) {
	out = catalog.HarnessChange{
		DisplayName: decodeOpt(in.DisplayName), Description: decodeOpt(in.Description), SystemPrompt: decodeOpt(in.SystemPrompt),
		Capabilities:  catalog.Opt[[]models.CapabilityRef]{Given: in.Capabilities.IsSet(), Value: decodeRefs(in.Capabilities.Value())},
		MaxIterations: decodeOpt(in.MaxIterations), Revision: in.Revision, Reason: in.Reason,
		StreamRecovery: catalog.Opt[*models.StreamRecovery]{Given: in.StreamRecovery.IsSet(), Value: (*models.StreamRecovery)(in.StreamRecovery.Value())},
	}
	if out.DefaultModelID, err = decodeOptID[models.ModelEntity](in.DefaultModelID, "input", "defaultModelId"); err != nil {
		return out, err
	}
	out.FallbackModelIDs.Given = in.FallbackModelIds.IsSet()
	out.FallbackModelIDs.Value, err = decodeFallbacks(in.FallbackModelIds.Value())
	return out, err
}

func decodeNewAgent(in model.CreateAgentInput) (out catalog.NewAgent, err error) {
	out = catalog.NewAgent{
		Name: in.Name, DisplayName: in.DisplayName, Description: in.Description, SystemPrompt: in.SystemPrompt,
		Capabilities: decodeRefs(in.Capabilities), MaxIterations: in.MaxIterations, Tags: in.Tags, ClientTools: decodeClientTools(in.ClientTools),
	}
	if out.HarnessID, err = decodeIDPtr[models.HarnessEntity](in.HarnessID, "input", "harnessId"); err != nil {
		return out, err
	}
	if out.DefaultModelID, err = decodeIDPtr[models.ModelEntity](in.DefaultModelID, "input", "defaultModelId"); err != nil {
		return out, err
	}
	out.FallbackModelIDs, err = decodeFallbacks(in.FallbackModelIds)
	return out, err
}

func decodeAgentChange(in model.UpdateAgentInput) (out catalog.AgentChange, err error) {
	out = catalog.AgentChange{
		DisplayName: decodeOpt(in.DisplayName), Description: decodeOpt(in.Description), SystemPrompt: decodeOpt(in.SystemPrompt),
		Capabilities:  catalog.Opt[[]models.CapabilityRef]{Given: in.Capabilities.IsSet(), Value: decodeRefs(in.Capabilities.Value())},
		ClientTools:   catalog.Opt[[]models.ClientTool]{Given: in.ClientTools.IsSet(), Value: decodeClientTools(in.ClientTools.Value())},
		MaxIterations: decodeOpt(in.MaxIterations), Tags: decodeOpt(in.Tags), Revision: in.Revision, Reason: in.Reason,
	}
	if out.HarnessID, err = decodeOptID[models.HarnessEntity](in.HarnessID, "input", "harnessId"); err != nil {
		return out, err
	}
	if out.DefaultModelID, err = decodeOptID[models.ModelEntity](in.DefaultModelID, "input", "defaultModelId"); err != nil {
		return out, err
	}
	out.FallbackModelIDs.Given = in.FallbackModelIds.IsSet()
	out.FallbackModelIDs.Value, err = decodeFallbacks(in.FallbackModelIds.Value())
	return out, err
}
