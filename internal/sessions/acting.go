package sessions

import (
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

// Acting makes the commands of what people do with turns and waits, without what the Service does around them: it checks nothing of
// who may. Simulations and histories submit them themselves.
type Acting struct {
	By      *auth.Principal
	Session models.SessionID
}

// Cancel ends a turn; the error is turns.ErrEnded when it has ended.
func (a Acting) Cancel(turn models.TurnID) commit.Command {
	return &cancelTurn{org: a.By.OrgID, session: a.Session, turn: turn, by: a.By}
}

// Edit replaces the message of a queued turn.
func (a Acting) Edit(turn models.TurnID, content []models.Part) commit.Command {
	return &editQueued{org: a.By.OrgID, session: a.Session, turn: turn, content: content, by: a.By.Author()}
}

// Move puts a queued turn before another one, or last when that is zero.
func (a Acting) Move(turn, before models.TurnID) commit.Command {
	return &moveQueued{org: a.By.OrgID, session: a.Session, turn: turn, before: before}
}

// Decide approves or denies a call; the error is turns.ErrResolved when the approval is over.
func (a Acting) Decide(wait models.WaitID, approve bool) commit.Command {
	return newDecide(a.By, a.Session, wait, approve)
}

// Result brings the result of a client's call.
func (a Acting) Result(call string, wait models.WaitID, value models.JSON) commit.Command {
	return &submitResults{org: a.By.OrgID, session: a.Session, results: []callResult{{
		call: call, wait: wait, state: models.WaitOK, resolution: models.WaitResolution{Value: value},
	}}}
}

// Resolve resolves a wait, as an answer or a token does; the error is turns.ErrResolved when it is over.
func (a Acting) Resolve(wait models.WaitID, state models.WaitState, r models.WaitResolution) commit.Command {
	return &resolveWait{org: a.By.OrgID, session: a.Session, wait: wait, state: state, resolution: r}
}

// Expire ends a wait whose deadline has passed.
func (a Acting) Expire(wait models.WaitID) commit.Command {
	return &expireWait{org: a.By.OrgID, session: a.Session, wait: wait}
}
