package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Tokens makes the bearer tokens by which waits are resolved from outside.
type Tokens interface {
	WaitToken(ctx context.Context, org models.OrgID, wait models.WaitID) (string, error)
}

// errAwaits tells a tool to come to its end: what it waits for is not there yet. When it is, the tool runs again, and what it has done in
// steps is not done again.
var errAwaits = errors.New("the call waits and continues when the wait is resolved")

// durable is what one attempt of a call does durably. It is used by the tool's goroutines.
type durable struct {
	r       *turnRun
	call    turns.Call
	org     models.OrgID
	session models.SessionID
	turn    models.TurnID
	// cut ends the act that the call belongs to.
	cut context.CancelCauseFunc

	mu sync.Mutex
	// mismatched is true when a step was asked for with another input than the journal has: the call has no result.
	mismatched bool
	// waits are what the tool has keys of.
	waits map[string]models.WaitID
	// completion is the wait for the call's own result, awaits what the tool was told to wait for; zero for none.
	completion, awaits models.WaitID
	// payment is what people are to be asked about, when awaits is the approval of a payment.
	payment *models.PaymentTerms
}

// offer sets what the tool may do durably.
func (d *durable) offer(c *tools.Call) {
	c.Step = d.step
	if d.r.e.cfg.Tokens != nil {
		c.CompletionKey, c.EventKey, c.Await = d.completionKey, d.eventKey, d.await
	}
}

// failed reports whether nothing can be made of what the call says.
func (d *durable) failed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mismatched
}

// pending returns what the call waits for; zero when it doesn't.
func (d *durable) pending(result tools.Result) models.WaitID {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.awaits.IsZero() {
		return d.awaits
	}
	if result.Pending != nil {
		return d.completion
	}
	return models.WaitID{}
}

// unapproved returns the payment that the call waits for, when nobody was asked about it yet.
func (d *durable) unapproved() *models.PaymentTerms {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.payment
}

// approve has the call wait for people who decide about a payment. They are asked in the commit in which it comes to wait.
func (d *durable) approve(p models.PaymentTerms) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.awaits, d.payment = turns.PaymentWaitID(d.turn, &p), &p
	return errAwaits
}

// announced returns the waits that the tool has asked keys for.
func (d *durable) announced() []models.WaitID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.waits))
}

// step runs fn, unless an earlier attempt has done the step: then its result is given. A step that failed runs again.
func (d *durable) step(ctx context.Context, id string, input any, fn func(context.Context) (any, error)) (json.RawMessage, error) {
	key := turns.CallKey(d.call.Record.CallID) + "/step/" + keyPart(id)
	hash, err := inputHash(input)
	if err != nil {
		return nil, err
	}
	row, err := d.r.e.readEffect(ctx, d.org, d.turn, key)
	if err != nil {
		return nil, err
	}
	decision, err := turns.DecideClaim(row, turns.ClaimRequest{InputHash: hash, Epoch: d.call.Effect.Epoch, Repeatable: true})
	if err != nil {
		d.mu.Lock()
		d.mismatched = true
		d.mu.Unlock()
		// Whatever the tool makes of it, the turn can't go on.
		d.cut(err)
		return nil, &tools.EffectError{Code: turns.CodeMismatch, Message: "The step was done with another input.", Err: err}
	}
	if decision == turns.DecideReplay {
		var out turns.StepOutcome
		if err := json.Unmarshal(row.Outcome, &out); err != nil {
			return nil, fmt.Errorf("read the step %s from the effect log: %w", key, err)
		}
		return json.RawMessage(out.Value), nil
	}
	value, failed := fn(ctx)
	out := turns.StepOutcome{Value: models.JSON("null")}
	if failed != nil {
		out = turns.StepOutcome{Error: failed.Error()}
		if coded, ok := errors.AsType[*tools.EffectError](failed); ok {
			out.Code = coded.Code
		}
	} else if out.Value, err = canonicalJSON(value); err != nil {
		return nil, fmt.Errorf("encode the result of step %s: %w", id, err)
	}
	now := d.r.e.nowMillis()
	c := &turns.SaveStep{Writer: d.writer(), Effect: models.Effect{
		ScopeID: models.ExecutionID(d.turn), ReplayKey: key, Kind: models.EffectStep, State: models.EffectSettled, InputHash: hash,
		Request: models.JSON("{}"), Outcome: jsonx.MustEncode(out), Epoch: d.call.Effect.Epoch, Attempt: d.call.Effect.Attempt,
		StartedAt: now.Ptr(), SettledAt: now.Ptr(),
	}}
	if err := d.submit(ctx, c); err != nil {
		return nil, err
	}
	return json.RawMessage(out.Value), failed
}

