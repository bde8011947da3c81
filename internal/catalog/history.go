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

// record stores what a change, or with a nil before the creation, made of a definition. The row must have been written
// in the same transaction, so that nobody else can make the same revision.
func (d *definition[T, E]) record(tx *gorm.DB, by author, before, after *T) error {
	if before != nil {
		if err := d.recordOnce(tx, before); err != nil {
			return err
		}
	}
	f := d.shared(after)
	doc, err := d.snapshot(after)
	if err != nil {
		return err
	}
	if err := tx.Create(d.revision(after, by.revision(doc, *f.updatedAt))).Error; err != nil {
		return fmt.Errorf("store revision %d of %s: %w", *f.revision, f.id, err)
	}
	return nil
}

// recordOnce stores the state that a change started from when it is not in the history, because the row is older than
// histories are. So whatever a history shows can be restored.
func (d *definition[T, E]) recordOnce(tx *gorm.DB, row *T) error {
	var n int64
	if err := d.numbered(tx, row, *d.shared(row).revision).Count(&n).Error; err != nil {
		return fmt.Errorf("look for the revision before: %w", err)
	}
	if n > 0 {
		return nil
	}
	return d.record(tx, system(), nil, row)
}

func (d *definition[T, E]) numbered(tx *gorm.DB, row *T, number int) *gorm.DB {
	f := d.shared(row)
	return store.Of(tx.Table(d.history), f.org).Where(d.owner+" = ? AND number = ?", f.id, number)
}

// past reads a state from the history.
func (d *definition[T, E]) past(tx *gorm.DB, row *T, number int) (models.JSON, error) {
	var past models.Revision
	err := d.numbered(tx, row, number).Take(&past).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fault.New(fault.NotFound, "There is no revision %d in the history.", number).At("revision")
	}
	if err != nil {
		return nil, fmt.Errorf("read revision %d: %w", number, err)
	}
	return past.Snapshot, nil
}

// HarnessRevisions returns revisions of a harness, newest first: at most limit of those before a number.
func (s *Service) HarnessRevisions(ctx context.Context, org models.OrgID, id models.HarnessID, before, limit int) ([]Revision, error) {
	return harnesses.revisions(s.db.Read(ctx, org), org, id, before, limit)
}

// AgentRevisions is HarnessRevisions for an agent.
func (s *Service) AgentRevisions(ctx context.Context, org models.OrgID, id models.AgentID, before, limit int) ([]Revision, error) {
	return agents.revisions(s.db.Read(ctx, org), org, id, before, limit)
}

func (d *definition[T, E]) revisions(db *gorm.DB, org models.OrgID, id models.ID[E], before, limit int) ([]Revision, error) {
	var rows []Revision
	err := store.Of(db.Table(d.history), org).Where(d.owner+" = ? AND number < ?", id, before).Order("number DESC").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list revisions of %s of %s: %w", id, org, err)
	}
	return rows, nil
}

// NewestOfHarnesses returns the newest revisions of several harnesses, up to limit of each, in one statement.
func (s *Service) NewestOfHarnesses(
	ctx context.Context, org models.OrgID, ids []models.HarnessID, limit int,
) (map[models.HarnessID][]Revision, error) {
	return harnesses.newest(s.db.Read(ctx, org), org, ids, limit)
}

// NewestOfAgents is NewestOfHarnesses for agents.
func (s *Service) NewestOfAgents(
	ctx context.Context, org models.OrgID, ids []models.AgentID, limit int,
) (map[models.AgentID][]Revision, error) {
	return agents.newest(s.db.Read(ctx, org), org, ids, limit)
}

// ofOwner is the source of statements about the revisions of one document: of an organization and an id.
func (d *definition[T, E]) ofOwner() string {
	return d.history + " WHERE org_id = ? AND " + d.owner + " = ?"
}

// newest reads each one's revisions in a branch of its own, which reads no more of the index than its limit. The place of an
// owner stands for its id, which needs no type of either database then.
func (d *definition[T, E]) newest(db *gorm.DB, org models.OrgID, ids []models.ID[E], limit int) (map[models.ID[E]][]Revision, error) {
	var rows []struct {
		Place    int
		Revision `gorm:"embedded"`
	}
	//nolint:unqueryvet // the columns stand inside of it
	branch := "SELECT * FROM (SELECT CAST(? AS INTEGER) AS place, number, actor_kind, actor_id, reason, snapshot, created_at FROM " +
		d.ofOwner() + " ORDER BY number DESC LIMIT ?) AS branch"
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

// CountOfHarnesses counts the revisions of several harnesses in one statement, each as far as one more than store.MaxCount.
func (s *Service) CountOfHarnesses(ctx context.Context, org models.OrgID, ids []models.HarnessID) (map[models.HarnessID]int, error) {
	return harnesses.revisionCounts(s.db.Read(ctx, org), org, ids)
}

// CountOfAgents is CountOfHarnesses for agents.
func (s *Service) CountOfAgents(ctx context.Context, org models.OrgID, ids []models.AgentID) (map[models.AgentID]int, error) {
	return agents.revisionCounts(s.db.Read(ctx, org), org, ids)
}

func (d *definition[T, E]) revisionCounts(db *gorm.DB, org models.OrgID, ids []models.ID[E]) (map[models.ID[E]]int, error) {
	var rows []struct{ Place, N int }
	branch := "SELECT CAST(? AS INTEGER) AS place, count(*) AS n FROM (SELECT 1 FROM " + d.ofOwner() + " LIMIT ?) AS branch"
	args := make([]any, 0, 4*len(ids))
	for i, id := range ids {
		args = append(args, i, org, id, store.MaxCount+1)
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
