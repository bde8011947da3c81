package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrInUse means that another process works on the same database in a way that excludes this one.
var ErrInUse = errors.New("the database is in use by another process")

// soloLock is the key of the advisory lock by which processes on one PostgreSQL database notice each other.
const soloLock = 0x6f73746c6572 // "ostler"

// restartPatience is how long a server waits for the lock of the one before it, which is given back a moment after that has ended.
const restartPatience = 5 * time.Second

// LockPostgres makes sure that this process may work on the database, until release is called or the process dies: processes
// with a bus between them may be many, one without must be alone. It waits 5 s for one that ends, and then returns ErrInUse.
func LockPostgres(ctx context.Context, databaseURL string, shared bool) (release func(), err error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	query := "SELECT pg_advisory_lock($1)"
	if shared {
		query = "SELECT pg_advisory_lock_shared($1)"
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", restartPatience.Milliseconds()))
	if err == nil {
		_, err = conn.Exec(ctx, query, int64(soloLock))
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "55P03" {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("%w: several processes need a bus between all of them: set OSTLER_NATS_URL for each", ErrInUse)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("look for other processes: %w", err)
	}
	return func() { _ = conn.Close(context.Background()) }, nil
}

// LockDir makes sure that this process is the only one on a data directory, until release is called or the process dies. It waits as
// LockPostgres does. The directory is made when it is missing.
func LockDir(ctx context.Context, dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // G304: the operator's own directory
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", dir, err)
	}
	// The kernel gives the lock back when the process dies, however that happens. It can't be told to wait for so long and no longer.
	ctx, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("%w: %s is locked; stop the other server, or set OSTLER_DATA_DIR", ErrInUse, dir)
		case <-time.After(restartPatience / 100):
		}
	}
}
