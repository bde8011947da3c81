package httpapi

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// tape is a log in memory, which has every session. Like a database it gives copies away, and it knows which of them are held.
type tape struct {
	mu       sync.Mutex
	sessions map[models.SessionID][]models.Event
	given    []loan
}

// loan is what is known of the data of an event that was given away.
type loan struct {
	data weak.Pointer[byte]
	size int
}

// record appends an event, and returns a copy of it.
func (l *tape) record(e models.Event) models.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions[e.SessionID] = append(l.sessions[e.SessionID], e)
	return l.copy(e)
}

func (l *tape) copy(e models.Event) models.Event {
	e.Data = bytes.Clone(e.Data)
	l.given = append(l.given, loan{weak.Make(&e.Data[0]), len(e.Data)})
	return e
}

// held returns how many bytes of what was given away are still there.
func (l *tape) held() int {
	runtime.GC()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given = slices.DeleteFunc(l.given, func(g loan) bool { return g.data.Value() == nil })
	sum := 0
	for _, g := range l.given {
		sum += g.size
	}
	return sum
}

func (l *tape) Read(_ context.Context, _ models.OrgID, session models.SessionID, after int64, limit events.Limit) ([]models.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var page []models.Event
	bytes := 0
	for _, e := range l.sessions[session][after:] {
		if bytes += len(e.Data); len(page) == limit.Events || len(page) > 0 && bytes > limit.Bytes {
			break
		}
		page = append(page, l.copy(e))
	}
	return page, nil
}

func (*tape) ReadFeed(context.Context, models.OrgID, int64, events.Limit) ([]models.Event, error) {
	return nil, nil
}

func (l *tape) position(session models.SessionID) events.Position {
	return events.Position{LastSequence: int64(len(l.sessions[session]))}
}

func (l *tape) LastSequences(_ context.Context, keys []events.Key) (map[events.Key]events.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[events.Key]events.Position{}
	for _, k := range keys {
		found[k] = l.position(k.Session)
	}
	return found, nil
}

func (l *tape) State(_ context.Context, key events.Key) (events.State, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return events.State{Position: l.position(key.Session)}, true, nil
}

func (*tape) Checkpoint(context.Context, models.OrgID, models.TurnID) (*models.Checkpoint, error) {
	return nil, nil
}
