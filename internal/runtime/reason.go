package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// maxCalls is how many tool calls of one response run; the rest is answered with an error that says so.
const maxCalls = 64

// reason asks the model and commits what it answered. began is the command that started the step.
func (r *turnRun) reason(ctx context.Context, began *writer) (*writer, error) {
	output, asked := *r.turn.OutputMessageID, r.step
	if err := r.readConversation(ctx, began.consumed); err != nil {
		return nil, err
	}
	r.askedAt = r.e.nowMillis().Ptr()
	s := newStream(r.e, r.turn, output)
	resp, err := r.ask(ctx, s)
	s.finish()
	r.spent = r.rate(resp.Usage)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the model call was cut short: %w", context.Cause(ctx))
		}
		return r.failed(ctx, err, resp.Parts)
	}
	c := &finishReason{
		output: output, usage: r.spent, asked: generation{
			model: *asked.model, at: *r.askedAt, durationMs: s.elapsed(), firstTokenMs: s.firstTokenMs,
			through: r.conversation.through(), hash: promptHash(asked.effective, r.conversation),
		},
		checkpointed: s.checkpointed || r.recovered,
	}
	c.response = sanitize(resp)
	c.calls = r.prepare(ctx, output, c.response.Parts)
	// What the session, the agent and the harness say may have changed since the model was asked; the commit may begin the
	// next step.
	blocked, err := r.refresh(ctx)
	if err != nil {
		return nil, err
	}
	c.writer = r.writer()
	c.blocked = blocked
	w, err := r.submit(ctx, c, &c.writer)
	if err != nil {
		return nil, err
	}
	r.spent, r.askedAt, r.recovered = models.Usage{}, nil, false
	r.conversation.add(c.messageAt, 0, models.MessageAgent, c.content())
	for _, call := range c.calls {
		if call.refused != nil && c.actedAt > 0 {
			o := openCall{call: journaledCall{CallID: call.id, Frozen: call.frozen}}
			r.conversation.add(c.actedAt, call.ordinal, models.MessageTool, o.parts(*call.refused))
		}
	}
	return w, nil
}

// ask makes the call. A driver that panics has failed.
func (r *turnRun) ask(ctx context.Context, s *stream) (resp llm.Response, err error) {
	provider := r.step.effective.Model.Provider
	driver := r.e.cfg.Drivers[provider.Kind]
	if driver == nil {
		return resp, &llm.Error{Code: llm.CodeMisconfigured, Message: fmt.Sprintf(
			"This server has no driver for providers of kind %s.", provider.Kind)}
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the driver of %s panicked: %v\n%s", provider.Kind, v, debug.Stack())
		}
	}()
	return driver.Stream(ctx, r.request(), s.emit)
}

// request assembles what the model is shown.
func (r *turnRun) request() llm.Request {
	eff := r.step.effective
	req := llm.Request{Model: eff.Model.Model.Name, System: eff.SystemPrompt, Messages: r.conversation.messages(contextBytes(eff))}
	for _, m := range eff.Toolset.Manifests() {
		req.Tools = append(req.Tools, llm.Tool{Name: m.Name, Description: m.Description, InputSchema: m.InputSchema})
	}
	if eff.Model.Model.MaxOutputTokens != nil {
		req.MaxTokens = *eff.Model.Model.MaxOutputTokens
	}
	if r.turn.MaxTokens != nil && (req.MaxTokens == 0 || *r.turn.MaxTokens < req.MaxTokens) {
		req.MaxTokens = *r.turn.MaxTokens
	}
	files := r.e.cfg.Workspace.Open(r.turn.OrgID, r.turn.SessionID)
	req.ReadFile = func(ctx context.Context, path string) ([]byte, error) {
		_, content, err := files.Read(ctx, path)
		return content, err
	}
	return req
}

// bytesPerToken is a cautious guess for how much text a context window holds.
const bytesPerToken = 3

// contextBytes is how much of the conversation the model is shown, so that it leaves room for prompt and answer.
func contextBytes(eff *catalog.Effective) int {
	window := 128_000
	if eff.Model.Model.ContextWindowTokens != nil {
		window = *eff.Model.Model.ContextWindowTokens
	}
	return max(window*bytesPerToken*3/4-len(eff.SystemPrompt), 4096)
}

// rate adds what the tokens cost.
func (r *turnRun) rate(u models.Usage) models.Usage {
	cost, priced := catalog.Price(r.step.model, u)
	u.CostNanos, u.Unpriced = cost, !priced
	return u
}

