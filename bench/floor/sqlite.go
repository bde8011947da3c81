package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// sqliteRows is how many events one statement inserts at most.
const sqliteRows = 64

type sqliteLog struct {
	db                    *sql.DB
	conn                  *sql.Conn
	begin, commit, update *sql.Stmt
	inserts               [sqliteRows + 1]*sql.Stmt // by number of rows
	args                  []any
}

const sqliteTables = `
CREATE TABLE sessions (id blob PRIMARY KEY, last_sequence integer NOT NULL) WITHOUT ROWID;
CREATE TABLE events (session_id blob NOT NULL, sequence integer NOT NULL, kind text NOT NULL, data text NOT NULL,
  PRIMARY KEY (session_id, sequence)) WITHOUT ROWID;`

func openSQLite(ctx context.Context, file string) (*sqliteLog, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	l := &sqliteLog{db: db}
	if l.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err = l.conn.ExecContext(ctx, sqliteTables); err != nil {
		return nil, fmt.Errorf("create tables: %w", err)
	}
	for query, stmt := range map[string]**sql.Stmt{
		"BEGIN IMMEDIATE": &l.begin,
		"COMMIT":          &l.commit,
		"UPDATE sessions SET last_sequence = ? WHERE id = ? AND last_sequence = ?": &l.update,
	} {
		if *stmt, err = l.conn.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
	}
	for rows := 1; rows <= sqliteRows; rows++ {
		query := "INSERT INTO events VALUES (?,?,?,?)" + strings.Repeat(",(?,?,?,?)", rows-1)
		if l.inserts[rows], err = l.conn.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *sqliteLog) createSessions(ids []sessionID) error {
	tx, err := l.db.Begin() //nolint:noctx // it has a connection of its own and waits for the writer
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := tx.Exec(`INSERT INTO sessions VALUES (?, 0)`, id[:]); err != nil { //nolint:noctx // as above
			_ = tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}

func (l *sqliteLog) writers() []func([]*commit) error { return []func([]*commit) error{l.write} }

func (l *sqliteLog) close() error {
	_ = l.conn.Close()
	return l.db.Close()
}

//nolint:noctx // nothing ends a transaction of the floor early
func (l *sqliteLog) write(commits []*commit) error {
	if _, err := l.begin.Exec(); err != nil {
		return err
	}
	l.args = l.args[:0]
	for _, c := range commits {
		result, err := l.update.Exec(c.after+int64(len(c.events)), c.session.id[:], c.after)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return fmt.Errorf("session %x does not stand at sequence %d (%w)", c.session.id, c.after, err)
		}
		for i, e := range c.events {
			l.args = append(l.args, c.session.id[:], c.after+int64(i)+1, e.kind, e.data)
		}
	}
	const columns = 4
	for rest := l.args; len(rest) > 0; {
		rows := min(sqliteRows, len(rest)/columns)
		if _, err := l.inserts[rows].Exec(rest[:rows*columns]...); err != nil {
			return err
		}
		rest = rest[rows*columns:]
	}
	_, err := l.commit.Exec()
	return err
}
