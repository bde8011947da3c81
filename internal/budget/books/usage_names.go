package books

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// exportNames are what the models, agents, people and sessions of a page of an export are called. What is gone has no name, nor has what the
// reader may not read.
type exportNames struct {
	by       *auth.Principal
	models   map[models.ModelID]string
	agents   map[models.AgentID]string
	users    map[models.UserID]string
	sessions map[models.SessionID]string
}

func newExportNames(by *auth.Principal) *exportNames {
	n := &exportNames{by: by}
	n.clear()
	return n
}

func (n *exportNames) clear() {
	n.models, n.agents = map[models.ModelID]string{}, map[models.AgentID]string{}
	n.users, n.sessions = map[models.UserID]string{}, map[models.SessionID]string{}
}

// expect notes what names will be asked for; zero ids stand for nothing.
func (n *exportNames) expect(model models.ModelID, agent models.AgentID, user models.UserID, session models.SessionID) {
	n.models[model], n.agents[agent], n.users[user], n.sessions[session] = "", "", "", ""
}

// read reads the names that were expected, in a statement for each kind. What comes next forgets them.
func (n *exportNames) read(ctx context.Context, u *Usage) error {
	org := n.by.OrgID
	modelIDs, agentIDs, userIDs, sessionIDs := idsOf(n.models), idsOf(n.agents), idsOf(n.users), idsOf(n.sessions)
	n.clear()
	if n.by.Can(auth.CatalogRead) {
		if err := readNames(u.db.Read(ctx, org).Table("models"), org, "name", modelIDs, n.models); err != nil {
			return err
		}
		if err := readNames(u.db.Read(ctx, org).Table("agents"), org, "display_name", agentIDs, n.agents); err != nil {
			return err
		}
	}
	if n.by.Can(auth.SessionsRead) {
		if err := readNames(u.db.Read(ctx, org).Table("sessions"), org, "COALESCE(title, '')", sessionIDs, n.sessions); err != nil {
			return err
		}
	}
	if u.people == nil || len(userIDs) == 0 {
		return nil
	}
	found, err := u.people.Users(ctx, userIDs)
	if err != nil {
		return fmt.Errorf("read the names of %d users: %w", len(userIDs), err)
	}
	for id, user := range found {
		n.users[id] = user.Name
	}
	return nil
}

func idsOf[E models.Entity](m map[models.ID[E]]string) []models.ID[E] {
	var keys []models.ID[E]
	for k := range m {
		if !k.IsZero() {
			keys = append(keys, k)
		}
	}
	return keys
}

func readNames[E models.Entity](q *gorm.DB, org models.OrgID, column string, ids []models.ID[E], to map[models.ID[E]]string) error {
	if len(ids) == 0 {
		return nil
	}
	var rows []struct {
		ID   models.ID[E]
		Name string
	}
	if err := store.Of(q, org).Select("id, "+column+" AS name").Where("id IN ?", ids).Scan(&rows).Error; err != nil {
		return fmt.Errorf("read %d names of %s: %w", len(ids), org, err)
	}
	for _, row := range rows {
		to[row.ID] = row.Name
	}
	return nil
}
