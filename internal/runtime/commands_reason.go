package runtime

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// call is a tool call of the present step.
type call struct {
	id      string
	ordinal int
	frozen  tools.Frozen
	// refused is the result of a call that ended before it could run.
	refused *tools.Result
	// approval is what people have to decide before it may run; nil when nobody has to.
	approval *turns.Approval
	// ungated is true when hooks have to see the call before it may run.
	ungated bool
	// repaired is true when its arguments were malformed, and could be put right.
	repaired bool
	// reviewed is true when hooks have to see the result.
	reviewed bool
	// timeout is how long a client tool has for its result, in seconds; nil for ever.
	timeout *int
	// started and ended are the lines for people.
	started, ended string
}

// finishReason ends a reason step.
type finishReason struct {
	writer
	output   models.MessageID
	response llm.Response
	calls    []call
	asked    generation
	// uncounted is what the model calls took.
	uncounted *uncounted
	// omittedFrom and omittedThrough are the positions of the first and the last message that the model was not shown; 0 when it was shown all.
	omittedFrom, omittedThrough int64
	// checkpointed is true when the stream has left a checkpoint.
	checkpointed bool

	// cancelled is true when somebody has asked for the turn's end, spent is why a budget lets none of the calls run, waits what they have to wait
	// for; all set by Apply.
	cancelled bool
	spent     *models.Failure
	waits     *budget.Verdict
}

// generation is the call of a model that brought an answer, as it is recorded.
type generation struct {
	model models.Model
	at    models.Millis
	// durationMs is that of the whole call, firstTokenMs until its first piece; nil when there was none.
	durationMs   int64
	firstTokenMs *int64
	// from and through are the positions of the first and the newest message that the model was shown, hash names all that it was
	// shown.
	from, through int64
	hash          string
	// retries counts the calls that failed before it.
	retries int
}

func (c *finishReason) Needs() commit.Needs {
	return c.needs(4096+3*sizeOf(c.response.Parts), true)
}

func (c *finishReason) Apply(tx *commit.Tx) error {
	t := tx.Turn
	c.cancelled = t.Cancel != nil
	if err := c.uncounted.count(tx, true); err != nil {
		return err
	}
	if err := tx.Release(); err != nil {
		return err
	}
	if err := c.reserveCalls(tx); err != nil {
		return err
	}
	usage := c.uncounted.newest
	if t.FirstTokenAt == nil && c.asked.firstTokenMs != nil {
		t.FirstTokenAt = (c.asked.at + models.Millis(*c.asked.firstTokenMs)).Ptr()
	}
	c.recordOmitted(tx)
	content := c.content()
	if thinking := joined(content, models.PartThinking); thinking != "" {
		tx.Emit(&t.ID, events.ThinkingCompleted{MessageID: c.output, Text: thinking})
	}
	c.messageAt = turns.AddMessage(tx, models.Message{
		ID: c.output, TurnID: t.ID, Role: models.MessageAgent, Content: content, CreatedAt: tx.Now,
	}, &usage)
	t.OutputMessageID, t.FinalMessageID = nil, &c.output
	if text := preview(joined(content, models.PartText)); text != "" {
		t.AnswerPreview = &text
	}
	tx.Emit(&t.ID, events.GenerationRecorded{
		MessageID: c.output, Model: c.asked.model.Name, ModelID: c.asked.model.ID, Usage: usage, DurationMs: c.asked.durationMs,
		TimeToFirstTokenMs: c.asked.firstTokenMs, FinishReason: string(c.response.FinishReason),
		PromptFrom: c.asked.from, PromptThrough: c.asked.through, PromptHash: c.asked.hash, Retries: c.asked.retries,
	})
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: t.Iteration, Success: true})
	tx.SaveEffect(models.Effect{
		ScopeID: t.ID, ReplayKey: reasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.lease.Epoch, Attempt: t.ModelCalls,
		StartedAt: c.asked.at.Ptr(), SettledAt: tx.Now.Ptr(),
		Outcome: jsonx.MustEncode(map[string]any{"finishReason": c.response.FinishReason, "usage": usage}),
	})
	if c.checkpointed {
		tx.DropCheckpoint()
	}
	if c.spent != nil {
		return c.follow(tx, Spent{Failure: *c.spent})
	}
	err := c.follow(tx, Reasoned{Calls: len(c.calls), Stop: stopReason(c.response.FinishReason), CutOff: cutOff(c.response.FinishReason)})
	if _, act := c.plan.(Act); act && err == nil {
		return c.startAct(tx)
	}
	return err
}

