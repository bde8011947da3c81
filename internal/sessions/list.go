package sessions

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// maxCount is how far lists are counted.
const maxCount = 10_000

// maxSearch bounds a search, in characters.
const maxSearch = 200

// maxQueuedShown is how many queued turns of a session are listed.
const maxQueuedShown = 100

// Filter tells which sessions to list; all conditions must hold.
type Filter struct {
	AgentID     *models.AgentID
	HarnessID   *models.HarnessID
	Status      []models.SessionStatus
	Tag         *string
	CustomerKey *string
	// They were created after CreatedAfter, and before CreatedBefore.
	CreatedAfter, CreatedBefore *models.Millis
	// Search is words, in upper or lower case, of which each begins a word of the title or of the customer key, or is a word of the session's
	// messages; or a session's id.
	Search *string
	// Failed limits the list to sessions whose latest ended turn failed or was sealed, or to all others; nil for both.
	Failed *bool
	// RatedDown limits the list to sessions with an answer that somebody has rated down, or to all others; nil for both.
	RatedDown *bool
	// Trial limits the list to sessions that try drafts, which are left out without it. The id of a session finds either. The words of their
	// messages find none of them.
	Trial bool
	// Indexed are conditions on what is indexed behind the turns.
	Indexed
}

// Indexed are conditions on sessions as they were a few seconds ago.
type Indexed struct {
	// Outcome is how the latest turn ended.
	Outcome *models.TurnStatus
	// ModelID is the model that was called last.
	ModelID *models.ModelID
	// They cost and took, in their latest turn, from the first through the last of these. Those without a turn took no time at all, and are in no
	// bounds of it.
	MinCost, MaxCost         *models.Nanos
	MinDuration, MaxDuration *int64
}

// Order is what sessions are listed by.
type Order string

// The orders. All but the first are those of the index, a few seconds behind.
const (
	ByCreation Order = ""
	ByActivity Order = "active_at"
	ByCost     Order = "cost_nanos"
	ByDuration Order = "duration_ms"
)

// Sorting is an order and its direction: the newest, costliest or longest first, unless it is ascending.
type Sorting struct {
	By        Order
	Ascending bool
}

// Place is where a session stands in a list: by what it is sorted by, which is 0 in the order of creation, and by its id.
type Place struct {
	Value int64
	ID    models.SessionID
}

// Listed is a session in a list.
type Listed struct {
	models.Session `gorm:"embedded"`
	// Value is what it is sorted by.
	Value int64
}

// Place returns where it stands.
func (l *Listed) Place() Place { return Place{Value: l.Value, ID: l.ID} }

// List returns up to limit sessions that come after a place; without a sorting the newest first.
func (s *Service) List(ctx context.Context, org models.OrgID, f Filter, by Sorting, after *Place, limit int) ([]Listed, error) {
	q, err := s.sorted(ctx, org, f, by, after)
	if err != nil {
		return nil, err
	}
	var list []Listed
	if err := q.Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

// sorted returns the sessions that a filter leaves after a place, in order.
func (s *Service) sorted(ctx context.Context, org models.OrgID, f Filter, by Sorting, after *Place) (*gorm.DB, error) {
	q, keys, err := s.filtered(ctx, org, f, by.By)
	if err != nil {
		return nil, err
	}
	than, direction := "<", " DESC"
	if by.Ascending {
		than, direction = ">", ""
	}
	q = q.Model(&models.Session{})
	if by.By == ByCreation {
		if after != nil {
			q = q.Where(keys.id+" "+than+" ?", after.ID)
		}
		return q.Select("sessions.*").Order(keys.id + direction), nil
	}
	if after != nil {
		q = q.Where("("+keys.value+", "+keys.id+") "+than+" (?, ?)", after.Value, after.ID)
	}
	return q.Select("sessions.*, " + keys.value + " AS value").Order(keys.value + direction).Order(keys.id + direction), nil
}

// Count counts sessions, as far as one more than 10 000.
func (s *Service) Count(ctx context.Context, org models.OrgID, f Filter) (int, error) {
	q, _, err := s.filtered(ctx, org, f, ByCreation)
	if err != nil {
		return 0, err
	}
	return count(q.Model(&models.Session{}))
}

func count(q *gorm.DB) (int, error) {
	var ids []models.SessionID
	if err := q.Select("id").Limit(maxCount + 1).Find(&ids).Error; err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return len(ids), nil
}

// QueuedTurns returns the turns behind the one at the head, in the order in which they will run, at most 100.
func (s *Service) QueuedTurns(ctx context.Context, org models.OrgID, session models.SessionID) ([]models.Turn, error) {
	found, err := s.QueuedTurnsOf(ctx, org, []models.SessionID{session})
	return found[session], err
}

// ByID returns those of the sessions that the organization has.
func (s *Service) ByID(ctx context.Context, org models.OrgID, ids []models.SessionID) ([]models.Session, error) {
	return byID[models.Session](s.of(ctx, org), ids)
}

// TurnsByID returns those of the turns that the organization has.
func (s *Service) TurnsByID(ctx context.Context, org models.OrgID, ids []models.TurnID) ([]models.Turn, error) {
	return byID[models.Turn](s.of(ctx, org), ids)
}

// MessagesByID returns those of the messages that the organization has.
func (s *Service) MessagesByID(ctx context.Context, org models.OrgID, ids []models.MessageID) ([]models.Message, error) {
	return byID[models.Message](s.of(ctx, org), ids)
}

func byID[T any, E models.Entity](q *gorm.DB, ids []models.ID[E]) ([]T, error) {
	var list []T
	if len(ids) == 0 {
		return nil, nil
	}
	if err := q.Where("id IN ?", slices.Compact(ids)).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("read %d rows by their ids: %w", len(ids), err)
	}
	return list, nil
}

// Todos returns the agent's plan.
func (s *Service) Todos(ctx context.Context, org models.OrgID, session models.SessionID) ([]models.Todo, error) {
	found, err := s.TodosOf(ctx, org, []models.SessionID{session})
	if err != nil || found[session] == nil {
		return []models.Todo{}, err
	}
	return found[session], nil
}
