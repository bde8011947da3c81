package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// Turn is what one side says before the other does. Providers insist that sides alternate, that the user begins and ends,
// and that all results of the calls of one answer come right after it.
type Turn struct {
	// Agent is true when the model says it; else the user.
	Agent bool
	// Results answer the calls of the turn before, one each, in the order of the calls.
	Results []models.Part
	// Parts of the agent are text, thinking and calls; of the user text and images.
	Parts []models.Part
}

// Texts that stand for what a conversation lacks.
const (
	noBeginning = "(The beginning of this conversation was left out.)"
	goOn        = "(Please go on.)"
	noResult    = "interrupted: The result of this call is not known. The call may or may not have had its effect."
)

// Turns puts a conversation in order. keep tells which parts the provider can be shown; it is not asked for results. What has no place is told in
// words: a result whose call was left out becomes text. Messages of the agent with nothing but thinking are left out. A conversation yields at least one turn, and begins and ends with the user's.
func Turns(messages []llm.Message, keep func(role models.MessageRole, p models.Part) bool) []Turn {
	var t turns
	for _, m := range messages {
		if m.Role == models.MessageAgent {
			t.agent(m, keep)
		} else {
			t.user(m, keep)
		}
	}
	t.close()
	if len(t.list) == 0 || t.list[len(t.list)-1].Agent {
		t.say(goOn)
	}
	return t.list
}

// turns is a conversation that is being put in order.
type turns struct {
	list []Turn
	// waiting are the calls of the last agent's turn, by id, with their place; answered tells which have results.
	waiting  map[string]int
	calls    []models.Part
	results  []models.Part
	answered []bool
}

func (t *turns) agent(m llm.Message, keep func(models.MessageRole, models.Part) bool) {
	var parts []models.Part
	for _, p := range m.Parts {
		if keep(m.Role, p) {
			parts = append(parts, p)
		}
	}
	if !slices.ContainsFunc(parts, func(p models.Part) bool { return p.Type != models.PartThinking }) {
		// Nothing, or thinking that led to nothing, which some providers refuse.
		return
	}
	t.close()
	switch n := len(t.list); {
	case n == 0:
		t.say(noBeginning)
		t.list = append(t.list, Turn{Agent: true, Parts: parts})
	case t.list[n-1].Agent:
		t.list[n-1].Parts = append(t.list[n-1].Parts, parts...)
	default:
		t.list = append(t.list, Turn{Agent: true, Parts: parts})
	}
	t.waiting = map[string]int{}
	for _, p := range parts {
		if p.Type == models.PartToolCall {
			t.waiting[p.ToolCallID] = len(t.calls)
			t.calls = append(t.calls, p)
		}
	}
	t.results, t.answered = make([]models.Part, len(t.calls)), make([]bool, len(t.calls))
}

func (t *turns) user(m llm.Message, keep func(models.MessageRole, models.Part) bool) {
	for _, p := range m.Parts {
		if p.Type != models.PartToolResult {
			if keep(m.Role, p) {
				t.add(p)
			}
			continue
		}
		if i, ok := t.waiting[p.ToolCallID]; ok && !t.answered[i] {
			// The name in the call is the one that the model used.
			p.ToolName = t.calls[i].ToolName
			t.results[i], t.answered[i] = p, true
			t.turn()
			continue
		}
		text, failed := ResultText(p)
		state := "The result"
		if failed {
			state = "The failure"
		}
		t.say("(" + state + " of an earlier call of " + p.ToolName + ": " + text + ")")
	}
}

// close ends the waiting for results: those that are missing are said to be unknown.
func (t *turns) close() {
	if len(t.calls) == 0 {
		return
	}
	for i, c := range t.calls {
		if !t.answered[i] {
			t.results[i] = models.Part{Type: models.PartToolResult, ToolCallID: c.ToolCallID, ToolName: c.ToolName, Error: noResult}
		}
	}
	t.turn().Results = t.results
	t.waiting, t.calls, t.results, t.answered = nil, nil, nil, nil
}

// turn returns the user's turn that is under way, and begins one if there is none.
func (t *turns) turn() *Turn {
	if n := len(t.list); n == 0 || t.list[n-1].Agent {
		t.list = append(t.list, Turn{})
	}
	return &t.list[len(t.list)-1]
}

func (t *turns) add(p models.Part) {
	turn := t.turn()
	turn.Parts = append(turn.Parts, p)
}

func (t *turns) say(text string) { t.add(models.Part{Type: models.PartText, Text: text}) }

// ResultText returns what the model is told of a tool's result, and whether the tool failed.
func ResultText(p models.Part) (text string, failed bool) {
	text = string(p.Result)
	var s string
	if len(p.Result) > 0 && p.Result[0] == '"' && json.Unmarshal(p.Result, &s) == nil {
		text = s
	}
	if p.Success {
		return text, false
	}
	switch {
	case p.Error != "" && text != "" && text != "null":
		return p.Error + "\n" + text, true
	case p.Error != "":
		return p.Error, true
	}
	return text, true
}

// IsBlank reports whether a text says nothing. Providers refuse such text.
func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }
