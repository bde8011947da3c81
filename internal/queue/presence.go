package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Presence shows on PostgreSQL that the process of a runner lives, and sees which others do. It holds the runner's key as a shared
// advisory lock on one connection of its own: when the process dies, its kernel closes the connection and the server gives the lock
// back, within milliseconds. Others look whether the lock is held and never try to take it. It says nothing of a process that is frozen or
// cut off: for that there is the heartbeat.
type Presence struct {
	db  *store.DB
	url string

	// mu is held while the connection is used, also by Wait.
	mu   sync.Mutex
	conn *pgx.Conn // nil without one
	key  int64     // that is locked on conn
}

// ErrUnproven means that a lock was taken but would tell others nothing: it may stay when this process dies, or go while it lives.
var ErrUnproven = errors.New("the lock of this runner is not visible to other runners")

const (
	// presenceClass is the first half of all keys. Locks with two numbers have a space of their own, which neither LockPostgres nor
	// goose use.
	presenceClass = 0x6f73746c // "ostl"

	heldKeys = `SELECT l.objid::bigint FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $1 AND l.objsubid = 2 AND l.granted
AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	// The list comes from a snapshot that is older than what is read of the locks: whoever is on it has taken its lock before.
	lookStatement = `SELECT r.id, r.host, r.beat, r.lock_key IS NOT NULL, coalesce(r.lock_key IN (` + heldKeys + `), false),
pg_postmaster_start_time(), extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8 FROM runners r`
)

// NewPresence makes a Presence that holds nothing yet. The URL must lead to the server itself, past any pooler.
func NewPresence(db *store.DB, directURL string) *Presence { return &Presence{db: db, url: directURL} }

// keyOf returns the second half of a runner's key, from the random end of its id. Should two living runners have the same one, the
// death of either is only seen by its heartbeat.
func keyOf(id models.RunnerID) int64 { return int64(binary.BigEndian.Uint32(id[12:]) & 0x7fffffff) }

// Enter takes the lock of a runner and gives up the one that was held before, on a new connection when there is none. It gives the key
// for the runner's row, which must be written after this. ErrUnproven means that the row must have none.
func (p *Presence) Enter(ctx context.Context, id models.RunnerID) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := keyOf(id)
	if p.alive() && p.key == key {
		return key, nil
	}
	err := p.enter(ctx, key)
	if err != nil {
		p.drop()
		return 0, err
	}
	p.key = key
	return key, nil
}

func (p *Presence) enter(ctx context.Context, key int64) error {
	if !p.alive() {
		conn, err := pgx.Connect(ctx, p.url)
		if err != nil {
			return fmt.Errorf("connect to PostgreSQL for the lock of this runner: %w", err)
		}
		p.conn, p.key = conn, 0
	}
	// Not prepared: a pooler, which this is to find out, may not know of it.
	var locked bool
	var pid uint32
	err := p.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock_shared($1, $2), pg_backend_pid()", pgx.QueryExecModeSimpleProtocol,
		int32(presenceClass), int32(key)).Scan(&locked, &pid) //nolint:gosec // G115: keyOf gives 31 bits
	if err != nil {
		return fmt.Errorf("take the lock of this runner: %w", err)
	}
	if pid != p.conn.PgConn().PID() {
		// A pooler tells its clients a number of its own. The lock is the pooler's: it may keep it, or end the connection.
		return fmt.Errorf("%w: there is a pooler in between", ErrUnproven)
	}
	var seen bool
	err = p.db.Pool.QueryRow(ctx, "SELECT EXISTS ("+heldKeys+" AND l.objid = $2 AND l.pid = $3)", presenceClass, key, pid).Scan(&seen)
	if err != nil {
		return fmt.Errorf("check whether others see the lock of this runner: %w", err)
	}
	if !locked || !seen {
		return fmt.Errorf("%w: other connections don't see it: they lead to another server or database", ErrUnproven)
	}
	if p.key != 0 {
		_, err := p.conn.Exec(ctx, "SELECT pg_advisory_unlock_shared($1, $2)", int32(presenceClass), int32(p.key)) //nolint:gosec // G115: 31 bits
		if err != nil {
			return fmt.Errorf("release the earlier lock of this runner: %w", err)
		}
	}
	return nil
}

// Holds reports whether the connection that holds the lock is there, as far as is known.
func (p *Presence) Holds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alive()
}

func (p *Presence) alive() bool { return p.conn != nil && !p.conn.IsClosed() }

// Drop lets go of the lock. It may be called more than once, and Enter after it.
func (p *Presence) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

// dropPatience is how long the server is given to hear that a connection ends. It notices the end of the socket, too.
const dropPatience = time.Second

func (p *Presence) drop() {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), dropPatience)
		defer cancel()
		_ = p.conn.Close(ctx)
	}
	p.conn, p.key = nil, 0
}

// Wait waits for d, or until the connection or ctx ends. Nobody else can use the connection meanwhile.
func (p *Presence) Wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.alive() {
		<-ctx.Done()
		return
	}
	// Nothing notifies; but this reads, and so hears at once when the connection ends.
	for ctx.Err() == nil && p.alive() {
		_ = p.conn.PgConn().WaitForNotification(ctx)
	}
}

// Sight is what is seen of the runners at one moment.
type Sight struct {
	Runners []Seen
	// Sure is true when this was seen on the connection that holds this runner's lock.
	Sure bool
	// ServerStart is when the server started, by its own clock, and ServerAge how long ago; zero with SQLite.
	ServerStart time.Time
	ServerAge   time.Duration
}

// Seen is one of them.
type Seen struct {
	ID   models.RunnerID
	Host string
	Beat int64
	// Keyed reports that the runner shows by a lock that its process lives, and Held that the lock is there.
	Keyed, Held bool
}

// Look looks at the runners, in one statement.
func (p *Presence) Look(ctx context.Context) (Sight, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive() {
		s, err := look(ctx, p.conn)
		s.Sure = err == nil
		return s, err
	}
	return look(ctx, p.db.Pool)
}

func look(ctx context.Context, db postgres) (Sight, error) {
	var s Sight
	rows, err := db.Query(ctx, lookStatement, presenceClass)
	if err != nil {
		return s, fmt.Errorf("look at the runners: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Seen
		var age float64
		if err := rows.Scan(&r.ID, &r.Host, &r.Beat, &r.Keyed, &r.Held, &s.ServerStart, &age); err != nil {
			return s, fmt.Errorf("look at the runners: %w", err)
		}
		s.ServerAge = time.Duration(age * float64(time.Second))
		s.Runners = append(s.Runners, r)
	}
	if err := rows.Err(); err != nil {
		return s, fmt.Errorf("look at the runners: %w", err)
	}
	return s, nil
}