// recordOmitted says what the model was not shown of the conversation, if that is not what the answer before this one was not shown.
func (c *finishReason) recordOmitted(tx *commit.Tx) {
	if c.omittedThrough == models.Value(tx.Session.CompactedThrough) {
		return
	}
	tx.Session.CompactedThrough = nil
	if c.omittedThrough > 0 {
		tx.Session.CompactedThrough = &c.omittedThrough
	}
	tx.Emit(&tx.Turn.ID, events.ContextCompacted{Strategy: "TRIM", FromSequence: int(max(c.omittedFrom, 1)), ThroughSequence: int(c.omittedThrough)})
}

// content is what the conversation keeps. Calls that will never run are not part of it: they would have no results.
func (c *finishReason) content() []models.Part {
	if c.blocked != nil || c.cancelled || c.spent != nil {
		return withoutCalls(c.response.Parts)
	}
	return c.response.Parts
}

// cutOff reports whether a model was stopped in the middle of what it wanted to say.
func cutOff(f llm.FinishReason) bool { return f == llm.FinishLength || f == llm.FinishRefusal }

// startAct journals every call and starts the first wave: all that may run side by side, and of each class the first.
func (c *finishReason) startAct(tx *commit.Tx) error {
	t := tx.Turn
	t.Phase, t.PendingCalls, t.WaitingCalls = models.PhaseAct, 0, 0
	t.ToolCalls += len(c.calls)
	c.open = nil
	ids := make([]string, len(c.calls))
	for i, call := range c.calls {
		ids[i] = call.id
	}
	c.actedAt = tx.Emit(&t.ID, events.ActStarted{Iteration: t.Iteration, ToolCallIDs: ids})
	c.clients = nil
	wave := firstWave(c.calls)
	for i, call := range c.calls {
		o := turns.Call{
			Effect: models.Effect{
				ScopeID: t.ID, ReplayKey: turns.CallKey(call.id), Kind: models.EffectTool, State: models.EffectClaimed,
				InputHash: call.frozen.InputHash(), Epoch: c.lease.Epoch, Attempt: 1, Ordinal: call.ordinal,
			},
			Record: turns.Record{
				CallID: call.id, Iteration: t.Iteration, Position: c.actedAt, Frozen: call.frozen, Started: call.started, Ended: call.ended,
				Ungated: call.ungated, Reviewed: call.reviewed, TimeoutSeconds: call.timeout,
			},
		}
		if c.waits != nil && !call.ungated {
			// What was decided follows when there is money.
			o.Record.Ungated, o.Record.Decided = true, &turns.Decided{Approval: call.approval}
		}
		o.Effect.Request = jsonx.MustEncode(o.Record)
		if call.repaired {
			tx.Emit(&t.ID, events.ToolCallRepaired{ToolCallID: call.id, ToolName: call.frozen.Name, Outcome: "salvaged"})
		}
		if call.refused != nil {
			o.Start(tx)
			o.End(tx, *call.refused, 0)
			tx.AddEffect(o.Effect)
			continue
		}
		t.PendingCalls++
		switch {
		case o.Record.Ungated:
		case call.approval != nil:
			o.RequestApproval(tx, *call.approval)
		case call.frozen.Hints.Client:
			c.clients = append(c.clients, o)
		case call.frozen.Hints.Wait == tools.WaitQuestion:
			o.AskUser(tx)
		case wave[i] && !c.stopping:
			// A process that goes down begins nothing: another runner starts the calls.
			o.Start(tx)
		}
		tx.AddEffect(o.Effect)
		c.open = append(c.open, o)
	}
	if c.waits != nil {
		c.plan = nil
		err := turns.ParkForBudget(tx, *c.waits, models.WaitID{})
		c.done(tx, t)
		return err
	}
	if c.stopping && t.PendingCalls > 0 {
		c.plan = nil
		c.done(tx, t)
		return nil
	}
	plan := c.plan
	if err := c.goOn(tx); err != nil || t.PendingCalls == 0 {
		return err
	}
	if !c.parked {
		c.plan = plan
	}
	return nil
}

