package sessions

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// maxResults bounds how many results are brought at once: as many as one act has calls.
	maxResults = 64
	// maxCallID bounds the id of a call, in characters; it is more than any has.
	maxCallID = 1000
	// clientFailed is the code of failures that clients report.
	clientFailed = "client_error"
)

// ToolResult is what a client's call brought: exactly one field of Result and Error is set.
type ToolResult struct {
	ToolCallID string
	Result     models.JSON
	// Error is a failure in words for the model.
	Error *string
}

// SubmitToolResults brings results of client tools. All are taken, or none when one is refused; calls that have none yet go on
// waiting. Repeating a result changes nothing. A different one for the same call is a CONFLICT, and so is one for a call that
// nobody waits for any more. It returns the turn as it stands then.
func (s *Service) SubmitToolResults(ctx context.Context, by *auth.Principal, turn models.TurnID, results []ToolResult) (*models.Turn, error) {
	c := &submitResults{org: by.OrgID}
	if err := c.read(by, results); err != nil {
		return nil, err
	}
	t, err := s.Turn(ctx, by.OrgID, turn)
	if err != nil {
		return nil, fault.At(err, "input", "turnId")
	}
	if err := s.findCalls(ctx, t, c); err != nil {
		return nil, err
	}
	c.session = t.SessionID
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, err
	}
	return s.Turn(ctx, by.OrgID, turn)
}

// findCalls finds out what waits for each result.
func (s *Service) findCalls(ctx context.Context, t *models.Turn, c *submitResults) error {
	identities := make([]string, len(c.results))
	for i, r := range c.results {
		identities[i] = turns.CallKey(r.call)
	}
	var rows []models.Wait
	err := s.of(ctx, t.OrgID).Select("id", "identity").
		Where("turn_id = ? AND identity IN ? AND kind = ?", t.ID, identities, models.WaitClientTool).Find(&rows).Error
	if err != nil {
		return fmt.Errorf("look for the calls of %s: %w", t.ID, err)
	}
	waits := make(map[string]models.WaitID, len(rows))
	for _, row := range rows {
		waits[row.Identity] = row.ID
	}
	for i := range c.results {
		id, ok := waits[identities[i]]
		if !ok {
			return fault.New(fault.Invalid, "The turn has no client tool call %q.", clip(c.results[i].call)).
				At("input", "results", strconv.Itoa(i), "toolCallId")
		}
		c.results[i].wait = id
	}
	return nil
}

// submitResults resolves waits for client tools, all or none.
type submitResults struct {
	org     models.OrgID
	session models.SessionID
	results []callResult
	bytes   int
}

// callResult is the result of one call as it is stored.
type callResult struct {
	call       string
	wait       models.WaitID
	state      models.WaitState
	resolution models.WaitResolution
}

// read checks what can be checked without knowing the turn.
func (c *submitResults) read(by *auth.Principal, results []ToolResult) error {
	if n := len(results); n == 0 || n > maxResults {
		return fault.New(fault.Invalid, "Submit 1 to %d results at once, not %d.", maxResults, n).At("input", "results")
	}
	kind, ref := by.ActorRef()
	seen := make(map[string]bool, len(results))
	for i, r := range results {
		at := []string{"input", "results", strconv.Itoa(i)}
		// The database would not even look for such ids.
		if err := text.Check(r.ToolCallID, maxCallID, append(at, "toolCallId")...); err != nil {
			return err
		}
		if seen[r.ToolCallID] {
			return fault.New(fault.Invalid, "The call %q is listed twice.", clip(r.ToolCallID)).At(append(at, "toolCallId")...)
		}
		seen[r.ToolCallID] = true
		if (len(r.Result) == 0) == (r.Error == nil) {
			return fault.New(fault.Invalid, "Set exactly one of result and error.").At(at...)
		}
		out := callResult{call: r.ToolCallID, state: models.WaitOK, resolution: models.WaitResolution{ByKind: kind, ByID: ref}}
		if r.Error == nil {
			value, err := resultValue(r.Result, append(at, "result")...)
			if err != nil {
				return err
			}
			out.resolution.Value = value
			c.bytes += len(value)
		} else {
			if *r.Error == "" {
				return fault.New(fault.Invalid, "The error must not be empty: the model reads it.").At(append(at, "error")...)
			}
			if len(*r.Error) > MaxResultBytes {
				return tooLarge(len(*r.Error), append(at, "error")...)
			}
			if err := text.Check(*r.Error, MaxResultBytes, append(at, "error")...); err != nil {
				return err
			}
			out.state, out.resolution.ErrorCode, out.resolution.ErrorMessage = models.WaitError, clientFailed, *r.Error
			c.bytes += len(*r.Error)
		}
		c.results = append(c.results, out)
	}
	return nil
}

func (c *submitResults) Needs() commit.Needs {
	ids := make([]models.WaitID, len(c.results))
	for i, r := range c.results {
		ids[i] = r.wait
	}
	// The result is stored with the wait, the call, the event and the message.
	return turns.Needs(commit.Needs{Org: c.org, Session: c.session, Bytes: 4*c.bytes + 4096}, ids...)
}

func (c *submitResults) Apply(tx *commit.Tx) error {
	for i, r := range c.results {
		at := []string{"input", "results", strconv.Itoa(i)}
		w, ok := tx.Wait(r.wait)
		switch {
		case !ok:
			return fault.New(fault.Invalid, "The turn has no client tool call %q.", clip(r.call)).At(append(at, "toolCallId")...)
		case w.State == models.WaitOpen:
			if err := turns.Resolve(tx, w, r.state, r.resolution); err != nil {
				return err
			}
		case !sameOutcome(w, r.state, r.resolution):
			return over(w, "result").At(at...)
		}
	}
	return nil
}

// sameOutcome reports whether a wait was resolved with the same before, by whomever.
func sameOutcome(w models.Wait, state models.WaitState, r models.WaitResolution) bool {
	stored := turns.ReadResolution(w)
	return w.State == state && stored.ErrorCode == r.ErrorCode && stored.ErrorMessage == r.ErrorMessage && jsonx.Same(stored.Value, r.Value)
}
