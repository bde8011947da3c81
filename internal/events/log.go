package events

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Key names the stream of a session or, without a session, that of an organization's feed.
type Key struct {
	Org     models.OrgID
	Session models.SessionID
}

// Feed reports whether the stream is the organization's feed.
func (k Key) Feed() bool { return k.Session.IsZero() }

// String returns the id of the session or the organization.
func (k Key) String() string {
	if k.Feed() {
		return k.Org.String()
	}
	return k.Session.String()
}

func (k Key) subject() string {
	if k.Feed() {
		return OrgSubject(k.Org)
	}
	return SessionSubject(k.Org, k.Session)
}

// Position is how far the log of a session, or a feed, goes.
type Position struct {
	// LastSequence is that of the newest event; in a feed, its position.
	LastSequence int64
	// Active is true when a turn is at work, so that more is to be expected soon.
	Active bool
}

// State is what a stream of a session begins with.
type State struct {
	Position
	// TurnID and MessageID name the output that is open at that position; zero for none.
	TurnID    models.TurnID
	MessageID models.MessageID
	// Checkpoint is what that output had brought when it was last stored; nil for none.
	Checkpoint *models.Checkpoint
}

// Log reads events. It uses the pools directly: these reads are on the way of every reconnect, and GORM costs more than
// they do.
type Log struct {
	db       *store.DB
	lineages *Lineages
}

// NewLog returns the read side of the log in a database.
func NewLog(db *store.DB) *Log { return &Log{db: db, lineages: NewLineages(db)} }

const eventColumns = `sequence, id, kind, turn_id, data, occurred_at, feed_position`

// Limit bounds one read of the log.
type Limit struct {
	// Events is the most events to give.
	Events int
	// Bytes is the most that their data may come to. The first event is given however large it is.
	Bytes int
}

// pageLimit decides, event by event, what still fits on a page.
type pageLimit struct{ left, events int }

func (r *pageLimit) fits(e *models.Event) bool {
	if r.left -= len(e.Data); r.left < 0 && r.events > 0 {
		return false
	}
	r.events++
	return true
}

// withinBytes makes a query of events, with the columns outer, into one that ends before they come to more bytes than a limit; the first
// one is given always. PostgreSQL sends all that a statement finds, however little of it is wanted, so the statement itself must be
// bounded. It knows the size of a text without unpacking it.
const withinBytes = `SELECT %[1]s FROM (SELECT %[1]s, place, octet_length(data) AS size, sum(octet_length(data)) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS bytes
FROM (%[2]s) e) e WHERE bytes <= %[3]s OR bytes = size ORDER BY place`

var (
	readPostgres = fmt.Sprintf(withinBytes, eventColumns, `SELECT `+eventColumns+`, sequence AS place FROM events
WHERE org_id = ? AND session_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`, "?::bigint")
	readSQLite = `SELECT ` + eventColumns + ` FROM events WHERE org_id = ? AND session_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`
)

// Read returns events past after, in order, as far as the limit goes. A session that doesn't exist has none. Nobody need know whether it
// is a fork: the log has no gaps, so one that begins later than it should does, where its own part does.
func (l *Log) Read(ctx context.Context, org models.OrgID, session models.SessionID, after int64, limit Limit) ([]models.Event, error) {
	if l.lineages.known(org, session) != nil {
		return l.readFork(ctx, org, session, after, limit)
	}
	list, err := l.readOwn(ctx, Key{org, session}, after, limit)
	if err != nil || len(list) == 0 || list[0].Sequence == after+1 {
		return list, err
	}
	return l.readFork(ctx, org, session, after, limit)
}

// readFork reads what a fork has from other sessions, then what it holds itself.
func (l *Log) readFork(ctx context.Context, org models.OrgID, session models.SessionID, after int64, limit Limit) (all []models.Event, err error) {
	pieces, err := l.lineages.Of(ctx, org, session)
	if err != nil {
		return nil, err
	}
	for _, p := range append(slices.Clip(pieces), Piece{Session: session, Through: math.MaxInt64}) {
		if after >= p.Through {
			continue
		}
		list, err := l.readOwn(ctx, Key{org, p.Session}, after, limit)
		if err != nil {
			return nil, err
		}
		end := 0
		for ; end < len(list) && list[end].Sequence <= p.Through; end++ {
			e := &list[end]
			if p.Session != session {
				e.SessionID, e.FeedPosition = session, nil
			}
			limit.Events--
			limit.Bytes -= len(e.Data)
			after = e.Sequence
		}
		all = append(all, list[:end]...)
		if after < p.Through || limit.Events <= 0 || limit.Bytes <= 0 {
			break
		}
	}
	return all, nil
}

