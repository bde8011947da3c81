package turns

import (
	"strconv"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// ResolveWait resolves one wait. The error is ErrResolved when another resolution was first.
type ResolveWait struct {
	Org        models.OrgID
	Session    models.SessionID
	Wait       models.WaitID
	State      models.WaitState
	Resolution models.WaitResolution

	// Found is the wait as it stood before, set anew by each Apply.
	Found models.Wait
}

// Needs implements commit.Command.
func (c *ResolveWait) Needs() commit.Needs {
	bytes := 4*len(c.Resolution.Value) + 4*len(c.Resolution.ErrorMessage) + 4096
	return Needs(commit.Needs{Org: c.Org, Session: c.Session, Bytes: bytes}, c.Wait)
}

// Apply implements commit.Command.
func (c *ResolveWait) Apply(tx *commit.Tx) error {
	w, ok := tx.Wait(c.Wait)
	if !ok {
		return notFound(c.Wait)
	}
	c.Found = w
	return Resolve(tx, w, c.State, c.Resolution)
}

// Repeats reports whether the wait was resolved with the same before, by whomever.
func (c *ResolveWait) Repeats() bool { return sameOutcome(c.Found, c.State, c.Resolution) }

// SubmitResults resolves waits for client tools, all or none. Repeating a result changes nothing.
type SubmitResults struct {
	Org     models.OrgID
	Session models.SessionID
	Results []ClientResult
}

// ClientResult is the result of one call as it is stored.
type ClientResult struct {
	Call       string
	Wait       models.WaitID
	State      models.WaitState
	Resolution models.WaitResolution
}

// Needs implements commit.Command.
func (c *SubmitResults) Needs() commit.Needs {
	ids, bytes := make([]models.WaitID, len(c.Results)), 0
	for i, r := range c.Results {
		ids[i] = r.Wait
		bytes += len(r.Resolution.Value) + len(r.Resolution.ErrorMessage)
	}
	// The result is stored with the wait, the call, the event and the message.
	return Needs(commit.Needs{Org: c.Org, Session: c.Session, Bytes: 4*bytes + 4096}, ids...)
}

// Apply implements commit.Command.
func (c *SubmitResults) Apply(tx *commit.Tx) error {
	for i, r := range c.Results {
		at := []string{"input", "results", strconv.Itoa(i)}
		w, ok := tx.Wait(r.Wait)
		switch {
		case !ok:
			return fault.New(fault.Invalid, "The turn has no client tool call %q.", r.Call).At(append(at, "toolCallId")...)
		case w.State == models.WaitOpen:
			if err := Resolve(tx, w, r.State, r.Resolution); err != nil {
				return err
			}
		case !sameOutcome(w, r.State, r.Resolution):
			return TooLate(w, "result").At(at...)
		}
	}
	return nil
}

func sameOutcome(w models.Wait, state models.WaitState, r models.WaitResolution) bool {
	stored := ReadResolution(w)
	return w.State == state && stored.ErrorCode == r.ErrorCode && stored.ErrorMessage == r.ErrorMessage && jsonx.Same(stored.Value, r.Value)
}

// TooLate tells who resolves a wait too late how it has ended. What is one word for people, as "answer".
func TooLate(w models.Wait, what string) *fault.Error {
	switch w.State {
	case models.WaitTimeout:
		return fault.New(fault.Conflict, "The %s came too late: the wait had expired, and the turn continued without it.", what)
	case models.WaitCancelled:
		return fault.New(fault.Conflict, "The %s came too late: the turn no longer waits for it, because it was stopped or steered.", what)
	case models.WaitOK, models.WaitError, models.WaitOpen:
	}
	return fault.New(fault.Conflict, "Another %s was submitted before; the first one counts.", what)
}

// ExpireWait ends a wait whose deadline has passed, unless something else was first.
type ExpireWait struct {
	Org     models.OrgID
	Session models.SessionID
	Wait    models.WaitID
}

// Needs implements commit.Command.
func (c *ExpireWait) Needs() commit.Needs {
	return Needs(commit.Needs{Org: c.Org, Session: c.Session, Bytes: 4096}, c.Wait)
}

// Apply implements commit.Command.
func (c *ExpireWait) Apply(tx *commit.Tx) error {
	w, ok := tx.Wait(c.Wait)
	if !ok {
		return nil
	}
	return Expire(tx, w)
}
