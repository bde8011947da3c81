package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/report"
)

const (
	// usageDays is the time over which the calls of U1 are spread, from usageBase on.
	usageDays = 30
	usageBase = 1_699_920_000_000 // 2023-11-14
	// usageCustomers is how many customers make them, each with an agent, a user and a model of theirs, and one session a day.
	usageCustomers = 500
	// usageLimit is how long an answer may take, in milliseconds.
	usageLimit = 1000
)

// usageFigures takes U1: how long it takes to tell what was used, with ten million calls in one organization.
func (b *bench) usageFigures(ctx context.Context, kind string) (err error) {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return err
	}
	with := setup()
	with.Orgs = 1
	s, err := b.startSystemWith(ctx, kind, noFloor, at, with)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.kill(context.WithoutCancel(ctx))) }()
	created, err := s.api.Org(0).CreateSessions(ctx, 1)
	if err != nil {
		return err
	}
	var out struct{ Org struct{ ID string } }
	if err := created[0].API.Do(ctx, `{ org { id } }`, nil, &out); err != nil {
		return err
	}
	if err := s.product.Stop(); err != nil {
		return err
	}
	calls := 10_000_000
	if b.small {
		calls = 100_000
	}
	begun := time.Now()
	sums, err := fillUsage(ctx, at, out.Org.ID, calls)
	if err != nil {
		return err
	}
	b.progressf("%s: U1: %d calls in %d sums of hours after %.0f s", kind, calls, sums, time.Since(begun).Seconds())
	if s.product, err = s.startProduct(ctx, at); err != nil {
		return err
	}
	if created, err = s.api.Org(0).CreateSessions(ctx, 1); err != nil { // which renews tokens that are about to expire
		return err
	}
	l := &listing{system: s, api: created[0].API}
	return l.takeUsage(ctx, calls, sums)
}

// takeUsage asks what was used, and checks that it is all.
func (l *listing) takeUsage(ctx context.Context, calls int, sums int64) error {
	query := func(groups string) string {
		return `query($after: Cursor) { usage(groupBy: [` + groups + `], from: "2023-11-14T00:00:00Z", to: "2023-12-14T00:00:00Z", first: 100, after: $after) {
			nodes { day customerKey model { name } session { id } modelCalls usage { inputTokens outputTokens costUsd } } pageInfo { endCursor } } }`
	}
	var page struct {
		Usage struct {
			Nodes    []struct{ ModelCalls int }
			PageInfo struct{ EndCursor string }
		}
	}
	if err := l.api.Do(ctx, query("MODEL"), nil, &page); err != nil {
		return err
	}
	have := 0
	for _, n := range page.Usage.Nodes {
		have += n.ModelCalls
	}
	if have != calls {
		return fmt.Errorf("usage tells of %d calls, not of %d", have, calls)
	}
	if err := l.api.Do(ctx, query("DAY, CUSTOMER"), nil, &page); err != nil {
		return err
	}
	next := page.Usage.PageInfo.EndCursor
	for _, u := range []struct {
		name, groups string
		after        any
	}{
		{"by model", "MODEL", nil}, {"by day and customer", "DAY, CUSTOMER", nil}, {"by day and customer, the second page", "DAY, CUSTOMER", next},
		{"by session", "SESSION", nil},
	} {
		asked := listed{u.name, query(u.groups), func(*listing) map[string]any { return map[string]any{"after": u.after} }}
		note := fmt.Sprintf("%d calls in %d sums of hours", calls, sums)
		if l.kind == postgres {
			if err := l.forgetStatements(ctx); err != nil {
				return err
			}
		}
		took, err := l.ask(ctx, asked)
		if err != nil {
			return err
		}
		if l.kind == postgres {
			// Others are those of a product at rest, of which a slow answer sees more.
			statements, err := l.statementsOn(ctx, "usage_hours")
			if err != nil {
				return err
			}
			note += fmt.Sprintf("; %.2f statements each on these sums", float64(statements)/listRepeats)
		}
		l.add(report.Figure{
			ID: "U1", Name: "usage of 30 days " + u.name + ", slowest of " + fmt.Sprint(listRepeats), Unit: "ms", Value: slices.Max(took), Target: report.AtMost(usageLimit),
			Note: fmt.Sprintf("median %.0f ms; %s", report.Median(took), note),
		})
	}
	return nil
}

