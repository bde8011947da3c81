package commit

import (
	"context"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Simulator makes committers for deterministic simulations on one SQLite database. It is exported for the tests of other packages; the
// product doesn't use it.
type Simulator struct{ b *sqliteBackend }

// NewSimulator returns the Simulator of a SQLite database.
func NewSimulator(db *store.DB) *Simulator { return &Simulator{newSQLiteBackend(db.Writer)} }

// Simulation is a committer of one simulated process: it commits in the goroutine of whoever calls Step, and never else. Batches,
// bisection, retries and what follows a lost reply are the Committer's.
type Simulation struct{ f *flusher }

// Simulate makes the committer of another process. Of the configuration, DB, Flushers and StopGrace mean nothing here, and the
// Faults, which must be there, have one more point: an error at "commit" means that the commit failed and its reply was lost. held
// reports whether another process has locked a session just now, so that it is skipped.
func (s *Simulator) Simulate(cfg Config, held func(models.OrgID, models.SessionID) bool) *Simulation {
	b := &contended{s.b, held, cfg.Faults}
	f := &flusher{cfg: cfg, b: b, ledger: newLedger(cfg.Clock), wake: make(chan struct{}, 1), done: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return &Simulation{f}
}

// Submitted is a command that a Simulation has taken.
type Submitted struct {
	p        *pending
	answered bool
	err      error
}

// Enqueue takes a command, as Submit does, and doesn't wait.
func (s *Simulation) Enqueue(cmd Command) *Submitted {
	p := &pending{cmd: cmd, needs: cmd.Needs(), reply: make(chan error, 1)}
	out := &Submitted{p: p}
	if err := s.f.enqueue(p); err != nil {
		p.reply <- err
	}
	return out
}

// Waiting is how many commands have not been answered because no Step has taken them, or none that succeeded.
func (s *Simulation) Waiting() int {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return len(s.f.queue)
}

// Step makes one transaction of what waits. Its error is why commands were given back to the queue, to be tried again; it is nil
// when they could only not have their sessions.
func (s *Simulation) Step() error {
	s.f.mu.Lock()
	batch := s.f.pick()
	s.f.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	again, err := s.f.flush(batch)
	if err != nil {
		s.f.failures++
		s.f.toFront(again)
		return err
	}
	s.f.failures = 0
	s.f.toBack(again)
	return nil
}

// Answer returns the outcome of the command, once there is one.
func (s *Submitted) Answer() (err error, ok bool) { //nolint:revive // the outcome comes first, as with Submit
	if !s.answered {
		select {
		case s.err = <-s.p.reply:
			s.answered = true
		default:
		}
	}
	return s.err, s.answered
}

// contended is the database as one process sees it while others hold sessions.
type contended struct {
	*sqliteBackend

	held   func(models.OrgID, models.SessionID) bool
	faults Faults
}

func (c *contended) begin(ctx context.Context, need batchNeed) (batchTx, error) {
	tx, err := c.sqliteBackend.begin(ctx, need)
	if err != nil {
		return nil, err
	}
	found, _ := tx.sessions()
	for _, k := range need.keys {
		// A process that needs one session alone waits for it; and others come to an end.
		if _, there := found[k]; there && c.held(k.org, k.session) && !need.wait {
			delete(found, k)
		}
	}
	return &lossyTx{tx, c.faults}, nil
}

// lossyTx is a transaction whose commit may fail without a reply.
type lossyTx struct {
	batchTx

	faults Faults
}

func (tx *lossyTx) write(ctx context.Context, steps []step, entries []models.AuditEntry, beforeCommit func() error) error {
	var lost error
	err := tx.batchTx.write(ctx, steps, entries, func() error {
		if err := beforeCommit(); err != nil {
			return err
		}
		lost = tx.faults.At("commit")
		return lost
	})
	if lost != nil {
		return &unknownOutcome{err: lost}
	}
	return err
}
