package commit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ostler-dev/ostler/internal/models"
)

// write needs one round trip; with audit entries it is two, because the hash of an entry depends on the end of the chain, which is locked
// after everything else.
func (tx *postgresTx) write(ctx context.Context, steps []step, entries []models.AuditEntry, beforeCommit func() error) error {
	batch := &pgx.Batch{}
	var newest told
	if buf, ok := tx.b.spare.Get().(*[]byte); ok {
		tx.buf = (*buf)[:0]
	}
	defer func() {
		if buf := tx.buf; cap(buf) <= maxSpare {
			tx.b.spare.Put(&buf)
		}
	}()
	err := tx.queue(batch, steps, &newest)
	if err == nil && len(entries) > 0 {
		batch, err = tx.chain(ctx, batch, entries)
	}
	if err == nil {
		batch.Queue("COMMIT")
		if err := beforeCommit(); err != nil {
			tx.rollback()
			return err
		}
		err = tx.conn.SendBatch(ctx, batch).Close()
	}
	if err == nil {
		tx.conn.Release()
		for i, f := range feedsOf(steps) {
			f.assign(newest.positions[i])
			*f.told = Totals{newest.sessions[i], newest.queuedTurns[i]}
		}
		return nil
	}
	broken := tx.conn.Conn().IsClosed()
	tx.rollback()
	var refused *pgconn.PgError
	switch {
	case broken:
		return &unknownOutcome{err, tx.xid}
	case !errors.As(err, &refused):
		// Nothing is committed: a value has no form in the database, or a row none here.
		return &unreadable{err}
	}
	// After an error the server ignores the rest, the commit included.
	return err
}

const lockChains = `SELECT org_id, position, hash FROM audit_heads WHERE org_id = ANY($1::uuid[]) ORDER BY org_id FOR NO KEY UPDATE`

// chain sends what is to be written before, locks the ends of the chains, and returns what puts the entries behind them.
func (tx *postgresTx) chain(ctx context.Context, before *pgx.Batch, entries []models.AuditEntry) (*pgx.Batch, error) {
	if err := tx.queue(before, []step{beginChains(entries)}, nil); err != nil {
		return nil, err
	}
	var heads []models.AuditHead
	var orgs []any
	for _, head := range chainsOf(entries) {
		orgs = append(orgs, id(head.OrgID))
	}
	before.Queue(lockChains, orgs).Query(eachRow(func(r pgx.Rows) error {
		head, err := scanHead(r)
		heads = append(heads, head)
		return err
	}))
	if err := tx.conn.SendBatch(ctx, before).Close(); err != nil {
		return nil, err
	}
	after := &pgx.Batch{}
	return after, tx.queue(after, link(heads, entries), nil)
}

