package store

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/schema"
)

// ErrTooManyBytes ends what has read more than its context allows.
var ErrTooManyBytes = errors.New("more bytes than the operation may take")

// ErrMemoryFull ends what can't have more memory, because others hold it.
var ErrMemoryFull = errors.New("the memory for operations is in use")

const (
	// MemoryStep is how many bytes of memory an operation takes at once.
	MemoryStep = 256 << 10
	// firstBytes is what an operation may read and write without taking any.
	firstBytes = 128 << 10
)

// Memory is what operations that run at once share. It is safe for concurrent use.
type Memory interface {
	// Take takes n times MemoryStep bytes, or reports false when so much isn't free.
	Take(n int) bool
	// Leave gives back n times MemoryStep bytes that were taken.
	Leave(n int)
}

// Bytes is what one operation may still read and write. It may be used by several goroutines.
type Bytes struct {
	most    int64
	left    atomic.Int64
	written atomic.Int64
	over    context.CancelCauseFunc

	memory Memory // nil for any amount
	// covered is how many bytes may be used before more memory is to be taken.
	covered atomic.Int64
	full    atomic.Bool

	mu    sync.Mutex
	steps int
	ended bool
}

type bytesKey struct{}

// WithBytes returns a context for an operation that may read and write at most so many bytes. Beyond them it is cancelled with ErrTooManyBytes,
// and with ErrMemoryFull if memory has no more to give; memory may be nil. What was taken is held until Keep or End. Only what is read with this
// context is counted.
func WithBytes(ctx context.Context, most int64, memory Memory) (context.Context, *Bytes) {
	ctx, over := context.WithCancelCause(ctx)
	b := &Bytes{most: most, over: over, memory: memory}
	b.left.Store(most)
	b.covered.Store(firstBytes)
	return context.WithValue(ctx, bytesKey{}, b), b
}

// Err returns ErrTooManyBytes or ErrMemoryFull if the operation needed more bytes than it could have; nil otherwise.
func (b *Bytes) Err() error {
	switch {
	case b.left.Load() < 0:
		return ErrTooManyBytes
	case b.full.Load():
		return ErrMemoryFull
	}
	return nil
}

// Written returns how many bytes were charged for the answer.
func (b *Bytes) Written() int { return int(b.written.Load()) }

// Keep ends the context, and gives the memory back except for so many bytes, which are held until End. It reports whether it still holds any.
func (b *Bytes) Keep(bytes int) bool {
	b.over(nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	keep := 0
	if bytes > firstBytes {
		keep = min(b.steps, stepsOf(int64(bytes-firstBytes)))
	}
	if b.steps > keep {
		b.memory.Leave(b.steps - keep)
		b.steps = keep
	}
	return keep > 0
}

// End ends the context, and gives all memory back. It may be called again.
func (b *Bytes) End() { b.Keep(0) }

func stepsOf(bytes int64) int { return int((bytes + MemoryStep - 1) / MemoryStep) }

func (b *Bytes) take(n int64) error {
	left := b.left.Add(-n)
	if left < 0 {
		b.over(ErrTooManyBytes)
		return ErrTooManyBytes
	}
	if used := b.most - left; b.memory != nil && used > b.covered.Load() {
		return b.cover(used)
	}
	return nil
}

// cover takes the memory for so many bytes in all.
func (b *Bytes) cover(used int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := stepsOf(used - b.covered.Load())
	if n <= 0 {
		return nil
	}
	if b.ended || !b.memory.Take(n) {
		b.full.Store(true)
		b.over(ErrMemoryFull)
		return ErrMemoryFull
	}
	b.steps += n
	b.covered.Add(int64(n) * MemoryStep)
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
		defer func() {
			if err := rows.Close(); db.Error == nil { // after a failure it would hide which one
				_ = db.AddError(err)
			}
		}()
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

// Err returns nothing of rows that are too long: reading has ended by then, and the end of the context would hide why.
func (r *countedRows) Err() error {
	if r.over {
		return nil
	}
	return r.Rows.Err() //nolint:wrapcheck // GORM knows what was read
}

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
