package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Revision is a state of a harness or an agent, kept in its history. Each change makes the one with the next number.
type Revision struct {
	Number          int
	models.Revision `gorm:"embedded"`
}

// author is who made a change, and what they said about it.
type author struct {
	kind   models.ActorKind
	id     *models.ActorID
	reason *string
}

func person(by *auth.Principal, reason *string) author {
	kind, id := by.Actor()
	return author{kind: kind, id: id.Ptr(), reason: reason}
}

// system is the author of what the server does by itself, and of what happened before there was a history.
func system() author { return author{kind: models.ActorSystem} }

func (a author) revision(snapshot models.JSON, at models.Millis) models.Revision {
	return models.Revision{ActorKind: a.kind, ActorID: a.id, Reason: a.reason, Snapshot: snapshot, CreatedAt: at}
}

// recordHarness stores what a change, or with a nil before the creation, made of a harness. The row must have been written
// in the same transaction, so that nobody else can make the same revision.
func recordHarness(tx *gorm.DB, by author, before, after *models.Harness) error {
	if before != nil {
		known := store.Of(tx.Model(&models.HarnessRevision{}), before.OrgID).Where("harness_id = ? AND number = ?", before.ID, before.Revision)
		if err := recordOnce(known, func() error { return recordHarness(tx, system(), nil, before) }); err != nil {
			return err
		}
	}
	snapshot, err := snapshotHarness(after)
	if err != nil {
		return err
	}
	row := models.HarnessRevision{
		OrgID: after.OrgID, HarnessID: after.ID, Number: after.Revision, Revision: by.revision(snapshot, after.UpdatedAt),
	}
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("store revision %d of %s: %w", after.Revision, after.ID, err)
	}
	return nil
}

// recordAgent is recordHarness for an agent.
func recordAgent(tx *gorm.DB, by author, before, after *models.Agent) error {
	if before != nil {
		known := store.Of(tx.Model(&models.AgentRevision{}), before.OrgID).Where("agent_id = ? AND number = ?", before.ID, before.Revision)
		if err := recordOnce(known, func() error { return recordAgent(tx, system(), nil, before) }); err != nil {
			return err
		}
	}
	snapshot, err := snapshotAgent(after)
	if err != nil {
		return err
	}
	row := models.AgentRevision{
		OrgID: after.OrgID, AgentID: after.ID, Number: after.Revision, Revision: by.revision(snapshot, after.UpdatedAt),
	}
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("store revision %d of %s: %w", after.Revision, after.ID, err)
	}
	return nil
}

// recordOnce stores the state that a change started from when it is not in the history, because the row is older than
// histories are. So whatever a history shows can be restored.
func recordOnce(known *gorm.DB, record func() error) error {
	var n int64
	if err := known.Count(&n).Error; err != nil {
		return fmt.Errorf("look for the revision before: %w", err)
	}
	if n > 0 {
		return nil
	}
	return record()
}

// pastHarness reads a state of a harness from its history.
func pastHarness(tx *gorm.DB, h *models.Harness, number int) (models.JSON, error) {
	var row models.HarnessRevision
	err := store.Of(tx, h.OrgID).Where("harness_id = ? AND number = ?", h.ID, number).Take(&row).Error
	return row.Snapshot, pastError(err, number)
}

// pastAgent reads a state of an agent from its history.
func pastAgent(tx *gorm.DB, a *models.Agent, number int) (models.JSON, error) {
	var row models.AgentRevision
	err := store.Of(tx, a.OrgID).Where("agent_id = ? AND number = ?", a.ID, number).Take(&row).Error
	return row.Snapshot, pastError(err, number)
}

func pastError(err error, number int) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return fault.New(fault.NotFound, "There is no revision %d in the history.", number).At("revision")
	}
	if err != nil {
		return fmt.Errorf("read revision %d: %w", number, err)
	}
	return nil
}

// HarnessRevisions gives revisions of a harness, newest first: at most limit of those before a number.
func (s *Service) HarnessRevisions(ctx context.Context, org models.OrgID, id models.HarnessID, before, limit int) ([]Revision, error) {
	q := s.db.Read(ctx, org).Model(&models.HarnessRevision{}).Where("harness_id = ?", id)
	return revisions(q, org, before, limit)
}

