package core

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/tools"
)

type echoArgs struct {
	Text string `json:"text"`
}

type echoResult struct {
	Echoed string `json:"echoed"`
	// Length is in characters.
	Length int `json:"length"`
}

func echo() tools.Tool {
	return tools.Define(tools.Spec[echoArgs]{
		Manifest: tools.Manifest{
			ID: "core.echo", Name: "echo", DisplayName: "Echo",
			Description: "Returns a text unchanged, with its length in characters. For trying out tool calls.",
			Hints:       tools.Hints{ReadOnly: true, Idempotent: true},
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {"text": {"type": "string", "description": "The text to return."}},
				"required": ["text"],
				"additionalProperties": false
			}`),
		},
		Execute: func(_ context.Context, _ *tools.Call, args echoArgs) tools.Result {
			return tools.Success(echoResult{Echoed: args.Text, Length: utf8.RuneCountInString(args.Text)})
		},
	})
}

type progressArgs struct {
	Message string `json:"message"`
}

type progressResult struct {
	Reported bool `json:"reported"`
}

func reportProgress() tools.Tool {
	return tools.Define(tools.Spec[progressArgs]{
		Manifest: tools.Manifest{
			ID: "core.report_progress", Name: "report_progress", DisplayName: "Report progress",
			Description: "Shows one line about the progress of the work to the people who watch it. It has no other effect.",
			// Seeing a line twice after a crash is better than a call of unknown outcome.
			Hints: tools.Hints{Idempotent: true},
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"message": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "\\S", "description": "One line in plain words."}
				},
				"required": ["message"],
				"additionalProperties": false
			}`),
		},
		Execute: func(_ context.Context, call *tools.Call, args progressArgs) tools.Result {
			// Nobody may be there to watch; that is no failure.
			if call.Progress != nil {
				call.Progress(args.Message)
			}
			return tools.Success(progressResult{Reported: true})
		},
		Narrate: func(args progressArgs, _ bool, _ string) string { return args.Message },
	})
}
