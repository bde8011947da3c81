package commit

import (
	"context"
	"reflect"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// feedShare is what a batch adds to the feed of an organization, in the feed's order.
type feedShare struct {
	org    models.OrgID
	events []*models.Event
	// added is what it adds to the totals of the organization, which may have had no more than headroom before.
	added    Totals
	headroom headroom
	// told is what the totals are afterwards.
	told *Totals
}

// place says where in the feeds a row goes: the number of the feed among those of the step, from 1 on, and how many events
// of the batch come later in it. The zero value is for events that are in no feed.
type place struct{ feed, later int64 }

// assign tells the events which positions they got, from the newest position of the feed.
func (f feedShare) assign(newest int64) {
	for i, e := range f.events {
		e.FeedPosition = new(newest - int64(len(f.events)-1-i))
	}
}

// gatherEvents writes the events after everything else: their organizations' feeds are the last locks of a transaction, taken in the
// order of the organizations. Whoever has the lock of a feed waits for nothing but other feeds and the commit, so the order of
// positions is the order of commits.
func gatherEvents(states []*state, asked map[models.OrgID]headroom) []step {
	st := step{shape: insertEvent.shape}
	// States are in the order of their organizations.
	share := func(org models.OrgID) *feedShare {
		if n := len(st.feeds); n == 0 || st.feeds[n-1].org != org {
			st.feeds = append(st.feeds, feedShare{org: org, headroom: asked[org], told: &Totals{}})
		}
		return &st.feeds[len(st.feeds)-1]
	}
	for _, s := range states {
		// If a command has asked about a cap, the row must check it, even if in the end nothing is added.
		if added := s.share(); added != (Totals{}) || asked[s.tx.org] != (headroom{}) {
			f := share(s.tx.org)
			f.added = f.added.plus(added)
		}
		list := insertEvent.of(&s.w)
		for i := range list {
			e := &list[i]
			e.FeedPosition = nil // of an attempt that failed
			var p place
			if events.InOrgFeed(e.Kind) {
				f := share(e.OrgID)
				f.events = append(f.events, e)
				p = place{int64(len(st.feeds)), int64(len(f.events))}
			}
			st.rows, st.places = append(st.rows, insertEvent.row(reflect.ValueOf(e).Elem())), append(st.places, p)
		}
	}
	if len(st.rows) == 0 {
		return nil
	}
	for i, p := range st.places {
		if p.feed > 0 {
			st.places[i].later = int64(len(st.feeds[p.feed-1].events)) - p.later
		}
	}
	return []step{st}
}

// feedsOf returns what steps add to the feeds.
func feedsOf(steps []step) (feeds []feedShare) {
	for _, s := range steps {
		feeds = append(feeds, s.feeds...)
	}
	return feeds
}

// recall tells the events of a commit whose reply was lost which positions they got.
func recall(ctx context.Context, b backend, feeds []feedShare) error {
	for _, f := range feeds {
		if len(f.events) == 0 {
			continue
		}
		newest, err := b.position(ctx, f.events[len(f.events)-1])
		if err != nil {
			return err
		}
		if newest != nil {
			f.assign(*newest)
		}
	}
	return nil
}

// feedRows are what the feeds of a step are raised by.
func (s step) feedRows() [][]any {
	rows := make([][]any, len(s.feeds))
	for i, f := range s.feeds {
		raise := feedRow{OrgID: f.org, Position: int64(len(f.events)), Sessions: f.added.Sessions, QueuedTurns: f.added.QueuedTurns}
		raise.SessionsCap, raise.QueuedTurnsCap = f.headroomLimits()
		rows[i] = raiseFeed.row(reflect.ValueOf(&raise).Elem())
	}
	return rows
}

// feedRow is what a feed is raised by.
type feedRow struct {
	OrgID                           models.OrgID
	Position, Sessions, QueuedTurns int64
	SessionsCap, QueuedTurnsCap     *int64
}

var (
	raiseFeed   = describe[feedRow](shape{table: "org_feeds"}, "org_id", "")
	feedColumns = names("", raiseFeed.all)
)

// told is what the database tells of feeds: their newest positions, and the totals of their organizations.
type told struct{ positions, sessions, queuedTurns []int64 }
