package sessions

import (
	"encoding/json"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Who decided about a call is in the audit log as soon as the decision counts, and once; what was refused is not.
func TestDecisionsAreInTheAuditLog(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		ctx := auth.WithRequest(t.Context(), &auth.RequestInfo{ID: "r1", Address: "203.0.113.9"})
		w := waits[0]
		one, two := e.person(models.RoleMember), e.person(models.RoleMember)
		for _, by := range []*auth.Principal{one, one, two} { // the second changes nothing
			if _, _, err := e.svc.DecideApproval(ctx, by, Decision{WaitID: w.ID, Approve: true}); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := e.svc.DecideApproval(ctx, e.person(models.RoleMember), Decision{WaitID: w.ID})
		wantFault(t, err, fault.Conflict, "input.waitId")
		var list []models.AuditEntry
		if err := store.Of(e.db.Read(t.Context(), e.by.OrgID), e.by.OrgID).Order("position").Find(&list, "action = ?", "approval.decided").Error; err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 {
			t.Fatalf("two decisions left %d entries", len(list))
		}
		for i, by := range []*auth.Principal{one, two} {
			kind, actor := by.Actor()
			if got := list[i]; got.ActorKind != kind || got.ActorID == nil || *got.ActorID != actor || got.TargetID != w.ID.String() || got.Address != "203.0.113.9" || got.RequestID != "r1" {
				t.Errorf("decision %d is told as %+v", i, got)
			}
			var details struct {
				SessionID string `json:"sessionId"`
				TurnID    string `json:"turnId"`
				Tool      string `json:"tool"`
				Approve   bool   `json:"approve"`
				Edited    bool   `json:"edited"`
			}
			if err := json.Unmarshal([]byte(list[i].Details), &details); err != nil {
				t.Fatal(err)
			}
			if details.SessionID != turn.SessionID.String() || details.TurnID != turn.ID.String() || details.Tool != "write_file" || !details.Approve || details.Edited {
				t.Errorf("the details are %s", list[i].Details)
			}
		}
	})
}
