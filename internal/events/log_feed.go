package events

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// feedQuery reads a page of a feed, each event with the present agent of its session. It needs the organization, the position to
// begin after, and how many.
const feedQuery = `SELECT e.session_id, e.sequence, e.id, e.kind, e.turn_id, e.data, e.occurred_at, e.feed_position, s.agent_id
	FROM %[1]s e LEFT JOIN sessions s ON s.org_id = e.org_id AND s.id = e.session_id ORDER BY e.feed_position`

var (
	feedPostgres = fmt.Sprintf(feedQuery, `(`+fmt.Sprintf(withinBytes, feedColumns, feedPage("$1", "$2", "$3"), "$4::bigint")+`)`)
	feedSQLite   = fmt.Sprintf(feedQuery, `(`+feedPage("?", "?", "?")+`)`)
)

const feedColumns = `org_id, session_id, ` + eventColumns

func feedPage(org, after, limit string) string {
	return `SELECT ` + feedColumns + `, feed_position AS place FROM events WHERE org_id = ` + org + ` AND feed_position > ` + after +
		` ORDER BY feed_position LIMIT ` + limit
}

// ReadFeed returns events of an organization's feed past a position, in order, as far as the limit goes.
func (l *Log) ReadFeed(ctx context.Context, org models.OrgID, after int64, limit Limit) ([]models.Event, error) {
	read := l.sqliteFeed
	if l.db.Pool != nil {
		read = l.postgresFeed
	}
	list, err := read(ctx, org, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the feed of %s: %w", org, err)
	}
	return list, nil
}

func (l *Log) postgresFeed(ctx context.Context, org models.OrgID, after int64, limit Limit) ([]models.Event, error) {
	var list []models.Event
	var turn, agent pgtype.UUID
	err := l.db.PostgresQuery(ctx, org, func(row store.Row) error {
		e := models.Event{OrgID: org}
		err := row.Scan((*[16]byte)(&e.SessionID), &e.Sequence, (*[16]byte)(&e.ID), (*string)(&e.Kind), &turn, (*[]byte)(&e.Data),
			(*int64)(&e.OccurredAt), &e.FeedPosition, &agent)
		e.TurnID, e.AgentID = models.TurnID(turn.Bytes).Ptr(), models.AgentID(agent.Bytes).Ptr()
		list = append(list, e)
		return err
	}, feedPostgres, uuidOf(org), after, limit.Events, limit.Bytes)
	return list, err
}

func (l *Log) sqliteFeed(ctx context.Context, org models.OrgID, after int64, limit Limit) (list []models.Event, err error) {
	rows, err := l.db.Reader.QueryContext(ctx, feedSQLite, org, after, limit.Events)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var turn models.TurnID
	var agent models.AgentID
	in := pageLimit{left: limit.Bytes}
	for rows.Next() {
		e := models.Event{OrgID: org}
		err := rows.Scan(&e.SessionID, &e.Sequence, &e.ID, (*string)(&e.Kind), &turn, &e.Data, (*int64)(&e.OccurredAt), &e.FeedPosition, &agent)
		if err != nil {
			return nil, err
		}
		e.TurnID, e.AgentID = turn.Ptr(), agent.Ptr()
		if !in.fits(&e) {
			break
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// feedPosition tells how far the feeds of organizations k go, and whether any of their sessions is at work.
const feedPosition = `SELECT o.id, coalesce(f.position, 0), EXISTS (SELECT 1 FROM sessions s WHERE s.org_id = o.id AND s.status = 'ACTIVE')
	FROM `

func (l *Log) feedPositions(ctx context.Context, keys []Key, found map[Key]Position) (err error) {
	if l.db.Pool != nil {
		orgs := make(pgtype.FlatArray[pgtype.UUID], len(keys))
		for i, k := range keys {
			orgs[i] = uuidOf(k.Org)
		}
		rows, err := l.db.Pool.Query(ctx, feedPosition+`unnest($1::uuid[]) AS k (id) JOIN orgs o ON o.id = k.id
			LEFT JOIN org_feeds f ON f.org_id = o.id`, orgs)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var k Key
			var p Position
			if err := rows.Scan((*[16]byte)(&k.Org), &p.LastSequence, &p.Active); err != nil {
				return err
			}
			found[k] = p
		}
		return rows.Err()
	}
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = hex.EncodeToString(k.Org[:])
	}
	param, err := json.Marshal(list)
	if err != nil {
		return err
	}
	rows, err := l.db.Reader.QueryContext(ctx, feedPosition+`json_each(?) k CROSS JOIN orgs o ON o.id = unhex(k.value)
		LEFT JOIN org_feeds f ON f.org_id = o.id`, string(param))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var k Key
		var p Position
		if err := rows.Scan(&k.Org, &p.LastSequence, &p.Active); err != nil {
			return err
		}
		found[k] = p
	}
	return rows.Err()
}
