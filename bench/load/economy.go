package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/pgproxy"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
)

// economyLasts is how long the runs last whose costs are counted.
const economyLasts = 4 * time.Second

// economy takes P9: what a turn costs.
func (b *bench) economy(ctx context.Context, kind string) (err error) {
	if kind == postgres {
		if err := b.roundTrips(ctx); err != nil {
			return fmt.Errorf("round trips: %w", err)
		}
		// Whole pages go to the log once after each checkpoint: that is the checkpoint's cost, not the turn's.
		if err := b.asSuperuser(ctx, `ALTER SYSTEM SET full_page_writes = off`, `SELECT pg_reload_conf()`); err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, b.asSuperuser(ctx, `ALTER SYSTEM RESET full_page_writes`, `SELECT pg_reload_conf()`))
		}()
	}
	s, err := b.startSystem(ctx, kind, noFloor)
	if err != nil {
		return err
	}
	for _, workers := range []int{1, 256} {
		if err = s.costs(ctx, workers); err != nil {
			break
		}
	}
	return s.end(ctx, err)
}

// costs adds the figures of a run with so many sessions.
func (s *system) costs(ctx context.Context, workers int) error {
	// A run before it fills caches and makes the statements known.
	warm, err := s.throughput(ctx, s.api, workers, time.Second, maxRate)
	if err != nil {
		return err
	}
	s.count(armProduct, warm)
	prepared, err := prepare(ctx, s.api, workers, economyLasts, warm.perSecond)
	if err != nil {
		return err
	}
	before, err := s.spent(ctx)
	if err != nil {
		return err
	}
	if s.kind == postgres {
		if err := s.forgetStatements(ctx); err != nil {
			return err
		}
		before.statements = 0
	}
	m, err := s.drive(ctx, prepared, economyLasts)
	if err != nil {
		return err
	}
	s.count(armProduct, m)
	after, err := s.spent(ctx)
	if err != nil {
		return err
	}
	per := func(before, after int64) float64 { return float64(after-before) / float64(m.turns) }
	at := fmt.Sprintf(", %d sessions", workers)
	note := fmt.Sprintf("of %d turns", m.turns)
	s.add(report.Figure{
		ID: "P9", Name: "CPU of a turn" + at, Unit: "ms", Value: m.cpuMillis, Foreign: m.foreign,
		Gate: report.AtMost(4), Target: report.AtMost(1.05),
		Note: fmt.Sprintf("everything; the product's process alone %.2f ms", per(before.cpuMicros, after.cpuMicros)/1000),
	})
	if s.kind != postgres {
		s.add(report.Figure{ID: "P9", Name: "bytes to disk" + at, Unit: "KiB", Value: per(before.written, after.written) / kibibyte, Note: note})
		return nil
	}
	statements := report.Figure{
		ID: "P9", Name: "statements" + at, Unit: "per turn", Value: per(before.statements, after.statements), Note: note,
		Gate: report.AtMost(60), Target: report.AtMost(24),
	}
	if workers > 1 {
		statements.Target = report.AtMost(3)
	}
	s.add(statements)
	s.add(report.Figure{ID: "P9", Name: "commits that write" + at, Unit: "per turn", Value: per(before.commits, after.commits), Note: note})
	s.add(report.Figure{
		ID: "P9", Name: "write-ahead log" + at, Unit: "KB", Value: per(before.wal, after.wal) / 1000,
		Gate: report.AtMost(40), Target: report.AtMost(20), Note: "full-page writes off; " + note,
	})
	return s.statementsOf(ctx, m.turns)
}

// spent is what was used since the start. On SQLite only the process knows.
type spent struct{ cpuMicros, written, statements, commits, wal int64 }

// notStatements are what P9 doesn't count: the frames of transactions, and the settings of tenancy.
const notStatements = `query !~* '^\s*(begin|start transaction|commit|end|rollback|savepoint|release|deallocate|set|discard)\M'
	AND query !~* 'set_config|pg_stat_statements|pg_current_wal|pg_get_wal'`

