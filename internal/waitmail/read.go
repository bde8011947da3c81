package waitmail

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// waitRef is a wait that is open, by when it was made.
type waitRef struct {
	id models.WaitID
	at models.Millis
}

// orgWaits are the waits for people of an organization, the oldest first.
type orgWaits struct {
	org   models.OrgID
	waits []waitRef
}

// waiting finds what waits for people in all organizations. The conditions are written out, not parameters: the index is one of such waits
// only. A wait for a budget is for people when it has paused the session; else it goes on by itself when others have settled.
func waiting(ctx context.Context, db *store.DB, w window) ([]orgWaits, error) {
	var list []orgWaits
	places := map[models.OrgID]int{}
	err := db.QueryAcross(ctx, func(r store.Row) error {
		var org models.OrgID
		var ref waitRef
		var at int64
		var request []byte
		if err := r.Scan(&org, &ref.id, &at, &request); err != nil {
			return err
		}
		if request != nil {
			if b := turns.ReadRequest(models.Wait{Request: request}).Budget; b == nil || !b.Paused {
				return nil
			}
		}
		place, ok := places[org]
		if !ok {
			place = len(list)
			places[org], list = place, append(list, orgWaits{org: org})
		}
		ref.at = models.Millis(at)
		list[place].waits = append(list[place].waits, ref)
		return nil
	}, `SELECT org_id, id, created_at, CASE WHEN kind = 'BUDGET' THEN request END FROM waits
WHERE state = 'OPEN' AND kind IN ('APPROVAL', 'QUESTION', 'BUDGET') AND created_at > ? AND created_at <= ? ORDER BY created_at, org_id, id`,
		int64(w.from), int64(w.through))
	if err != nil {
		return nil, fmt.Errorf("look for what waits for people: %w", err)
	}
	return list, nil
}

// gather reads what people are to be told of, page by page.
func (m *Mailer) gather(ctx context.Context, o *orgWaits, people []*member) error {
	if len(people) == 0 {
		return nil
	}
	for _, p := range people {
		p.list, p.count = nil, 0
	}
	told := slices.MinFunc(people, func(a, b *member) int { return cmp.Compare(a.through, b.through) }).through
	var ids []models.WaitID
	for _, ref := range o.waits {
		if ref.at > told {
			ids = append(ids, ref.id)
		}
	}
	for page := range slices.Chunk(ids, m.pageWaits) {
		list, err := m.asks(ctx, o.org, page)
		if err != nil {
			return err
		}
		for _, p := range people {
			p.add(list)
		}
	}
	return nil
}

// ask is a wait with what its mail says of it.
type ask struct {
	wait models.Wait
	turn models.Turn
	// title and agent are empty where there is none.
	title, agent string
	// decidedBy are those who have decided already, where it takes several.
	decidedBy []models.ActorID
}

// asks reads waits that are still open, the oldest first. Trials of drafts are left out: who tries something out is there to see what it does.
func (m *Mailer) asks(ctx context.Context, org models.OrgID, ids []models.WaitID) ([]ask, error) {
	var waits []models.Wait
	err := store.Of(m.cfg.DB.Read(ctx, org), org).Where("id IN ? AND state = 'OPEN'", ids).Order("created_at, id").Find(&waits).Error
	if err != nil {
		return nil, fmt.Errorf("read what waits in %s: %w", org, err)
	}
	decisions, err := m.cfg.Sessions.Decisions(ctx, org, ids)
	if err != nil {
		return nil, err
	}
	var turnIDs []models.TurnID
	var sessionIDs []models.SessionID
	for _, w := range waits {
		turnIDs, sessionIDs = append(turnIDs, w.TurnID), append(sessionIDs, w.SessionID)
	}
	turnRows, err := m.cfg.Sessions.TurnsByID(ctx, org, turnIDs)
	if err != nil {
		return nil, err
	}
	sessionRows, err := m.cfg.Sessions.ByID(ctx, org, sessionIDs)
	if err != nil {
		return nil, err
	}
	agents, err := m.agents(ctx, org, sessionRows)
	if err != nil {
		return nil, err
	}
	turnOf, sessionOf := map[models.TurnID]models.Turn{}, map[models.SessionID]*models.Session{}
	for _, t := range turnRows {
		turnOf[t.ID] = t
	}
	for i := range sessionRows {
		sessionOf[sessionRows[i].ID] = &sessionRows[i]
	}
	var list []ask
	for _, w := range waits {
		turn, ok := turnOf[w.TurnID]
		session := sessionOf[w.SessionID]
		if !ok || session == nil || session.Trial {
			continue
		}
		a := ask{wait: w, turn: turn, title: models.Value(session.Title), agent: agents[models.Value(session.AgentID)]}
		for _, d := range decisions[w.ID] {
			a.decidedBy = append(a.decidedBy, d.ActorID)
		}
		list = append(list, a)
	}
	return list, nil
}

// agents returns what the agents of sessions are called.
func (m *Mailer) agents(ctx context.Context, org models.OrgID, list []models.Session) (map[models.AgentID]string, error) {
	var ids []models.AgentID
	for i := range list {
		if id := list[i].AgentID; id != nil {
			ids = append(ids, *id)
		}
	}
	found, err := m.cfg.Catalog.AgentsByID(ctx, org, ids)
	if err != nil {
		return nil, err
	}
	names := map[models.AgentID]string{}
	for i := range found {
		names[found[i].ID] = found[i].DisplayName
	}
	return names, nil
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
		if mayResolveAny(p.by) {
			list = append(list, p)
		}
		return nil
	}, `SELECT m.user_id, m.role, u.name, u.email, o.name, coalesce(w.told_through, 0), coalesce(w.mailed_at, 0)
FROM memberships m JOIN users u ON u.id = m.user_id JOIN orgs o ON o.id = m.org_id
LEFT JOIN wait_mails w ON w.org_id = m.org_id AND w.user_id = m.user_id
WHERE m.org_id = ? AND w.off_since IS NULL ORDER BY m.user_id`, org[:])
	if err != nil {
		return nil, fmt.Errorf("list who may get mail of %s: %w", org, err)
	}
	return list, nil
}
