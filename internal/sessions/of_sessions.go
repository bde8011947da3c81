package sessions

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// What lists of sessions show of each of them is read here, for all of them in one statement. Each session is a branch of
// its own, which reads no more of the index than its limit; see NewestOfAgents.

// branches is what to read of each session.
type branches struct {
	table, condition, order string
	limit                   int
}

func ofSessions[T any](
	ctx context.Context, s *Service, org models.OrgID, sessions []models.SessionID, b branches, owner func(*T) models.SessionID,
) (map[models.SessionID][]T, error) {
	//nolint:unqueryvet // GORM's rows take all columns
	branch := "SELECT * FROM (SELECT * FROM " + b.table + " WHERE org_id = ? AND session_id = ?" + b.condition +
		" ORDER BY " + b.order + " LIMIT ?) AS branch"
	found := make(map[models.SessionID][]T, len(sessions))
	args := make([]any, 0, 3*len(sessions))
	for _, id := range sessions {
		found[id] = nil
		args = append(args, org, id, b.limit)
	}
	var rows []T
	//nolint:unqueryvet // as above
	query := "SELECT * FROM (" + union(branch, len(sessions)) + ") AS pages" + s.cfg.DB.OrderOfUnion(" ORDER BY "+b.order)
	if err := store.Rows(s.cfg.DB.Read(ctx, org).Raw(query, args...), &rows); err != nil {
		return nil, fmt.Errorf("list the %s of %d sessions: %w", b.table, len(sessions), err)
	}
	for i := range rows {
		id := owner(&rows[i])
		found[id] = append(found[id], rows[i])
	}
	return found, nil
}

// countOfSessions counts the rows of each session, as far as one more than 10 000.
func (s *Service) countOfSessions(ctx context.Context, org models.OrgID, table string, sessions []models.SessionID) (map[models.SessionID]int, error) {
	// The place of a session stands for its id, which needs no type of either database then.
	branch := `SELECT CAST(? AS INTEGER) AS place, count(*) AS n
FROM (SELECT 1 FROM ` + table + ` WHERE org_id = ? AND session_id = ? LIMIT ?) AS branch`
	args := make([]any, 0, 4*len(sessions))
	for i, id := range sessions {
		args = append(args, i, org, id, maxCount+1)
	}
	var rows []struct{ Place, N int }
	if err := s.cfg.DB.Read(ctx, org).Raw(union(branch, len(sessions)), args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("count the %s of %d sessions: %w", table, len(sessions), err)
	}
	found := make(map[models.SessionID]int, len(sessions))
	for _, row := range rows {
		found[sessions[row.Place]] = row.N
	}
	return found, nil
}

func ownerOfTurn(t *models.Turn) models.SessionID { return t.SessionID }

func ownerOfMessage(m *models.Message) models.SessionID { return m.SessionID }

// NewestTurns returns the newest turns of several sessions, up to limit of each: their own, and not what forks have from others.
func (s *Service) NewestTurns(ctx context.Context, org models.OrgID, sessions []models.SessionID, limit int) (map[models.SessionID][]models.Turn, error) {
	return ofSessions(ctx, s, org, sessions, branches{"turns", "", "id DESC", limit}, ownerOfTurn)
}

// CountTurnsOf counts the turns of several sessions, each as far as one more than 10 000; of forks their own alone.
func (s *Service) CountTurnsOf(ctx context.Context, org models.OrgID, sessions []models.SessionID) (map[models.SessionID]int, error) {
	return s.countOfSessions(ctx, org, "turns", sessions)
}

// FirstMessages returns the first messages of several sessions, up to limit of each: their own, and not what forks have from others.
func (s *Service) FirstMessages(ctx context.Context, org models.OrgID, sessions []models.SessionID, limit int) (map[models.SessionID][]models.Message, error) {
	return ofSessions(ctx, s, org, sessions, branches{"messages", "", "sequence", limit}, ownerOfMessage)
}

// LastMessages is FirstMessages from the end, newest first.
func (s *Service) LastMessages(ctx context.Context, org models.OrgID, sessions []models.SessionID, limit int) (map[models.SessionID][]models.Message, error) {
	return ofSessions(ctx, s, org, sessions, branches{"messages", "", "sequence DESC", limit}, ownerOfMessage)
}

// CountMessagesOf counts the messages of several sessions, each as far as one more than 10 000; of forks their own alone.
func (s *Service) CountMessagesOf(ctx context.Context, org models.OrgID, sessions []models.SessionID) (map[models.SessionID]int, error) {
	return s.countOfSessions(ctx, org, "messages", sessions)
}

// QueuedTurnsOf is QueuedTurns for several sessions.
func (s *Service) QueuedTurnsOf(ctx context.Context, org models.OrgID, sessions []models.SessionID) (map[models.SessionID][]models.Turn, error) {
	return ofSessions(ctx, s, org, sessions,
		branches{"turns", " AND status = 'QUEUED' AND ready_at IS NULL", "queue_position", maxQueuedShown}, ownerOfTurn)
}

// TodosOf returns the plans of several sessions; those without one are not in it.
func (s *Service) TodosOf(ctx context.Context, org models.OrgID, sessions []models.SessionID) (map[models.SessionID][]models.Todo, error) {
	var rows []models.SessionTodos
	if err := s.of(ctx, org).Where("session_id IN ?", sessions).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the plans of %d sessions: %w", len(sessions), err)
	}
	found := make(map[models.SessionID][]models.Todo, len(rows))
	for _, row := range rows {
		found[row.SessionID] = row.Items
	}
	return found, nil
}
