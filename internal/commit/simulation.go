package commit

import (
	"context"

	"github.com/ostler-dev/ostler/internal/models"
)

// Simulation is a committer for deterministic simulations: it commits in the goroutine of whoever calls Step, and never else.
// Several of them on one Memory are several processes on one database. Batches, bisection, retries and what follows a lost
// reply are the Committer's.
type Simulation struct{ f *flusher }

// Simulate makes a committer of one process. Of the configuration DB, Flushers and StopGrace mean nothing here. held tells of
// sessions that another process has locked just now, so that they are skipped; nil for none.
func (m *Memory) Simulate(cfg Config, held func(models.OrgID, models.SessionID) bool) *Simulation {
	f := &flusher{cfg: cfg, b: &contended{m, held}, ledger: newLedger(cfg.Clock), wake: make(chan struct{}, 1), done: make(chan struct{})}
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

// contended is the memory as one process sees it while others hold sessions.
type contended struct {
	*Memory

	held func(models.OrgID, models.SessionID) bool
}

func (c *contended) begin(ctx context.Context, need batchNeed) (batchTx, error) {
	tx, err := c.Memory.begin(ctx, need)
	if err != nil || c.held == nil {
		return tx, err
	}
	found, missing := tx.sessions()
	for _, k := range need.keys {
		if found[k].session == nil || !c.held(k.org, k.session) {
			continue
		}
		if need.wait {
			// Only this session was asked for: others are waited for, and they come to an end.
			continue
		}
		delete(found, k)
		delete(missing, k)
	}
	return tx, nil
}