// queue queues the writes of steps, in as few statements as they go into. newest is where the newest positions of the feeds go.
func (tx *postgresTx) queue(batch *pgx.Batch, steps []step, newest *told) error {
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && joins(steps[:n], steps[n]) {
			n++
		}
		if err := tx.queueGroup(batch, steps[:n], newest); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// joins reports whether a step goes into the statement of others that come before it. The parts of a statement are made in no certain order,
// and none sees what the others do: so no two may write to the same rows, and what locks rows that sessions share is on its own.
func joins(group []step, s step) bool {
	if group[0].isAlone() || s.isAlone() {
		return false
	}
	return !slices.ContainsFunc(group, func(g step) bool {
		return g.shape.table == s.shape.table && (s.later || !g.shape.once || !s.shape.once)
	})
}

func (s step) isAlone() bool { return s.shape.alone || !s.shape.many() || len(s.feeds) > 0 }

func (tx *postgresTx) queueGroup(batch *pgx.Batch, group []step, newest *told) error {
	first := group[0]
	if !first.shape.many() {
		for _, row := range first.rows {
			batch.Queue(tx.b.statement(group), row...)
		}
		return nil
	}
	var args []any
	put := func(rows [][]any) (err error) {
		from := len(tx.buf)
		if tx.buf, err = appendRows(tx.buf, rows); err != nil {
			return &unreadable{fmt.Errorf("write to %s: %w", first.shape.table, err)}
		}
		args = append(args, tx.buf[from:])
		return nil
	}
	for i, p := range first.places {
		if row := first.rows[i]; p.feed > 0 {
			first.rows[i] = append(row[:len(row)-1], p.feed, p.later)
		}
	}
	for _, s := range group {
		if err := put(s.rows); err != nil {
			return err
		}
	}
	if len(first.feeds) == 0 {
		batch.Queue(tx.b.statement(group), args...)
		return nil
	}
	if err := put(first.feedRows()); err != nil {
		return err
	}
	batch.Queue(tx.b.feed, args...).QueryRow(func(r pgx.Row) error {
		return r.Scan(&newest.positions, &newest.sessions, &newest.queuedTurns)
	})
	return nil
}

// statement returns the text that makes the steps of a group.
func (b *postgresBackend) statement(group []step) string {
	var of uint64 // the shapes come in one order only
	for _, s := range group {
		of |= 1 << b.number[s.shape]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	text, ok := b.statements[of]
	if !ok {
		text = statementOf(group)
		b.statements[of] = text
	}
	return text
}

func statementOf(group []step) string {
	last := len(group) - 1
	if last == 0 {
		return postgresSQL(group[0].shape, 1)
	}
	parts := make([]string, last)
	for i, s := range group[:last] {
		parts[i] = "w" + strconv.Itoa(i) + " AS (" + postgresSQL(s.shape, i+1) + ")"
	}
	return "WITH " + strings.Join(parts, ", ") + " " + postgresSQL(group[last].shape, last+1)
}

// rollback releases the connection; a transaction that the server has lost is closed with its connection.
func (tx *postgresTx) rollback() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	if _, err := tx.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = tx.conn.Conn().Close(ctx)
	}
	tx.conn.Release()
}

// postgresSQL is the statement of a shape for any number of rows, which are the parameter number n; for one row, whose values are the parameters, where
// many says so.
func postgresSQL(s *shape, n int) string {
	all := s.all
	param := func(i int) string { return "$" + strconv.Itoa(i+1) + "::" + all[i].typ }
	// The names of keys that aren't columns of the table stand for themselves.
	value := func(i int) string { return columnValue(all, i) }
	rows := postgresRows(all, n)
	switch {
	case s.op == duplicate:
		return s.duplicateSQL(param)
	case s.op == update && s.where != "":
		// What is left of the table by the condition may look so small to the planner that it begins there, with the rows of
		// all organizations. So the rows are found first, one key after the other.
		return "UPDATE " + s.table + " t SET " + s.assignments(value) + " FROM " + rows + " CROSS JOIN LATERAL (SELECT t.org_id, t.id FROM " +
			s.table + " t WHERE " + s.condition(value) + " OFFSET 0) f WHERE t.org_id = f.org_id AND t.id = f.id"
	case s.op == update:
		return "UPDATE " + s.table + " t SET " + s.assignments(value) + " FROM " + rows + " WHERE " + s.condition(value)
	case s.op == remove:
		return "DELETE FROM " + s.table + " t USING " + rows + " WHERE " + s.condition(value)
	case !s.many():
		return "INSERT INTO " + s.table + " (" + names("", all) + ") VALUES (" + s.list(param) + ")" + s.conflictSQL()
	}
	return "INSERT INTO " + s.table + " (" + names("", all) + ") SELECT " + s.list(value) + " FROM " + rows + s.conflictSQL()
}

// postgresRows are the rows k of the parameter number n.
func postgresRows(all []column, n int) string {
	types := make([]string, len(all))
	for i, c := range all {
		types[i] = "c" + strconv.Itoa(i) + " " + c.typ
		if c.typ == "json" { // whose bytes are kept
			types[i] = "c" + strconv.Itoa(i) + " text"
		}
	}
	return "json_to_recordset($" + strconv.Itoa(n) + "::json) AS k(" + strings.Join(types, ", ") + ")"
}

