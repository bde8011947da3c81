package sessions

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// timeSlack is how far the time at which a session was made may be from the one that its id begins with, in milliseconds: the id is made a moment
// earlier, perhaps by another clock.
const timeSlack = 5 * 60 * 1000

// maxSaid is how many sessions a word of messages finds, the newest: however many have it, a page costs no more.
const maxSaid = 1000

// sessionsThatSay finds the newest sessions with a word in their messages.
const sessionsThatSay = `SELECT session_id FROM (
	SELECT session_id FROM message_words WHERE org_id = ? AND word = ? ORDER BY session_id DESC LIMIT ?) said`

// failedSessions finds the sessions of an organization whose latest ended turn failed or was sealed. Turns that were cancelled before they
// began say nothing about those before them.
const failedSessions = `SELECT f.session_id FROM turns f WHERE f.org_id = ? AND f.status IN ('FAILED', 'SEALED') AND NOT EXISTS (
	SELECT 1 FROM turns n WHERE n.org_id = f.org_id AND n.session_id = f.session_id AND n.ended_sequence > f.ended_sequence AND n.started_at IS NOT NULL)`

// sortKeys are the columns that a list is read in the order of; value is empty in the order of creation.
type sortKeys struct{ value, id string }

// filtered returns the sessions that a filter leaves, and the columns by which to order them.
//
// A list without conditions, or with some on the sessions' rows, follows an index of the sessions. Every other one is driven by the first finding:
// it is read in the order of that one's index, and each of its sessions is looked up. So a page costs a page however many sessions there are, with
// two exceptions: conditions that few sessions meet, in an order that has nothing to do with them, and bounds of cost or duration in the order of
// creation. These cost as much as the sessions that they pass over, or those that they find, whichever the planner takes.
func (s *Service) filtered(ctx context.Context, org models.OrgID, f Filter, by Order) (*gorm.DB, sortKeys, error) {
	search, err := f.check()
	if err != nil {
		return nil, sortKeys{}, err
	}
	l := listing{Filter: f, org: org, by: by, search: search, dialect: s.cfg.DB.Dialect}
	q, keys := s.of(ctx, org), sortKeys{id: "sessions.id"}
	for i, found := range l.findings() {
		if i > 0 {
			q = q.Where("sessions.id IN ("+found.statement+")", found.args...)
			continue
		}
		q = q.Table("("+found.statement+") t"+l.join(), found.args...).Where("t.session_id = sessions.id")
		keys.id = "t.session_id"
		if by != ByCreation {
			keys.value = "t.value"
		}
	}
	bounded := "sessions.id"
	if by == ByCreation {
		bounded = keys.id
	}
	return l.narrowBySearch(l.narrow(q, bounded)), keys, nil
}

// outcomes are the ways in which turns end.
var outcomes = []models.TurnStatus{models.TurnCompleted, models.TurnFailed, models.TurnCancelled, models.TurnSealed} //nolint:gochecknoglobals // a constant

// check refuses what a filter can't mean, and reads what is searched for.
func (f *Filter) check() (search, error) {
	for _, bound := range []struct {
		field    string
		negative bool
	}{
		{"minCostUsd", models.Value(f.MinCost) < 0}, {"maxCostUsd", models.Value(f.MaxCost) < 0},
		{"minDurationMs", models.Value(f.MinDuration) < 0}, {"maxDurationMs", models.Value(f.MaxDuration) < 0},
	} {
		if bound.negative {
			return search{}, fault.New(fault.Invalid, "%s is negative. Costs and durations begin at 0.", bound.field).At("filter", bound.field)
		}
	}
	if f.Outcome != nil && !slices.Contains(outcomes, *f.Outcome) {
		return search{}, fault.New(fault.Invalid, "No turn ends as %s. Choose COMPLETED, FAILED, CANCELLED or SEALED.", *f.Outcome).At("filter", "outcome")
	}
	if f.Search == nil {
		return search{}, nil
	}
	if err := text.Check(*f.Search, maxSearch, "filter", "search"); err != nil {
		return search{}, err //nolint:wrapcheck // a fault
	}
	if id, err := models.ParseID[models.SessionEntity](strings.TrimSpace(*f.Search)); err == nil {
		return search{id: &id}, nil
	}
	return search{words: models.Words(*f.Search)}, nil
}

// search is what is searched for: a session by its id, or by words.
type search struct {
	id    *models.SessionID
	words []string
}

// listing is a list of sessions in the making.
type listing struct {
	Filter
	org     models.OrgID
	by      Order
	search  search
	dialect store.Dialect
}

// finding is a statement that finds sessions by something else than their rows.
type finding struct {
	statement string
	args      []any
}

// findings returns those that a list needs. The first one drives it: what brings the value of an order, or else the sessions in the order of their ids.
func (l *listing) findings() (list []finding) {
	if l.Indexed != (Indexed{}) || l.by != ByCreation {
		list = append(list, l.indexed())
	}
	if l.Tag != nil {
		list = append(list, finding{"SELECT session_id FROM session_tags WHERE org_id = ? AND tag = ?", []any{l.org, *l.Tag}})
	}
	if models.Value(l.Failed) {
		list = append(list, finding{failedSessions, []any{l.org}})
	}
	if models.Value(l.RatedDown) {
		list = append(list, finding{ratedDown, []any{l.org}})
	}
	return list
}

