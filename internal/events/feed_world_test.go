package events_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// feeds is a database for tests of feeds: several organizations with several sessions each, and counts of the reads.
type feeds struct {
	// latency is called by each read, without the lock.
	latency func()

	mu        sync.Mutex
	feeds     map[models.OrgID][]models.Event
	sequences map[models.SessionID]int64
	active    bool
	reads     int
	positions int
}

func newFeeds(orgs ...models.OrgID) *feeds {
	f := &feeds{latency: func() {}, feeds: map[models.OrgID][]models.Event{}, sequences: map[models.SessionID]int64{}}
	for _, org := range orgs {
		f.feeds[org] = nil
	}
	return f
}

// commit stores events of a session, every third of which is in no feed, and returns them as rows.
func (f *feeds) commit(org models.OrgID, session models.SessionID, n int) []models.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rows []models.Event
	for range n {
		f.sequences[session]++
		e := models.Event{
			OrgID: org, SessionID: session, Sequence: f.sequences[session], ID: models.NewID[models.EventEntity](), OccurredAt: 1,
			Kind: models.EventSessionTitleChanged, Data: models.JSON(`{"title":"t"}`), AgentID: new(models.AgentID(session)),
		}
		if e.Sequence%3 == 0 {
			e.Kind, e.Data = models.EventFileWritten, models.JSON(`{}`)
		} else {
			e.FeedPosition = new(int64(len(f.feeds[org]) + 1))
			f.feeds[org] = append(f.feeds[org], e)
		}
		rows = append(rows, e)
	}
	return rows
}

func (f *feeds) enter(count *int) {
	f.latency()
	f.mu.Lock()
	defer f.mu.Unlock()
	*count++
}

func (f *feeds) count(of *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *of
}

func (f *feeds) feed(org models.OrgID) []models.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.feeds[org])
}

func (f *feeds) ReadFeed(_ context.Context, org models.OrgID, after int64, limit events.Limit) ([]models.Event, error) {
	f.enter(&f.reads)
	list := f.feed(org)
	rest := list[min(after, int64(len(list))):]
	return within(rest, limit), nil
}

func (f *feeds) LastSequences(_ context.Context, keys []events.Key) (map[events.Key]events.Position, error) {
	f.enter(&f.positions)
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[events.Key]events.Position{}
	for _, k := range keys {
		if list, ok := f.feeds[k.Org]; ok && k.Feed() {
			found[k] = events.Position{LastSequence: int64(len(list)), Active: f.active}
		}
	}
	return found, nil
}

func (f *feeds) State(ctx context.Context, key events.Key) (events.State, bool, error) {
	found, err := f.LastSequences(ctx, []events.Key{key})
	p, ok := found[key]
	return events.State{Position: p}, ok, err
}

func (f *feeds) Read(context.Context, models.OrgID, models.SessionID, int64, events.Limit) ([]models.Event, error) {
	panic("nobody follows a session")
}

func (f *feeds) Checkpoint(context.Context, models.OrgID, models.TurnID) (*models.Checkpoint, error) {
	panic("a feed has no text")
}

// sameEvent compares what a reader of a feed got with what was committed.
func sameEvent(got, want models.Event) error {
	if got.OrgID != want.OrgID || got.SessionID != want.SessionID || got.Sequence != want.Sequence || got.ID != want.ID ||
		*got.FeedPosition != *want.FeedPosition || got.AgentID == nil || *got.AgentID != *want.AgentID || string(got.Data) != string(want.Data) {
		return fmt.Errorf("got %+v, want %+v", got, want)
	}
	return nil
}