// columnValue is a value of a row of postgresRows.
func columnValue(all []column, i int) string {
	if all[i].typ == "json" {
		return "k.c" + strconv.Itoa(i) + "::json"
	}
	return "k.c" + strconv.Itoa(i)
}

// appendRows appends rows as postgresRows reads them. For the server that is no more work than arrays of columns, and for the driver
// far less: it looks into each parameter.
func appendRows(buf []byte, rows [][]any) ([]byte, error) {
	for i, row := range rows {
		if i == 0 {
			buf = append(buf, '[')
		} else {
			buf = append(buf, ',')
		}
		first := true
		for c, v := range row {
			if b, ok := v.([]byte); v == nil || ok && b == nil {
				continue
			}
			if first {
				buf, first = append(buf, `{"c`...), false
			} else {
				buf = append(buf, `,"c`...)
			}
			buf = append(strconv.AppendInt(buf, int64(c), 10), `":`...)
			switch v := v.(type) {
			case rawID:
				buf = append(hex.AppendEncode(append(buf, '"'), v[:]), '"')
			case int64:
				buf = strconv.AppendInt(buf, v, 10)
			case bool:
				buf = strconv.AppendBool(buf, v)
			case string:
				buf = appendText(buf, v)
			case []byte:
				buf = append(hex.AppendEncode(append(buf, `"\\x`...), v), '"')
			default:
				return buf, fmt.Errorf("column %d: a value of type %T has no form in PostgreSQL", c, v)
			}
		}
		buf = append(buf, '}')
	}
	return append(buf, ']'), nil
}

// appendText appends a text as JSON. What isn't UTF-8 stays so: the server refuses it.
func appendText(buf []byte, s string) []byte {
	buf = append(buf, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		buf = append(buf, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\n':
			buf = append(buf, '\\', 'n')
		default:
			buf = append(buf, '\\', 'u', '0', '0', '0'+c>>4, "0123456789abcdef"[c&15])
		}
	}
	return append(append(buf, s[from:]...), '"')
}

// postgresFeed is the statement that inserts any number of events, raises the feeds that they are in, and tells how far those go.
// Its parameters are the rows of the events, whose last columns are their places, and those of the feeds. A position is found by its number in an array: a
// join of the two would try each with each.
func postgresFeed() string {
	s, all := insertEvent, insertEvent.all
	last := len(all) - 1
	if all[last].name != "feed_position" {
		panic("the position must be the last column of models.Event: it is replaced by the place")
	}
	placed := append(slices.Clip(all[:last]), column{name: "feed", typ: "bigint"}, column{name: "later", typ: "bigint"})
	values := strings.TrimSuffix(s.list(func(i int) string { return columnValue(placed, i) }), columnValue(placed, last))
	feed := raiseFeed.all
	return "WITH feeds AS (INSERT INTO org_feeds AS f (" + feedColumns + ") SELECT " + raiseFeed.list(func(i int) string { return columnValue(feed, i) }) +
		" FROM " + postgresRows(feed, 2) + " " +
		"ON CONFLICT (org_id) DO UPDATE SET position = f.position + excluded.position, " +
		"sessions = f.sessions + excluded.sessions, queued_turns = f.queued_turns + excluded.queued_turns, " +
		"sessions_cap = excluded.sessions_cap, queued_turns_cap = excluded.queued_turns_cap " +
		"RETURNING f.org_id, f.position, f.sessions, f.queued_turns), " +
		"newest AS (SELECT array_agg(position ORDER BY org_id) AS positions, array_agg(sessions ORDER BY org_id) AS sessions, " +
		"array_agg(queued_turns ORDER BY org_id) AS queued_turns FROM feeds), " +
		"put AS (INSERT INTO " + s.table + " (" + names("", all) + ") SELECT " + values +
		"(SELECT positions FROM newest)[" + columnValue(placed, last) + "] - " + columnValue(placed, last+1) +
		" FROM " + postgresRows(placed, 1) + ") SELECT positions, sessions, queued_turns FROM newest"
}
