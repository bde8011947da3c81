package turns

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
)

// NewCall is a tool call of the present step.
type NewCall struct {
	ID      string
	Ordinal int
	Frozen  tools.Frozen
	// Refused is the result of a call that ended before it could run.
	Refused *tools.Result
	// Approval is what people have to decide before it may run; nil when nobody has to.
	Approval *Approval
	// Ungated is true when hooks have to see the call before it may run.
	Ungated bool
	// Repaired is true when its arguments were malformed, and could be put right.
	Repaired bool
	// Reviewed is true when hooks have to see the result.
	Reviewed bool
	// Timeout is how long a client tool has for its result, in seconds; nil for ever.
	Timeout *int
	// Started and Ended are the lines for people.
	Started, Ended string
}

// FinishReason ends a reason step.
type FinishReason struct {
	Writer
	Output   models.MessageID
	Response llm.Response
	Calls    []NewCall
	Asked    Generation
	// Uncounted is what the model calls took.
	Uncounted *Uncounted
	// OmittedFrom and OmittedThrough are the positions of the first and the last message that the model was not shown; 0 when it was shown all.
	OmittedFrom, OmittedThrough int64
	// Checkpointed is true when the stream has left a checkpoint.
	Checkpointed bool

	// cancelled is true when somebody has asked for the turn's end, spent is why a budget lets none of the calls run, waits what they have to wait
	// for; all set by Apply.
	cancelled bool
	spent     *models.Failure
	waits     *budget.Verdict
}

// Generation is the call of a model that brought an answer, as it is recorded.
type Generation struct {
	Model models.Model
	At    models.Millis
	// DurationMs is that of the whole call, FirstTokenMs until its first piece; nil when there was none.
	DurationMs   int64
	FirstTokenMs *int64
	// From and Through are the positions of the first and the newest message that the model was shown, Hash names all that it was
	// shown.
	From, Through int64
	Hash          string
	// Retries counts the calls that failed before it.
	Retries int
}

// Needs implements commit.Command.
func (c *FinishReason) Needs() commit.Needs {
	return c.needs(4096+3*sizeOf(c.Response.Parts), true)
}

// Apply implements commit.Command.
func (c *FinishReason) Apply(tx *commit.Tx) error {
	t := tx.Turn
	c.cancelled = t.Cancel != nil
	if err := c.Uncounted.count(tx, true); err != nil {
		return err
	}
	if err := tx.Release(); err != nil {
		return err
	}
	if err := c.reserveCalls(tx); err != nil {
		return err
	}
	usage := c.Uncounted.Newest
	if t.FirstTokenAt == nil && c.Asked.FirstTokenMs != nil {
		t.FirstTokenAt = (c.Asked.At + models.Millis(*c.Asked.FirstTokenMs)).Ptr()
	}
	c.recordOmitted(tx)
	content := c.Content()
	if thinking := Joined(content, models.PartThinking); thinking != "" {
		tx.Emit(&t.ID, events.ThinkingCompleted{MessageID: c.Output, Text: thinking})
	}
	c.MessageAt = AddMessage(tx, models.Message{
		ID: c.Output, TurnID: t.ID, Role: models.MessageAgent, Content: content, CreatedAt: tx.Now,
	}, &usage)
	t.OutputMessageID, t.FinalMessageID = nil, &c.Output
	if text := preview(Joined(content, models.PartText)); text != "" {
		t.AnswerPreview = &text
	}
	tx.Emit(&t.ID, events.GenerationRecorded{
		MessageID: c.Output, Model: c.Asked.Model.Name, ModelID: c.Asked.Model.ID, Usage: usage, DurationMs: c.Asked.DurationMs,
		TimeToFirstTokenMs: c.Asked.FirstTokenMs, FinishReason: string(c.Response.FinishReason),
		PromptFrom: c.Asked.From, PromptThrough: c.Asked.Through, PromptHash: c.Asked.Hash, Retries: c.Asked.Retries,
	})
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: t.Iteration, Success: true})
	tx.SaveEffect(models.Effect{
		ScopeID: models.ExecutionID(t.ID), ReplayKey: ReasonKey(t.Iteration), State: models.EffectSettled, Epoch: c.Lease.Epoch, Attempt: t.ModelCalls,
		StartedAt: c.Asked.At.Ptr(), SettledAt: tx.Now.Ptr(),
		Outcome: jsonx.MustEncode(map[string]any{"finishReason": c.Response.FinishReason, "usage": usage}),
	})
	if c.Checkpointed {
		tx.DropCheckpoint()
	}
	if c.spent != nil {
		return c.follow(tx, Spent{Failure: *c.spent})
	}
	err := c.follow(tx, Reasoned{Calls: len(c.Calls), Stop: stopReason(c.Response.FinishReason), CutOff: CutOff(c.Response.FinishReason)})
	if _, act := c.Plan.(Act); act && err == nil {
		return c.startAct(tx)
	}
	return err
}

