package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// pool has databases that tests are done with, as good as new: making one and dropping it takes PostgreSQL far longer than emptying it.
type pool struct {
	mu    sync.Mutex
	clean []string
	// schema is what a fresh database has in its catalog.
	schema string
}

// take returns a clean database; empty when there is none.
func (p *pool) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clean) == 0 {
		return ""
	}
	name := p.clean[len(p.clean)-1]
	p.clean = p.clean[:len(p.clean)-1]
	return name
}

// give takes a database back, and reports whether it could be made as good as new.
func (p *pool) give(ctx context.Context, server, template, name string) (clean bool, err error) {
	fresh, err := p.fresh(ctx, withDatabase(server, template))
	if err != nil {
		return false, err
	}
	err = with(ctx, withDatabase(server, name), func(conn *pgx.Conn) error {
		schema, err := schemaOf(ctx, conn)
		if err != nil || schema != fresh {
			return err // the test has changed it
		}
		clean, err = empty(ctx, conn)
		return err
	})
	if clean {
		p.mu.Lock()
		p.clean = append(p.clean, name)
		p.mu.Unlock()
	}
	return clean, err
}

// fresh returns the schema of a fresh database.
func (p *pool) fresh(ctx context.Context, template string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schema != "" {
		return p.schema, nil
	}
	err := with(ctx, template, func(conn *pgx.Conn) (err error) {
		p.schema, err = schemaOf(ctx, conn)
		return err
	})
	return p.schema, err
}

// schemaOf returns a text that changes with any change of the schema: copies of a database have the rows of its catalog with their ids and the
// transactions that wrote them.
func schemaOf(ctx context.Context, conn *pgx.Conn) (text string, err error) {
	err = conn.QueryRow(ctx, `WITH own AS (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
SELECT (SELECT md5(string_agg(oid || ':' || xmin::text, ' ' ORDER BY oid)) FROM pg_class WHERE oid IN (SELECT oid FROM own))
	|| (SELECT md5(string_agg(attrelid || ':' || attnum || ':' || xmin::text, ' ' ORDER BY attrelid, attnum)) FROM pg_attribute WHERE attrelid IN (SELECT oid FROM own))
	|| (SELECT md5(string_agg(oid || ':' || xmin::text, ' ' ORDER BY oid)) FROM pg_trigger)
	|| (SELECT md5(string_agg(oid || ':' || xmin::text, ' ' ORDER BY oid)) FROM pg_constraint)
	|| (SELECT md5(string_agg(oid || ':' || xmin::text, ' ' ORDER BY oid)) FROM pg_policy)
	|| (SELECT md5(string_agg(oid || ':' || xmin::text, ' ' ORDER BY oid)) FROM pg_proc)
	|| (SELECT count(*) FROM pg_namespace)
	|| (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&text)
	if err != nil {
		return "", fmt.Errorf("read the schema of a test database: %w", err)
	}
	return text, nil
}

// mostRows is how many rows a database may have had: a table that was large is planned for differently even when it is empty.
const mostRows = 5000

// empty deletes all rows. It reports false when the database shouldn't be used again: it was large, it has statistics, or somebody is still at work.
func empty(ctx context.Context, conn *pgx.Conn) (clean bool, err error) {
	// Triggers, which protect the audit log for example, don't run in this role.
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return false, fmt.Errorf("switch triggers off: %w", err)
	}
	var busy bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle')
	OR EXISTS (SELECT 1 FROM pg_statistic s JOIN pg_class c ON c.oid = s.starelid WHERE c.relnamespace = 'public'::regnamespace)`).Scan(&busy)
	if err != nil || busy {
		return false, err //nolint:wrapcheck // nobody reads more
	}
	rows, err := conn.Query(ctx, `SELECT oid::regclass::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'goose_db_version'`)
	if err != nil {
		return false, fmt.Errorf("list the tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return false, fmt.Errorf("list the tables: %w", err)
	}
	batch := &pgx.Batch{}
	var deleted int64
	for _, table := range tables {
		batch.Queue("DELETE FROM " + table)
	}
	results := conn.SendBatch(ctx, batch)
	for range tables {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close()
			return false, fmt.Errorf("empty a test database: %w", err)
		}
		deleted += tag.RowsAffected()
	}
	if err := results.Close(); err != nil {
		return false, fmt.Errorf("empty a test database: %w", err)
	}
	_, err = conn.Exec(ctx, `SELECT setval(c.oid::regclass, s.seqstart, false) FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid`)
	if err != nil {
		return false, fmt.Errorf("reset the sequences: %w", err)
	}
	return deleted <= mostRows, nil
}
