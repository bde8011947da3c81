package storetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/store"
)

// Count counts what goes to a database while it is on.
type Count struct {
	On atomic.Bool
	// Statements are those without the frames of transactions, the settings of tenancy and what the database does for itself.
	Statements atomic.Int64
	// RoundTrips are how often the program waits for PostgreSQL; 0 with SQLite, which is in the process.
	RoundTrips atomic.Int64
	// Transactions are those that wrote rows or meant to.
	Transactions atomic.Int64
	// Rows are those that statements inserted, updated or deleted.
	Rows atomic.Int64
	// Bytes are those of the arguments of statements that write.
	Bytes atomic.Int64
}

// EachCounted is Each, with a count of what goes to the database.
func EachCounted(t *testing.T, test func(t *testing.T, db *store.DB, c *Count)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		c := &Count{}
		inner, err := sql.Open("sqlite", "")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = inner.Close() }()
		name := "counted-" + uuid.NewString()
		sql.Register(name, countingDriver{inner.Driver(), c})
		test(t, sqliteBy(t, name), c)
	})
	t.Run("postgres", func(t *testing.T) {
		c := &Count{}
		test(t, Traced(t, c), c)
	})
}

// Reset begins anew.
func (c *Count) Reset() {
	for _, n := range []*atomic.Int64{&c.Statements, &c.RoundTrips, &c.Transactions, &c.Rows, &c.Bytes} {
		n.Store(0)
	}
}

// statement counts a statement with its arguments.
func (c *Count) statement(text string, rows int64, args ...any) {
	if !c.On.Load() {
		return
	}
	word := strings.TrimSpace(text)
	if end := strings.IndexAny(word, " \t\n"); end > 0 {
		word = word[:end] // what counts must not itself split a long statement
	}
	word = strings.ToLower(word)
	switch {
	case word == "commit":
		c.Transactions.Add(1)
	case word == "begin", word == "rollback", word == "discard", word == "pragma", strings.HasPrefix(text, "SELECT set_config("):
	default:
		c.Statements.Add(1)
		if word == "insert" || word == "update" || word == "delete" || word == "with" { // of others SQLite says what the last one has written
			c.Rows.Add(rows)
			c.Bytes.Add(size(reflect.ValueOf(args)))
		}
	}
}

// size is how many bytes values take, without those of pointers and headers.
func size(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return size(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return int64(v.Len())
		}
		for i := range v.Len() {
			n += size(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += size(v.Field(i))
		}
	case reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Invalid:
	default:
		return int64(v.Type().Size()) //nolint:gosec // G115: a type is small
	}
	return n
}

func (c *Count) trip() {
	if c.On.Load() {
		c.RoundTrips.Add(1)
	}
}

type started struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (c *Count) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	c.trip()
	return context.WithValue(ctx, started{}, q)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *Count) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, end pgx.TraceQueryEndData) {
	q, _ := ctx.Value(started{}).(pgx.TraceQueryStartData)
	var rows int64
	if !end.CommandTag.Select() {
		rows = end.CommandTag.RowsAffected()
	}
	c.statement(q.SQL, rows, q.Args...)
}

// TraceBatchStart implements pgx.BatchTracer.
func (c *Count) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.trip()
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *Count) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	var rows int64
	if !q.CommandTag.Select() {
		rows = q.CommandTag.RowsAffected()
	}
	c.statement(q.SQL, rows, q.Args...)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (*Count) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// countingDriver is SQLite's driver with somebody who counts in between.
type countingDriver struct {
	driver.Driver

	c *Count
}

// Open implements driver.Driver.
func (d countingDriver) Open(name string) (driver.Conn, error) {
	conn, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return &countingConn{conn.(wholeConn), d.c}, nil //nolint:forcetypeassert // a panic is a failed test
}

// wholeConn is what database/sql may ask SQLite's connections for.
type wholeConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type countingConn struct {
	wholeConn

	c *Count
}

// ExecContext implements driver.ExecerContext.
func (c *countingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.wholeConn.ExecContext(ctx, text, args)
	c.c.done(text, args, res)
	return res, err
}

// QueryContext implements driver.QueryerContext.
func (c *countingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.c.done(text, args, nil)
	return c.wholeConn.QueryContext(ctx, text, args)
}

// BeginTx implements driver.ConnBeginTx.
func (c *countingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.wholeConn.BeginTx(ctx, opts)
	return countingTx{tx, c.c}, err
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *countingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.wholeConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &countingStmt{s.(wholeStmt), text, c.c}, nil //nolint:forcetypeassert // a panic is a failed test
}

type countingTx struct {
	driver.Tx

	c *Count
}

// Commit implements driver.Tx.
func (tx countingTx) Commit() error {
	tx.c.statement("commit", 0)
	return tx.Tx.Commit()
}

type wholeStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type countingStmt struct {
	wholeStmt

	text string
	c    *Count
}

// ExecContext implements driver.StmtExecContext.
func (s *countingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	res, err := s.wholeStmt.ExecContext(ctx, args)
	s.c.done(s.text, args, res)
	return res, err
}

// QueryContext implements driver.StmtQueryContext.
func (s *countingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.c.done(s.text, args, nil)
	return s.wholeStmt.QueryContext(ctx, args)
}

// done counts a statement of SQLite.
func (c *Count) done(text string, named []driver.NamedValue, res driver.Result) {
	var rows int64
	if res != nil {
		rows, _ = res.RowsAffected()
	}
	args := make([]any, 0, len(named))
	for _, v := range named {
		args = append(args, v.Value)
	}
	c.statement(text, rows, args...)
}
