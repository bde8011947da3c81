package commit

import (
	"context"
	"reflect"
	"slices"
	"strings"

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

// postgresFeed is the statement that inserts any number of events, raises the feeds that they are in, and tells how far those go.
// Its parameters are the rows of the events, whose last columns are their places, and those of the feeds. A position is found by its number in an array: a
// join of the two would try each with each.
func postgresFeed() string {
	s, all := insertEvent, insertEvent.all
	last := len(all) - 1 // the position
	placed := append(slices.Clip(all[:last]), column{name: "feed", typ: "bigint"}, column{name: "later", typ: "bigint"})
	values := strings.TrimSuffix(s.list(func(i int) string { return columnValue(placed, i) }), columnValue(placed, last))
	feed := raiseFeed.all
	return "WITH feeds AS (INSERT INTO org_feeds AS f (" + feedColumns + ") SELECT " + raiseFeed.list(func(i int) string { return columnValue(feed, i) }) +
		" FROM " + postgresRows(feed, 2) + " " +
		"ON CONFLICT (org_id) DO UPDATE SET position = f.position + excluded.position, " +
		"sessions = f.sessions + excluded.sessions, queued_turns = f.queued_turns + excluded.queued_turns, " +
		"sessions_cap = excluded.sessions_cap, queued_turns_cap = excluded.queued_turns_cap " +
		"RETURNING f.org_id, f.position, f.sessions, f.queued_turns), " +
		"newest AS (SELECT array_agg(position ORDER BY org_id) AS positions, array_agg(sessions ORDER BY org_id) AS sessions, " +
		"array_agg(queued_turns ORDER BY org_id) AS queued_turns FROM feeds), " +
		"put AS (INSERT INTO " + s.table + " (" + names("", all) + ") SELECT " + values +
		"(SELECT positions FROM newest)[" + columnValue(placed, last) + "] - " + columnValue(placed, last+1) +
		" FROM " + postgresRows(placed, 1) + ") SELECT positions, sessions, queued_turns FROM newest"
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

var sqliteRaiseFeed = "INSERT INTO org_feeds (" + feedColumns + ") VALUES (?, ?, ?, ?, ?, ?) " +
	"ON CONFLICT (org_id) DO UPDATE SET position = position + excluded.position, " +
	"sessions = sessions + excluded.sessions, queued_turns = queued_turns + excluded.queued_turns, " +
	"sessions_cap = excluded.sessions_cap, queued_turns_cap = excluded.queued_turns_cap RETURNING position, sessions, queued_turns"

// raiseFeeds assigns the events of a step their positions.
func (tx *sqliteTx) raiseFeeds(ctx context.Context, s step) error {
	newest := make([]int64, len(s.feeds))
	for i, row := range s.feedRows() {
		f := s.feeds[i]
		if err := tx.one(ctx, sqliteRaiseFeed, row...).Scan(&newest[i], &f.told.Sessions, &f.told.QueuedTurns); err != nil {
			return own(err)
		}
		f.assign(newest[i])
	}
	for i, p := range s.places {
		if p.feed > 0 {
			s.rows[i][len(s.rows[i])-1] = newest[p.feed-1] - p.later
		}
	}
	return nil
}
