// Package commit is the one door for writes to the state of sessions and turns. Whoever wants to change it submits a
// Command; the Committer locks the session, lets the command decide on what it finds, and commits the decision
// together with those of other commands that were waiting. What was committed is published afterwards, never before.
//
// Read in this order: commit.go (what a command is), needs.go (what is read for it), tx.go (what it may do), turns.go (how turns begin and end),
// waits.go (what they wait for), fork.go (how a session begins with the history of another one), budgets.go and payments.go (what
// they spend), audit.go (what is recorded), idempotency.go (requests that are repeated); assignment.go and flusher.go (who waits for whom), batch.go and state.go (how commands become one
// transaction), failure.go (what a failed one means), totals.go (what organizations may have); rows.go (how fields become columns), tables.go
// (what is written), gather.go and feed.go (which rows that makes), read.go (what is read); postgres*.go and sqlite*.go (how).
// committed.go is what observers hear, backend.go what a database must do, expire.go what is deleted in time; simulation.go takes the place of the
// goroutines in simulations.
package commit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// ErrLeaseLost is the answer to a runner that holds the execution no longer: another runner has taken it over, or it has
// ended. The runner must stop; nothing that it does can be committed.
var ErrLeaseLost = errors.New("the lease is lost")

// ErrStopped is the answer to commands that come after Stop, and to those that Stop could not commit any more because the
// database failed.
var ErrStopped = errors.New("the committer has stopped")

// ErrRefused is the answer to a command that the database would refuse again: its data breaks a rule of the schema. The
// other commands of its batch were committed without it.
var ErrRefused = errors.New("the database refused the command")

// Command is one change. Apply decides and must be pure: it may run several times, on state that has moved on, before its
// effect commits, so that it must not touch anything but tx and fields of its own that it sets anew each time. Errors of
// tx must be returned, wrapped or not.
type Command interface {
	Needs() Needs
	// Apply changes tx, or refuses with an error, after which nothing of the command is written.
	Apply(tx *Tx) error
}

// Needs tells what a command locks and reads.
type Needs struct {
	Org     models.OrgID
	Session models.SessionID
	// Create is true when the command makes the session.
	Create bool
	// Lease is what a runner writes under; nil for everybody else.
	Lease *Lease
	// Ends is true when the command may end the turn, so that what comes after it has to be known.
	Ends bool
	// Idempotency is the key that a caller may repeat the request under; nil for none.
	Idempotency *IdempotencyKey
	// Queue is true when the command looks at the turns behind the current one, all of them.
	Queue bool
	// Calls is true when it looks at the calls of the current turn that have no result.
	Calls bool
	// Waits is true when it looks at what the current turn waits for, WaitIDs names waits, open or not, of any of the
	// session's turns.
	Waits   bool
	WaitIDs []models.WaitID
	// Budgets is true when it looks at the budgets that bind the session, and those that the current turn and the session's payments hold
	// something of.
	Budgets bool
	// Payments names payments of the session.
	Payments []models.PaymentID
	// Events asks for what the session's log holds past a sequence.
	Events *EventNeed
	// Files are the paths whose entries the command looks at, and those below them where Subtree is set.
	Files []FileNeed
	// Bytes is about how much the command writes.
	Bytes int
}

// Lease names an execution and the epoch of the claim.
type Lease struct {
	models.Execution

	Epoch int64
}

// LeaseOf returns the lease under which a turn is now.
func LeaseOf(t *models.Turn) Lease { return Lease{models.ExecutionOf(t.ID), t.LeaseEpoch} }

// IdempotencyKey names a request of an organization.
type IdempotencyKey struct{ Operation, Key string }

// EventNeed names the events of some kinds past a sequence.
type EventNeed struct {
	After int64
	Kinds []models.EventKind
}

// FileNeed names an entry of the session's filesystem.
type FileNeed struct {
	Path    string
	Subtree bool
}

// bounds are two paths between which, in the order of their bytes, lies everything below the entry and nothing else.
func (f FileNeed) bounds() (above, below string) {
	dir := strings.TrimSuffix(f.Path, "/")
	return dir + "/", dir + string('/'+1)
}

// Config is what a Committer needs.
type Config struct {
	DB     *store.DB
	Clock  clock.Clock
	Logger *slog.Logger
	// Flushers is how many transactions run at once. Defaults to 2 on PostgreSQL; SQLite always has 1.
	Flushers int
	// StopGrace is how long Stop goes on when the database fails, or others hold a session that a command needs. Defaults
	// to 5 s.
	StopGrace time.Duration
	// Meter hears how it goes; nil for nobody.
	Meter Meter
	// Faults is for tests: it may fail or stop a batch at a named point.
	Faults Faults
}

// Meter hears how it goes. Its methods must not block.
type Meter interface {
	// Committed hears that so many commands were committed in one transaction, and how long that took.
	Committed(commands int, took time.Duration)
	// Failed hears of a transaction that has failed.
	Failed()
	// Panicked hears of a command that panicked; where is "commit".
	Panicked(where string)
}

// Faults lets tests break a batch. Points are "begin", "loaded", "written" (before the commit) and "committed" (the reply to
// the commit is lost when it returns an error).
type Faults interface {
	At(point string) error
}

// Committer commits commands.
type Committer struct {
	cfg        Config
	flushers   []*flusher
	assignment *assignment
}

// New makes a Committer that works from now on, until Stop.
func New(cfg Config) *Committer {
	n := cfg.Flushers
	if n == 0 {
		n = 2
	}
	var b backend
	if cfg.DB.Dialect == store.SQLite {
		n = 1
		b = newSQLiteBackend(cfg.DB.Writer)
	} else {
		b = newPostgresBackend(cfg.DB.Commits)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.StopGrace == 0 {
		cfg.StopGrace = 5 * time.Second
	}
	c := &Committer{cfg: cfg, assignment: newAssignment(n)}
	known := newLedger(cfg.Clock)
	for range n {
		c.flushers = append(c.flushers, newFlusher(cfg, b, known))
	}
	return c
}

// Submit commits a command and returns when it is durable, or refused. The caller must not hold a transaction.
//
// While the database fails, commands wait: a committed step must not be lost to a restart of the database. So ctx is what
// bounds the wait. When it ends while the command is waiting, be it for its first transaction or after one that failed,
// the command is withdrawn, and the error is that of ctx. Once its transaction has begun, Submit waits for the outcome, so
// that an error always means that nothing was committed. The one exception is ErrStopped after a commit whose reply was
// lost: then nobody knows, and the error says so.
func (c *Committer) Submit(ctx context.Context, cmd Command) error {
	needs := cmd.Needs()
	f := c.flushers[c.assignment.enter(needs.Org)]
	defer c.assignment.leave(needs.Org)
	return f.submit(ctx, cmd, needs)
}

// Stop refuses new commands, commits those that were submitted, and returns when all is quiet: no transaction, no
// goroutine. When that doesn't succeed within the grace, the commands that are left are answered with ErrStopped. It may
// be called more than once, and by several at once.
func (c *Committer) Stop() {
	for _, f := range c.flushers {
		f.refuse()
	}
	for _, f := range c.flushers {
		<-f.done
	}
}
