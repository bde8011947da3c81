package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/toolstest"
)

func registry(t *testing.T) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(budget.Capability())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func check(t *testing.T, report func(context.Context) (tools.BudgetReport, error)) tools.Result {
	t.Helper()
	r := registry(t)
	set, err := r.Resolve([]models.CapabilityRef{{ID: budget.ID}})
	if err != nil {
		t.Fatal(err)
	}
	call := &toolstest.NewCall().Call
	call.CheckBudget = report
	frozen, ended := tools.Prepare(t.Context(), set, call, "check_budget", nil)
	if ended != nil {
		t.Fatalf("refused: %+v", ended)
	}
	if !frozen.Hints.ReadOnly || !frozen.Hints.Repeatable() {
		t.Errorf("it can't be repeated: %+v", frozen.Hints)
	}
	if a, b := r.Narration(frozen, false, ""), r.Narration(frozen, true, ""); a != "Checks the budget" || b != "Checked the budget" {
		t.Errorf("people read %q, then %q", a, b)
	}
	return tools.Run(t.Context(), r, call, frozen)
}

func TestCheckBudget(t *testing.T) {
	soft := "8"
	report := tools.BudgetReport{Status: "warning", Hint: "Wrap up.", Budgets: []tools.BudgetLine{
		{Currency: "usd", Limit: "10", Balance: "1.5", SoftLimit: &soft, PercentRemaining: 15, Status: "warning"},
		{Currency: "tokens", Limit: "3", Balance: "2", PercentRemaining: 66.6, Status: "active"},
	}}
	got := check(t, func(context.Context) (tools.BudgetReport, error) { return report, nil })
	want := `{"status":"warning","budgets":[` +
		`{"currency":"usd","limit":"10","balance":"1.5","soft_limit":"8","percent_remaining":15,"status":"warning"},` +
		`{"currency":"tokens","limit":"3","balance":"2","soft_limit":null,"percent_remaining":66.6,"status":"active"}],"hint":"Wrap up."}`
	if string(got.JSON) != want {
		t.Errorf("got  %s, %q\nwant %s", got.JSON, got.ToolError, want)
	}
	if got := check(t, nil); !strings.HasPrefix(got.ToolError, "budget_unavailable: ") || got.Internal != nil {
		t.Errorf("where nobody knows: %+v", got)
	}
	broken := errors.New("the database is gone")
	got = check(t, func(context.Context) (tools.BudgetReport, error) { return tools.BudgetReport{}, broken })
	if !errors.Is(got.Internal, broken) || !got.Retryable || strings.Contains(got.ToolError, "database") {
		t.Errorf("a failure: %+v", got)
	}
}

// section returns what the prompt says with settings.
func section(t *testing.T, config string) (string, error) {
	t.Helper()
	set, err := registry(t).Resolve([]models.CapabilityRef{{ID: budget.ID, Config: models.JSON(config)}})
	if err != nil {
		return "", err
	}
	all := set.Sections()
	if len(all) != 1 || all[0].CapabilityID != budget.ID {
		t.Fatalf("the sections are %+v", all)
	}
	return all[0].Text, nil
}

func TestThePrompt(t *testing.T) {
	plain, err := section(t, "")
	for _, word := range []string{"check_budget", "warning", "paused", "exhausted"} {
		if err != nil || !strings.Contains(plain, word) {
			t.Errorf("without settings it doesn't speak of %s: %q, %v", word, plain, err)
		}
	}
	if empty, err := section(t, `{}`); err != nil || empty != plain {
		t.Errorf("with empty settings it is %q, %v", empty, err)
	}
	for config, want := range map[string]string{
		`{"target":{"amount":"2.50","currency":"usd"}}`: "\n\nThe target for this work is to stay within 2.5 usd. It is guidance to plan with; when it can't be met, say so.",
		`{"target":{"amount":"40","currency":"tool_calls","note":" Prefer reading to searching. "}}`: "\n\nThe target for this work is to stay within 40 tool_calls. " +
			"It is guidance to plan with; when it can't be met, say so. Prefer reading to searching.",
	} {
		if got, err := section(t, config); err != nil || got != plain+want {
			t.Errorf("%s: the prompt ends with %q, %v", config, strings.TrimPrefix(got, plain), err)
		}
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for config, path := range map[string][]string{
		`{"softTarget":"x"}`:                                    {"config", "softTarget"},
		`{"target":{"currency":"usd"}}`:                         {"config", "target", "amount"},
		`{"target":{"amount":1,"currency":"usd"}}`:              {"config", "target", "amount"},
		`{"target":{"amount":"-1","currency":"usd"}}`:           {"config", "target", "amount"},
		`{"target":{"amount":"0","currency":"usd"}}`:            {"config", "target", "amount"},
		`{"target":{"amount":"1.5","currency":"tokens"}}`:       {"config", "target", "amount"},
		`{"target":{"amount":"9999999999","currency":"usd"}}`:   {"config", "target", "amount"},
		`{"target":{"amount":"1","currency":"US$"}}`:            {"config", "target", "currency"},
		`{"target":{"amount":"1","currency":"usd","note":" "}}`: {"config", "target", "note"},
	} {
		_, err := section(t, config)
		f := fault.As(err)
		if f == nil || f.Code != fault.Invalid || !slices.Equal(f.Path, append([]string{"capabilities", "0"}, path...)) {
			t.Errorf("%s: got %v with %+v", config, err, f)
		}
	}
	if !json.Valid(budget.Capability().ConfigSchema) {
		t.Error("the schema is no JSON")
	}
}
