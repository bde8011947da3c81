package limits

import (
	"context"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// chunks is into how many pieces a limit is divided that several processes share. Each takes a piece at a time, so that a limit costs
// so many statements a minute at most, however many requests there are; and what a process has taken and does not use is lost to the
// others.
const chunks = 50

func chunkOf(limit int) int64 { return max(1, int64(limit)/chunks) }

// rates counts what the present minute has let in: the requests, or the outbound calls of tools.
type rates struct {
	// take gets more of the minute from what all processes share.
	take func(ctx context.Context, db *store.DB, org models.OrgID, minute, n, limit int64) (int64, error)

	mu     sync.Mutex
	minute int64
	orgs   map[models.OrgID]*rate
}

// rate is what this process may still let in of an organization's requests in one minute.
type rate struct {
	mu   sync.Mutex
	left int64
	// limit is the one that left was taken of, and spent reports that there is no more to take.
	limit int
	spent bool
	// lost is when the database didn't answer.
	lost time.Time
}

// of returns the rate of an organization; those of the last minute are forgotten.
func (r *rates) of(org models.OrgID, minute int64) *rate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.orgs == nil || r.minute != minute {
		r.orgs, r.minute = map[models.OrgID]*rate{}, minute
	}
	one := r.orgs[org]
	if one == nil {
		one = &rate{}
		r.orgs[org] = one
	}
	return one
}

// Request lets a request of an organization in. Else it returns how many seconds to wait: those that are left of the minute. Without a
// database to ask, requests are let in: they fail by themselves.
func (l *Limits) Request(ctx context.Context, org models.OrgID) (retryAfter int, ok bool) {
	if l == nil || org.IsZero() {
		return 0, true
	}
	return l.let(ctx, org, &l.requests, l.Of(ctx, org).RequestsPerMinute)
}

// ToolCall lets a call of a tool go out for an organization, as Request lets requests in.
func (l *Limits) ToolCall(ctx context.Context, org models.OrgID) (retryAfter int, ok bool) {
	if l == nil || org.IsZero() {
		return 0, true
	}
	return l.let(ctx, org, &l.toolCalls, l.Of(ctx, org).ToolCallsPerMinute)
}

// let counts one more, if there is room for it in the minute.
func (l *Limits) let(ctx context.Context, org models.OrgID, of *rates, limit int) (retryAfter int, ok bool) {
	if limit <= 0 {
		return 0, true
	}
	now := l.cfg.Clock.Now()
	minute := now.Unix() / 60
	r := of.of(org, minute)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left > 0 && r.limit == limit {
		r.left--
		return 0, true
	}
	if l.take(ctx, org, of, r, minute, limit); r.left > 0 {
		r.left--
		return 0, true
	}
	return untilMinute(now), false
}

func untilMinute(now time.Time) int {
	end := now.Truncate(time.Minute).Add(time.Minute)
	return max(1, int((end.Sub(now)+time.Second-1)/time.Second))
}

// take gets more for a process to let in. The lock of the rate is held, so that one at a time asks.
func (l *Limits) take(ctx context.Context, org models.OrgID, of *rates, r *rate, minute int64, limit int) {
	if r.spent && r.limit == limit {
		return
	}
	if l.alone() {
		// left goes on from what a former limit has let in.
		used := int64(r.limit) - r.left
		r.left, r.limit, r.spent = max(0, int64(limit)-used), limit, true
		return
	}
	chunk := chunkOf(limit)
	if l.justNow(r.lost) {
		r.left, r.limit = chunk, limit
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	got, err := of.take(ctx, l.cfg.DB, org, minute, chunk, int64(limit))
	if err != nil {
		l.cfg.Logger.WarnContext(ctx, "requests or outbound tool calls can't be counted; they are allowed meanwhile", "org", org, "error", err)
		got, r.lost = chunk, l.cfg.Clock.Now()
	}
	r.left, r.limit, r.spent = got, limit, got < chunk
}
