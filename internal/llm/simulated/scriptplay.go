package simulated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// ScriptPath is the file of the session that sim-script plays.
const ScriptPath = "/workspace/.sim/script.json"

// scriptEnded is what sim-script says when it has no more responses.
const scriptEnded = "(script ended)"

const scriptHelp = "sim-script plays a script of responses, in JSON or YAML, from the session's file " + ScriptPath +
	" or from a message. See docs/simulated-models.md for its format."

// playScript speaks the response whose turn it is.
func playScript(ctx context.Context, p *player, req *llm.Request) (llm.Response, error) {
	s, step, err := findScript(ctx, req)
	if err != nil {
		return p.end(err, "")
	}
	if step >= len(s.responses) {
		return p.end(p.say(ctx, models.PartText, scriptEnded), "")
	}
	r := s.responses[step]
	p.first = r.first
	for _, c := range r.chunks {
		if err = p.chunk(ctx, c); err != nil {
			break
		}
	}
	res, err := p.end(err, r.finish)
	if err != nil && p.told != nil {
		res.Usage = *p.told // nothing comes after it that would say more
	}
	r.usage.apply(&res.Usage)
	return res, err
}

func (p *player) chunk(ctx context.Context, c scriptChunk) error {
	p.perToken = c.perToken
	switch c.kind {
	case chunkText:
		return p.say(ctx, models.PartText, c.text)
	case chunkThinking:
		return p.say(ctx, models.PartThinking, c.text)
	case chunkToolCall:
		return p.call(ctx, c.id, c.name, c.text)
	case chunkStall:
		return p.pause(ctx, c.stall)
	case chunkUsage:
		so := p.res.Usage
		c.usage.apply(&so)
		p.told = &so
		p.emit(llm.Delta{Usage: &so})
		return nil
	case chunkError, chunkDisconnect:
	}
	// A failure too comes no sooner than a first token would.
	if !p.begun {
		p.begun = true
		if err := p.pause(ctx, p.first); err != nil {
			return err
		}
	}
	if c.kind == chunkDisconnect {
		return disconnected()
	}
	return c.failure
}

// findScript returns the script and which response is due. That is counted in the conversation, for the driver remembers
// nothing: a call that is made again after a crash plays the same response again.
func findScript(ctx context.Context, req *llm.Request) (*script, int, error) {
	if req.ReadFile != nil {
		text, err := req.ReadFile(ctx, ScriptPath)
		switch {
		case err == nil:
			s, err := parseScript(text)
			if err != nil {
				return nil, 0, invalidScript("file "+ScriptPath, err)
			}
			return s, agentMessages(req.Messages[openingMessage(req.Messages):]), nil
		case ctx.Err() != nil:
			return nil, 0, &llm.Error{
				Code: llm.CodeUnavailable, Transient: true, Cause: ctx.Err(),
				Message: "The call was ended before the script was read.",
			}
		case errors.Is(err, syscall.EISDIR):
			return nil, 0, invalidScript("file "+ScriptPath, err)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, 0, &llm.Error{
				Code: llm.CodeInternal, Transient: true, Cause: err,
				Message: "The script " + ScriptPath + " could not be read. Try again.",
			}
		}
	}
	for i, m := range slices.Backward(req.Messages) {
		if m.Role != models.MessageUser {
			continue
		}
		text := unfence(textOf(m))
		if !resemblesScript(text) {
			continue
		}
		s, err := parseScript([]byte(text))
		if err != nil {
			return nil, 0, invalidScript("message", err)
		}
		return s, agentMessages(req.Messages[i:]), nil
	}
	return nil, 0, &llm.Error{Code: llm.CodeMisconfigured, Message: "There is no script. " + scriptHelp}
}

func invalidScript(where string, err error) error {
	return &llm.Error{
		Code:    llm.CodeMisconfigured,
		Message: fmt.Sprintf("The script in the %s can't be used: %v. %s", where, err, scriptHelp),
	}
}

func agentMessages(messages []llm.Message) int {
	n := 0
	for i := range messages {
		if messages[i].Role == models.MessageAgent {
			n++
		}
	}
	return n
}

// openingMessage returns the index of the first message of the newest turn: what follows the last message of the agent
// that called no tool. The driver sees no turns, only the conversation.
func openingMessage(messages []llm.Message) int {
	// The agent's own last word opens nothing until the user has said something after it.
	userAfter := false
	for i, m := range slices.Backward(messages) {
		switch m.Role {
		case models.MessageUser:
			userAfter = true
		case models.MessageAgent:
			if userAfter && !callsTools(m) {
				return i + 1
			}
		case models.MessageTool:
		}
	}
	return 0
}

func callsTools(m llm.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Type == models.PartToolCall {
			return true
		}
	}
	return false
}

// unfence takes the text out of a Markdown code block, the way people paste scripts into a chat.
func unfence(text string) string {
	s := strings.TrimSpace(text)
	if len(s) < 6 || !strings.HasPrefix(s, "```") || !strings.HasSuffix(s, "```") {
		return text
	}
	_, body, found := strings.Cut(s[:len(s)-3], "\n")
	if !found {
		return text
	}
	return body
}

// resemblesScript tells a script, right or wrong, from other messages, so that a mistake in a script is reported and
// a plain message in between isn't.
func resemblesScript(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return strings.Contains(text, "responses")
	}
	return strings.HasPrefix(text, "responses:") || strings.Contains(text, "\nresponses:")
}