func (s *system) spent(ctx context.Context) (spent, error) {
	var used spent
	cpu, err := procs.CPU(s.product.PID())
	if err != nil {
		return used, err
	}
	used.cpuMicros = cpu.Microseconds()
	if used.written, err = procs.WrittenBytes(s.product.PID()); err != nil || s.kind != postgres {
		return used, err
	}
	conn, err := pgx.Connect(ctx, s.place.url)
	if err != nil {
		return used, err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements; CREATE EXTENSION IF NOT EXISTS pg_walinspect`); err != nil {
		return used, fmt.Errorf("PostgreSQL's contrib extensions are needed: %w", err)
	}
	var start, now string
	err = conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND `+notStatements).Scan(&used.statements)
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT pg_current_wal_flush_lsn()::text, pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint`).Scan(&now, &used.wal)
	}
	if err == nil && s.walStart == "" {
		s.walStart = now
		return used, nil
	}
	start = s.walStart
	if err == nil && start != now {
		err = conn.QueryRow(ctx, `SELECT coalesce(sum(count), 0)::bigint FROM pg_get_wal_stats($1::text::pg_lsn, $2::text::pg_lsn, true)
			WHERE "resource_manager/record_type" = 'Transaction/COMMIT'`, start, now).Scan(&used.commits)
	}
	return used, err
}

// forgetStatements lets PostgreSQL count from now on.
func (s *system) forgetStatements(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.place.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, `SELECT pg_stat_statements_reset()`)
	return err
}

// statementsOf tells on standard error which statements the turns were made of.
func (s *system) statementsOf(ctx context.Context, turns int) error {
	conn, err := pgx.Connect(ctx, s.place.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT calls, total_exec_time, regexp_replace(left(query, 150), '\s+', ' ', 'g') FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND calls > $1 ORDER BY calls DESC`, turns/20)
	if err != nil {
		return err
	}
	s.progressf("statements per turn, of %d turns; milliseconds per turn; text:", turns)
	var calls int64
	var took float64
	var query string
	_, err = pgx.ForEachRow(rows, []any{&calls, &took, &query}, func() error {
		s.progressf("%7.2f %8.3f  %s", float64(calls)/float64(turns), took/float64(turns), strings.TrimSpace(query))
		return nil
	})
	return err
}

// roundTrips counts how often a turn waits for PostgreSQL, alone.
func (b *bench) roundTrips(ctx context.Context) error {
	at, err := b.newPlace(ctx, postgres)
	if err != nil {
		return err
	}
	direct, err := url.Parse(at.url)
	if err != nil {
		return err
	}
	proxy, err := pgproxy.Start(ctx, direct.Host)
	if err != nil {
		return err
	}
	defer proxy.Close()
	behind := *direct
	behind.Host = proxy.Addr
	at.url = behind.String()
	s, err := b.startSystemAt(ctx, postgres, noFloor, at)
	if err != nil {
		return err
	}
	at.url = direct.String() // for the check at the end
	var before int64
	var m measurement
	for range 2 { // the first one warms up
		prepared, err := prepare(ctx, s.api, 1, time.Second, maxRate/4)
		if err != nil {
			return errors.Join(err, s.kill(ctx))
		}
		before = proxy.RoundTrips()
		if m, err = s.drive(ctx, prepared, time.Second); err != nil {
			return errors.Join(err, s.kill(ctx))
		}
		s.count(armProduct, m)
	}
	s.add(report.Figure{
		ID: "P9", Name: "round trips, 1 session", Unit: "per turn", Value: float64(proxy.RoundTrips()-before) / float64(m.turns),
		Target: report.AtMost(12), Note: fmt.Sprintf("of %d turns", m.turns),
	})
	return s.stop(ctx)
}
