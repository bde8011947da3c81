package runtime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// What people and other systems do with turns and waits, beside sending messages.

// edited marks the text of a message that was edited.
const edited = " (edited)"

// anybody is one of a few people.
func (w *simulation) anybody() *auth.Principal {
	return &auth.Principal{OrgID: w.org, UserID: simPeople[w.random.IntN(len(simPeople))], Role: models.RoleMember}
}

// some returns one of a list that is in an order which depends on the seed alone.
func some[T any](w *simulation, list []T) (one T, ok bool) {
	if len(list) == 0 {
		return one, false
	}
	return list[w.random.IntN(len(list))], true
}

func (w *simulation) someTurn(holds func(*models.Turn) bool) (models.Turn, bool) {
	list := w.turns("TRUE")
	// Those of one transaction are inserted in the order of their ids.
	slices.SortStableFunc(list, func(a, b models.Turn) int {
		return cmp.Or(cmp.Compare(a.SessionID[15], b.SessionID[15]), cmp.Compare(a.QueuedAt, b.QueuedAt), cmp.Compare(a.QueuePosition, b.QueuePosition))
	})
	return some(w, slices.DeleteFunc(list, func(t models.Turn) bool { return !holds(&t) }))
}

// openWaits returns them in an order that depends on the seed alone: the ids of calls end with their place in the step.
func (w *simulation) openWaits() []models.Wait {
	list := read[models.Wait](w, "state = ?", models.WaitOpen)
	place := func(a *models.Wait) string { return (*a.ToolCallID)[strings.LastIndexByte(*a.ToolCallID, '_'):] }
	slices.SortStableFunc(list, func(a, b models.Wait) int {
		return cmp.Or(cmp.Compare(a.SessionID[15], b.SessionID[15]), cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(place(&a), place(&b)), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// act does something to a turn or a wait.
func (w *simulation) act() {
	switch w.random.IntN(5) {
	case 0, 1:
		w.cancel()
	case 2:
		w.rearrange()
	default:
		if wait, ok := some(w, w.openWaits()); ok {
			w.resolve(wait)
		}
	}
}

// errNobody tells that no process is there to be asked.
var errNobody = errors.New("nobody is there")

// ask submits a command by some process. It returns nil when it was committed; what is among the allowed errors is an answer, too.
func (w *simulation) ask(what string, cmd commit.Command, allowed ...error) error {
	n, ok := some(w, w.alive())
	if !ok {
		return errNobody
	}
	err := n.Submit(context.Background(), cmd)
	late := slices.ContainsFunc(append(allowed, errNodeDied), func(a error) bool { return errors.Is(err, a) })
	w.notef("%s: died %v, too late %v", what, errors.Is(err, errNodeDied), err != nil && late)
	if err != nil && !late && !isRefusal(err) {
		w.failf("%s: %v", what, err)
	}
	if err == nil {
		w.saw[what]++
	}
	return err
}

// isRefusal reports whether people may be told that: it is too late, or, of a decision, they are authors of the turn.
func isRefusal(err error) bool {
	f := fault.As(err)
	return f != nil && (f.Code == fault.Conflict || f.Code == fault.NotFound || f.Code == fault.Forbidden)
}

func (w *simulation) cancel() {
	t, ok := w.someTurn(func(t *models.Turn) bool { return t.FinishedAt == nil || w.random.IntN(8) == 0 })
	if !ok {
		return
	}
	by := w.anybody()
	w.told.asked[t.ID] = append(w.told.asked[t.ID], by.UserID)
	switch err := w.ask("a cancel of a "+string(t.Status)+" turn", &turns.CancelTurn{By: by, Session: t.SessionID, Turn: t.ID}, turns.ErrEnded); {
	case err == nil:
		w.told.cancelled[t.ID] = true
	case errors.Is(err, turns.ErrEnded):
		w.told.ended[t.ID] = true
	}
}

// rearrange changes what is queued.
func (w *simulation) rearrange() {
	queued := func(t *models.Turn) bool { return t.Status == models.TurnQueued && t.ReadyAt == nil }
	t, ok := w.someTurn(queued)
	if !ok {
		return
	}
	by := w.anybody()
	if w.random.IntN(2) == 0 {
		other, _ := w.someTurn(func(o *models.Turn) bool { return queued(o) && o.SessionID == t.SessionID })
		w.ask("a move", &turns.MoveQueued{Org: w.org, Session: t.SessionID, Turn: t.ID, Before: other.ID})
		return
	}
	for _, m := range read[models.Message](w, "id = ?", t.InputMessageID) {
		text := strings.TrimSuffix(m.Content[0].Text, edited) + edited
		w.ask("an edit", &turns.EditQueued{By: by, Session: t.SessionID, Turn: t.ID, Content: []models.Part{{Type: models.PartText, Text: text}}})
	}
}

// resolve brings what a wait is for, or ends it when its time is over.
func (w *simulation) resolve(wait models.Wait) {
	by := w.anybody()
	value := models.JSON(fmt.Sprintf(`{"n":%d}`, w.random.IntN(3)))
	with := resolved{models.WaitOK, models.WaitResolution{Value: value}}
	switch {
	case wait.Deadline != nil && w.random.IntN(3) == 0:
		late := models.MillisOf(w.clock.Now()) >= *wait.Deadline
		if w.ask("an expiry", &turns.ExpireWait{Org: w.org, Session: wait.SessionID, Wait: wait.ID}) == nil && late {
			w.saw["an expiry that was due"]++
			// One that makes its turn fail is put off as long as other calls are at work.
			w.told.expired[wait.ID] = !turns.ReadRequest(wait).FailTurn
		}
		return
	case wait.Kind == models.WaitApproval:
		approve := w.random.IntN(4) > 0
		if w.late(wait, w.ask("a decision", turns.NewDecideApproval(by, wait.SessionID, wait.ID, approve), turns.ErrResolved)) {
			w.told.decided = append(w.told.decided, models.ApprovalDecision{WaitID: wait.ID, ActorID: models.ActorID(by.UserID), Approve: approve})
		}
		return
	case wait.Kind == models.WaitClientTool:
		if w.ask("a result", &turns.SubmitResults{Org: w.org, Session: wait.SessionID, Results: []turns.ClientResult{{
			Call: *wait.ToolCallID, Wait: wait.ID, State: models.WaitOK, Resolution: with.with,
		}}}) == nil {
			w.won(wait, with)
		}
		return
	case w.random.IntN(5) == 0:
		with = resolved{models.WaitError, models.WaitResolution{ErrorCode: "no", ErrorMessage: "no"}}
	}
	if w.late(wait, w.ask(string(with.state)+" for a "+string(wait.Kind), &turns.ResolveWait{Org: w.org, Session: wait.SessionID, Wait: wait.ID, State: with.state, Resolution: with.with}, turns.ErrResolved)) {
		if _, twice := w.told.won[wait.ID]; twice {
			w.failf("wait %s was resolved twice", wait.Identity)
		}
		w.won(wait, with)
	}
}

// late keeps that somebody was too late. It reports whether somebody was not.
func (w *simulation) late(wait models.Wait, err error) (accepted bool) {
	if errors.Is(err, turns.ErrResolved) {
		w.told.late[wait.ID] = true
	}
	return err == nil
}

// won keeps what was accepted. The same result of a client's call may be brought again.
func (w *simulation) won(wait models.Wait, with resolved) {
	if before, again := w.told.won[wait.ID]; again && !bytes.Equal(before.with.Value, with.with.Value) {
		w.failf("wait %s was resolved with %+v and with %+v", wait.Identity, before, with)
	}
	w.told.won[wait.ID] = with
}

// helper resolves all that is left when all is well, so that nobody waits for ever.
func (w *simulation) helper() {
	for {
		w.wait(nil)
		for _, wait := range w.openWaits() {
			if len(w.alive()) > 0 {
				w.resolve(wait)
			}
		}
	}
}
