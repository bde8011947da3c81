package commit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ostler-dev/ostler/internal/models"
)

// fewRows are inserted by a list of values, and updated by a statement each: that costs the server less than to unpack arrays.
const fewRows = 4

// write needs one round trip; with audit entries it is two, because the hash of an entry depends on the end of the chain, which is locked
// after everything else.
func (tx *postgresTx) write(ctx context.Context, steps []step, entries []models.AuditEntry, beforeCommit func() error) error {
	batch := &pgx.Batch{}
	var newest told
	tx.queue(batch, steps, &newest)
	var err error
	if len(entries) > 0 {
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
	tx.queue(before, []step{beginChains(entries)}, nil)
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
	tx.queue(after, link(heads, entries), nil)
	return after, nil
}

// queue queues the writes of steps; newest is where the newest positions of the feeds go.
func (tx *postgresTx) queue(batch *pgx.Batch, steps []step, newest *told) {
	for i, s := range steps {
		statements := tx.b.statements[s.shape]
		switch {
		case s.shape == tables.insertJournal:
			var together [3]step // with the sums that they add to
			copy(together[:], steps[i:])
			tx.queueMetered(batch, together)
		case s.shape == tables.addUsage, s.shape == tables.addSessionUsage:
			// with the facts
		case len(s.feeds) > 0:
			queueFeed(batch, tx.b.feed, s, newest)
		case len(s.rows) > fewRows && s.shape.op != duplicate:
			batch.Queue(statements.many, turned(s.shape, s.rows)...)
		case s.shape.op == insert:
			batch.Queue(statements.few[len(s.rows)-1], slices.Concat(s.rows...)...)
		default:
			for _, row := range s.rows {
				batch.Queue(statements.few[0], row...)
			}
		}
	}
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

// turned makes rows into columns. Those of ids and numbers, which are most, get types that the driver needn't look into for
// each value.
func turned(s *shape, rows [][]any) []any {
	all := s.all()
	args := make([]any, len(all))
	for c := range args {
		switch all[c].typ {
		case "uuid":
			args[c] = columnOf(rows, c, func(v rawID) pgtype.UUID { return pgtype.UUID{Bytes: v, Valid: true} })
		case "bigint":
			args[c] = columnOf(rows, c, func(v int64) pgtype.Int8 { return pgtype.Int8{Int64: v, Valid: true} })
		default:
			args[c] = columnOf(rows, c, func(v any) any { return v })
		}
	}
	return args
}

// columnOf returns a column of the rows; what is nil stays the zero value of To.
func columnOf[From, To any](rows [][]any, c int, convert func(From) To) []To {
	col := make([]To, len(rows))
	for r, row := range rows {
		if row[c] != nil {
			col[r] = convert(row[c].(From)) //nolint:forcetypeassert // a row with another type is a mistake that must be seen
		}
	}
	return col
}

// postgresStatements are those of a shape: for so many rows, and for any number.
type postgresStatements struct {
	few  []string
	many string
}

func statementsOf(s *shape) postgresStatements {
	if s.op == duplicate {
		return postgresStatements{few: []string{s.duplicateSQL(func(i int) string { return "$" + strconv.Itoa(i+1) + "::" + s.keys[i].typ })}}
	}
	st := postgresStatements{many: postgresMany(s), few: []string{postgresFew(s, 1)}}
	for n := 2; n <= fewRows && s.op == insert; n++ {
		st.few = append(st.few, postgresFew(s, n))
	}
	return st
}

// postgresFew is the statement for a number of rows, whose values are its parameters; more than one only with inserts.
func postgresFew(s *shape, n int) string {
	all := s.all()
	param := func(i int) string { return "$" + strconv.Itoa(i+1) + "::" + all[i%len(all)].typ }
	switch s.op {
	case update:
		return "UPDATE " + s.table + " t SET " + s.assignments(param) + " WHERE " + s.condition(param)
	case remove:
		return "DELETE FROM " + s.table + " t WHERE " + s.condition(param)
	}
	return postgresRows(s, n, 0)
}

// postgresRows inserts a number of rows, whose values are the parameters behind the first ones.
func postgresRows(s *shape, n, from int) string {
	all := s.all()
	param := func(i int) string { return "$" + strconv.Itoa(from+i+1) + "::" + all[i%len(all)].typ }
	var values []string
	for row := range n {
		values = append(values, "("+s.list(func(i int) string { return param(row*len(all) + i) })+")")
	}
	return "INSERT INTO " + s.table + " (" + names("", all) + ") VALUES " + strings.Join(values, ", ") + s.conflictSQL()
}

// postgresMany is the statement for any number of rows, whose columns are its parameters.
func postgresMany(s *shape) string {
	all := s.all()
	rows := "unnest(" + s.list(func(i int) string { return postgresArray(all, i) }) + ")"
	// The names of keys that aren't columns of the table stand for themselves.
	column := func(i int) string { return "k." + columnAlias(i) }
	var aliases []string
	for i := range all {
		aliases = append(aliases, columnAlias(i))
	}
	rows += " AS k(" + strings.Join(aliases, ", ") + ")"
	switch {
	case s.op == update && s.where != "":
		// What is left of the table by the condition may look so small to the planner that it begins there, with the rows of
		// all organizations. So the rows are found first, one key after the other.
		return "UPDATE " + s.table + " t SET " + s.assignments(column) + " FROM " + rows + " CROSS JOIN LATERAL (SELECT t.org_id, t.id FROM " +
			s.table + " t WHERE " + s.condition(column) + " OFFSET 0) f WHERE t.org_id = f.org_id AND t.id = f.id"
	case s.op == update:
		return "UPDATE " + s.table + " t SET " + s.assignments(column) + " FROM " + rows + " WHERE " + s.condition(column)
	case s.op == remove:
		return "DELETE FROM " + s.table + " t USING " + rows + " WHERE " + s.condition(column)
	}
	return postgresColumns(s, 0)
}

// postgresColumns inserts any number of rows, whose columns are the parameters behind the first ones.
func postgresColumns(s *shape, from int) string {
	all := s.all()
	param := func(i int) string { return "$" + strconv.Itoa(from+i+1) + "::" + all[i].typ + "[]" }
	return "INSERT INTO " + s.table + " (" + names("", all) + ") SELECT " + s.list(columnAlias) + " FROM unnest(" + s.list(param) +
		") AS k(" + s.list(columnAlias) + ")" + s.conflictSQL()
}

// postgresArray is the parameter that holds all values of a column.
func postgresArray(all []column, i int) string {
	return "$" + strconv.Itoa(i+1) + "::" + all[i].typ + "[]"
}

func columnAlias(i int) string { return "c" + strconv.Itoa(i) }
