package commit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxBatch      = 500
	maxBatchBytes = 4 << 20
	// maxSkips is how often a command may find its session locked by another process before it waits for the lock.
	maxSkips = 3
	// The pause after a failed transaction grows from one to the other.
	minPause = 5 * time.Millisecond
	maxPause = time.Second
	// maxUnknownFailures is how often in a row a transaction may fail for reasons that nobody understands before its commands are
	// tried one by one, so that one of them can't stop all others for good.
	maxUnknownFailures = 3
)

// flusher commits the commands of some of the organizations, one batch after the other. A command is either in the queue, from
// where it may be withdrawn, or in the batch that is being committed.
type flusher struct {
	cfg Config
	b   backend
	// ledger has what is known of organizations; those of a Committer share it.
	ledger *ledger

	mu      sync.Mutex
	queue   []*pending
	stopped bool
	grace   *time.Timer
	// waited is true when the last batch could wait for a lock, so that it is the others' turn.
	waited bool

	wake chan struct{}
	done chan struct{}
	// ctx ends when Stop's grace is over.
	ctx    context.Context // the flusher's own life
	cancel context.CancelFunc
	// failures counts the transactions that have failed in a row. Only run uses it.
	failures int
	// observers are called after each commit. committed is what they are told; only run uses it.
	observers atomic.Pointer[[]func(*Committed)]
	committed Committed
}

// pending is a command that was submitted.
type pending struct {
	cmd   Command
	needs Needs
	skips int
	reply chan error
	// retried is true when a duplicate key was met once: another process had answered the same request just before.
	retried bool
	// found is what the command has found that it needs.
	found lack
	// gone reports that the submitter would withdraw the command if it were not in a batch.
	gone error
}

func (p *pending) key() key { return key{p.needs.Org, p.needs.Session} }

func newFlusher(cfg Config, b backend, known *ledger) *flusher {
	f := &flusher{cfg: cfg, b: b, ledger: known, wake: make(chan struct{}, 1), done: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	go f.run()
	return f
}

func (f *flusher) submit(ctx context.Context, cmd Command, needs Needs) error {
	if err := ctx.Err(); err != nil {
		return withdrawn(err)
	}
	p := &pending{cmd: cmd, needs: needs, reply: make(chan error, 1)}
	if err := f.enqueue(p); err != nil {
		return err
	}
	select {
	case err := <-p.reply:
		return err
	case <-ctx.Done():
		f.withdraw(p, withdrawn(ctx.Err()))
		return <-p.reply
	}
}

func withdrawn(err error) error { return fmt.Errorf("withdrawn before it was committed: %w", err) }

func (f *flusher) enqueue(p *pending) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return ErrStopped
	}
	f.queue = append(f.queue, p)
	f.signal()
	return nil
}

// withdraw answers a command with err if it is still in the queue, or when it comes back to it.
func (f *flusher) withdraw(p *pending, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.gone = err
	if i := slices.Index(f.queue, p); i >= 0 {
		f.queue = slices.Delete(f.queue, i, i+1)
		p.reply <- err
	}
}

func (f *flusher) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// refuse lets nobody in any more.
func (f *flusher) refuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.stopped = true
	f.grace = time.AfterFunc(f.cfg.StopGrace, f.cancel)
	f.signal()
}

func (f *flusher) run() {
	defer func() {
		f.grace.Stop() // Only refuse makes take end.
		f.cancel()
		close(f.done)
	}()
	pause := minPause
	for {
		batch := f.take()
		if batch == nil {
			return
		}
		again, err := f.flush(batch)
		if err == nil {
			f.failures, pause = 0, minPause
			f.toBack(again)
			continue
		}
		f.failures++
		f.cfg.Logger.Warn("a transaction failed and is tried again", "commands", len(again), "error", err)
		f.toFront(again)
		f.rest(pause)
		pause = min(2*pause, maxPause)
		if f.ctx.Err() != nil {
			f.abandon(err)
		}
	}
}

// rest lets some time pass; no more when Stop's grace is over.
func (f *flusher) rest(pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.ctx.Done():
	}
}

// abandon answers everything that is left when Stop's grace is over.
func (f *flusher) abandon(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.queue {
		p.reply <- fmt.Errorf("%w: the last attempt failed: %w", ErrStopped, err)
	}
	f.queue = nil
}

// take waits for commands and takes what is there; it never waits for more. It returns nil when there is nothing and will
// never be.
func (f *flusher) take() []*pending {
	for {
		f.mu.Lock()
		batch, stopped := f.pick(), f.stopped
		f.mu.Unlock()
		if stopped && f.ctx.Err() != nil && batch != nil {
			f.toFront(batch)
			f.abandon(context.Cause(f.ctx))
			return nil
		}
		if batch != nil || stopped {
			return batch
		}
		<-f.wake
	}
}

// pick takes the next batch off the queue. After too many skips the commands of a session go alone and wait for its lock. In
// between, all others have a batch, so that a process that is frozen with many locks can slow this one down, but not stop it.
func (f *flusher) pick() []*pending {
	starving := slices.IndexFunc(f.queue, func(p *pending) bool { return p.skips >= maxSkips })
	f.waited = !f.waited && starving >= 0
	var batch, rest []*pending
	size := 0
	for i, p := range f.queue {
		full := len(batch) == maxBatch || (len(batch) > 0 && size+p.needs.Bytes > maxBatchBytes)
		if full && !f.waited {
			rest = f.queue[i:]
			break
		}
		if full || (f.waited && p.key() != f.queue[starving].key()) {
			rest = append(rest, p)
			continue
		}
		size += p.needs.Bytes
		batch = append(batch, p)
	}
	f.queue = append([]*pending(nil), rest...)
	return batch
}

// toFront puts commands back whose transaction has failed: they are the next. Those whose submitter has lost patience are
// answered.
func (f *flusher) toFront(list []*pending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(keepWaiting(list), f.queue...)
}

// toBack puts commands back that could not have their session, behind those that can; later commands of the same sessions
// stay behind them.
func (f *flusher) toBack(list []*pending) {
	if len(list) == 0 {
		return
	}
	held := keysOf(list)
	f.mu.Lock()
	defer f.mu.Unlock()
	var others, followers []*pending
	for _, p := range f.queue {
		if held[p.key()] {
			followers = append(followers, p)
		} else {
			others = append(others, p)
		}
	}
	f.queue = slices.Concat(others, keepWaiting(list), followers)
	f.signal()
}

func keysOf(list []*pending) map[key]bool {
	keys := map[key]bool{}
	for _, p := range list {
		keys[p.key()] = true
	}
	return keys
}

func keepWaiting(list []*pending) []*pending {
	var stay []*pending
	for _, p := range list {
		if p.gone != nil {
			p.reply <- p.gone
			continue
		}
		stay = append(stay, p)
	}
	return stay
}
