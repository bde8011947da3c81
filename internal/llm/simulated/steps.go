package simulated

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// ask is a message of the user in the turn.
type ask struct {
	text    string
	actions []action
}

// toolCall is a call that the conversation holds.
type toolCall struct {
	id, name, args string
	result         models.Part
	settled        bool
}

// answer takes the next step of a turn. What has been done is read from the conversation, every time anew, so that it
// is the same step when the call is made again.
func (r *ruleSet) answer(ctx context.Context, p *player, req *llm.Request) error {
	asks, begun := r.asks(req)
	// What was asked last comes first, as a person who is interrupted would do it; then what is left of the rest.
	for i := range slices.Backward(asks) {
		if ready := nextActions(asks[i].actions); len(ready) > 0 {
			if err := p.say(ctx, models.PartText, announcement(asks[i].actions, ready, begun)); err != nil {
				return err
			}
			for _, a := range ready {
				if err := p.call(ctx, "", a.tool, a.args); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return p.say(ctx, models.PartText, report(asks, req))
}

// asks returns what the user wants in this turn, with what has come of it. begun reports that tools have been called.
func (r *ruleSet) asks(req *llm.Request) (asks []ask, begun bool) {
	start := openingMessage(req.Messages)
	p := &parser{rules: r, file: lastFile(toolCalls(req.Messages[:start])), offered: make(map[string]bool, len(req.Tools))}
	for i := range req.Tools {
		p.offered[req.Tools[i].Name] = true
	}
	for _, m := range req.Messages[start:] {
		if m.Role == models.MessageUser {
			text := textOf(m)
			asks = append(asks, ask{text: text, actions: p.parse(text)})
		}
	}
	calls := toolCalls(req.Messages[start:])
	settle(asks, calls)
	for i := range asks {
		for j := range asks[i].actions {
			a := &asks[i].actions[j]
			switch {
			case a.stop:
				a.done = true
				drop(asks[:i])
			case !p.offered[a.tool] && !a.done:
				a.missing, a.done = true, true
			}
		}
	}
	return asks, len(calls) > 0
}

func drop(asks []ask) {
	for i := range asks {
		for j := range asks[i].actions {
			if a := &asks[i].actions[j]; !a.done {
				a.dropped, a.done = true, true
			}
		}
	}
}

// settle assigns the results of the calls to the actions that they were made for: those with the same arguments first. A
// hook may have changed the arguments, so what is left over goes by the name alone; else the call would be made again
// and again.
func settle(asks []ask, calls []toolCall) {
	taken := make([]bool, len(calls))
	for _, exact := range []bool{true, false} {
		for c := range calls {
			if taken[c] || !calls[c].settled {
				continue
			}
			if a := openAction(asks, calls[c], exact); a != nil {
				taken[c] = true
				a.done, a.result = true, calls[c].result
			}
		}
	}
}

func openAction(asks []ask, c toolCall, exact bool) *action {
	for i := range asks {
		for j := range asks[i].actions {
			a := &asks[i].actions[j]
			if !a.done && a.tool == c.name && (!exact || a.args == c.args) {
				return a
			}
		}
	}
	return nil
}

// nextActions returns what can be done now, all at once.
func nextActions(actions []action) []action {
	var ready []action
	for _, a := range actions {
		if !a.done && (a.after < 0 || actions[a.after].done) {
			ready = append(ready, a)
		}
	}
	return ready
}

// toolCalls lists the calls in a piece of a conversation with their results.
func toolCalls(messages []llm.Message) []toolCall {
	var calls []toolCall
	for _, m := range messages {
		for _, part := range m.Parts {
			switch part.Type {
			case models.PartToolCall:
				calls = append(calls, toolCall{id: part.ToolCallID, name: part.ToolName, args: string(part.Arguments)})
			case models.PartToolResult:
				for i := range calls {
					if calls[i].id == part.ToolCallID && !calls[i].settled {
						calls[i].result, calls[i].settled = part, true
						break
					}
				}
			case models.PartText, models.PartThinking:
			}
		}
	}
	return calls
}

// lastFile finds the file that earlier calls were about, which "it" may mean.
func lastFile(calls []toolCall) string {
	for _, c := range slices.Backward(calls) {
		if !strings.HasSuffix(c.name, "_file") {
			continue
		}
		var args pathArgs
		if json.Unmarshal([]byte(c.args), &args) == nil && args.Path != "" {
			return args.Path
		}
	}
	return ""
}