// readOwn reads what a session itself holds.
func (l *Log) readOwn(ctx context.Context, key Key, after int64, limit Limit) ([]models.Event, error) {
	if l.db.Pool != nil {
		return l.events(ctx, l.db.Query, key, nil, readPostgres, key.Org[:], key.Session[:], after, limit.Events, limit.Bytes)
	}
	return l.events(ctx, l.db.Query, key, &pageLimit{left: limit.Bytes}, readSQLite, key.Org[:], key.Session[:], after, limit.Events)
}

// query is Query or QueryOnce of the store.
type query func(ctx context.Context, org models.OrgID, scan func(store.Row) error, statement string, args ...any) error

// events returns what a statement finds, within a limit; nil for none.
func (l *Log) events(ctx context.Context, ask query, key Key, in *pageLimit, statement string, args ...any) ([]models.Event, error) {
	var list []models.Event
	var turn models.TurnID
	err := ask(ctx, key.Org, func(row store.Row) error {
		e := models.Event{OrgID: key.Org, SessionID: key.Session}
		if err := row.Scan(&e.Sequence, &e.ID, (*string)(&e.Kind), &turn, (*[]byte)(&e.Data), (*int64)(&e.OccurredAt), &e.FeedPosition); err != nil {
			return err //nolint:wrapcheck // said below
		}
		e.TurnID = turn.Ptr()
		if in != nil && !in.fits(&e) {
			return errEnough
		}
		if err := store.Charge(ctx, len(e.Data)); err != nil {
			return err
		}
		list = append(list, e)
		return nil
	}, statement, args...)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read events of %s: %w", key.Session, err)
	}
	return list, nil
}

// errEnough ends the reading of rows that are not needed.
var errEnough = errors.New("enough was read")

// LastSequences returns how far the logs of these sessions and these feeds go, in one statement for all sessions and one for
// all feeds. Sessions and organizations that don't exist are left out.
func (l *Log) LastSequences(ctx context.Context, keys []Key) (map[Key]Position, error) {
	found := make(map[Key]Position, len(keys))
	feeds, sessions := split(keys)
	if len(feeds) > 0 {
		if err := l.feedPositions(ctx, feeds, found); err != nil {
			return nil, fmt.Errorf("look how far %d feeds go: %w", len(feeds), err)
		}
	}
	if len(sessions) == 0 {
		return found, nil
	}
	if err := l.positions(ctx, sessions, found); err != nil {
		return nil, fmt.Errorf("look how far the logs of %d sessions go: %w", len(sessions), err)
	}
	return found, nil
}

// split returns the keys of feeds and those of sessions.
func split(keys []Key) (feeds, sessions []Key) {
	if !slices.ContainsFunc(keys, Key.Feed) {
		return nil, keys
	}
	for _, k := range keys {
		if k.Feed() {
			feeds = append(feeds, k)
		} else {
			sessions = append(sessions, k)
		}
	}
	return feeds, sessions
}

const (
	positionsPostgres = `SELECT s.org_id, s.id, s.last_sequence, s.status
		FROM unnest(?::uuid[], ?::uuid[]) AS k (org_id, id) JOIN sessions s ON s.org_id = k.org_id AND s.id = k.id`
	// One parameter for all keys: SQLite bounds the number of parameters, and JSON has no bytes.
	positionsSQLite = `SELECT s.org_id, s.id, s.last_sequence, s.status
		FROM json_each(?) k CROSS JOIN sessions s ON s.org_id = unhex(k.value ->> 0) AND s.id = unhex(k.value ->> 1)`
)

func (l *Log) positions(ctx context.Context, keys []Key, found map[Key]Position) error {
	scan := func(row store.Row) error {
		var k Key
		var p Position
		var status string
		err := row.Scan(&k.Org, &k.Session, &p.LastSequence, &status)
		p.Active = models.SessionStatus(status) == models.SessionActive
		found[k] = p
		return err //nolint:wrapcheck // the caller says what was read
	}
	if l.db.Pool != nil {
		orgs, sessions := make(pgtype.FlatArray[pgtype.UUID], len(keys)), make(pgtype.FlatArray[pgtype.UUID], len(keys))
		for i, k := range keys {
			orgs[i], sessions[i] = uuidOf(k.Org), uuidOf(k.Session)
		}
		return l.db.QueryAcross(ctx, scan, positionsPostgres, orgs, sessions)
	}
	list := make([][2]string, len(keys))
	for i, k := range keys {
		list[i] = [2]string{hex.EncodeToString(k.Org[:]), hex.EncodeToString(k.Session[:])}
	}
	return l.db.QueryAcross(ctx, scan, positionsSQLite, string(jsonx.MustEncode(list)))
}

func uuidOf[E models.Entity](id models.ID[E]) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }
