package store

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/schema"
)

// ErrTooManyBytes ends what has read more than its context allows.
var ErrTooManyBytes = errors.New("more bytes than the operation may take")

// Bytes is what one operation may still read and write. It may be used by several goroutines.
type Bytes struct {
	left    atomic.Int64
	written atomic.Int64
	over    context.CancelCauseFunc
}

type bytesKey struct{}

// WithBytes returns a context in which reading ends with ErrTooManyBytes after the given number of bytes, and which is cancelled then.
// What is read with any other context is not counted.
func WithBytes(ctx context.Context, most int64) (context.Context, *Bytes) {
	ctx, over := context.WithCancelCause(ctx)
	b := &Bytes{over: over}
	b.left.Store(most)
	return context.WithValue(ctx, bytesKey{}, b), b
}

// Over reports whether more was asked for than there was.
func (b *Bytes) Over() bool { return b.left.Load() < 0 }

// Written returns how many bytes were charged for the answer.
func (b *Bytes) Written() int { return int(b.written.Load()) }

// End releases the context.
func (b *Bytes) End() { b.over(nil) }

func (b *Bytes) take(n int64) error {
	if b.left.Add(-n) < 0 {
		b.over(ErrTooManyBytes)
		return ErrTooManyBytes
	}
	return nil
}

// Charge counts bytes that were read for the operation which the context belongs to. It returns ErrTooManyBytes when they are too many.
func Charge(ctx context.Context, n int) error {
	if b, ok := ctx.Value(bytesKey{}).(*Bytes); ok {
		return b.take(int64(n))
	}
	return nil
}

// ChargeAnswer is Charge for bytes of the answer.
func ChargeAnswer(ctx context.Context, n int) error {
	b, ok := ctx.Value(bytesKey{}).(*Bytes)
	if !ok {
		return nil
	}
	b.written.Add(int64(n))
	return b.take(int64(n))
}

// Rows reads all rows of a raw query into a list, as Scan of GORM does, and counts them.
func Rows(q *gorm.DB, list any) error {
	rows, err := q.Rows()
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was read
	}
	defer func() { _ = rows.Close() }()
	tx := q.Session(&gorm.Session{NewDB: true})
	if err := tx.Statement.Parse(list); err != nil && !errors.Is(err, schema.ErrUnsupportedDataType) {
		return err //nolint:wrapcheck // as above
	}
	tx.Statement.Dest, tx.Statement.ReflectValue = list, reflect.ValueOf(list).Elem()
	gorm.Scan(counted(q.Statement.Context, rows), tx, 0)
	return tx.Error
}

// countQueries has every query of GORM counted whose context wants that.
func countQueries(db *gorm.DB) error {
	query := db.Callback().Query().Get("gorm:query")
	return db.Callback().Query().Replace("gorm:query", func(db *gorm.DB) {
		if _, ok := db.Statement.Context.Value(bytesKey{}).(*Bytes); !ok || db.Error != nil || db.DryRun {
			query(db)
			return
		}
		callbacks.BuildQuerySQL(db)
		rows, err := db.Statement.ConnPool.QueryContext(db.Statement.Context, db.Statement.SQL.String(), db.Statement.Vars...)
		if err != nil {
			_ = db.AddError(err)
			return
		}
		defer func() { _ = db.AddError(rows.Close()) }()
		gorm.Scan(counted(db.Statement.Context, rows), db, 0)
	})
}

// countedRows are rows whose bytes are counted before they are kept.
type countedRows struct {
	*sql.Rows
	bytes *Bytes
	sizes []any
	sum   rowSize
	over  bool
}

func counted(ctx context.Context, rows *sql.Rows) gorm.Rows {
	b, ok := ctx.Value(bytesKey{}).(*Bytes)
	if !ok {
		return rows
	}
	return &countedRows{Rows: rows, bytes: b}
}

func (r *countedRows) Next() bool { return !r.over && r.Rows.Next() }

func (r *countedRows) Scan(dest ...any) error {
	r.sum = 0
	if r.sizes == nil {
		for range dest {
			r.sizes = append(r.sizes, &r.sum)
		}
	}
	if err := r.Rows.Scan(r.sizes...); err != nil {
		return err //nolint:wrapcheck // GORM knows what was read
	}
	// Each is in memory twice: as it came, and as the row keeps it.
	if err := r.bytes.take(2 * int64(r.sum)); err != nil {
		r.over = true
		return err
	}
	return r.Rows.Scan(dest...) //nolint:wrapcheck // as above
}

// rowSize is a destination that adds up the texts and bytes of a row, of which it keeps nothing.
type rowSize int64

// Scan implements sql.Scanner.
func (s *rowSize) Scan(src any) error {
	switch v := src.(type) {
	case string:
		*s += rowSize(len(v))
	case []byte:
		*s += rowSize(len(v))
	}
	return nil
}