// AgentRevisions is HarnessRevisions for an agent.
func (s *Service) AgentRevisions(ctx context.Context, org models.OrgID, id models.AgentID, before, limit int) ([]Revision, error) {
	q := s.db.Read(ctx, org).Model(&models.AgentRevision{}).Where("agent_id = ?", id)
	return revisions(q, org, before, limit)
}

func revisions(q *gorm.DB, org models.OrgID, before, limit int) ([]Revision, error) {
	var rows []Revision
	err := store.Of(q, org).Where("number < ?", before).Order("number DESC").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list revisions of %s: %w", org, err)
	}
	return rows, nil
}

// NewestOfHarnesses gives the newest revisions of several harnesses, up to limit of each, in one statement.
func (s *Service) NewestOfHarnesses(
	ctx context.Context, org models.OrgID, ids []models.HarnessID, limit int,
) (map[models.HarnessID][]Revision, error) {
	return newestOf(s.db.Read(ctx, org), "harness_revisions WHERE org_id = ? AND harness_id = ?", org, ids, limit)
}

// NewestOfAgents is NewestOfHarnesses for agents.
func (s *Service) NewestOfAgents(
	ctx context.Context, org models.OrgID, ids []models.AgentID, limit int,
) (map[models.AgentID][]Revision, error) {
	return newestOf(s.db.Read(ctx, org), "agent_revisions WHERE org_id = ? AND agent_id = ?", org, ids, limit)
}

// newestOf reads each one's revisions in a branch of its own, which reads no more of the index than its limit. The place of an
// owner stands for its id, which needs no type of either database then.
func newestOf[E models.Entity](db *gorm.DB, from string, org models.OrgID, ids []models.ID[E], limit int) (map[models.ID[E]][]Revision, error) {
	var rows []struct {
		Place    int
		Revision `gorm:"embedded"`
	}
	//nolint:unqueryvet // the columns stand inside of it
	branch := "SELECT * FROM (SELECT CAST(? AS INTEGER) AS place, number, actor_kind, actor_id, reason, snapshot, created_at FROM " +
		from + " ORDER BY number DESC LIMIT ?) AS branch"
	args := make([]any, 0, 4*len(ids))
	for i, id := range ids {
		args = append(args, i, org, id, limit)
	}
	//nolint:unqueryvet // as above
	query := "SELECT * FROM (" + branches(branch, len(ids)) + ") AS newest ORDER BY place, number DESC"
	if err := store.Rows(db.Raw(query, args...), &rows); err != nil {
		return nil, fmt.Errorf("list the newest revisions of %d entities of %s: %w", len(ids), org, err)
	}
	found := make(map[models.ID[E]][]Revision, len(ids))
	for _, id := range ids {
		found[id] = nil
	}
	for i := range rows {
		id := ids[rows[i].Place]
		found[id] = append(found[id], rows[i].Revision)
	}
	return found, nil
}

// CountOfHarnesses counts the revisions of several harnesses in one statement, each as far as one more than MaxCount.
func (s *Service) CountOfHarnesses(ctx context.Context, org models.OrgID, ids []models.HarnessID) (map[models.HarnessID]int, error) {
	return countOf(s.db.Read(ctx, org), "harness_revisions WHERE org_id = ? AND harness_id = ?", org, ids)
}

// CountOfAgents is CountOfHarnesses for agents.
func (s *Service) CountOfAgents(ctx context.Context, org models.OrgID, ids []models.AgentID) (map[models.AgentID]int, error) {
	return countOf(s.db.Read(ctx, org), "agent_revisions WHERE org_id = ? AND agent_id = ?", org, ids)
}

func countOf[E models.Entity](db *gorm.DB, from string, org models.OrgID, ids []models.ID[E]) (map[models.ID[E]]int, error) {
	var rows []struct{ Place, N int }
	branch := "SELECT CAST(? AS INTEGER) AS place, count(*) AS n FROM (SELECT 1 FROM " + from + " LIMIT ?) AS branch"
	args := make([]any, 0, 4*len(ids))
	for i, id := range ids {
		args = append(args, i, org, id, MaxCount+1)
	}
	if err := db.Raw(branches(branch, len(ids)), args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("count the revisions of %d entities of %s: %w", len(ids), org, err)
	}
	found := make(map[models.ID[E]]int, len(ids))
	for _, row := range rows {
		found[ids[row.Place]] = row.N
	}
	return found, nil
}

// branches repeats a statement n times, one below the other.
func branches(branch string, n int) string {
	return strings.Repeat(branch+" UNION ALL ", n-1) + branch
}
