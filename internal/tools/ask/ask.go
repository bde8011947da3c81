// Package ask holds the capability ask_user: the model asks a person, and the turn waits for the answer.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ostler-dev/ostler/internal/tools"
)

// ID is the capability's id.
const ID = "ask_user"

// Arguments are those of a call of ask_user, as Prepare leaves them: the engine reads them from the frozen call.
type Arguments struct {
	Question string `json:"question"`
	// Options are answers to choose from; empty for any answer.
	Options []string `json:"options,omitempty"`
}

// Answer is the result of a call: what a person answered.
type Answer struct {
	Answer string `json:"answer"`
}

// Capability returns the capability ask_user.
func Capability() tools.Capability {
	return tools.Capability{
		ID:          ID,
		Name:        "Ask the user",
		Description: "Lets the agent ask a person and wait for the answer.",
		Risk:        "LOW",
		Prompt: "When you can't go on without a decision or a fact that only the user has, ask with ask_user: one question at a time, " +
			"with options where there are a few. Do not ask what you can find out yourself.",
		Tools: []tools.Tool{askUser()},
	}
}

func askUser() tools.Tool {
	return tools.Define(tools.Spec[Arguments]{
		Manifest: tools.Manifest{
			ID: "ask_user.ask_user", Name: "ask_user", DisplayName: "Ask the user",
			Description: "Asks the user a question and waits for the answer, which may take long. With options the user picks one of them.",
			Hints:       tools.Hints{ReadOnly: true, LongRunning: true, Wait: tools.WaitQuestion},
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"question": {"type": "string", "minLength": 1, "maxLength": 4000, "pattern": "\\S", "description": "One clear question."},
					"options": {
						"type": "array", "minItems": 2, "maxItems": 20, "uniqueItems": true,
						"items": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "\\S"},
						"description": "Answers to choose from; leave it out for a free answer."
					}
				},
				"required": ["question"],
				"additionalProperties": false
			}`),
		},
		Prepare: prepare,
		Execute: func(context.Context, *tools.Call, Arguments) tools.Result {
			return tools.Result{Internal: errors.New("ask_user is a wait of the engine and can't be run")}
		},
		Narrate: func(args Arguments, done bool, _ string) string {
			if done {
				return "Asked: " + args.Question
			}
			return "Asks: " + args.Question
		},
	})
}

// prepare takes spaces off the ends, and refuses options that look the same then.
func prepare(_ context.Context, _ *tools.Call, args *Arguments) *tools.Result {
	args.Question = strings.TrimSpace(args.Question)
	seen := make(map[string]bool, len(args.Options))
	for i, o := range args.Options {
		o = strings.Join(strings.Fields(o), " ")
		key := strings.ToLower(o)
		if seen[key] {
			r := tools.Fail("duplicate_option: The option " + o + " appears twice. Use different options.")
			return &r
		}
		seen[key] = true
		args.Options[i] = o
	}
	return nil
}