// recordOmitted says what the model was not shown of the conversation, if that is not what the answer before this one was not shown.
func (c *FinishReason) recordOmitted(tx *commit.Tx) {
	if c.OmittedThrough == models.Value(tx.Session.CompactedThrough) {
		return
	}
	tx.Session.CompactedThrough = nil
	if c.OmittedThrough > 0 {
		tx.Session.CompactedThrough = &c.OmittedThrough
	}
	tx.Emit(&tx.Turn.ID, events.ContextCompacted{Strategy: "TRIM", FromSequence: int(max(c.OmittedFrom, 1)), ThroughSequence: int(c.OmittedThrough)})
}

// Content is what the conversation keeps. Calls that will never run are not part of it: they would have no results.
func (c *FinishReason) Content() []models.Part {
	if c.Blocked != nil || c.cancelled || c.spent != nil {
		return WithoutCalls(c.Response.Parts)
	}
	return c.Response.Parts
}

// CutOff reports whether a model was stopped in the middle of what it wanted to say.
func CutOff(f llm.FinishReason) bool { return f == llm.FinishLength || f == llm.FinishRefusal }

// startAct journals every call and starts the first wave: all that may run side by side, and of each class the first.
func (c *FinishReason) startAct(tx *commit.Tx) error {
	t := tx.Turn
	t.Phase, t.PendingCalls, t.WaitingCalls = models.PhaseAct, 0, 0
	t.ToolCalls += len(c.Calls)
	c.Open = nil
	ids := make([]string, len(c.Calls))
	for i, call := range c.Calls {
		ids[i] = call.ID
	}
	c.ActedAt = tx.Emit(&t.ID, events.ActStarted{Iteration: t.Iteration, ToolCallIDs: ids})
	c.Clients = nil
	wave := FirstWave(c.Calls)
	for i, call := range c.Calls {
		o := Call{
			Effect: models.Effect{
				ScopeID: models.ExecutionID(t.ID), ReplayKey: CallKey(call.ID), Kind: models.EffectTool, State: models.EffectClaimed,
				InputHash: call.Frozen.InputHash(), Epoch: c.Lease.Epoch, Attempt: 1, Ordinal: call.Ordinal,
			},
			Record: Record{
				CallID: call.ID, Iteration: t.Iteration, Position: c.ActedAt, Frozen: call.Frozen, Started: call.Started, Ended: call.Ended,
				Ungated: call.Ungated, Reviewed: call.Reviewed, TimeoutSeconds: call.Timeout,
			},
		}
		if c.waits != nil && !call.Ungated {
			// What was decided follows when there is money.
			o.Record.Ungated, o.Record.Decided = true, &Decided{Approval: call.Approval}
		}
		o.Effect.Request = jsonx.MustEncode(o.Record)
		if call.Repaired {
			tx.Emit(&t.ID, events.ToolCallRepaired{ToolCallID: call.ID, ToolName: call.Frozen.Name, Outcome: "salvaged"})
		}
		if call.Refused != nil {
			o.Start(tx)
			o.End(tx, *call.Refused, 0)
			tx.AddEffect(o.Effect)
			continue
		}
		t.PendingCalls++
		switch {
		case o.Record.Ungated:
		case call.Approval != nil:
			o.RequestApproval(tx, *call.Approval)
		case call.Frozen.Hints.Client:
			c.Clients = append(c.Clients, o)
		case call.Frozen.Hints.Wait == tools.WaitQuestion:
			o.AskUser(tx)
		case wave[i] && !c.Stopping:
			// A process that goes down begins nothing: another runner starts the calls.
			o.Start(tx)
		}
		tx.AddEffect(o.Effect)
		c.Open = append(c.Open, o)
	}
	if c.waits != nil {
		c.Plan = nil
		err := parkForBudget(tx, *c.waits, models.WaitID{})
		c.done(tx, t)
		return err
	}
	if c.Stopping && t.PendingCalls > 0 {
		c.Plan = nil
		c.done(tx, t)
		return nil
	}
	plan := c.Plan
	if err := c.goOn(tx); err != nil || t.PendingCalls == 0 {
		return err
	}
	if !c.Parked {
		c.Plan = plan
	}
	return nil
}

