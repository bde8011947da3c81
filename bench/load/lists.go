package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/apiclient"
)

const (
	// listRepeats is how often each list is asked for in a row.
	listRepeats = 20
	// sessionRow is what the dashboard shows of a session.
	sessionRow = `nodes { id title status lastSequence createdAt updatedAt agent { id displayName } harness { id displayName } usage { inputTokens outputTokens costUsd } } pageInfo { hasNextPage endCursor }`
	// statsPause is how long PostgreSQL takes at most until it tells of scans.
	statsPause = 12 * time.Second
)

// listed is a list that P7 asks for.
type listed struct {
	name, query string
	variables   func(l *listing) map[string]any
}

func filtered(filter map[string]any) func(*listing) map[string]any {
	return func(*listing) map[string]any { return map[string]any{"filter": filter} }
}

// lists are the pages of the dashboard whose tables grow.
func lists() []listed {
	sessions := `query($filter: SessionFilter, $after: Cursor) { sessions(first: 20, after: $after, filter: $filter) { ` + sessionRow + ` } }`
	session := func(field string) string {
		return `query($id: ID!) { session(id: $id) { id ` + field + ` } }`
	}
	theSession := func(l *listing) map[string]any { return map[string]any{"id": l.session} }
	return []listed{
		{"sessions", sessions, filtered(nil)},
		{"sessions, from the middle", sessions, func(l *listing) map[string]any { return map[string]any{"after": l.middle} }},
		{"sessions of an agent", sessions, func(l *listing) map[string]any { return map[string]any{"filter": map[string]any{"agentId": l.agent}} }},
		{"sessions that wait", sessions, filtered(map[string]any{"status": []string{"WAITING"}})},
		{"sessions of two statuses", sessions, filtered(map[string]any{"status": []string{"WAITING", "IDLE"}})},
		{"sessions with a tag", sessions, filtered(map[string]any{"tag": "tag"})},
		{"sessions of a customer", sessions, filtered(map[string]any{"customerKey": "customer"})},
		{"sessions since a time", sessions, filtered(map[string]any{"createdAfter": "2023-11-14T22:13:40Z"})},
		{"sessions of the future", sessions, filtered(map[string]any{"createdAfter": "2099-01-01T00:00:00Z"})},
		{"events of a session", session(`events(first: 100) { nodes { __typename ... on Event { id sequence } } pageInfo { hasNextPage endCursor } }`), theSession},
		{"messages of a session", session(`messages(first: 50) { nodes { id role } pageInfo { hasNextPage endCursor } }`), theSession},
		{"turns of a session", session(`turns(first: 20) { nodes { id status } pageInfo { hasNextPage endCursor } }`), theSession},
		{"what waits", `{ waits(first: 20) { nodes { id kind } pageInfo { hasNextPage endCursor } } }`, filtered(nil)},
		{"agents", `{ agents(first: 20) { nodes { id displayName } pageInfo { hasNextPage endCursor } } }`, filtered(nil)},
	}
}

// listing is a product whose tables have a size.
type listing struct {
	*system

	api    *apiclient.Client
	events int64
	// session and middle are a session in the middle of the list, and its cursor; agent is that of all of them.
	session, middle, agent string
}

