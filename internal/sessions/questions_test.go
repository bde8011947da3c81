package sessions

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// Rules: W1.
func TestAQuestionIsAnsweredOnce(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		turn, waits := e.parked(e.by, waitingCall{id: "q", tool: "ask_user", arguments: `{}`, kind: models.WaitQuestion})
		_, others := e.parked(e.by, client("a"))
		id := waits[0].ID
		answer := func(by *auth.Principal, id models.WaitID, text string) error {
			_, _, err := e.svc.AnswerQuestion(t.Context(), by, id, text)
			return err
		}
		wantFault(t, answer(e.by, id, " "), fault.Invalid, "answer")
		wantFault(t, answer(e.by, id, "a\x00"), fault.Invalid, "answer")
		wantFault(t, answer(e.by, id, strings.Repeat("x", MaxAnswerBytes+1)), fault.LimitReached, "answer")
		wantFault(t, answer(e.theirs, id, "x"), fault.NotFound, "waitId")
		wantFault(t, answer(e.by, others[0].ID, "x"), fault.Invalid, "waitId")
		w, got, err := e.svc.AnswerQuestion(t.Context(), e.by, id, "a <third> one")
		if err != nil || w.State != models.WaitOK || got.Status != models.TurnRunning {
			t.Fatalf("%+v, %+v, %v", w, got, err)
		}
		if err := answer(e.by, id, "a <third> one"); err != nil {
			t.Fatalf("the same again: %v", err)
		}
		wantFault(t, answer(e.by, id, "another one"), fault.Conflict, "waitId")
		if results := e.results(turn.SessionID); len(results) != 1 || !jsonx.Same(results[0].Result, models.JSON(`{"answer":"a <third> one"}`)) {
			t.Fatalf("the results are %+v", results)
		}
	})
}

func TestAnAnswerToATurnThatWentOnIsTooLate(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		turn, waits := e.parked(e.by, waitingCall{id: "q", tool: "ask_user", arguments: `{}`, kind: models.WaitQuestion})
		_, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: turn.SessionID, Content: []NewPart{Text("never mind")}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = e.svc.AnswerQuestion(t.Context(), e.by, waits[0].ID, "x")
		wantFault(t, err, fault.Conflict, "waitId")
	})
}