// MaxRunning is how many calls of a step run at once.
const MaxRunning = 16

// FirstWave returns which calls start at once: those without a class, and the first of each class, as far as there is room.
func FirstWave(calls []NewCall) []bool {
	wave := make([]bool, len(calls))
	seen := map[string]bool{}
	running := 0
	for i, c := range calls {
		class := c.Frozen.Hints.ConcurrencyClass
		if !c.runsHere() || running == MaxRunning || (class != "" && seen[class]) {
			continue
		}
		seen[class] = true
		wave[i] = true
		running++
	}
	return wave
}

// runsHere reports whether nothing stands between a call and its run on this server.
func (c *NewCall) runsHere() bool {
	return c.Refused == nil && c.Approval == nil && !c.Ungated && !c.Frozen.Hints.Client && c.Frozen.Hints.Wait == ""
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

// Joined returns the text of all parts of a kind.
func Joined(parts []models.Part, kind models.PartType) string {
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

// WithoutCalls leaves out calls that never ran: a conversation must not hold calls without results.
func WithoutCalls(parts []models.Part) []models.Part {
	kept := []models.Part{}
	for _, p := range parts {
		if p.Type != models.PartToolCall {
			kept = append(kept, p)
		}
	}
	return kept
}

func modelInputHash(cfg StepConfig, through int64) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", cfg.Model.ID, cfg.ConfigHash, through))
	return sum[:]
}

// Rewritten is a message of the user as hooks have rewritten it.
type Rewritten struct {
	ID    models.MessageID
	Parts []models.Part
}

// SubmitPrompts journals that hooks have seen the messages of a step.
type SubmitPrompts struct {
	Writer
	Key       string
	Runs      []hooks.Ran
	Rewritten []Rewritten
}

// Needs implements commit.Command.
func (c *SubmitPrompts) Needs() commit.Needs {
	n := 1024
	for _, m := range c.Rewritten {
		n += 3 * sizeOf(m.Parts)
	}
	return c.needs(n, false)
}

// Apply implements commit.Command.
func (c *SubmitPrompts) Apply(tx *commit.Tx) error {
	t := tx.Turn
	ranEvents(tx, &t.ID, "", c.Runs)
	for _, m := range c.Rewritten {
		tx.RewriteMessage(m.ID, m.Parts)
		tx.Emit(&t.ID, events.MessageEdited{Message: events.Message{ID: m.ID, Role: models.MessageUser, Content: m.Parts, CreatedAt: tx.Now}})
	}
	tx.PutEffect(models.Effect{
		ScopeID: models.ExecutionID(t.ID), ReplayKey: c.Key, Kind: models.EffectHook, State: models.EffectSettled, InputHash: []byte{},
		Request: models.JSON("{}"), Epoch: c.Lease.Epoch, Attempt: 1, StartedAt: tx.Now.Ptr(), SettledAt: tx.Now.Ptr(),
	})
	c.Plan = Reason{Iteration: t.Iteration}
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
