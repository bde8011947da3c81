package events

import (
	"context"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// PageQuery tells which events of a log to read.
type PageQuery struct {
	// After and Before bound the part by sequences, both exclusive; nil is the end of the log.
	After, Before *int64
	// Limit is the most events to give.
	Limit int
	// Backward asks for the last events of the part instead of the first. They come in reverse.
	Backward bool
	// Kinds leaves out all others; none leaves out nothing.
	Kinds []models.EventKind
}

// Page gives a part of a log by its key, so that a page costs the same wherever it is.
func (l *Log) Page(ctx context.Context, org models.OrgID, session models.SessionID, q PageQuery) ([]models.Event, error) {
	var b strings.Builder
	var args []any
	param := func(v any) string {
		args = append(args, v)
		if l.db.Pool != nil {
			return "$" + strconv.Itoa(len(args))
		}
		return "?"
	}
	id := func(raw [16]byte) any {
		if l.db.Pool != nil {
			return raw
		}
		return raw[:]
	}
	b.WriteString("SELECT " + eventColumns + " FROM events WHERE org_id = " + param(id(org)) + " AND session_id = " + param(id(session)))
	if q.After != nil {
		b.WriteString(" AND sequence > " + param(*q.After))
	}
	if q.Before != nil {
		b.WriteString(" AND sequence < " + param(*q.Before))
	}
	if len(q.Kinds) > 0 {
		b.WriteString(" AND kind IN (")
		for i, k := range q.Kinds {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(param(string(k)))
		}
		b.WriteString(")")
	}
	b.WriteString(" ORDER BY sequence")
	if q.Backward {
		b.WriteString(" DESC")
	}
	b.WriteString(" LIMIT " + param(q.Limit))
	return l.events(ctx, Key{org, session}, nil, b.String(), args...)
}
