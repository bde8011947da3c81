package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// maxCount is how far lists are counted.
const maxCount = 10_000

// timeSlack is how far the order of sessions may be out of the order of the times at which they were made, in milliseconds: clocks
// differ and are set.
const timeSlack = 5 * 60 * 1000

// maxSearch bounds a search, in characters.
const maxSearch = 200

// maxSaid is how many sessions a word of messages finds, the newest: however many have it, a page costs no more.
const maxSaid = 1000

// sessionsThatSay finds the newest sessions with a word in their messages.
const sessionsThatSay = `SELECT session_id FROM (
	SELECT session_id FROM message_words WHERE org_id = ? AND word = ? ORDER BY session_id DESC LIMIT ?) said`

// maxQueuedShown is how many queued turns of a session are listed.
const maxQueuedShown = 100

// Filter tells which sessions to list; all conditions must hold.
type Filter struct {
	AgentID      *models.AgentID
	HarnessID    *models.HarnessID
	Status       []models.SessionStatus
	Tag          *string
	CustomerKey  *string
	CreatedAfter *models.Millis
	// Search is words, in upper or lower case, of which each begins a word of the title or of the customer key, or is a word of the session's
	// messages; or a session's id.
	Search *string
	// Failed limits the list to sessions whose latest ended turn failed or was sealed, or to all others; nil for both.
	Failed *bool
	// RatedDown limits the list to sessions with an answer that somebody has rated down, or to all others; nil for both.
	RatedDown *bool
	// Trial limits the list to sessions that try drafts, which are left out without it. The id of a session finds either.
	Trial bool
}

// List returns up to limit sessions, newest first, that come after the one with the given id.
func (s *Service) List(ctx context.Context, org models.OrgID, f Filter, after *models.SessionID, limit int) ([]models.Session, error) {
	q, order, err := s.filtered(ctx, org, f)
	if err != nil {
		return nil, err
	}
	if after != nil {
		q = q.Where(order+" < ?", *after)
	}
	var list []models.Session
	if err := q.Select("sessions.*").Order(order + " DESC").Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

// Count counts sessions, as far as one more than 10 000.
func (s *Service) Count(ctx context.Context, org models.OrgID, f Filter) (int, error) {
	q, _, err := s.filtered(ctx, org, f)
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

// failedSessions finds the sessions of an organization whose latest ended turn failed or was sealed. Turns that were cancelled before they
// began say nothing about those before them.
const failedSessions = `SELECT f.session_id FROM turns f WHERE f.org_id = ? AND f.status IN ('FAILED', 'SEALED') AND NOT EXISTS (
	SELECT 1 FROM turns n WHERE n.org_id = f.org_id AND n.session_id = f.session_id AND n.ended_sequence > f.ended_sequence AND n.started_at IS NOT NULL)`

// filtered returns the sessions that a filter leaves, and the column by which to order them. A list by tag, of failures or of bad answers is read in the
// order of that index, so that a page costs a page however many sessions there are.
func (s *Service) filtered(ctx context.Context, org models.OrgID, f Filter) (*gorm.DB, string, error) {
	q, order := s.of(ctx, org), "sessions.id"
	from := func(found string, args ...any) {
		if order != "sessions.id" {
			q = q.Where("sessions.id IN ("+found+")", args...)
			return
		}
		// SQLite takes the tables of a CROSS JOIN in their order: with statistics that know of a tag which many sessions have, it would
		// go through all sessions otherwise.
		q, order = q.Table("("+found+") t CROSS JOIN sessions", args...).Where("t.session_id = sessions.id"), "t.session_id"
	}
	if f.AgentID != nil {
		q = q.Where("agent_id = ?", *f.AgentID)
	}
	if f.HarnessID != nil {
		q = q.Where("harness_id = ?", *f.HarnessID)
	}
	if len(f.Status) > 0 {
		q = q.Where("status IN ?", f.Status)
	}
	if f.Tag != nil {
		from("SELECT session_id FROM session_tags WHERE org_id = ? AND tag = ?", org, *f.Tag)
	}
	marked := func(yes *bool, found string) {
		switch {
		case yes == nil:
		case *yes:
			from(found, org)
		default:
			q = q.Where("sessions.id NOT IN ("+found+")", org)
		}
	}
	marked(f.Failed, failedSessions)
	marked(f.RatedDown, ratedDown)
	if f.CustomerKey != nil {
		q = q.Where("customer_key = ?", *f.CustomerKey)
	}
	if f.CreatedAfter != nil {
		// A list that finds nothing, or little, must not go on to the organization's first session: it ends at the first one of about
		// that time.
		q = q.Where("created_at > ? AND id >= (SELECT s.id FROM sessions s WHERE s.org_id = ? AND s.created_at > ? ORDER BY s.created_at, s.id LIMIT 1)",
			*f.CreatedAfter, org, *f.CreatedAfter-timeSlack)
	}
	if f.Search == nil {
		return q.Where("trial = ?", f.Trial), order, nil
	}
	if err := text.Check(*f.Search, maxSearch, "filter", "search"); err != nil {
		return nil, "", err
	}
	if id, err := models.ParseID[models.SessionEntity](strings.TrimSpace(*f.Search)); err == nil {
		return q.Where("sessions.id = ?", id), order, nil
	}
	q = q.Where("trial = ?", f.Trial)
	for _, word := range models.Words(*f.Search) {
		named := store.Of(q.Session(&gorm.Session{NewDB: true}).Table("session_words"), org).Select("session_id")
		q = q.Where("sessions.id IN (? UNION ALL "+sessionsThatSay+")", store.Prefixed(named, "word", word), org, word, maxSaid)
	}
	return q, order, nil
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
