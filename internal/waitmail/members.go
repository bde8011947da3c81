package waitmail

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// member is somebody who may get a mail.
type member struct {
	by               *auth.Principal
	name, email, org string
	// through is the time up to which they were told of what waits, mailedAt when that was; 0 for never.
	through, mailedAt models.Millis

	// list are the first waits that they are to be told of, count is how many there are.
	list  []ask
	count int
}

// add takes those of the waits that the member may resolve and wasn't told of.
func (p *member) add(list []ask) {
	for i := range list {
		a := &list[i]
		if a.wait.CreatedAt <= p.through || !a.waitsFor(p.by) {
			continue
		}
		if p.count++; p.count <= maxListed {
			p.list = append(p.list, *a)
		}
	}
}

// mayResolveAny reports whether there can be anything that waits for somebody.
func mayResolveAny(by *auth.Principal) bool {
	return by.Can(auth.ApprovalsDecide) || by.Can(auth.SessionsWrite) || by.Can(auth.BudgetsManage)
}

func (a *ask) waitsFor(by *auth.Principal) bool {
	if a.wait.Kind == models.WaitBudget {
		return by.Can(auth.BudgetsManage)
	}
	return !slices.Contains(a.decidedBy, models.ActorID(by.UserID)) && turns.MayResolve(by, turns.RuleOf(&a.wait), &a.turn)
}

// claim notes that somebody is told, and reports whether it is this process that tells them. It must still be a member of the same role.
func claim(ctx context.Context, db *store.DB, p *member, w window) (bool, error) {
	org, user := p.by.OrgID, p.by.UserID
	n, err := db.Exec(ctx, org, `INSERT INTO wait_mails (org_id, user_id, told_through, mailed_at)
SELECT org_id, user_id, CAST(? AS BIGINT), CAST(? AS BIGINT) FROM memberships WHERE org_id = ? AND user_id = ? AND role = ?
ON CONFLICT (org_id, user_id) DO UPDATE SET told_through = excluded.told_through, mailed_at = excluded.mailed_at
WHERE wait_mails.mailed_at = ? AND wait_mails.off_since IS NULL`,
		int64(w.through), int64(w.now), org[:], user[:], string(p.by.Role), int64(p.mailedAt))
	if err != nil {
		return false, fmt.Errorf("claim the mail: %w", err)
	}
	return n == 1, nil
}

// giveBack takes a claim of now back whose mail was not handed over. mailedAt is what is left of it: when the last attempt was.
func giveBack(ctx context.Context, db *store.DB, p *member, now, mailedAt models.Millis) error {
	// A shutdown is no reason to lose the mail.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	org, user := p.by.OrgID, p.by.UserID
	_, err := db.Exec(ctx, org, "UPDATE wait_mails SET told_through = ?, mailed_at = ? WHERE org_id = ? AND user_id = ? AND mailed_at = ?",
		int64(p.through), int64(mailedAt), org[:], user[:], int64(now))
	if err != nil {
		return fmt.Errorf("give the mail back: %w", err)
	}
	return nil
}
