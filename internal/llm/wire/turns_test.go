package wire_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// Whatever the conversation, the turns are what providers insist on.
func TestTurnsAlwaysValid(t *testing.T) {
	t.Parallel()
	roles := []models.MessageRole{models.MessageUser, models.MessageAgent, models.MessageTool}
	kinds := []models.PartType{models.PartText, models.PartThinking, models.PartToolCall, models.PartToolResult, models.PartImage}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var messages []llm.Message
		next := 0
		for range random.IntN(8) {
			m := llm.Message{Role: roles[random.IntN(len(roles))]}
			for range random.IntN(4) {
				p := models.Part{Type: kinds[random.IntN(len(kinds))], Text: "x", Success: true}
				switch p.Type {
				case models.PartToolCall:
					p.ToolCallID, p.ToolName = fmt.Sprint(next), "f"
					next++
				case models.PartToolResult:
					p.ToolCallID, p.ToolName = fmt.Sprint(random.IntN(next+1)), "f"
				}
				m.Parts = append(m.Parts, p)
			}
			messages = append(messages, m)
		}
		keep := func(role models.MessageRole, p models.Part) bool {
			if role == models.MessageAgent {
				return p.Type == models.PartText || p.Type == models.PartThinking || p.Type == models.PartToolCall
			}
			return p.Type == models.PartText || p.Type == models.PartImage
		}
		checkTurns(t, messages, wire.Turns(messages, keep))
		if t.Failed() {
			return
		}
	}
}

func checkTurns(t *testing.T, messages []llm.Message, turns []wire.Turn) {
	t.Helper()
	if len(turns)%2 != 1 {
		t.Errorf("%d turns of %+v", len(turns), messages)
	}
	var open []string
	for i, turn := range turns {
		if turn.Agent != (i%2 == 1) {
			t.Errorf("turn %d is the wrong side's in %+v of %+v", i, turns, messages)
		}
		if len(turn.Parts)+len(turn.Results) == 0 {
			t.Errorf("turn %d is empty in %+v", i, messages)
		}
		var results []string
		for _, r := range turn.Results {
			results = append(results, r.ToolCallID)
		}
		if fmt.Sprint(results) != fmt.Sprint(open) {
			t.Errorf("results %v for calls %v in %+v", results, open, messages)
		}
		open = nil
		leads := !turn.Agent
		for _, p := range turn.Parts {
			leads = leads || p.Type != models.PartThinking
			if p.Type == models.PartToolCall {
				open = append(open, p.ToolCallID)
			}
		}
		if !leads {
			t.Errorf("turn %d is thinking that leads to nothing in %+v", i, messages)
		}
	}
	if open != nil {
		t.Errorf("calls %v have no result in %+v", open, messages)
	}
}

func TestResultText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		part   models.Part
		text   string
		failed bool
	}{
		{models.Part{Success: true, Result: models.JSON(`"a\nb"`)}, "a\nb", false},
		{models.Part{Success: true, Result: models.JSON(`{"a":1}`)}, `{"a":1}`, false},
		{models.Part{Success: true}, "", false},
		{models.Part{Error: "no"}, "no", true},
		{models.Part{Error: "no", Result: models.JSON(`null`)}, "no", true},
		{models.Part{Error: "no", Result: models.JSON(`{"a":1}`)}, "no\n{\"a\":1}", true},
		{models.Part{Result: models.JSON(`"why"`)}, "why", true},
	} {
		text, failed := wire.ResultText(tt.part)
		if text != tt.text || failed != tt.failed {
			t.Errorf("%+v gives %q, %t", tt.part, text, failed)
		}
	}
}
