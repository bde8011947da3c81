package commit

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

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

// events writes the events after everything else: their organizations' feeds are the last locks of a transaction, taken in the
// order of the organizations. Whoever has the lock of a feed waits for nothing but other feeds and the commit, so the order of
// positions is the order of commits.
func (g *gathering) events() {
	st := step{shape: tables.insertEvent}
	// States are in the order of their organizations.
	share := func(org models.OrgID) *feedShare {
		if n := len(st.feeds); n == 0 || st.feeds[n-1].org != org {
			st.feeds = append(st.feeds, feedShare{org: org, headroom: g.headroom[org], told: &Totals{}})
		}
		return &st.feeds[len(st.feeds)-1]
	}
	for _, s := range g.states {
		// If a command has asked about a cap, the row must check it, even if in the end nothing is added.
		if added := s.share(); added != (Totals{}) || g.headroom[s.tx.org] != (headroom{}) {
			f := share(s.tx.org)
			f.added = f.added.plus(added)
		}
		for i := range s.w.events {
			e := &s.w.events[i]
			e.FeedPosition = nil // of an attempt that failed
			var p place
			if events.InOrgFeed(e.Kind) {
				f := share(e.OrgID)
				f.events = append(f.events, e)
				p = place{int64(len(st.feeds)), int64(len(f.events))}
			}
			st.rows, st.places = append(st.rows, eventRow(*e)), append(st.places, p)
		}
	}
	if len(st.rows) == 0 {
		return
	}
	for i, p := range st.places {
		if p.feed > 0 {
			st.places[i].later = int64(len(st.feeds[p.feed-1].events)) - p.later
		}
	}
	g.steps = append(g.steps, st)
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
// The arrays are the columns of the events but for the position, the places of the rows, and the feeds with how many
// events each gets. A position is found by its number in an array: a join of the two would try each with each.
func postgresFeed(s *shape) string {
	plain := &shape{keys: s.keys, set: s.set[:len(s.set)-1]}
	all := append(plain.all(), columns("feed later feed_org:uuid feed_events feed_sessions feed_queued sessions_cap queued_cap")...)
	args := func(i int) string { return postgresArray(all, i) }
	n := len(plain.all())
	rows, feeds := &shape{keys: all[:n+2]}, &shape{keys: all[n+2:]}
	return "WITH feeds AS (INSERT INTO org_feeds AS f (" + feedColumns + ") SELECT " + feedColumns + " FROM unnest(" +
		feeds.list(func(i int) string { return args(n + 2 + i) }) + ") AS k(" + feedColumns + ") " +
		"ON CONFLICT (org_id) DO UPDATE SET position = f.position + excluded.position, " +
		"sessions = f.sessions + excluded.sessions, queued_turns = f.queued_turns + excluded.queued_turns, " +
		"sessions_cap = excluded.sessions_cap, queued_turns_cap = excluded.queued_turns_cap " +
		"RETURNING f.org_id, f.position, f.sessions, f.queued_turns), " +
		"newest AS (SELECT array_agg(position ORDER BY org_id) AS positions, array_agg(sessions ORDER BY org_id) AS sessions, " +
		"array_agg(queued_turns ORDER BY org_id) AS queued_turns FROM feeds), " +
		"put AS (INSERT INTO " + s.table + " (" + names("", s.all()) + ") SELECT " + plain.list(columnAlias) +
		", (SELECT positions FROM newest)[" + columnAlias(n) + "] - " + columnAlias(n+1) +
		" FROM unnest(" + rows.list(args) + ") AS k(" + rows.list(columnAlias) + ")) SELECT positions, sessions, queued_turns FROM newest"
}

const feedColumns = "org_id, position, sessions, queued_turns, sessions_cap, queued_turns_cap"

// told is what the database tells of feeds: their newest positions, and the totals of their organizations.
type told struct{ positions, sessions, queuedTurns []int64 }

// queueFeed queues the insert of events that are in feeds.
func queueFeed(batch *pgx.Batch, statement string, s step, newest *told) {
	args := turned(s.shape, s.rows)
	feed, later := make([]pgtype.Int8, len(s.places)), make([]pgtype.Int8, len(s.places))
	for i, p := range s.places {
		if p.feed > 0 {
			feed[i], later[i] = pgtype.Int8{Int64: p.feed, Valid: true}, pgtype.Int8{Int64: p.later, Valid: true}
		}
	}
	n := len(s.feeds)
	orgs, counts, sessions, queued := make([]pgtype.UUID, n), make([]int64, n), make([]int64, n), make([]int64, n)
	sessionsCap, queuedCap := make([]*int64, n), make([]*int64, n)
	for i, f := range s.feeds {
		orgs[i], counts[i] = pgtype.UUID{Bytes: f.org, Valid: true}, int64(len(f.events))
		sessions[i], queued[i] = f.added.Sessions, f.added.QueuedTurns
		sessionsCap[i], queuedCap[i] = f.headroomLimits()
	}
	args = append(args[:len(args)-1], feed, later, orgs, counts, sessions, queued, sessionsCap, queuedCap)
	batch.Queue(statement, args...).QueryRow(func(r pgx.Row) error {
		return r.Scan(&newest.positions, &newest.sessions, &newest.queuedTurns)
	})
}

const sqliteRaiseFeed = "INSERT INTO org_feeds (" + feedColumns + ") VALUES (?, ?, ?, ?, ?, ?) " +
	"ON CONFLICT (org_id) DO UPDATE SET position = position + excluded.position, " +
	"sessions = sessions + excluded.sessions, queued_turns = queued_turns + excluded.queued_turns, " +
	"sessions_cap = excluded.sessions_cap, queued_turns_cap = excluded.queued_turns_cap RETURNING position, sessions, queued_turns"

// raiseFeeds assigns the events of a step their positions.
func (tx *sqliteTx) raiseFeeds(ctx context.Context, s step) error {
	newest := make([]int64, len(s.feeds))
	for i, f := range s.feeds {
		sessionsCap, queuedCap := f.headroomLimits()
		err := tx.one(ctx, sqliteRaiseFeed, id(f.org), len(f.events), f.added.Sessions, f.added.QueuedTurns, sessionsCap, queuedCap).
			Scan(&newest[i], &f.told.Sessions, &f.told.QueuedTurns)
		if err != nil {
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