// failed ends the turn for a failed model call.
func (r *turnRun) failed(ctx context.Context, err error, partial []models.Part) (*writer, error) {
	f := Failed{Stop: models.StopError, Failure: models.Failure{
		Code: string(llm.CodeInternal), Message: "The server could not ask the model. The error was recorded; try again.",
	}}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		f.Failure = models.Failure{Code: string(e.Code), Message: cleanText(e.Message)}
	}
	r.e.cfg.Logger.Warn("a model call failed", "org", r.turn.OrgID, "turn", r.turn.ID, "error", err)
	if e := r.fail(ctx, f, sanitize(llm.Response{Parts: withoutCalls(partial)}).Parts); e != nil {
		return nil, e
	}
	return nil, errEnded
}

// withoutCalls leaves out calls that never ran: a conversation must not hold calls without results.
func withoutCalls(parts []models.Part) []models.Part {
	kept := []models.Part{}
	for _, p := range parts {
		if p.Type != models.PartToolCall {
			kept = append(kept, p)
		}
	}
	return kept
}

// sanitize makes a response storable: text without NUL and in valid UTF-8, and no calls that were cut off. What calls say is
// put right by prepare.
func sanitize(resp llm.Response) llm.Response {
	parts := make([]models.Part, 0, len(resp.Parts))
	for _, p := range resp.Parts {
		if p.Type == models.PartToolCall && cutOff(resp.FinishReason) {
			continue
		}
		p.Text = cleanText(p.Text)
		if !json.Valid(p.Metadata) || !utf8.Valid(p.Metadata) {
			p.Metadata = nil
		}
		parts = append(parts, p)
	}
	resp.Parts = parts
	return resp
}

// cleanText replaces what no database holds, and no JSON.
func cleanText(s string) string {
	clean := true
	for _, c := range s {
		if c == 0 || c == utf8.RuneError {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	out := make([]rune, 0, len(s))
	for _, c := range s {
		if c == 0 {
			c = utf8.RuneError
		}
		out = append(out, c)
	}
	return string(out)
}

// prepare gives every call of a response an id of its own in the session and takes it as far as it can be frozen. The parts
// get the ids, and arguments that are JSON.
func (r *turnRun) prepare(ctx context.Context, output models.MessageID, parts []models.Part) []call {
	var calls []call
	for i := range parts {
		p := &parts[i]
		if p.Type != models.PartToolCall {
			continue
		}
		n := len(calls)
		p.ToolCallID = fmt.Sprintf("call_%s_%d", hex.EncodeToString(output[8:]), n)
		c := call{id: p.ToolCallID, ordinal: n}
		if n < maxCalls {
			c.frozen, c.refused = tools.Prepare(ctx, r.step.effective.Toolset, r.toolCall(p.ToolCallID, p.ToolName, nil), p.ToolName,
				json.RawMessage(p.Arguments))
		} else {
			refusal := tools.Fail(fmt.Sprintf("too_many_calls: At most %d calls of one response are run. Ask for this one again.", maxCalls))
			c.frozen, c.refused = tools.Frozen{Name: tools.CutText(cleanText(p.ToolName), 64)}, &refusal
		}
		p.Arguments = shownArguments(p.Arguments, c.frozen)
		if len(c.frozen.Arguments) == 0 {
			c.frozen.Arguments = json.RawMessage(p.Arguments)
		}
		if c.frozen.DisplayName == "" {
			c.frozen.DisplayName = c.frozen.Name
		}
		p.ToolName = c.frozen.Name
		c.started = r.e.cfg.Registry.Narration(c.frozen, false, r.session.locale)
		c.ended = r.e.cfg.Registry.Narration(c.frozen, true, r.session.locale)
		calls = append(calls, c)
	}
	return calls
}

// shownArguments gives the arguments of a call as the conversation keeps them: as the model wrote them, where that is an object
// that databases and providers can take; else what the call was frozen with.
func shownArguments(written models.JSON, frozen tools.Frozen) models.JSON {
	canonical, err := tools.Canonical(written)
	if err == nil && len(written) <= tools.MaxArgumentsBytes && bytes.HasPrefix(canonical, []byte("{")) {
		return written
	}
	if len(frozen.Arguments) > 0 {
		return models.JSON(frozen.Arguments)
	}
	return models.JSON("{}")
}

func modelInputHash(cfg stepConfig, through int64) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", cfg.model.ID, cfg.configHash, through))
	return sum[:]
}

// promptHash names what the model was shown without repeating it: the configuration and the conversation's messages.
func promptHash(eff *catalog.Effective, c *conversation) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%x/%d/%d", eff.Model.Model.ID, eff.Hash, c.through(), len(c.list)))
	return hex.EncodeToString(sum[:16])
}

func encodeJSON(v any) models.JSON {
	b, err := json.Marshal(v)
	if err != nil {
		// Only values of this package are encoded, and the JSON in them was checked.
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}

func (e *Engine) nowMillis() models.Millis { return clock.Millis(e.cfg.Clock) }
