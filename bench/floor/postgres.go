package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// postgresWriters is how many transactions run at once: while one waits for the disk, the other is filled.
const postgresWriters = 2

type postgresLog struct{ connections []*pgx.Conn }

// The tables may be there: several floors can share a database, each with sessions of its own.
const postgresTables = `
CREATE TABLE IF NOT EXISTS sessions (id uuid PRIMARY KEY, last_sequence bigint NOT NULL);
CREATE TABLE IF NOT EXISTS events (session_id uuid NOT NULL, sequence bigint NOT NULL, kind text NOT NULL, data text NOT NULL,
  PRIMARY KEY (session_id, sequence));`

func openPostgres(ctx context.Context, url string) (*postgresLog, error) {
	log := &postgresLog{}
	for range postgresWriters {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, err
		}
		log.connections = append(log.connections, conn)
	}
	if _, err := log.connections[0].Exec(ctx, postgresTables); err != nil {
		return nil, fmt.Errorf("create tables: %w", err)
	}
	return log, nil
}

func (l *postgresLog) createSessions(ids []sessionID) error {
	_, err := l.connections[0].Exec(context.Background(), `INSERT INTO sessions SELECT unnest($1::uuid[]), 0`, ids)
	return err
}

func (l *postgresLog) writers() []func([]*commit) error {
	list := make([]func([]*commit) error, 0, len(l.connections))
	for _, conn := range l.connections {
		list = append(list, (&postgresWriter{conn: conn}).write)
	}
	return list
}

func (l *postgresLog) close() error {
	for _, conn := range l.connections {
		_ = conn.Close(context.Background())
	}
	return nil
}

// postgresWriter writes a batch in one round trip: statements that are sent together are one transaction. Its slices
// are kept from batch to batch.
type postgresWriter struct {
	conn           *pgx.Conn
	sessions       []sessionID
	before, after  []int64
	eventSessions  []sessionID
	eventSequences []int64
	kinds, data    []string
}

func (w *postgresWriter) write(commits []*commit) error {
	w.sessions, w.before, w.after = w.sessions[:0], w.before[:0], w.after[:0]
	w.eventSessions, w.eventSequences, w.kinds, w.data = w.eventSessions[:0], w.eventSequences[:0], w.kinds[:0], w.data[:0]
	for _, c := range commits {
		w.sessions = append(w.sessions, c.session.id)
		w.before = append(w.before, c.after)
		w.after = append(w.after, c.after+int64(len(c.events)))
		for i, e := range c.events {
			w.eventSessions = append(w.eventSessions, c.session.id)
			w.eventSequences = append(w.eventSequences, c.after+int64(i)+1)
			w.kinds = append(w.kinds, e.kind)
			w.data = append(w.data, e.data)
		}
	}
	var batch pgx.Batch
	if len(commits) == 1 { // a join costs more than the statement itself
		batch.Queue(`UPDATE sessions SET last_sequence = $1 WHERE id = $2 AND last_sequence = $3`, w.after[0], w.sessions[0], w.before[0])
	} else {
		batch.Queue(`UPDATE sessions s SET last_sequence = v.after FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) v(id, before, after)
			WHERE s.id = v.id AND s.last_sequence = v.before`, w.sessions, w.before, w.after)
	}
	batch.Queue(`INSERT INTO events SELECT v.session_id, v.sequence, v.kind, v.data
		FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[]) v(session_id, sequence, kind, data)`,
		w.eventSessions, w.eventSequences, w.kinds, w.data)
	results := w.conn.SendBatch(context.Background(), &batch)
	updated, err := results.Exec()
	if err == nil {
		_, err = results.Exec()
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err == nil && updated.RowsAffected() != int64(len(commits)) {
		err = fmt.Errorf("%d of %d sessions stood at the expected sequence", updated.RowsAffected(), len(commits))
	}
	return err
}
