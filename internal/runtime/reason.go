package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// maxCalls is how many tool calls of one response run; the rest is answered with an error that says so.
const maxCalls = 64

// reason asks the model and commits what it answered. began is the command that started the step.
func (r *turnRun) reason(ctx context.Context, began *turns.Writer) (*turns.Writer, error) {
	output, asked := *r.turn.OutputMessageID, r.step.effective
	if err := r.readConversation(ctx, began.Consumed); err != nil {
		return nil, err
	}
	if err := r.repairTranscript(ctx); err != nil {
		return nil, err
	}
	if err := r.submitPrompts(ctx); err != nil {
		return nil, err
	}
	r.uncounted = &turns.Uncounted{}
	a := r.e.models.Begin(r, asked, r.uncounted, r.recovered)
	resp, failure, err := a.Run(ctx)
	if err != nil {
		r.keep(resp)
		if errors.Is(err, ask.ErrEnding) {
			err = r.giveBack(ctx)
		}
		return nil, err
	}
	if failure != nil {
		return r.failed(ctx, a, failure, resp.Parts)
	}
	model := &a.Model().Model
	limit := contextBytes(asked, model)
	c := &turns.FinishReason{Output: output, Uncounted: r.uncounted, Asked: a.Generation(), Checkpointed: a.Checkpointed()}
	c.Asked.From, c.Asked.Through, c.Asked.Hash = r.conversation.prompt(asked, model)
	c.OmittedFrom, c.OmittedThrough = r.conversation.omitted(limit)
	c.Response = sanitize(resp, originOf(a.Model()))
	c.Calls, err = r.prepare(ctx, output, c.Response.Parts)
	if err != nil {
		r.keep(resp)
		return nil, err
	}
	// What the session, the agent and the harness say may have changed since the model was asked; the commit may begin the
	// next step.
	blocked, err := r.refresh(ctx)
	if err != nil {
		r.keep(resp)
		return nil, err
	}
	c.Writer = r.writer()
	c.Blocked = blocked
	c.Grow(partBytes(c.Response.Parts))
	w, err := r.submit(ctx, c, &c.Writer)
	if err != nil {
		return nil, err
	}
	r.uncounted, r.recovered = nil, false
	r.conversation.add(c.MessageAt, 0, models.MessageAgent, c.Content())
	for _, call := range c.Calls {
		if call.Refused != nil && c.ActedAt > 0 {
			o := turns.Call{Record: turns.Record{CallID: call.ID, Frozen: call.Frozen}}
			r.conversation.add(c.ActedAt, call.Ordinal, models.MessageTool, o.Parts(*call.Refused))
		}
	}
	return w, nil
}

// keep remembers what the model has said in a step that is cut short, should the turn end with it.
func (r *turnRun) keep(resp llm.Response) {
	r.partial = sanitize(llm.Response{Parts: turns.WithoutCalls(resp.Parts)}, "").Parts
}

// failed ends the turn for a failed model call.
func (r *turnRun) failed(ctx context.Context, a *ask.Step, why error, partial []models.Part) (*turns.Writer, error) {
	r.e.cfg.Logger.Warn("a model call failed", "org", r.turn.OrgID, "turn", r.turn.ID, "provider", a.Model().Provider.ID,
		"model", a.Model().Model.Name, "calls", a.Made(), "error", why)
	kept := sanitize(llm.Response{Parts: turns.WithoutCalls(partial)}, "").Parts
	var outcome turns.Outcome = turns.Failed{Stop: models.StopError, Failure: a.Failure(why)}
	if spent, ok := errors.AsType[*ask.SpentError](why); ok {
		outcome = turns.Spent{Failure: spent.Failure}
	}
	if err := r.fail(ctx, outcome, kept); err != nil {
		return nil, err
	}
	return nil, errEnded
}

// sanitize makes a response storable: text without NUL and in valid UTF-8, and no calls that were cut off. What calls say is
// put right by prepare. Metadata is marked with its origin; without one it is dropped, for what broke off is of no use to
// anybody.
func sanitize(resp llm.Response, origin string) llm.Response {
	parts := make([]models.Part, 0, len(resp.Parts))
	for _, p := range resp.Parts {
		if p.Type == models.PartToolCall && turns.CutOff(resp.FinishReason) {
			continue
		}
		p.Text = texts.Clean(p.Text)
		p.Origin = ""
		switch {
		case len(p.Metadata) == 0:
		case origin == "" || !json.Valid(p.Metadata) || !utf8.Valid(p.Metadata):
			p.Metadata = nil
		default:
			p.Origin = origin
		}
		parts = append(parts, p)
	}
	resp.Parts = parts
	return resp
}

