package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth"
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
	c := &turns.ResolveWait{Org: by.OrgID, Session: w.SessionID, Wait: id, State: models.WaitOK, Resolution: models.WaitResolution{
		Value: value, ByKind: kind, ByID: ref,
	}}
	err = s.cfg.Committer.Submit(ctx, c)
	if errors.Is(err, turns.ErrResolved) && !c.Repeats() {
		return nil, nil, turns.TooLate(c.Found, "answer").At("waitId")
	}
	if err != nil && !errors.Is(err, turns.ErrResolved) {
		return nil, nil, err
	}
	return s.waitWithTurn(ctx, w)
}
