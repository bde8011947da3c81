package sessions

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
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
	stored, err := readResults(by, results)
	if err != nil {
		return nil, err
	}
	t, err := s.Turn(ctx, by.OrgID, turn)
	if err != nil {
		return nil, fault.At(err, "input", "turnId")
	}
	if err := s.findCalls(ctx, t, stored); err != nil {
		return nil, err
	}
	if err := s.cfg.Committer.Submit(ctx, &turns.SubmitResults{Org: by.OrgID, Session: t.SessionID, Results: stored}); err != nil {
		return nil, err
	}
	return s.Turn(ctx, by.OrgID, turn)
}

// findCalls finds out what waits for each result.
func (s *Service) findCalls(ctx context.Context, t *models.Turn, results []turns.ClientResult) error {
	identities := make([]string, len(results))
	for i, r := range results {
		identities[i] = turns.CallKey(r.Call)
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
	for i := range results {
		id, ok := waits[identities[i]]
		if !ok {
			return fault.New(fault.Invalid, "The turn has no client tool call %q.", clip(results[i].Call)).
				At("input", "results", strconv.Itoa(i), "toolCallId")
		}
		results[i].Wait = id
	}
	return nil
}

// readResults checks what can be checked without knowing the turn.
func readResults(by *auth.Principal, results []ToolResult) ([]turns.ClientResult, error) {
	if n := len(results); n == 0 || n > maxResults {
		return nil, fault.New(fault.Invalid, "Submit 1 to %d results at once, not %d.", maxResults, n).At("input", "results")
	}
	kind, ref := by.ActorRef()
	stored := make([]turns.ClientResult, 0, len(results))
	seen := make(map[string]bool, len(results))
	for i, r := range results {
		at := []string{"input", "results", strconv.Itoa(i)}
		// The database would not even look for such ids.
		if err := text.Check(r.ToolCallID, maxCallID, append(at, "toolCallId")...); err != nil {
			return nil, err
		}
		if seen[r.ToolCallID] {
			return nil, fault.New(fault.Invalid, "The call %q is listed twice.", clip(r.ToolCallID)).At(append(at, "toolCallId")...)
		}
		seen[r.ToolCallID] = true
		if (len(r.Result) == 0) == (r.Error == nil) {
			return nil, fault.New(fault.Invalid, "Set exactly one of result and error.").At(at...)
		}
		out := turns.ClientResult{Call: r.ToolCallID, State: models.WaitOK, Resolution: models.WaitResolution{ByKind: kind, ByID: ref}}
		if r.Error == nil {
			value, err := resultValue(r.Result, append(at, "result")...)
			if err != nil {
				return nil, err
			}
			out.Resolution.Value = value
		} else {
			if *r.Error == "" {
				return nil, fault.New(fault.Invalid, "The error must not be empty: the model reads it.").At(append(at, "error")...)
			}
			if len(*r.Error) > MaxResultBytes {
				return nil, tooLarge(len(*r.Error), append(at, "error")...)
			}
			if err := text.Check(*r.Error, MaxResultBytes, append(at, "error")...); err != nil {
				return nil, err
			}
			out.State, out.Resolution.ErrorCode, out.Resolution.ErrorMessage = models.WaitError, clientFailed, *r.Error
		}
		stored = append(stored, out)
	}
	return stored, nil
}