// prepare assigns each call of a response an id that is unique in the session, and takes it as far as it can be frozen. The parts
// get the ids, and arguments that are JSON.
func (r *turnRun) prepare(ctx context.Context, output models.MessageID, parts []models.Part) ([]turns.NewCall, error) {
	var calls []turns.NewCall
	ungated := r.hasHooks(tools.HookPreToolUse)
	for i := range parts {
		p := &parts[i]
		if p.Type != models.PartToolCall {
			continue
		}
		n := len(calls)
		p.ToolCallID = fmt.Sprintf("call_%s_%d", hex.EncodeToString(output[8:]), n)
		c := turns.NewCall{ID: p.ToolCallID, Ordinal: n}
		if n < maxCalls {
			c.Frozen, c.Refused = tools.Prepare(ctx, r.step.effective.Toolset, r.toolCall(p.ToolCallID, p.ToolName, nil), p.ToolName,
				json.RawMessage(p.Arguments))
		} else {
			refusal := tools.Fail(fmt.Sprintf("too_many_calls: At most %d calls of one response are run. Call this tool again.", maxCalls))
			c.Frozen, c.Refused = tools.Frozen{Name: texts.Cut(texts.Clean(p.ToolName), 64)}, &refusal
		}
		p.Arguments = shownArguments(p.Arguments, c.Frozen)
		if len(c.Frozen.Arguments) == 0 {
			c.Frozen.Arguments = json.RawMessage(p.Arguments)
		}
		if c.Frozen.DisplayName == "" {
			c.Frozen.DisplayName = c.Frozen.Name
		}
		p.ToolName = c.Frozen.Name
		c.Repaired, c.Timeout = c.Frozen.Repaired, r.clientTimeout(c.Frozen)
		if c.Refused == nil && !ungated {
			var err error
			if c.Refused, c.Approval, err = r.rule(ctx, c.ID, &c.Frozen); err != nil {
				return nil, err
			}
		}
		if c.Refused == nil {
			c.Started, c.Ended = r.narrate(c.Frozen)
		}
		c.Ungated, c.Reviewed = ungated && c.Refused == nil, r.hasHooks(tools.HookPostToolUse)
		calls = append(calls, c)
	}
	return calls, nil
}

// narrate returns the lines for people about a call's start and its end.
func (r *turnRun) narrate(f tools.Frozen) (started, ended string) {
	return r.e.cfg.Registry.Narration(f, false, r.session.locale), r.e.cfg.Registry.Narration(f, true, r.session.locale)
}

// clientTimeout returns how long a client tool has for its result, in seconds; nil for ever, and for other tools.
func (r *turnRun) clientTimeout(f tools.Frozen) *int {
	if !f.Hints.Client {
		return nil
	}
	for _, t := range r.step.effective.Toolset.ClientTools() {
		if t.Name == f.Name {
			return t.TimeoutSeconds
		}
	}
	return nil
}

// shownArguments returns the arguments of a call as the conversation keeps them: as the model wrote them, where that is an object
// that databases and providers can take; else what the call was frozen with.
func shownArguments(written models.JSON, frozen tools.Frozen) models.JSON {
	canonical, err := jsonx.Canonical(written)
	if err == nil && len(written) <= tools.MaxArgumentsBytes && bytes.HasPrefix(canonical, []byte("{")) {
		return written
	}
	if len(frozen.Arguments) > 0 {
		return models.JSON(frozen.Arguments)
	}
	return models.JSON("{}")
}

// prompt returns the positions of the first and the last message that a model is shown, and a hash that names what it is shown without
// repeating it: the configuration and the conversation's messages, which are never changed. Whoever asks for the same has the same hash,
// whatever else it remembers of the session.
func (c *conversation) prompt(eff *catalog.Effective, m *models.Model) (from, through int64, hash string) {
	from, shown := c.extent(contextBytes(eff, m))
	through = c.through()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%x/%d/%d/%d", m.ID, eff.Hash, from, through, shown))
	return from, through, hex.EncodeToString(sum[:16])
}

func (e *Engine) nowMillis() models.Millis { return clock.Millis(e.cfg.Clock) }
