package sessions

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// A payment is approved by a person who has not started the turn, as it is: nobody else may, and the audit log tells of it.
//
// Rules: W10.
func TestWhoDecidesAboutPayments(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		call := waitingCall{id: "a", tool: "write_file", arguments: `{"content":"x","path":"/workspace/a"}`, kind: models.WaitApproval, payment: &models.PaymentTerms{
			Key: "k", Tool: "shop.order", Host: "books.example.com", Amount: 12_500_000_000, Purpose: "the third volume",
		}}
		_, waits := e.parked(e.by, call)
		w, another := waits[0], e.person(models.RoleMember)
		_, _, err := e.decide(e.by, Decision{WaitID: w.ID, Approve: true})
		wantFault(t, err, fault.Forbidden, "input.waitId")
		_, _, err = e.decide(e.key(auth.ApprovalsDecide), Decision{WaitID: w.ID, Approve: true})
		wantFault(t, err, fault.Forbidden, "input.waitId")
		_, _, err = e.decide(e.theirs, Decision{WaitID: w.ID, Approve: true})
		wantFault(t, err, fault.NotFound, "input.waitId")
		// Not even with the arguments that it has.
		for _, arguments := range []string{`{"content":"x","path":"/workspace/a"}`, `{"content":"x","path":"/workspace/b"}`} {
			_, _, err = e.decide(another, Decision{WaitID: w.ID, Approve: true, Arguments: models.JSON(arguments)})
			wantFault(t, err, fault.Invalid, "input.arguments")
		}
		if got := e.wait(e.by, w.ID); got.State != models.WaitOpen {
			t.Fatalf("after refusals it is %s", got.State)
		}
		after, turn, err := e.decide(another, Decision{WaitID: w.ID, Approve: true})
		if err != nil || after.State != models.WaitOK || turn.Status != models.TurnRunning || turn.PendingCalls != 1 || turn.WaitingCalls != 0 {
			t.Fatalf("%+v, %+v, %v", after, turn, err)
		}
		_, _, err = e.decide(e.person(models.RoleOwner), Decision{WaitID: w.ID})
		wantFault(t, err, fault.Conflict, "input.waitId")
		var list []models.AuditEntry
		if err := store.Of(e.db.Read(t.Context(), e.by.OrgID), e.by.OrgID).Find(&list, "action = ?", "approval.decided").Error; err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"amount":"12.5"`, `"currency":"usd"`, `"host":"books.example.com"`, `"purpose":"the third volume"`} {
			if len(list) != 1 || !strings.Contains(list[0].Details, want) {
				t.Errorf("the audit log has %+v, which lacks %s", list, want)
			}
		}
	})
}
