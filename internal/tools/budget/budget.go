// Package budget holds the capability budget: the agent sees how its session stands with the budgets that bind it, and plans with that.
package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/tools"
)

// ID is the capability's id.
const ID = "budget"

const prompt = `Budgets of money, tokens or tool calls may bind this work. Call check_budget before long or costly work, not before every step.
- warning: 20% or less is left. Finish what matters most, and say what remains.
- paused: the work waits until a person resumes it.
- exhausted: too little is left for another step. Leave the work in a usable state.
You can't raise a budget. A limit that a user states is a target to plan with; it is not enforced.`

// target is what the work should stay within. It guides the agent; nothing enforces it.
type target struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Note     string `json:"note"`
}

// Capability returns the capability budget.
func Capability() tools.Capability {
	return tools.Capability{
		ID:          ID,
		Name:        "Budget",
		Description: "Lets the agent check its budget.",
		Risk:        "LOW",
		Prompt:      prompt,
		ConfigSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"target": {
					"type": "object", "title": "Target",
					"description": "What the work should stay within. The agent reads it, but unlike a budget it is not enforced.",
					"properties": {
						"amount": {"type": "string", "title": "Amount", "examples": ["5.00"], "pattern": "^[0-9]{1,10}(\\.[0-9]{1,9})?$", "description": "A decimal above 0, as text."},
						"currency": {"type": "string", "title": "Currency", "examples": ["usd"], "pattern": "^[a-z][a-z0-9_]{0,31}$", "description": "usd, tokens, credits, tool_calls or a unit of your own."},
						"note": {"type": "string", "title": "Note", "x-multiline": true, "minLength": 1, "maxLength": 500, "pattern": "\\S", "description": "What else the agent should know about it."}
					},
					"required": ["amount", "currency"],
					"additionalProperties": false
				}
			},
			"additionalProperties": false
		}`),
		Section: section,
		Tools:   []tools.Tool{checkBudget()},
	}
}

// section returns the section of the prompt that tells the agent its target; empty without one.
func section(config json.RawMessage) (string, error) {
	var settings struct {
		Target *target `json:"target"`
	}
	if err := json.Unmarshal(config, &settings); err != nil {
		return "", fmt.Errorf("read the settings of capability %s: %w", ID, err)
	}
	t := settings.Target
	if t == nil {
		return "", nil
	}
	amount, err := decimal.NewFromString(t.Amount)
	if err == nil {
		_, err = budget.Parse(t.Currency, amount)
	}
	switch {
	case err != nil:
		return "", fault.New(fault.Invalid, "The target can't be used: %s.", err).At("target", "amount")
	case !amount.IsPositive():
		return "", fault.New(fault.Invalid, "The target must be more than 0. Leave it out for none.").At("target", "amount")
	}
	text := fmt.Sprintf("The target for this work is to stay within %s %s. It is guidance to plan with; when it can't be met, say so.", amount, t.Currency)
	if note := strings.TrimSpace(t.Note); note != "" {
		text += " " + note
	}
	return text, nil
}

func checkBudget() tools.Tool {
	return tools.Define(tools.Spec[struct{}]{
		Manifest: tools.Manifest{
			ID: "budget.check_budget", Name: "check_budget", DisplayName: "Check the budget",
			Description: "Returns what is left of the budgets of this work, and what to do about it. status is no_budgets, active, warning, " +
				"paused or exhausted; balance is what is left of limit in the present period, top-ups included.",
			Hints: tools.Hints{
				ReadOnly: true, Idempotent: true,
				Retry: &tools.Retry{Policy: tools.RetrySafe, Max: 3, BaseMs: 200, MaxDelayMs: 1000},
			},
			InputSchema: json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
		},
		Execute: func(ctx context.Context, call *tools.Call, _ struct{}) tools.Result {
			report, err := call.Budget(ctx)
			switch {
			case err == nil:
				return tools.Success(report)
			case errors.Is(err, tools.ErrBudgetUnavailable):
				return tools.Fail(err.Error() + ".")
			}
			// Nothing was done: it may be tried again.
			return tools.Result{Internal: err, Retryable: true}
		},
		Narrate: func(_ struct{}, done bool, _ string) string {
			if done {
				return "Checked the budget"
			}
			return "Checks the budget"
		},
	})
}
