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
	// Trial limits the list to sessions that try drafts, which are left out without it. The id of a session finds either.
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
	// They cost and took, in their latest turn, from the first through the last of these.
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

// failedSessions finds the sessions of an organization whose latest ended turn failed or was sealed. Turns that were cancelled before they
// began say nothing about those before them.
const failedSessions = `SELECT f.session_id FROM turns f WHERE f.org_id = ? AND f.status IN ('FAILED', 'SEALED') AND NOT EXISTS (
	SELECT 1 FROM turns n WHERE n.org_id = f.org_id AND n.session_id = f.session_id AND n.ended_sequence > f.ended_sequence AND n.started_at IS NOT NULL)`

// sortKeys are the columns that a list is read in the order of; value is empty in the order of creation.
type sortKeys struct{ value, id string }

// filtered returns the sessions that a filter leaves, and the columns by which to order them. A list in an order of the index, by what is
// indexed, by tag, of failures or of bad answers is read in the order of that index, so that a page costs a page however many sessions there are.
func (s *Service) filtered(ctx context.Context, org models.OrgID, f Filter, by Order) (*gorm.DB, sortKeys, error) {
	q, keys := s.of(ctx, org), sortKeys{id: "sessions.id"}
	// SQLite takes the tables of a CROSS JOIN in their order: with statistics that know of a tag which many sessions have, it would go
	// through all sessions otherwise. In an order of the index those that few have are better looked up, and sorted.
	join := " CROSS JOIN sessions"
	if by != ByCreation && (f.CustomerKey != nil || f.Search != nil || f.Tag != nil) {
		join = ", sessions"
	}
	from := func(found string, args ...any) {
		if keys.id != "sessions.id" {
			q = q.Where("sessions.id IN ("+found+")", args...)
			return
		}
		q, keys.id = q.Table("("+found+") t"+join, args...).Where("t.session_id = sessions.id"), "t.session_id"
	}
	if found, args := f.indexed(org, by); found != "" {
		from(found, args...)
		if by != ByCreation {
			keys.value = "t.value"
		}
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
		q = q.Where("created_at > ? AND sessions.id >= (SELECT s.id FROM sessions s WHERE s.org_id = ? AND s.created_at > ? ORDER BY s.created_at, s.id LIMIT 1)",
			*f.CreatedAfter, org, *f.CreatedAfter-timeSlack)
	}
	if f.CreatedBefore != nil {
		// Nor must it begin at the newest one.
		q = q.Where("created_at < ? AND sessions.id <= (SELECT s.id FROM sessions s WHERE s.org_id = ? AND s.created_at < ? ORDER BY s.created_at DESC, s.id DESC LIMIT 1)",
			*f.CreatedBefore, org, *f.CreatedBefore+timeSlack)
	}
	if f.Search == nil {
		return q.Where("trial = ?", f.Trial), keys, nil
	}
	if err := text.Check(*f.Search, maxSearch, "filter", "search"); err != nil {
		return nil, keys, err
	}
	if id, err := models.ParseID[models.SessionEntity](strings.TrimSpace(*f.Search)); err == nil {
		return q.Where("sessions.id = ?", id), keys, nil
	}
	q = q.Where("trial = ?", f.Trial)
	for _, word := range models.Words(*f.Search) {
		named := store.Of(q.Session(&gorm.Session{NewDB: true}).Table("session_words"), org).Select("session_id")
		q = q.Where("sessions.id IN (? UNION ALL "+sessionsThatSay+")", store.Prefixed(named, "word", word), org, word, maxSaid)
	}
	return q, keys, nil
}

// indexed returns the statement that finds sessions by what is indexed, with the values that an order goes by; empty when neither the
// conditions nor the order need the index.
func (f Indexed) indexed(org models.OrgID, by Order) (string, []any) {
	found, args := "SELECT session_id FROM indexed_sessions WHERE org_id = ?", []any{org}
	if by != ByCreation {
		found = strings.Replace(found, "session_id", "session_id, "+string(by)+" AS value", 1)
	}
	for _, c := range []struct {
		given bool
		where string
		value any
	}{
		{f.Outcome != nil, "outcome = ?", f.Outcome},
		{f.ModelID != nil, "model_id = ?", f.ModelID},
		{f.MinCost != nil, "cost_nanos >= ?", f.MinCost},
		{f.MaxCost != nil, "cost_nanos <= ?", f.MaxCost},
		{f.MinDuration != nil, "duration_ms >= ?", f.MinDuration},
		{f.MaxDuration != nil, "duration_ms <= ?", f.MaxDuration},
	} {
		if c.given {
			found, args = found+" AND "+c.where, append(args, c.value)
		}
	}
	if by == ByCreation && len(args) == 1 {
		return "", nil
	}
	return found, args
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
