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
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// maxCalls is how many tool calls of one response run; the rest is answered with an error that says so.
const maxCalls = 64

// reason asks the model and commits what it answered. began is the command that started the step.
func (r *turnRun) reason(ctx context.Context, began *writer) (*writer, error) {
	output, asked := *r.turn.OutputMessageID, r.step.effective
	if err := r.readConversation(ctx, began.consumed); err != nil {
		return nil, err
	}
	if err := r.repairTranscript(ctx); err != nil {
		return nil, err
	}
	if err := r.submitPrompts(ctx); err != nil {
		return nil, err
	}
	a := r.newAsking(output)
	resp, failure, err := a.run(ctx)
	if err != nil {
		r.keep(resp)
		return nil, err
	}
	if failure != nil {
		return r.failed(ctx, a, failure, resp.Parts)
	}
	model := &a.model.Model
	limit := contextBytes(asked, model)
	from, shown := r.conversation.extent(limit)
	c := &finishReason{
		output: output, uncounted: r.uncounted, asked: generation{
			model: *model, at: *r.uncounted.askedAt, durationMs: a.stream.elapsed(), firstTokenMs: a.stream.firstTokenMs,
			from: from, through: r.conversation.through(), hash: promptHash(asked, model, from, r.conversation.through(), shown), retries: a.failed,
		},
		checkpointed: a.checkpointed,
	}
	c.omittedFrom, c.omittedThrough = r.conversation.omitted(limit)
	c.response = sanitize(resp, originOf(a.model))
	c.calls, err = r.prepare(ctx, output, c.response.Parts)
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
	c.writer = r.writer()
	c.blocked = blocked
	c.grow(partBytes(c.response.Parts))
	w, err := r.submit(ctx, c, &c.writer)
	if err != nil {
		return nil, err
	}
	r.uncounted, r.recovered = nil, false
	r.conversation.add(c.messageAt, 0, models.MessageAgent, c.content())
	for _, call := range c.calls {
		if call.refused != nil && c.actedAt > 0 {
			o := turns.Call{Record: turns.Record{CallID: call.id, Frozen: call.frozen}}
			r.conversation.add(c.actedAt, call.ordinal, models.MessageTool, o.Parts(*call.refused))
		}
	}
	return w, nil
}

// keep remembers what the model has said in a step that is cut short, should the turn end with it.
func (r *turnRun) keep(resp llm.Response) {
	r.partial = sanitize(llm.Response{Parts: withoutCalls(resp.Parts)}, "").Parts
}

// failed ends the turn for a failed model call.
func (r *turnRun) failed(ctx context.Context, a *asking, why error, partial []models.Part) (*writer, error) {
	r.e.cfg.Logger.Warn("a model call failed", "org", r.turn.OrgID, "turn", r.turn.ID, "provider", a.model.Provider.ID,
		"model", a.model.Model.Name, "calls", a.made, "error", why)
	kept := sanitize(llm.Response{Parts: withoutCalls(partial)}, "").Parts
	var outcome Outcome = Failed{Stop: models.StopError, Failure: a.failure(why)}
	if spent, ok := errors.AsType[*spentError](why); ok {
		outcome = Spent{Failure: spent.failure}
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
		if p.Type == models.PartToolCall && cutOff(resp.FinishReason) {
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
func (r *turnRun) prepare(ctx context.Context, output models.MessageID, parts []models.Part) ([]call, error) {
	var calls []call
	ungated := r.hasHooks(tools.HookPreToolUse)
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
			refusal := tools.Fail(fmt.Sprintf("too_many_calls: At most %d calls of one response are run. Call this tool again.", maxCalls))
			c.frozen, c.refused = tools.Frozen{Name: texts.Cut(texts.Clean(p.ToolName), 64)}, &refusal
		}
		p.Arguments = shownArguments(p.Arguments, c.frozen)
		if len(c.frozen.Arguments) == 0 {
			c.frozen.Arguments = json.RawMessage(p.Arguments)
		}
		if c.frozen.DisplayName == "" {
			c.frozen.DisplayName = c.frozen.Name
		}
		p.ToolName = c.frozen.Name
		c.repaired, c.timeout = c.frozen.Repaired, r.clientTimeout(c.frozen)
		if c.refused == nil && !ungated {
			var err error
			if c.refused, c.approval, err = r.rule(ctx, c.id, &c.frozen); err != nil {
				return nil, err
			}
		}
		if c.refused == nil {
			c.started, c.ended = r.narrate(c.frozen)
		}
		c.ungated, c.reviewed = ungated && c.refused == nil, r.hasHooks(tools.HookPostToolUse)
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

// promptHash names what the model was shown without repeating it: the configuration and the conversation's messages, which are never
// changed. Whoever asks for the same has the same hash, whatever else it remembers of the session.
func promptHash(eff *catalog.Effective, m *models.Model, from, through int64, shown int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%x/%d/%d/%d", m.ID, eff.Hash, from, through, shown))
	return hex.EncodeToString(sum[:16])
}

func (e *Engine) nowMillis() models.Millis { return clock.Millis(e.cfg.Clock) }