// maxRunning is how many calls of a step run at once.
const maxRunning = 16

// firstWave returns which calls start at once: those without a class, and the first of each class, as far as there is room.
func firstWave(calls []call) []bool {
	wave := make([]bool, len(calls))
	seen := map[string]bool{}
	running := 0
	for i, c := range calls {
		class := c.frozen.Hints.ConcurrencyClass
		if !c.runsHere() || running == maxRunning || (class != "" && seen[class]) {
			continue
		}
		seen[class] = true
		wave[i] = true
		running++
	}
	return wave
}

// runsHere reports whether nothing stands between a call and its run on this server.
func (c *call) runsHere() bool {
	return c.refused == nil && c.approval == nil && !c.ungated && !c.frozen.Hints.Client && c.frozen.Hints.Wait == ""
}

func stopReason(f llm.FinishReason) models.StopReason {
	switch f {
	case llm.FinishLength:
		return models.StopMaxTokens
	case llm.FinishRefusal:
		return models.StopRefusal
	case llm.FinishStop, llm.FinishToolCalls:
	}
	return models.StopEndTurn
}

func joined(parts []models.Part, kind models.PartType) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Type == kind {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func preview(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	n := 0
	for i := range s {
		if n == previewRunes {
			return s[:i] + "…"
		}
		n++
	}
	return s
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

func modelInputHash(cfg stepConfig, through int64) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", cfg.model.ID, cfg.configHash, through))
	return sum[:]
}

// rewritten is a message of the user as hooks have rewritten it.
type rewritten struct {
	id    models.MessageID
	parts []models.Part
}

// submitPrompts journals that hooks have seen the messages of a step.
type submitPrompts struct {
	writer
	key       string
	runs      []hooks.Ran
	rewritten []rewritten
}

func (c *submitPrompts) Needs() commit.Needs {
	n := 1024
	for _, m := range c.rewritten {
		n += 3 * sizeOf(m.parts)
	}
	return c.needs(n, false)
}

func (c *submitPrompts) Apply(tx *commit.Tx) error {
	t := tx.Turn
	ranEvents(tx, &t.ID, "", c.runs)
	for _, m := range c.rewritten {
		tx.RewriteMessage(m.id, m.parts)
		tx.Emit(&t.ID, events.MessageEdited{Message: events.Message{ID: m.id, Role: models.MessageUser, Content: m.parts, CreatedAt: tx.Now}})
	}
	tx.PutEffect(models.Effect{
		ScopeID: t.ID, ReplayKey: c.key, Kind: models.EffectHook, State: models.EffectSettled, InputHash: []byte{},
		Request: models.JSON("{}"), Epoch: c.lease.Epoch, Attempt: 1, StartedAt: tx.Now.Ptr(), SettledAt: tx.Now.Ptr(),
	})
	c.plan = Reason{Iteration: t.Iteration}
	c.done(tx, t)
	return nil
}

// sizeOf is about how much parts take in the database.
func sizeOf(parts []models.Part) (n int) {
	for i := range parts {
		p := &parts[i]
		n += 64 + len(p.Text) + len(p.Arguments) + len(p.Result) + len(p.Error) + len(p.Metadata)
	}
	return n
}
