package events

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Key names a session's stream.
type Key struct {
	Org     models.OrgID
	Session models.SessionID
}

// Position is how far the log of a session goes.
type Position struct {
	LastSequence int64
	// Active tells that a turn is at work, so that more is to be expected soon.
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
type Log struct{ db *store.DB }

// NewLog gives the read side of the log in a database.
func NewLog(db *store.DB) *Log { return &Log{db: db} }

const eventColumns = `sequence, id, kind, turn_id, data, occurred_at`

// Read gives up to limit events past after, in order. A session that doesn't exist has none.
func (l *Log) Read(ctx context.Context, org models.OrgID, session models.SessionID, after int64, limit int) ([]models.Event, error) {
	return l.Page(ctx, org, session, PageQuery{After: &after, Limit: limit})
}

func (l *Log) events(ctx context.Context, key Key, query string, args ...any) ([]models.Event, error) {
	var list []models.Event
	var err error
	if l.db.Pool != nil {
		list, err = l.postgresEvents(ctx, key, query, args)
	} else {
		list, err = l.sqliteEvents(ctx, key, query, args)
	}
	if err != nil {
		return nil, fmt.Errorf("read events of %s: %w", key.Session, err)
	}
	return list, nil
}

func (l *Log) postgresEvents(ctx context.Context, key Key, query string, args []any) ([]models.Event, error) {
	rows, err := l.db.Pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []models.Event
	var turn pgtype.UUID
	for rows.Next() {
		e := models.Event{OrgID: key.Org, SessionID: key.Session}
		if err := rows.Scan(&e.Sequence, (*[16]byte)(&e.ID), (*string)(&e.Kind), &turn, (*[]byte)(&e.Data), (*int64)(&e.OccurredAt)); err != nil {
			return nil, err
		}
		if turn.Valid {
			e.TurnID = new(models.TurnID(turn.Bytes))
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

func (l *Log) sqliteEvents(ctx context.Context, key Key, query string, args []any) (list []models.Event, err error) {
	rows, err := l.db.Reader.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var turn models.TurnID
	for rows.Next() {
		e := models.Event{OrgID: key.Org, SessionID: key.Session}
		if err := rows.Scan(&e.Sequence, &e.ID, (*string)(&e.Kind), &turn, &e.Data, (*int64)(&e.OccurredAt)); err != nil {
			return nil, err
		}
		if !turn.IsZero() {
			e.TurnID = new(turn)
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// LastSequences tells, in one statement, how far the logs of these sessions go. Sessions that don't exist are left out.
func (l *Log) LastSequences(ctx context.Context, keys []Key) (map[Key]Position, error) {
	var found map[Key]Position
	var err error
	if l.db.Pool != nil {
		found, err = l.postgresPositions(ctx, keys)
	} else {
		found, err = l.sqlitePositions(ctx, keys)
	}
	if err != nil {
		return nil, fmt.Errorf("look how far the logs of %d sessions go: %w", len(keys), err)
	}
	return found, nil
}

func (l *Log) postgresPositions(ctx context.Context, keys []Key) (map[Key]Position, error) {
	orgs, sessions := make(pgtype.FlatArray[pgtype.UUID], len(keys)), make(pgtype.FlatArray[pgtype.UUID], len(keys))
	for i, k := range keys {
		orgs[i], sessions[i] = uuidOf(k.Org), uuidOf(k.Session)
	}
	rows, err := l.db.Pool.Query(ctx, `SELECT s.org_id, s.id, s.last_sequence, s.status
		FROM unnest($1::uuid[], $2::uuid[]) AS k (org_id, id) JOIN sessions s ON s.org_id = k.org_id AND s.id = k.id`, orgs, sessions)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[Key]Position, len(keys))
	for rows.Next() {
		var k Key
		var p Position
		var status models.SessionStatus
		if err := rows.Scan((*[16]byte)(&k.Org), (*[16]byte)(&k.Session), &p.LastSequence, (*string)(&status)); err != nil {
			return nil, err
		}
		p.Active = status == models.SessionActive
		found[k] = p
	}
	return found, rows.Err()
}

func (l *Log) sqlitePositions(ctx context.Context, keys []Key) (found map[Key]Position, err error) {
	// One parameter for all keys: SQLite bounds the number of parameters, and JSON has no bytes.
	list := make([][2]string, len(keys))
	for i, k := range keys {
		list[i] = [2]string{hex.EncodeToString(k.Org[:]), hex.EncodeToString(k.Session[:])}
	}
	param, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	rows, err := l.db.Reader.QueryContext(ctx, `SELECT s.org_id, s.id, s.last_sequence, s.status
		FROM json_each(?) k CROSS JOIN sessions s ON s.org_id = unhex(k.value ->> 0) AND s.id = unhex(k.value ->> 1)`, string(param))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found = make(map[Key]Position, len(keys))
	for rows.Next() {
		var k Key
		var p Position
		var status models.SessionStatus
		if err := rows.Scan(&k.Org, &k.Session, &p.LastSequence, (*string)(&status)); err != nil {
			return nil, err
		}
		p.Active = status == models.SessionActive
		found[k] = p
	}
	return found, rows.Err()
}

func uuidOf[E models.Entity](id models.ID[E]) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// isNoRow reports whether a query for one row found none.
func isNoRow(err error) bool { return errors.Is(err, pgx.ErrNoRows) || errors.Is(err, sql.ErrNoRows) }
