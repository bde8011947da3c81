// Package limits knows what each organization may have and do: the server's defaults, or its own limits, which are rows that all
// processes read. It also counts what is in processes and not in rows: requests and outbound tool calls (requests.go), sockets and subscriptions
// (streams.go). What is in rows is counted where it is written: sessions and turns by internal/commit, the rest under the organization's lock.
package limits

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Values are the limits of an organization; 0 is any number, but for EnvironmentKeys.
type Values struct {
	// ActiveTurns may be at work, and QueuedTurns wait to begin.
	ActiveTurns, QueuedTurns int
	// Agents that are not deleted, and API keys that are not revoked.
	Sessions, Agents, APIKeys int
	// PendingInvitations are those that can be accepted.
	PendingInvitations int
	RequestsPerMinute  int
	// ToolCallsPerMinute counts the calls of tools that reach out of the server.
	ToolCallsPerMinute     int
	Subscriptions, Sockets int
	// EnvironmentKeys is 1 where providers without a key of their own use the server's; 0 is no.
	EnvironmentKeys int
	// StorageBytes of files and images may be stored, each content once.
	StorageBytes int
}

// Most is the largest limit of a number that can be set, and MostBytes of bytes.
const (
	Most      = 1_000_000_000
	MostBytes = 1 << 50
)

const (
	// believed is how long limits that were read are used: other processes follow a change within this time.
	believed = 2 * time.Second
	// overlap is how far before the newest known change rows are read again: a transaction may commit after one that began later.
	overlap = 30 * time.Second
	// patience bounds how long a request waits for the database; without an answer it is let in.
	patience = time.Second
)

// Config is what Limits work with. All fields but Usual and Logger are required, and in a test of one process DB.
type Config struct {
	DB    *store.DB
	Clock clock.Clock
	// Usual are those of organizations that have none of their own.
	Usual  Values
	Logger *slog.Logger
}

// Limits are those of all organizations. A nil one has none. It is safe for concurrent use.
type Limits struct {
	cfg Config
	// own has the limits of organizations that have some of their own. The map is replaced, and never changed.
	own atomic.Pointer[map[models.OrgID]Values]

	reading sync.Mutex
	// readAt is when own was read, in Unix milliseconds, and newest the newest change in it.
	readAt atomic.Int64
	newest models.Millis

	// requests and toolCalls are what was let in of each in the present minute.
	requests, toolCalls rates
	streams             streams
	beats               *background.Job
}

// New makes Limits.
func New(cfg Config) *Limits {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Limits{cfg: cfg, streams: newStreams()}
	l.beats = background.Every(cfg.Logger, "write down sockets and subscriptions", nodeBeat, l.Beat, background.OnWake(l.streams.kick))
	l.requests.take = takeFrom("requests", "minute", "taken", "tool_minute", "tool_calls_taken")
	l.toolCalls.take = takeFrom("calls of tools", "tool_minute", "tool_calls_taken", "minute", "taken")
	l.own.Store(&map[models.OrgID]Values{})
	l.readAt.Store(-1)
	return l
}

// alone reports whether there is no other process to share with.
func (l *Limits) alone() bool { return l.cfg.DB == nil || l.cfg.DB.Dialect == store.SQLite }

// Of returns the limits of an organization.
func (l *Limits) Of(ctx context.Context, org models.OrgID) Values {
	if l == nil {
		return Values{}
	}
	_ = l.refresh(ctx) // it is logged
	return l.known(org)
}

// known returns the limits of an organization as they are known, without a look into the database.
func (l *Limits) known(org models.OrgID) Values {
	if own, ok := (*l.own.Load())[org]; ok {
		return own
	}
	return l.cfg.Usual
}

// With returns the limits of an organization by its row.
func (l *Limits) With(own models.OrgLoad) Values {
	if l == nil {
		return Values{}
	}
	v := l.cfg.Usual
	for _, n := range Names() {
		if set := *n.Own(&own); set != nil {
			*n.Value(&v) = int(*set)
		}
	}
	return v
}

// Forget makes the next call read the limits again, so that a change by this process takes effect here at once.
func (l *Limits) Forget() {
	if l != nil {
		l.readAt.Store(-1)
	}
}

// Load reads the limits of all organizations, so that a process never starts without those that operators have set.
func (l *Limits) Load(ctx context.Context) error { return l.refresh(ctx) }

// refresh reads what has changed if the known limits are old. If that fails, the known ones still apply.
func (l *Limits) refresh(ctx context.Context) error {
	if l.cfg.DB == nil || !l.old() {
		return nil
	}
	l.reading.Lock()
	defer l.reading.Unlock()
	if !l.old() {
		return nil
	}
	// It is for all who come after, too: so it goes on when this one has hung up, and nobody tries again at once.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	at := l.cfg.Clock.Now().UnixMilli()
	since := max(0, l.newest-models.Millis(overlap.Milliseconds()))
	list, err := changedSince(ctx, l.cfg.DB, since)
	if err != nil {
		l.cfg.Logger.WarnContext(ctx, "the limits of organizations can't be read; the last known ones still apply", "error", err)
		l.readAt.Store(at)
		return err
	}
	if len(list) > 0 {
		own := maps.Clone(*l.own.Load())
		for _, row := range list {
			own[row.OrgID] = l.With(row)
			l.newest = max(l.newest, row.LimitsChangedAt)
		}
		l.own.Store(&own)
	}
	l.readAt.Store(at)
	return nil
}

func (l *Limits) old() bool {
	at := l.readAt.Load()
	age := l.cfg.Clock.Now().UnixMilli() - at
	return at < 0 || age < 0 || age >= believed.Milliseconds()
}
