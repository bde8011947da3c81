package events

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// feedQuery reads a page of a feed, each event with the present agent of its session. It needs the organization, the position to
// begin after, and how many.
const feedQuery = `SELECT e.session_id, e.sequence, e.id, e.kind, e.turn_id, e.data, e.occurred_at, e.feed_position, s.agent_id
	FROM %[1]s e LEFT JOIN sessions s ON s.org_id = e.org_id AND s.id = e.session_id ORDER BY e.feed_position`

var (
	feedPostgres = fmt.Sprintf(feedQuery, `(`+fmt.Sprintf(withinBytes, feedColumns, feedPage, "?::bigint")+`)`)
	feedSQLite   = fmt.Sprintf(feedQuery, `(`+feedPage+`)`)
)

const feedColumns = `org_id, session_id, ` + eventColumns

const feedPage = `SELECT ` + feedColumns + `, feed_position AS place FROM events WHERE org_id = ? AND feed_position > ? ORDER BY feed_position LIMIT ?`

// ReadFeed returns events of an organization's feed past a position, in order, as far as the limit goes.
func (l *Log) ReadFeed(ctx context.Context, org models.OrgID, after int64, limit Limit) ([]models.Event, error) {
	statement, args, in := feedSQLite, []any{org[:], after, limit.Events}, &pageLimit{left: limit.Bytes}
	if l.db.Pool != nil {
		statement, args, in = feedPostgres, append(args, limit.Bytes), nil
	}
	var list []models.Event
	var turn models.TurnID
	var agent models.AgentID
	err := l.db.Query(ctx, org, func(row store.Row) error {
		e := models.Event{OrgID: org}
		err := row.Scan(&e.SessionID, &e.Sequence, &e.ID, (*string)(&e.Kind), &turn, (*[]byte)(&e.Data), (*int64)(&e.OccurredAt), &e.FeedPosition, &agent)
		if err != nil {
			return err //nolint:wrapcheck // said below
		}
		e.TurnID, e.AgentID = turn.Ptr(), agent.Ptr()
		if in != nil && !in.fits(&e) {
			return errEnough
		}
		list = append(list, e)
		return nil
	}, statement, args...)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read the feed of %s: %w", org, err)
	}
	return list, nil
}

// feedPosition tells how far the feeds of organizations k go, and whether any of their sessions is at work.
const feedPosition = `SELECT o.id, coalesce(f.position, 0), EXISTS (SELECT 1 FROM sessions s WHERE s.org_id = o.id AND s.status = 'ACTIVE')
	FROM `

func (l *Log) feedPositions(ctx context.Context, keys []Key, found map[Key]Position) error {
	scan := func(row store.Row) error {
		var k Key
		var p Position
		err := row.Scan(&k.Org, &p.LastSequence, &p.Active)
		found[k] = p
		return err //nolint:wrapcheck // the caller says what was read
	}
	if l.db.Pool != nil {
		orgs := make(pgtype.FlatArray[pgtype.UUID], len(keys))
		for i, k := range keys {
			orgs[i] = uuidOf(k.Org)
		}
		return l.db.QueryAcross(ctx, scan, feedPosition+`unnest(?::uuid[]) AS k (id) JOIN orgs o ON o.id = k.id
			LEFT JOIN org_feeds f ON f.org_id = o.id`, orgs)
	}
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = hex.EncodeToString(k.Org[:])
	}
	return l.db.QueryAcross(ctx, scan, feedPosition+`json_each(?) k CROSS JOIN orgs o ON o.id = unhex(k.value)
		LEFT JOIN org_feeds f ON f.org_id = o.id`, string(jsonx.MustEncode(list)))
}
