package sessions

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// What lists of sessions show of each of them is read here, for all of them in one statement.

const ofSession = "session_id"

func ownerOfTurn(t *models.Turn) models.SessionID { return t.SessionID }

func ownerOfMessage(m *models.Message) models.SessionID { return m.SessionID }

// NewestTurns returns the newest turns of several sessions, up to limit of each: their own, and not what forks have from others.
func (s *Service) NewestTurns(ctx context.Context, org models.OrgID, sessions []models.SessionID, limit int) (map[models.SessionID][]models.Turn, error) {
	return store.ListOf(ctx, s.cfg.DB, org, sessions, store.Owned{Table: "turns", Owner: ofSession, Order: "id DESC", Limit: limit}, ownerOfTurn)
}

// CountTurnsOf counts the turns of several sessions, each as far as one more than 10 000; of forks their own alone.
func (s *Service) CountTurnsOf(ctx context.Context, org models.OrgID, sessions []models.SessionID) (map[models.SessionID]int, error) {
	return store.CountOf(ctx, s.cfg.DB, org, sessions, store.Owned{Table: "turns", Owner: ofSession, Limit: maxCount + 1})
}

// FirstMessages returns the first messages of several sessions, up to limit of each: their own, and not what forks have from others.
func (s *Service) FirstMessages(ctx context.Context, org models.OrgID, sessions []models.SessionID, limit int) (map[models.SessionID][]models.Message, error) {
	return store.ListOf(ctx, s.cfg.DB, org, sessions, store.Owned{Table: "messages", Owner: ofSession, Order: "sequence", Limit: limit}, ownerOfMessage)
}

// LastMessages is FirstMessages from the end, newest first.
func (s *Service) LastMessages(ctx context.Context, org models.OrgID, sessions []models.SessionID, limit int) (map[models.SessionID][]models.Message, error) {
	return store.ListOf(ctx, s.cfg.DB, org, sessions, store.Owned{Table: "messages", Owner: ofSession, Order: "sequence DESC", Limit: limit}, ownerOfMessage)
}

// CountMessagesOf counts the messages of several sessions, each as far as one more than 10 000; of forks their own alone.
func (s *Service) CountMessagesOf(ctx context.Context, org models.OrgID, sessions []models.SessionID) (map[models.SessionID]int, error) {
	return store.CountOf(ctx, s.cfg.DB, org, sessions, store.Owned{Table: "messages", Owner: ofSession, Limit: maxCount + 1})
}

// QueuedTurnsOf is QueuedTurns for several sessions.
func (s *Service) QueuedTurnsOf(ctx context.Context, org models.OrgID, sessions []models.SessionID) (map[models.SessionID][]models.Turn, error) {
	which := store.Owned{Table: "turns", Owner: ofSession, Where: "status = 'QUEUED' AND ready_at IS NULL", Order: "queue_position", Limit: maxQueuedShown}
	return store.ListOf(ctx, s.cfg.DB, org, sessions, which, ownerOfTurn)
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
