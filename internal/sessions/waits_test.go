package sessions

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

func TestDecidedApprovalsAreThoseOfTheOrganizationLastDecidedFirst(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		_, calls := e.parked(e.by, client("a"), client("b"))
		var waits []models.Wait
		for range 3 {
			_, asked := e.parked(e.by, approval(turns.Approval{Quorum: 1, AllowSelf: true}))
			waits = append(waits, asked[0])
		}
		_, theirs := e.parked(e.theirs, approval(turns.Approval{Quorum: 1, AllowSelf: true}))
		resolved := models.Millis(1000)
		end := func(w models.Wait, state models.WaitState) {
			resolved--
			err := e.db.Write(ctx, w.OrgID, func(tx *gorm.DB) error {
				return store.Of(tx.Model(&models.Wait{}), w.OrgID).Where("id = ?", w.ID).Updates(map[string]any{"state": state, "resolved_at": resolved}).Error
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		end(waits[0], models.WaitOK)
		end(waits[1], models.WaitTimeout)
		end(theirs[0], models.WaitError)
		end(calls[0], models.WaitOK)
		all, err := e.svc.DecidedApprovals(ctx, e.by.OrgID, nil, 10)
		if err != nil || len(all) != 2 || all[0].ID != waits[0].ID || all[1].ID != waits[1].ID {
			t.Fatalf("%+v, %v", all, err)
		}
		rest, err := e.svc.DecidedApprovals(ctx, e.by.OrgID, &all[0].ID, 10)
		if err != nil || len(rest) != 1 || rest[0].ID != waits[1].ID {
			t.Fatalf("%+v, %v", rest, err)
		}
		if n, err := e.svc.CountDecidedApprovals(ctx, e.by.OrgID); err != nil || n != 2 {
			t.Fatalf("%d, %v", n, err)
		}
		if e.db.Dialect != store.SQLite {
			return // PostgreSQL reads so few rows in any way
		}
		var plan []struct{ Detail string }
		st := e.svc.decidedApprovals(ctx, e.by.OrgID).Session(&gorm.Session{DryRun: true}).Order("resolved_at DESC, id DESC").Limit(20).Find(&[]models.Wait{}).Statement
		err = e.db.Write(ctx, e.by.OrgID, func(tx *gorm.DB) error {
			return tx.Raw("EXPLAIN QUERY PLAN "+st.SQL.String(), st.Vars...).Scan(&plan).Error
		})
		if err != nil || len(plan) != 1 || !strings.Contains(plan[0].Detail, "USING INDEX waits_decided") {
			t.Fatalf("%+v, %v", plan, err)
		}
	})
}

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
