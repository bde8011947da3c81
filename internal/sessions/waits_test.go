package sessions

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

func TestWaitsOfAnOrganization(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		_, one := e.parked(e.by, client("a"), client("b"))
		_, two := e.parked(e.by, approval(turns.Approval{Quorum: 1}))
		_, theirs := e.parked(e.theirs, client("a"))
		all, err := e.svc.Waits(ctx, e.by.OrgID, nil, nil, 10)
		if err != nil || len(all) != 3 || all[0].ID != two[0].ID {
			t.Fatalf("%+v, %v", all, err)
		}
		rest, err := e.svc.Waits(ctx, e.by.OrgID, nil, &all[0].ID, 1)
		if err != nil || len(rest) != 1 || rest[0].ID != all[1].ID {
			t.Fatalf("%+v, %v", rest, err)
		}
		kinds := []models.WaitKind{models.WaitClientTool, models.WaitQuestion}
		some, err := e.svc.Waits(ctx, e.by.OrgID, kinds, nil, 10)
		if err != nil || len(some) != 2 {
			t.Fatalf("%+v, %v", some, err)
		}
		if n, err := e.svc.CountWaits(ctx, e.by.OrgID, kinds); err != nil || n != 2 {
			t.Fatalf("%d, %v", n, err)
		}
		_, err = e.svc.Wait(ctx, e.by.OrgID, theirs[0].ID)
		wantFault(t, err, fault.NotFound, "")
		found, err := e.svc.WaitsOfTurns(ctx, e.by.OrgID, []models.TurnID{theirs[0].TurnID, one[0].TurnID})
		if err != nil || len(found[theirs[0].TurnID]) != 0 || len(found[one[0].TurnID]) != 2 {
			t.Fatalf("%+v, %v", found, err)
		}
	})
}
