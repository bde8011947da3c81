package catalog_test

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// What a capability judges when it is attached, it judges then only; hooks that can't be read while a turn runs are worth
// another try, and no lost dependency.
//
// Rules: H12.
func TestSettingsAreJudgedWhenTheyAreAttached(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		var closed, broken atomic.Bool
		picky := tools.Capability{
			ID: "picky", Name: "Picky", Description: "Has hooks.", Risk: "LOW", ConfigSchema: json.RawMessage(`{"type":"object"}`),
			Attach: func(json.RawMessage) error {
				if closed.Load() {
					return fault.New(fault.Invalid, "Not now.").At("hooks", "0")
				}
				return nil
			},
			Hooks: func(json.RawMessage) ([]tools.HookSpec, error) {
				if broken.Load() {
					return nil, fault.New(fault.Invalid, "Not now.").At("hooks", "1")
				}
				return []tools.HookSpec{{Event: tools.HookTurnEnd, CEL: &tools.CELExecutor{Expression: "true"}}}, nil
			},
		}
		svc := e.service(registry(t, picky))
		ctx := t.Context()
		a := must(svc.CreateAgent(ctx, e.mine.member, catalog.NewAgent{Name: "a", Capabilities: refs("picky")}))(t)

		closed.Store(true)
		_, err := svc.CreateAgent(ctx, e.mine.member, catalog.NewAgent{Name: "b", Capabilities: refs("files", "picky")})
		wantFault(t, err, fault.Invalid, "input.capabilities.1.config.hooks.0")
		// What is attached already stays, also beside something new.
		must(svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{Capabilities: catalog.Give(refs("picky", "files"))}))(t)
		other := []models.CapabilityRef{{ID: "picky", Config: models.JSON(`{"x":1}`)}}
		_, err = svc.UpdateAgent(ctx, e.mine.member, a.ID, catalog.AgentChange{Capabilities: catalog.Give(other)})
		wantFault(t, err, fault.Invalid, "input.capabilities.0.config.hooks.0")

		run := catalog.Run{HarnessID: e.mine.generic, AgentID: &a.ID}
		if hooks := must(svc.EffectiveForSession(ctx, e.mine.id, run))(t).Toolset.Hooks(); len(hooks) != 1 || hooks[0].ID != "picky:0" {
			t.Errorf("the hooks are %+v", hooks)
		}
		broken.Store(true)
		_, err = svc.CreateAgent(ctx, e.mine.member, catalog.NewAgent{Name: "c", Capabilities: refs("picky")})
		wantFault(t, err, fault.Invalid, "input.capabilities.0.config.hooks.1")
		_, err = e.service(registry(t, picky)).EffectiveForSession(ctx, e.mine.id, run)
		contribution, retryable := errors.AsType[*tools.ContributionError](err)
		_, lost := errors.AsType[*catalog.DependencyError](err)
		if !retryable || !contribution.Retryable() || lost {
			t.Errorf("got %v", err)
		}
	})
}
