package commit

import (
	"context"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
)

// Totals are what is counted of an organization: its sessions, and its turns that have not begun. They are columns of the row that moves its
// feed, so that counting costs no statement. A command asks with SessionsFull and TurnsFull whether a cap is reached. The answer comes
// from what this process knows. If another process was faster, the database refuses the transaction, and the command is applied
// again with the true totals. So a cap is never exceeded, and nothing is read for it until it is reached.
type Totals struct{ Sessions, QueuedTurns int64 }

func (t Totals) plus(o Totals) Totals {
	return Totals{t.Sessions + o.Sessions, t.QueuedTurns + o.QueuedTurns}
}

func (t Totals) minus(o Totals) Totals {
	return Totals{t.Sessions - o.Sessions, t.QueuedTurns - o.QueuedTurns}
}

// quotas are the caps that a command has asked about; 0 for none.
type quotas struct{ sessions, queuedTurns int64 }

// headroom is the most that an organization may have had before a batch, for the answers to its commands to be true; nil for no bound.
// Commands may ask with different caps, at different points of the batch: so it is not simply the smallest cap.
type headroom struct{ sessions, queuedTurns *int64 }

// withCommand tightens the bounds by what a command has asked about; added is what the batch adds up to and with it.
func (r headroom) withCommand(asked quotas, added Totals) headroom {
	return headroom{lower(r.sessions, asked.sessions, added.Sessions), lower(r.queuedTurns, asked.queuedTurns, added.QueuedTurns)}
}

func lower(highest *int64, asked, added int64) *int64 {
	if asked == 0 || highest != nil && *highest <= asked-added {
		return highest
	}
	return new(asked - added)
}

func stricter(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// totalsFor is how long known totals are used: others may have freed something since.
const totalsFor = time.Second

// maxTotals is how many organizations a ledger remembers.
const maxTotals = 10_000

// ledger remembers the totals that a process has seen last.
type ledger struct {
	clock clock.Clock

	mu   sync.Mutex
	orgs map[models.OrgID]entry
}

type entry struct {
	totals Totals
	seen   time.Time
}

func newLedger(clk clock.Clock) *ledger {
	return &ledger{clock: clk, orgs: map[models.OrgID]entry{}}
}

func (l *ledger) note(org models.OrgID, t Totals) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.orgs[org]; !known && len(l.orgs) >= maxTotals {
		clear(l.orgs) // it costs a transaction that is tried again, at worst
	}
	l.orgs[org] = entry{t, now}
}

func (l *ledger) forget(org models.OrgID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.orgs, org)
}

// of returns the totals of an organization as far as they are known; nothing when that was long ago.
func (l *ledger) of(org models.OrgID) Totals {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.orgs[org]; ok {
		if age := now.Sub(e.seen); age >= 0 && age < totalsFor { // it is less than none when the clock was set back
			return e.totals
		}
	}
	return Totals{}
}

// SessionsFull reports whether the organization has as many sessions as limit allows; 0 is unlimited. A command that makes a session must ask,
// and fail if it is full.
func (tx *Tx) SessionsFull(limit int) bool {
	return tx.full(tx.totals.Sessions, &tx.quotas.sessions, limit)
}

// TurnsFull is SessionsFull for a turn that waits to begin.
func (tx *Tx) TurnsFull(limit int) bool {
	return tx.full(tx.totals.QueuedTurns, &tx.quotas.queuedTurns, limit)
}

func (tx *Tx) full(have int64, bound *int64, limit int) bool {
	if limit <= 0 {
		return false
	}
	*bound = stricter(*bound, int64(limit))
	return have >= int64(limit)
}

// share is what the session adds to the totals by what the batch has done to it so far.
func (s *state) share() (t Totals) {
	if s.w.newSession {
		t.Sessions = 1
	}
	for id, turn := range s.turns {
		if turn.StartedAt == nil && turn.FinishedAt == nil {
			t.QueuedTurns++
		}
		if s.unbegun[id] && !s.isNew[id] {
			t.QueuedTurns--
		}
	}
	return t
}

// waited remembers which of the turns that were loaded have not begun.
func (s *state) waited(turns ...*models.Turn) {
	for _, t := range turns {
		if t != nil && t.StartedAt == nil && t.FinishedAt == nil {
			if s.unbegun == nil {
				s.unbegun = map[models.TurnID]bool{}
			}
			s.unbegun[t.ID] = true
		}
	}
}

// headroomLimits returns the caps to write to the row of a feed; nil where no command of the batch has asked about one. The row's constraints
// refuse a batch that exceeds them. Batches that only end things write none, and so always succeed.
func (f *feedShare) headroomLimits() (sessions, queuedTurns *int64) {
	if f.headroom.sessions != nil {
		sessions = new(*f.headroom.sessions + f.added.Sessions)
	}
	if f.headroom.queuedTurns != nil {
		queuedTurns = new(*f.headroom.queuedTurns + f.added.QueuedTurns)
	}
	return sessions, queuedTurns
}

// recount reads the totals of the organizations of a batch that would have passed a cap, so that it can decide anew.
func (f *flusher) recount(feeds []feedShare) error {
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	for i := range feeds {
		t, err := f.b.totals(ctx, feeds[i].org)
		if err != nil {
			return err
		}
		f.ledger.note(feeds[i].org, t)
	}
	return nil
}

// remember takes over the totals that a batch has left.
func (f *flusher) remember(feeds []feedShare) {
	for i := range feeds {
		f.ledger.note(feeds[i].org, *feeds[i].told)
	}
}

// forget drops what was known of the totals of a batch whose reply was lost: they have changed, and nobody knows to what.
func (f *flusher) forget(feeds []feedShare) {
	for i := range feeds {
		f.ledger.forget(feeds[i].org)
	}
}

const selectTotals = "SELECT sessions, queued_turns FROM org_feeds WHERE org_id = "