// statementsOn counts the statements that have named a table.
func (l *listing) statementsOn(ctx context.Context, table string) (n int64, err error) {
	conn, err := pgx.Connect(ctx, l.place.url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query LIKE '%FROM ' || $1 || '%'`, table).Scan(&n)
	return n, err
}

// fillUsage writes calls into the journal, past the product, which must have ended, and adds them up as the product does. It returns how
// many sums of hours there are.
func fillUsage(ctx context.Context, at *place, org string, calls int) (sums int64, err error) {
	db, err := openPlace(at)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	w := &filler{postgres: at.url != ""}
	_, digits, _ := strings.Cut(org, "_")
	home := w.literal(digits)
	hurry, tidy := "PRAGMA foreign_keys = off; PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -500000", "ANALYZE"
	series := func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE k(g) AS (SELECT 0 UNION ALL SELECT g + 1 FROM k WHERE g < %d)", n-1)
	}
	if w.postgres {
		hurry, tidy = "SET session_replication_role = replica; SET synchronous_commit = off; CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "VACUUM ANALYZE"
		series = func(n int) string { return fmt.Sprintf("WITH k(g) AS (SELECT generate_series(0, %d))", n-1) }
	}
	const spread = usageDays * 86_400_000
	adds := `sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(cost_nanos), 0, count(*), 0, 0
		FROM usage_journal WHERE org_id = ` + home + ` GROUP BY org_id, occurred_at / 3600000, `
	sumColumns := "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanos, unpriced_calls, model_calls, tool_calls, turns) "
	for _, statement := range []string{
		hurry,
		// A customer's day.
		"CREATE TABLE bench_days AS " + series(usageCustomers*usageDays) + fmt.Sprintf(` SELECT g %% %[1]d AS c, g / %[1]d AS d, %s AS model, %s AS agent, %s AS person, %s AS session FROM k`,
			usageCustomers, w.id("1", "g % 5"), w.id("2", "g % 20"), w.id("3", "g % 100"), w.id(fmt.Sprint(usageBase), "g")),
		"CREATE UNIQUE INDEX bench_days_key ON bench_days (c, d)",
		`INSERT INTO usage_journal (org_id, id, kind, occurred_at, session_id, user_id, agent_id, customer_key, model_id, model, tool, input_tokens, output_tokens,
			cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanos, unpriced, provider_cost, estimated, duration_ms) ` + series(calls) + fmt.Sprintf(
			` SELECT %s, %s, 'MODEL_CALL', %s, b.session, b.person, b.agent, 'customer-' || b.c, b.model, 'm', '', g %% 5000, g %% 700, 0, 0, 0, g %% 90000, g < 0, g < 0, g < 0, 900
			FROM k JOIN bench_days b ON b.c = g %% %d AND b.d = CAST(g AS bigint) * %d / %d`,
			home, w.id(at30(spread, calls), "g"), at30(spread, calls), usageCustomers, usageDays, calls),
		"INSERT INTO usage_hours (org_id, hour, model_id, agent_id, user_id, customer_key, tool, " + sumColumns +
			"SELECT org_id, occurred_at / 3600000 * 3600000, model_id, agent_id, user_id, customer_key, tool, " + adds + "model_id, agent_id, user_id, customer_key, tool",
		"INSERT INTO session_usage_hours (org_id, hour, session_id, model_id, agent_id, user_id, customer_key, tool, " + sumColumns +
			"SELECT org_id, occurred_at / 3600000 * 3600000, session_id, model_id, agent_id, user_id, customer_key, tool, " + adds +
			"session_id, model_id, agent_id, user_id, customer_key, tool",
		"DROP TABLE bench_days",
		tidy,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return 0, fmt.Errorf("%s: %w", statement, err)
		}
	}
	err = conn.QueryRowContext(ctx, "SELECT count(*) FROM usage_hours").Scan(&sums)
	return sums, err
}

// at30 is an expression for the time of call g.
func at30(spread, calls int) string {
	return fmt.Sprintf("(%d + CAST(g AS bigint) * %d / %d)", usageBase, spread, calls)
}
