package events

import (
	"context"
	"math"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// PageQuery tells which events of a log to read.
type PageQuery struct {
	// Base is the BaseSequence of the session: through it the log of a fork is that of others. 0 reads what the session itself
	// holds, which is all for one that is no fork.
	Base int64
	// After and Before bound the part by sequences, both exclusive; nil is the end of the log.
	After, Before *int64
	// Limit is the most events to give.
	Limit int
	// Backward asks for the last events of the part instead of the first. They come in reverse.
	Backward bool
	// Kinds leaves out all others; none leaves out nothing.
	Kinds []models.EventKind
}

// bounds give the part, both exclusive.
func (q *PageQuery) bounds() (after, before int64) {
	after, before = models.Value(q.After), math.MaxInt64
	if q.Before != nil {
		before = *q.Before
	}
	return after, before
}

// Page returns a part of a log by its key, so that a page costs the same wherever it is. Events that a fork has from other sessions are
// given as its own, without the places that they have in the feed.
func (l *Log) Page(ctx context.Context, org models.OrgID, session models.SessionID, q PageQuery) ([]models.Event, error) {
	key := Key{org, session}
	after, before := q.bounds()
	if after >= q.Base {
		return l.ownPage(ctx, key, q)
	}
	if !q.Backward {
		list, err := l.pastPage(ctx, key, q, q.Limit)
		if err != nil || len(list) == q.Limit || before <= q.Base+1 {
			return list, err
		}
		q.After, q.Limit = &q.Base, q.Limit-len(list)
		own, err := l.ownPage(ctx, key, q)
		return append(list, own...), err
	}
	var list []models.Event
	if before > q.Base+1 {
		var err error
		if list, err = l.ownPage(ctx, key, q); err != nil || len(list) == q.Limit {
			return list, err
		}
	}
	past, err := l.pastPage(ctx, key, q, q.Limit-len(list))
	return append(list, past...), err
}

// ownPage returns what the session itself holds.
func (l *Log) ownPage(ctx context.Context, key Key, q PageQuery) ([]models.Event, error) {
	var s statement
	s.branch(key.Org, key.Session, q.After, q.Before, q.Kinds)
	s.end(q.Backward, q.Limit)
	return l.events(ctx, l.db.QueryOnce, key, nil, s.text.String(), s.args...)
}

// pastPage returns what a fork has from others.
func (l *Log) pastPage(ctx context.Context, key Key, q PageQuery, limit int) ([]models.Event, error) {
	pieces, err := l.lineages.Of(ctx, key.Org, key.Session)
	if err != nil {
		return nil, err
	}
	after, before := q.bounds()
	var list []models.Event
	for group := range Between(pieces, after, before, q.Backward) {
		var s statement
		s.text.WriteString("SELECT " + eventColumns + " FROM (")
		for i, p := range group {
			if i > 0 {
				s.text.WriteString(" UNION ALL ")
			}
			s.text.WriteString("SELECT " + eventColumns + " FROM (")
			s.branch(key.Org, p.Session, &p.After, new(p.Through+1), q.Kinds)
			s.end(q.Backward, limit-len(list))
			s.text.WriteString(") AS piece")
		}
		s.text.WriteString(") AS pieces" + l.db.OrderOfUnion(orderBySequence(q.Backward)) + " LIMIT " + s.param(limit-len(list)))
		more, err := l.events(ctx, l.db.QueryOnce, key, nil, s.text.String(), s.args...)
		if err != nil {
			return nil, err
		}
		if list = append(list, more...); len(list) == limit {
			break
		}
	}
	for i := range list {
		list[i].FeedPosition = nil
	}
	return list, nil
}

// statement is one that is put together.
type statement struct {
	text strings.Builder
	args []any
}

func (s *statement) param(v any) string {
	s.args = append(s.args, v)
	return "?"
}

// branch selects the events of one session.
func (s *statement) branch(org models.OrgID, session models.SessionID, after, before *int64, kinds []models.EventKind) {
	b := &s.text
	b.WriteString("SELECT " + eventColumns + " FROM events WHERE org_id = " + s.param(org[:]) + " AND session_id = " + s.param(session[:]))
	if after != nil {
		b.WriteString(" AND sequence > " + s.param(*after))
	}
	if before != nil {
		b.WriteString(" AND sequence < " + s.param(*before))
	}
	if len(kinds) > 0 {
		b.WriteString(" AND kind IN (")
		for i, k := range kinds {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(s.param(string(k)))
		}
		b.WriteString(")")
	}
}

func (s *statement) end(backward bool, limit int) {
	s.text.WriteString(orderBySequence(backward) + " LIMIT " + s.param(limit))
}

func orderBySequence(backward bool) string {
	if backward {
		return " ORDER BY sequence DESC"
	}
	return " ORDER BY sequence"
}
