package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// MaxAnswerBytes bounds an answer to a question of an agent.
const MaxAnswerBytes = 64 << 10

// AnswerQuestion answers a question of the agent: the tool that asked has {"answer": …} for its result. Repeating an answer changes
// nothing; another one, or one that comes too late, is a CONFLICT.
func (s *Service) AnswerQuestion(ctx context.Context, by *auth.Principal, id models.WaitID, answer string) (*models.Wait, *models.Turn, error) {
	if strings.TrimSpace(answer) == "" {
		return nil, nil, fault.New(fault.Invalid, "The answer must not be empty.").At("answer")
	}
	if len(answer) > MaxAnswerBytes {
		return nil, nil, fault.New(fault.LimitReached, "The answer has %d bytes; at most %d are allowed.", len(answer), MaxAnswerBytes).At("answer")
	}
	if err := text.Check(answer, MaxAnswerBytes, "answer"); err != nil {
		return nil, nil, err
	}
	w, _, err := s.waitOf(ctx, by.OrgID, id, models.WaitQuestion, "waitId")
	if err != nil {
		return nil, nil, err
	}
	value, err := json.Marshal(map[string]string{"answer": answer})
	if err != nil {
		return nil, nil, fmt.Errorf("encode an answer: %w", err)
	}
	kind, ref := by.ActorRef()
	c := &resolveWait{org: by.OrgID, session: w.SessionID, wait: id, state: models.WaitOK, resolution: models.WaitResolution{
		Value: value, ByKind: kind, ByID: ref,
	}}
	err = s.cfg.Committer.Submit(ctx, c)
	if errors.Is(err, turns.ErrResolved) && !sameOutcome(c.found, c.state, c.resolution) {
		return nil, nil, over(c.found, "answer").At("waitId")
	}
	if err != nil && !errors.Is(err, turns.ErrResolved) {
		return nil, nil, err
	}
	return s.waitWithTurn(ctx, w)
}

// resolveWait resolves one wait. The error is turns.ErrResolved when another resolution was first.
type resolveWait struct {
	org        models.OrgID
	session    models.SessionID
	wait       models.WaitID
	state      models.WaitState
	resolution models.WaitResolution

	// found is the wait as it stood before, set anew by each Apply.
	found models.Wait
}

func (c *resolveWait) Needs() commit.Needs {
	bytes := 4*len(c.resolution.Value) + 4*len(c.resolution.ErrorMessage) + 4096
	return turns.Needs(commit.Needs{Org: c.org, Session: c.session, Bytes: bytes}, c.wait)
}

func (c *resolveWait) Apply(tx *commit.Tx) error {
	w, ok := tx.Wait(c.wait)
	if !ok {
		return notFound(c.wait)
	}
	c.found = w
	return turns.Resolve(tx, w, c.state, c.resolution)
}
