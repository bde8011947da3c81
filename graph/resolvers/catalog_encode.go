package resolvers

import (
	"context"
	"slices"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

func (r *Resolver) encodeProvider(ctx context.Context, p *models.Provider) *model.Provider {
	has := r.Catalog.HasCredentials(ctx, p)
	return &model.Provider{
		ID: p.ID.String(), Name: p.Name, Kind: model.ProviderKind(p.Kind), BaseURL: p.BaseURL, HasCredentials: &has,
		Lifecycle: model.Lifecycle(p.Lifecycle), CreatedAt: p.CreatedAt,
	}
}

func encodeModel(m *models.Model) *model.Model {
	return &model.Model{
		ID: m.ID.String(), Name: m.Name, DisplayName: m.DisplayName, Enabled: m.Enabled,
		ContextWindowTokens: m.ContextWindowTokens, MaxOutputTokens: m.MaxOutputTokens, ModelID: m.ID, ProviderID: m.ProviderID,
		Price: encodePrice(m.PriceInput, m.PriceOutput, m.PriceCacheRead, m.PriceCacheWrite),
	}
}

// encodePrice returns what a model costs; nil where that isn't known.
func encodePrice(input, output, cacheRead, cacheWrite *models.Nanos) *model.ModelPrice {
	if input == nil || output == nil {
		return nil
	}
	return &model.ModelPrice{
		Input: model.Dollars(*input), Output: model.Dollars(*output), CacheRead: model.DollarsPtr(cacheRead), CacheWrite: model.DollarsPtr(cacheWrite),
	}
}

func encodeHarness(h *models.Harness) *model.Harness {
	return &model.Harness{
		ID: h.ID.String(), Name: h.Name, DisplayName: h.DisplayName, Description: h.Description, SystemPrompt: h.SystemPrompt,
		Capabilities: encodeRefs(h.Capabilities), MaxIterations: h.MaxIterations, StreamRecovery: (*model.StreamRecovery)(h.StreamRecovery), Lifecycle: model.Lifecycle(h.Lifecycle),
		BuiltIn: h.BuiltIn, Revision: h.Revision, CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt,
		HarnessID: h.ID, ParentID: h.ParentID, DefaultModelID: h.DefaultModelID, FallbackIDs: h.FallbackModelIDs,
	}
}

func encodeAgent(a *models.Agent) *model.Agent {
	tags := a.Tags
	if tags == nil {
		tags = []string{}
	}
	return &model.Agent{
		ID: a.ID.String(), Name: a.Name, DisplayName: a.DisplayName, Description: a.Description, SystemPrompt: a.SystemPrompt,
		Capabilities: encodeRefs(a.Capabilities), MaxIterations: a.MaxIterations, ClientTools: encodeClientTools(a.ClientTools), Tags: tags,
		Lifecycle: model.Lifecycle(a.Lifecycle), Revision: a.Revision, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
		AgentID: a.ID, HarnessID: a.HarnessID, DefaultModelID: a.DefaultModelID, FallbackIDs: a.FallbackModelIDs,
	}
}

func encodeRefs(refs []models.CapabilityRef) []*model.CapabilityRef {
	out := make([]*model.CapabilityRef, 0, len(refs))
	for _, r := range refs {
		out = append(out, &model.CapabilityRef{ID: r.ID, Config: r.Config})
	}
	return out
}

// encodeEffective shows what a turn would run with; null when that could not be worked out.
func encodeEffective(e *catalog.Effective) *model.EffectiveConfig {
	if e == nil {
		return nil
	}
	manifests := slices.Collect(e.Toolset.Manifests())
	out := &model.EffectiveConfig{
		SystemPrompt: e.SystemPrompt, Tools: encodeTools(manifests), Capabilities: encodeRefs(e.Toolset.Refs()),
		MaxIterations: e.MaxIterations, StreamRecovery: model.StreamRecovery(e.StreamRecovery), FallbackModels: make([]*model.Model, len(e.Fallbacks)),
	}
	for i, m := range manifests {
		out.Tools[i].Approval = new(approvals[e.Toolset.Asks(m)])
	}
	for i, m := range e.Fallbacks {
		out.FallbackModels[i] = encodeModel(&m.Model)
	}
	if e.Model != nil {
		out.Model = encodeModel(&e.Model.Model)
	}
	for _, o := range e.Origins {
		out.Origins = append(out.Origins, &model.ConfigOrigin{Of: o.Of, Source: model.ConfigSource(o.Source), Name: nonEmpty(o.Name)})
	}
	return out
}

var approvals = map[tools.Asks]model.ToolApproval{
	tools.AsksNever: model.ToolApprovalNever, tools.AsksSometimes: model.ToolApprovalSometimes, tools.AsksAlways: model.ToolApprovalAlways,
}

func encodeTools(manifests []tools.Manifest) []*model.ToolInfo {
	out := make([]*model.ToolInfo, 0, len(manifests))
	for _, m := range manifests {
		out = append(out, &model.ToolInfo{
			ID: m.ID, Name: m.Name, DisplayName: m.DisplayName, Description: m.Description, InputSchema: models.JSON(m.InputSchema),
			Hints: &model.ToolHints{
				Readonly: m.Hints.ReadOnly, Destructive: m.Hints.Destructive, Idempotent: m.Hints.Idempotent,
				OpenWorld: m.Hints.OpenWorld, LongRunning: m.Hints.LongRunning, Background: m.Hints.Background,
				Client: m.Hints.Client,
			},
		})
	}
	return out
}

func encodeCapability(c *tools.Capability) *model.CapabilityInfo {
	manifests := make([]tools.Manifest, 0, len(c.Tools))
	for _, t := range c.Tools {
		manifests = append(manifests, t.Manifest())
	}
	depends := c.DependsOn
	if depends == nil {
		depends = []string{}
	}
	return &model.CapabilityInfo{
		ID: c.ID, Name: c.Name, Description: c.Description, Risk: model.Risk(c.Risk), Status: model.CapabilityStatusAvailable,
		Tools: encodeTools(manifests), DependsOn: depends, ConfigSchema: models.JSON(c.ConfigSchema),
		DefaultConfig: models.JSON(c.DefaultConfig),
	}
}