// listSizes takes P7: what a list costs when the tables are large, against what it costs when they are small.
func (b *bench) listSizes(ctx context.Context, kind string) (err error) {
	small, big := fill{orgs: 1000, sessions: 1000}, fill{orgs: 1000, sessions: 1_000_000}
	if b.small {
		big.sessions = 10_000
	}
	var both [2]*listing
	defer func() {
		for _, l := range both {
			if l != nil {
				err = errors.Join(err, l.kill(context.WithoutCancel(ctx)))
			}
		}
	}()
	for i, f := range []fill{small, big} {
		begun := time.Now()
		if both[i], err = b.fillSystem(ctx, kind, f); err != nil {
			return err
		}
		b.progressf("%s: P7: %d sessions and %d events in %d organizations after %.0f s", kind, f.sessions, both[i].events, f.orgs, time.Since(begun).Seconds())
	}
	for _, l := range lists() {
		if err := both[1].compare(ctx, both[0], l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	if kind == postgres {
		return both[1].scans(ctx)
	}
	return nil
}

// fillSystem starts a product, gives it a session with a turn, multiplies it, and starts the product again.
func (b *bench) fillSystem(ctx context.Context, kind string, f fill) (*listing, error) {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return nil, err
	}
	with := setup()
	with.Orgs = 1
	s, err := b.startSystemWith(ctx, kind, noFloor, at, with)
	if err != nil {
		return nil, err
	}
	l := &listing{system: s}
	if err := l.multiply(ctx, f); err != nil {
		return nil, errors.Join(err, s.kill(ctx))
	}
	return l, nil
}

func (l *listing) multiply(ctx context.Context, f fill) error {
	conversations, err := openConversations(ctx, l.system.api, 1)
	if err != nil {
		return err
	}
	_, err = conversations[0].turn(ctx, client.TextTurn, time.Now())
	time.Sleep(pause) // for SESSION_IDLED, which may come a moment after the end
	template, ok := conversations[0].session.(*client.ProductSession)
	if err = errors.Join(err, closeConversations(conversations)); err != nil || !ok {
		return err
	}
	if err := l.product.Stop(); err != nil {
		return err
	}
	if l.events, err = fillPlace(ctx, l.place, template.ID, f); err != nil {
		return err
	}
	if l.product, err = l.startProduct(ctx, l.place); err != nil {
		return err
	}
	created, err := l.system.api.CreateSessions(ctx, 1) // which renews tokens that are about to expire
	if err != nil {
		return err
	}
	l.api = created[0].API
	return l.findMiddle(ctx, f.share(1)/2)
}

// findMiddle goes through the list to its middle.
func (l *listing) findMiddle(ctx context.Context, behind int) error {
	var after any
	for behind > 0 {
		var out struct {
			Sessions struct {
				Edges []struct {
					Cursor string
					Node   struct {
						ID    string
						Agent struct{ ID string }
					}
				}
			}
		}
		n := min(behind, 100)
		err := l.api.Do(ctx, `query($n: Int!, $after: Cursor) { sessions(first: $n, after: $after) { edges { cursor node { id agent { id } } } } }`,
			map[string]any{"n": n, "after": after}, &out)
		if err != nil {
			return err
		}
		if len(out.Sessions.Edges) != n {
			return fmt.Errorf("a page of %d sessions has %d", n, len(out.Sessions.Edges))
		}
		last := out.Sessions.Edges[n-1]
		after, l.middle, l.session, l.agent = last.Cursor, last.Cursor, last.Node.ID, last.Node.Agent.ID
		behind -= n
	}
	return nil
}

// compare adds the figures of a list.
func (l *listing) compare(ctx context.Context, small *listing, list listed) error {
	var times [2][]float64
	var ratios []float64
	for pair := range l.pairs + 1 { // the first one only warms up
		var medians [2]float64
		for i, arm := range []*listing{small, l} {
			took, err := arm.ask(ctx, list)
			if err != nil {
				return err
			}
			medians[i] = report.Median(took)
			if pair > 0 {
				times[i] = append(times[i], medians[i])
			}
		}
		if pair > 0 {
			ratios = append(ratios, medians[1]/medians[0])
		}
	}
	l.add(report.Figure{
		ID: "P7", Name: list.name + ": large tables ÷ small", Unit: "ms", Samples: times[1], Floor: report.Median(times[0]), Ratios: ratios,
		Gate: report.AtMost(2), Target: report.AtMost(1.3), Note: fmt.Sprintf("%d events in all", l.events),
	})
	if l.kind != postgres {
		return nil
	}
	if err := l.forgetStatements(ctx); err != nil {
		return err
	}
	if _, err := l.ask(ctx, list); err != nil {
		return err
	}
	statements, err := l.statements(ctx, listRepeats)
	if err != nil {
		return err
	}
	l.add(report.Figure{ID: "P7", Name: list.name + ": statements", Unit: "per request", Value: statements, Target: report.AtMost(2)})
	return nil
}

// ask asks for a list a few times and returns how many milliseconds each took.
func (l *listing) ask(ctx context.Context, list listed) ([]float64, error) {
	var took []float64
	for range listRepeats {
		begun := time.Now()
		if err := l.api.Do(ctx, list.query, list.variables(l), nil); err != nil {
			return nil, err
		}
		took = append(took, millis(time.Since(begun)))
	}
	return took, nil
}

// statements returns how many statements each of so many requests made: those that were made at least once by each, as the product looks
// after other things meanwhile.
func (l *listing) statements(ctx context.Context, requests int) (per float64, err error) {
	conn, err := pgx.Connect(ctx, l.place.url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, `SELECT coalesce(sum(calls / $1), 0)::float8 FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND calls >= $1 AND `+notStatements, int64(requests)).Scan(&per)
	return per, err
}

// scans adds how often a large table was read from its beginning to its end since the product was started on it.
func (l *listing) scans(ctx context.Context) error {
	time.Sleep(statsPause)
	conn, err := pgx.Connect(ctx, l.place.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var scans, before int64
	read := func(n *int64) error {
		return conn.QueryRow(ctx, `SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_user_tables WHERE n_live_tup > 10000`).Scan(n)
	}
	// What filled the tables is counted, too.
	if err := read(&before); err != nil {
		return err
	}
	for _, list := range lists() {
		if _, err := l.ask(ctx, list); err != nil {
			return err
		}
	}
	time.Sleep(statsPause)
	if err := read(&scans); err != nil {
		return err
	}
	l.add(report.Figure{
		ID: "P7", Name: "scans of whole large tables", Unit: "", Value: float64(scans - before), Gate: report.AtMost(0), Target: report.AtMost(0),
		Note: "while each list is asked for " + fmt.Sprint(listRepeats) + " times",
	})
	return nil
}