// keyPart returns what stands in a key of the database for what a tool calls something: that, or its hash where no database would take it.
func keyPart(name string) string {
	const longest, hashed = 256, "sha256:"
	if len(name) <= longest && texts.Storable(name) && !strings.HasPrefix(name, hashed) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hashed + hex.EncodeToString(sum[:])
}

// canonicalJSON encodes a value in a form that doesn't depend on the order of its members.
func canonicalJSON(v any) (models.JSON, error) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		raw = b
	}
	canonical, err := jsonx.Canonical(raw)
	return models.JSON(canonical), err
}

func inputHash(input any) ([]byte, error) {
	canonical, err := canonicalJSON(input)
	if err != nil {
		return nil, fmt.Errorf("encode the input of a step: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return sum[:], nil
}

func (e *Engine) readEffect(ctx context.Context, org models.OrgID, turn models.TurnID, key string) (row *models.Effect, err error) {
	err = e.persist(ctx, turn, "read the journal", func() (err error) {
		row, err = e.rows.effect(ctx, org, turn, key)
		return err
	})
	return row, err
}

// writer is that of a command that the tool makes beside the turn's own.
func (d *durable) writer() turns.Writer {
	return turns.Writer{
		Org: d.org, Session: d.session, Lease: commit.Lease{Execution: models.ExecutionOf(d.turn), Epoch: d.call.Effect.Epoch},
	}
}

func (d *durable) submit(ctx context.Context, c commit.Command) error {
	ctx, cancel := lingering(ctx, commitGrace)
	defer cancel()
	return d.r.e.cfg.Committer.Submit(ctx, c)
}

// completionKey announces the wait for the call's own result and returns its token.
func (d *durable) completionKey(ctx context.Context) (string, error) {
	id, token, err := d.announce(ctx, models.WaitCompletion, "completion/"+d.call.Record.CallID)
	if err == nil {
		d.mu.Lock()
		d.completion = id
		d.mu.Unlock()
	}
	return token, err
}

// eventKey announces a named wait and returns its token.
func (d *durable) eventKey(ctx context.Context, name string) (string, error) {
	_, token, err := d.announce(ctx, models.WaitCustom, "event/"+d.call.Record.CallID+"/"+keyPart(name))
	return token, err
}

// announce makes a wait that may be resolved from now on. Its id follows from what is waited for, so that whoever asks again, after a crash
// too, gets the same.
func (d *durable) announce(ctx context.Context, kind models.WaitKind, identity string) (models.WaitID, string, error) {
	id := turns.WaitID(d.turn, identity)
	token, err := d.r.e.cfg.Tokens.WaitToken(ctx, d.org, id)
	if err != nil {
		return id, "", err
	}
	if err := d.submit(ctx, &turns.AnnounceWait{Writer: d.writer(), Call: d.call, ID: id, Kind: kind, Identity: identity}); err != nil {
		return id, "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits == nil {
		d.waits = map[string]models.WaitID{}
	}
	d.waits[token] = id
	return id, token, nil
}

// await returns what a wait was resolved with. While it isn't, the tool is told to come to its end.
func (d *durable) await(ctx context.Context, key string) (json.RawMessage, error) {
	d.mu.Lock()
	id, known := d.waits[key]
	d.mu.Unlock()
	if !known {
		return nil, &tools.EffectError{Code: tools.CodeEmptyEventKey, Message: "This call has no wait with that key. Request the key first."}
	}
	var w *models.Wait
	err := d.r.e.persist(ctx, d.turn, "read a wait", func() (err error) {
		w, err = d.r.e.rows.wait(ctx, d.org, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, fmt.Errorf("wait %s was announced but does not exist", id)
	}
	r := turns.ReadResolution(*w)
	switch w.State {
	case models.WaitOK:
		return json.RawMessage(r.Value), nil
	case models.WaitError:
		return nil, &tools.EffectError{Code: r.ErrorCode, Message: r.ErrorMessage}
	case models.WaitTimeout:
		return nil, &tools.EffectError{Code: tools.CodeEventTimeout, Message: "What the call waited for did not arrive in time."}
	case models.WaitCancelled:
		return nil, &tools.EffectError{Code: tools.CodeEventCancelled, Message: "The wait was cancelled."}
	case models.WaitOpen:
	}
	d.mu.Lock()
	d.awaits, d.payment = id, nil
	d.mu.Unlock()
	return nil, errAwaits
}