// indexed returns the statement that finds sessions by what is indexed, with the value that an order goes by.
func (l *listing) indexed() finding {
	columns := "session_id"
	if l.by != ByCreation {
		columns += ", " + string(l.by) + " AS value"
	}
	found := finding{"SELECT " + columns + " FROM indexed_sessions WHERE org_id = ?", []any{l.org}}
	if l.search.id == nil {
		found.statement, found.args = found.statement+" AND trial = ?", append(found.args, l.Trial)
	}
	where := func(column, condition string, value any) {
		// Without statistics SQLite takes the index of a condition rather than that of the order, and sorts all that it finds.
		if l.dialect == store.SQLite && l.by != ByCreation && string(l.by) != column {
			column = "+" + column
		}
		found.statement, found.args = found.statement+" AND "+column+" "+condition, append(found.args, value)
	}
	if l.Outcome != nil {
		where("outcome", "= ?", *l.Outcome)
	}
	if l.ModelID != nil {
		where("model_id", "= ?", *l.ModelID)
	}
	if l.MinCost != nil {
		where("cost_nanos", ">= ?", *l.MinCost)
	}
	if l.MaxCost != nil {
		where("cost_nanos", "<= ?", *l.MaxCost)
	}
	if l.MinDuration != nil {
		where("duration_ms", ">= ?", *l.MinDuration)
	}
	if l.MaxDuration != nil {
		where("duration_ms", "<= ?", *l.MaxDuration)
	}
	if l.MinDuration != nil || l.MaxDuration != nil {
		found.statement += " AND outcome IS NOT NULL"
	}
	return found
}

// join returns how the sessions are joined to what drives a list. SQLite takes the tables of a CROSS JOIN in their order, and would go through all
// sessions of the organization otherwise, once it has statistics that know of a tag which many sessions have. In an order of the index it takes what
// it thinks best when there is a condition with an index of its own: the sessions that few have are better looked up, and sorted.
func (l *listing) join() string {
	ownIndex := l.AgentID != nil || l.HarnessID != nil || len(l.Status) > 0 || l.CustomerKey != nil || l.CreatedAfter != nil || l.CreatedBefore != nil ||
		l.Tag != nil || models.Value(l.Failed) || models.Value(l.RatedDown) || l.Search != nil
	if l.by != ByCreation && ownIndex {
		return ", sessions"
	}
	return " CROSS JOIN sessions"
}

// narrow adds the conditions on the sessions' rows; id is the column that those on time bound.
func (l *listing) narrow(q *gorm.DB, id string) *gorm.DB {
	if l.AgentID != nil {
		q = q.Where("agent_id = ?", *l.AgentID)
	}
	if l.HarnessID != nil {
		q = q.Where("harness_id = ?", *l.HarnessID)
	}
	if len(l.Status) > 0 {
		q = q.Where("status IN ?", l.Status)
	}
	if l.CustomerKey != nil {
		q = q.Where("customer_key = ?", *l.CustomerKey)
	}
	// A list that finds nothing, or little, must neither go on to the organization's first session nor begin at the newest one.
	if l.CreatedAfter != nil {
		q = q.Where("created_at > ? AND "+id+" >= ?", *l.CreatedAfter, firstIDOf[models.SessionEntity](*l.CreatedAfter-timeSlack))
	}
	if l.CreatedBefore != nil {
		q = q.Where("created_at < ? AND "+id+" < ?", *l.CreatedBefore, firstIDOf[models.SessionEntity](*l.CreatedBefore+timeSlack))
	}
	if l.Failed != nil && !*l.Failed {
		q = q.Where("sessions.id NOT IN ("+failedSessions+")", l.org)
	}
	if l.RatedDown != nil && !*l.RatedDown {
		q = q.Where("sessions.id NOT IN ("+ratedDown+")", l.org)
	}
	return q
}

// narrowBySearch leaves the sessions that are searched for. An id finds trials and others, words one of them.
func (l *listing) narrowBySearch(q *gorm.DB) *gorm.DB {
	if l.search.id != nil {
		return q.Where("sessions.id = ?", *l.search.id)
	}
	q = q.Where("sessions.trial = ?", l.Trial)
	for _, word := range l.search.words {
		named := store.Of(q.Session(&gorm.Session{NewDB: true}).Table("session_words"), l.org).Select("session_id")
		q = q.Where("sessions.id IN (? UNION ALL "+sessionsThatSay+")", store.Prefixed(named, "word", word), l.org, word, maxSaid)
	}
	return q
}

// firstIDOf returns an id before all that were made at a time or later, and behind those made before it.
func firstIDOf[E models.Entity](at models.Millis) models.ID[E] {
	const latest = 1<<48 - 1
	var id models.ID[E]
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(min(max(at, 0), latest)))
	copy(id[:], ms[2:])
	id[6] = 0x70 // the version; it keeps the id of 1970 from being none at all
	return id
}
