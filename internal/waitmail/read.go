package waitmail

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// asking is the condition on waits that people resolve. It is written out, not with parameters: the index is one of such waits only.
const asking = "state = 'OPEN' AND kind IN ('APPROVAL', 'QUESTION', 'BUDGET') AND created_at > ? AND created_at <= ?"

// waiting returns the organizations with open waits for people that were made after one time and until another.
func waiting(ctx context.Context, db *store.DB, from, through models.Millis) ([]models.OrgID, error) {
	var list []models.OrgID
	err := db.QueryAcross(ctx, func(r store.Row) error {
		var org models.OrgID
		if err := r.Scan(&org); err != nil {
			return err
		}
		list = append(list, org)
		return nil
	}, "SELECT DISTINCT org_id FROM waits WHERE "+asking, int64(from), int64(through))
	if err != nil {
		return nil, fmt.Errorf("look for what waits for people: %w", err)
	}
	return list, nil
}

// asks returns the waits of an organization that people are to be told of, the oldest first.
func (m *Mailer) asks(ctx context.Context, org models.OrgID, from, through models.Millis) ([]ask, error) {
	var waits []models.Wait
	err := store.Of(m.cfg.DB.Read(ctx, org), org).Where(asking, from, through).Order("created_at, id").Limit(maxWaits).Find(&waits).Error
	if err != nil {
		return nil, fmt.Errorf("list what waits in %s: %w", org, err)
	}
	var ids []models.WaitID
	var turnIDs []models.TurnID
	var sessionIDs []models.SessionID
	for _, w := range waits {
		ids, turnIDs, sessionIDs = append(ids, w.ID), append(turnIDs, w.TurnID), append(sessionIDs, w.SessionID)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	decisions, err := m.cfg.Sessions.Decisions(ctx, org, ids)
	if err != nil {
		return nil, err
	}
	of, err := m.cfg.Sessions.TurnsByID(ctx, org, turnIDs)
	if err != nil {
		return nil, err
	}
	titles, agents, err := m.names(ctx, org, sessionIDs)
	if err != nil {
		return nil, err
	}
	turnsByID := map[models.TurnID]models.Turn{}
	for _, t := range of {
		turnsByID[t.ID] = t
	}
	var list []ask
	for _, w := range waits {
		if b := turns.ReadRequest(w).Budget; w.Kind == models.WaitBudget && (b == nil || !b.Paused) {
			continue // it goes on by itself when others have settled
		}
		turn, ok := turnsByID[w.TurnID]
		if !ok {
			continue
		}
		a := ask{wait: w, turn: turn, title: titles[w.SessionID], agent: agents[w.SessionID]}
		for _, d := range decisions[w.ID] {
			a.decidedBy = append(a.decidedBy, d.ActorID)
		}
		list = append(list, a)
	}
	return list, nil
}

// names returns the titles of sessions and the names of their agents.
func (m *Mailer) names(ctx context.Context, org models.OrgID, ids []models.SessionID) (titles, agents map[models.SessionID]string, err error) {
	list, err := m.cfg.Sessions.ByID(ctx, org, ids)
	if err != nil {
		return nil, nil, err
	}
	var agentIDs []models.AgentID
	for i := range list {
		if list[i].AgentID != nil {
			agentIDs = append(agentIDs, *list[i].AgentID)
		}
	}
	named := map[models.AgentID]string{}
	found, err := m.cfg.Catalog.AgentsByID(ctx, org, agentIDs)
	if err != nil {
		return nil, nil, err
	}
	for i := range found {
		named[found[i].ID] = found[i].DisplayName
	}
	titles, agents = map[models.SessionID]string{}, map[models.SessionID]string{}
	for i := range list {
		titles[list[i].ID] = models.Value(list[i].Title)
		agents[list[i].ID] = named[models.Value(list[i].AgentID)]
	}
	return titles, agents, nil
}

// members returns who may get mail of an organization.
func members(ctx context.Context, db *store.DB, org models.OrgID) ([]*member, error) {
	var list []*member
	err := db.QueryAcross(ctx, func(r store.Row) error {
		p := &member{by: &auth.Principal{OrgID: org}}
		var role string
		var through, mailedAt int64
		if err := r.Scan(&p.by.UserID, &role, &p.name, &p.email, &p.org, &through, &mailedAt); err != nil {
			return err
		}
		p.by.Role, p.through, p.mailedAt = models.Role(role), models.Millis(through), models.Millis(mailedAt)
		p.by.Permissions = auth.RolePermissions(p.by.Role, false)
		list = append(list, p)
		return nil
	}, `SELECT m.user_id, m.role, u.name, u.email, o.name, coalesce(w.told_through, 0), coalesce(w.mailed_at, 0)
FROM memberships m JOIN users u ON u.id = m.user_id JOIN orgs o ON o.id = m.org_id
LEFT JOIN wait_mails w ON w.org_id = m.org_id AND w.user_id = m.user_id
WHERE m.org_id = ? AND m.role <> 'VIEWER' AND w.off_since IS NULL ORDER BY m.user_id`, org[:])
	if err != nil {
		return nil, fmt.Errorf("list who may get mail of %s: %w", org, err)
	}
	return list, nil
}

// claim notes that somebody is told, and reports whether it is this process that tells them.
func claim(ctx context.Context, db *store.DB, p *member, through, now models.Millis) (bool, error) {
	org, user := p.by.OrgID, p.by.UserID
	n, err := db.Exec(ctx, org, `INSERT INTO wait_mails (org_id, user_id, told_through, mailed_at) VALUES (?, ?, ?, ?)
ON CONFLICT (org_id, user_id) DO UPDATE SET told_through = excluded.told_through, mailed_at = excluded.mailed_at
WHERE wait_mails.mailed_at = ? AND wait_mails.off_since IS NULL`,
		org[:], user[:], int64(through), int64(now), int64(p.mailedAt))
	if err != nil {
		return false, fmt.Errorf("claim the mail to %s of %s: %w", user, org, err)
	}
	return n == 1, nil
}
