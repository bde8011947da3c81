package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// follow reads a feed in the background; positions stand for its events.
func follow(t *testing.T, h *events.Hub, org models.OrgID, after *int64) *reader {
	t.Helper()
	sub, err := h.SubscribeOrg(t.Context(), org, events.Options{After: after})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{sub: sub, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			item, err := sub.Next(t.Context())
			if err != nil {
				r.err = err
				return
			}
			what := fmt.Sprint(*item.Event.FeedPosition)
			if item.Ephemeral {
				what = "caught up@" + what
			}
			r.mu.Lock()
			r.got = append(r.got, what)
			r.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		sub.Close()
		<-r.done
	})
	return r
}

type feedScene struct {
	*testing.T
	db      *feeds
	org     models.OrgID
	session models.SessionID
	net     *network
	a, b    *events.Hub
}

// playOrg sets two nodes up, a with the commits and b, and lets time stand still unless the test sleeps.
func playOrg(t *testing.T, test func(s *feedScene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &feedScene{T: t, org: models.NewID[models.OrgEntity](), session: models.NewID[models.SessionEntity](), net: &network{fate: faithful}}
		s.db = newFeeds(s.org)
		s.a, s.b = startHub(t, s.db, s.net.join(), nil), startHub(t, s.db, s.net.join(), nil)
		test(s)
	})
}

func (s *feedScene) publish(n int) { s.a.Publish(s.org, s.session, s.db.commit(s.org, s.session, n)) }

func TestAFeedResumesExactly(t *testing.T) {
	playOrg(t, func(s *feedScene) {
		empty := follow(s.T, s.b, s.org, new(int64(0)))
		empty.expect(s.T, "caught up@0")
		s.publish(3) // the third is in no feed
		all, some, none := follow(s.T, s.b, s.org, new(int64(0))), follow(s.T, s.a, s.org, new(int64(1))), follow(s.T, s.b, s.org, nil)
		empty.expect(s.T, "1", "2")
		all.expect(s.T, "1", "2", "caught up@2")
		some.expect(s.T, "2", "caught up@2")
		none.expect(s.T)
		s.publish(2)
		for _, r := range []*reader{all, some, none} {
			r.expect(s.T, "3", "4")
		}
		_, err := s.a.SubscribeOrg(s.Context(), s.org, events.Options{After: new(int64(5))})
		if past, ok := errors.AsType[*events.LostPlaceError](err); !ok || past.LastSequence != 4 {
			s.Errorf("past the end: %v", err)
		}
	})
}

func TestAFeedIsReadOnceForAllWhoFollowIt(t *testing.T) {
	playOrg(t, func(s *feedScene) {
		s.publish(30)
		s.db.latency = func() { pass(time.Millisecond) }
		readers := make([]*reader, 50)
		var work sync.WaitGroup
		for i := range readers {
			work.Go(func() { readers[i] = follow(s.T, s.b, s.org, new(int64(0))) })
		}
		work.Wait()
		pass(time.Second / 2)
		for _, r := range readers {
			if got := r.take(); len(got) != 21 || got[20] != "caught up@20" {
				s.Fatalf("got %v", got)
			}
		}
		if n := s.db.count(&s.db.reads); n > 3 {
			s.Errorf("50 readers made %d reads", n)
		}
		if s.b.Sessions() != 1 || s.b.Subscribers() != 50 {
			s.Errorf("%d streams, %d subscribers", s.b.Sessions(), s.b.Subscribers())
		}
	})
}

func TestAGapInAFeedIsWaitedForThenRead(t *testing.T) {
	playOrg(t, func(s *feedScene) {
		r := follow(s.T, s.b, s.org, nil)
		synctest.Wait()
		first, second := s.db.commit(s.org, s.session, 1), s.db.commit(s.org, s.session, 1)
		s.a.Publish(s.org, s.session, second)
		pass(15 * time.Millisecond)
		r.expect(s.T)
		s.a.Publish(s.org, s.session, first)
		r.expect(s.T, "1", "2")
		reads := s.db.count(&s.db.reads)
		s.db.commit(s.org, s.session, 2)
		s.publish(1)
		pass(25 * time.Millisecond)
		r.expect(s.T, "3", "4")
		if n := s.db.count(&s.db.reads) - reads; n != 1 {
			s.Errorf("%d reads for one gap", n)
		}
	})
}

// What the bus loses at the end is seen by nobody but the sweep: within a second where a session is at work, else within 15.
func TestTheSweepFindsTheEndOfAFeed(t *testing.T) {
	playOrg(t, func(s *feedScene) {
		r := follow(s.T, s.b, s.org, nil)
		synctest.Wait()
		s.net.fate = func() []time.Duration { return nil }
		s.publish(1)
		pass(15*time.Second + 50*time.Millisecond)
		r.expect(s.T, "1")
		s.db.mu.Lock()
		s.db.active = true
		s.db.mu.Unlock()
		pass(15 * time.Second) // now the node knows
		s.publish(1)
		pass(time.Second + 50*time.Millisecond)
		r.expect(s.T, "2")
		s.net.set(true)
		s.db.commit(s.org, s.session, 2)
		positions := s.db.count(&s.db.positions)
		s.net.set(false)
		synctest.Wait()
		pass(25 * time.Millisecond)
		r.expect(s.T, "3")
		if n := s.db.count(&s.db.positions) - positions; n != 1 {
			s.Errorf("%d looks when the bus came back", n)
		}
	})
}

// listened is a bus that notes what is published.
type listened struct {
	events.Bus

	shared   bool
	subjects []string
}

func (b *listened) Shared() bool { return b.shared }

func (b *listened) Publish(subject string, _ []byte) error {
	b.subjects = append(b.subjects, subject)
	return nil
}

// Rules: E5.
func TestOnlyLifecycleEventsGoOutForTheFeed(t *testing.T) {
	org, session := models.NewID[models.OrgEntity](), models.NewID[models.SessionEntity]()
	db := newFeeds(org)
	for _, shared := range []bool{true, false} {
		bus := &listened{Bus: events.NewLocalBus(), shared: shared}
		t.Cleanup(func() { _ = bus.Close() })
		h := startHub(t, db, bus, nil)
		var want []string
		for range 3 {
			rows := db.commit(org, session, 1)
			h.Publish(org, session, rows)
			if shared {
				want = append(want, events.SessionSubject(org, session))
			}
			if shared && rows[0].FeedPosition != nil {
				want = append(want, events.OrgSubject(org))
			}
		}
		if !slices.Equal(bus.subjects, want) {
			t.Errorf("shared %v: published on %v, want %v", shared, bus.subjects, want)
		}
	}
}

// The id that consists of zeros stands for the feed within the hub, and for nothing outside of it.
func TestTheZeroIDIsNoSession(t *testing.T) {
	playOrg(t, func(s *feedScene) {
		s.publish(1)
		zero, err := models.ParseID[models.SessionEntity]("sess_" + strings.Repeat("0", 32))
		if err != nil {
			s.Fatal(err)
		}
		if _, err := s.a.Subscribe(s.Context(), s.org, zero, events.Options{After: new(int64(0))}); !fault.Is(err, fault.NotFound) {
			s.Errorf("got %v", err)
		}
		if _, err := s.a.SubscribeOrg(s.Context(), models.NewID[models.OrgEntity](), events.Options{}); !fault.Is(err, fault.NotFound) {
			s.Errorf("an organization that isn't there: %v", err)
		}
		synctest.Wait()
		if n := s.a.Sessions(); n != 0 {
			s.Errorf("%d streams are left", n)
		}
	})
}

// place gives events positions in the feed of their organization, from one on.
func place(list []models.Event, from int64) []models.Event {
	for i := range list {
		list[i].FeedPosition = new(from + int64(i))
	}
	return list
}

func TestFeedsAreReadAsTheyWereWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := events.NewLog(db)
		key, other := seed(t, db, 3), seed(t, db, 0)
		feed, foreign := place(row(key, 4, 8), 1), place(row(other, 1, 2), 1)
		insert(t, db, feed...)
		insert(t, db, foreign...)
		agent := models.Agent{
			OrgID: key.Org, ID: models.NewID[models.AgentEntity](), Name: "a", Lifecycle: models.LifecycleActive, Revision: 1,
			Capabilities: []models.CapabilityRef{}, Tags: []string{},
		}
		raise := func(org models.OrgID, to int64) {
			t.Helper()
			if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&models.OrgFeed{OrgID: org, Position: to}).Error }); err != nil {
				t.Fatal(err)
			}
		}
		err := db.Write(t.Context(), key.Org, func(tx *gorm.DB) error {
			if err := tx.Create(&agent).Error; err != nil {
				return err
			}
			return store.OneRow(store.Of(tx.Model(&models.Session{}), key.Org).Where("id = ?", key.Session).
				Updates(map[string]any{"agent_id": agent.ID, "status": models.SessionActive}))
		})
		if err != nil {
			t.Fatal(err)
		}
		raise(key.Org, 5)
		got, err := log.ReadFeed(t.Context(), key.Org, 2, events.Limit{Events: 2, Bytes: 1 << 20})
		if err != nil || len(got) != 2 {
			t.Fatalf("got %v, %v", got, err)
		}
		for i, e := range got {
			want := feed[2+i]
			want.AgentID = &agent.ID
			if err := sameEvent(e, want); err != nil || e.Kind != want.Kind || e.OccurredAt != want.OccurredAt ||
				(e.TurnID == nil) != (want.TurnID == nil) || e.TurnID != nil && *e.TurnID != *want.TurnID {
				t.Errorf("no. %d: %v", i, err)
			}
		}
		if got, err := log.ReadFeed(t.Context(), other.Org, 0, events.Limit{Events: 9, Bytes: 1 << 20}); err != nil || len(got) != 2 || got[0].AgentID != nil || got[0].OrgID != other.Org {
			t.Errorf("the other organization reads %v, %v", got, err)
		}
		if got, err := log.ReadFeed(t.Context(), key.Org, 5, events.Limit{Events: 9, Bytes: 1 << 20}); err != nil || len(got) != 0 {
			t.Errorf("past the end: %v, %v", got, err)
		}
		if got, err := log.Read(t.Context(), key.Org, key.Session, 0, events.Limit{Events: 9, Bytes: 1 << 20}); err != nil || len(got) != 8 || got[0].FeedPosition != nil || *got[7].FeedPosition != 5 {
			t.Errorf("the log of the session: %v, %v", got, err)
		}
		unknown := models.NewID[models.OrgEntity]()
		found, err := log.LastSequences(t.Context(), []events.Key{key, {Org: key.Org}, {Org: other.Org}, {Org: unknown}, other})
		want := map[events.Key]events.Position{
			key: {LastSequence: 3, Active: true}, {Org: key.Org}: {LastSequence: 5, Active: true}, {Org: other.Org}: {}, other: {},
		}
		if err != nil || fmt.Sprint(found) != fmt.Sprint(want) {
			t.Errorf("got %v, %v", found, err)
		}
		st, ok, err := log.State(t.Context(), events.Key{Org: key.Org})
		if err != nil || !ok || st != (events.State{Position: events.Position{LastSequence: 5, Active: true}}) {
			t.Errorf("the state: %+v, %v, %v", st, ok, err)
		}
		if _, ok, err := log.State(t.Context(), events.Key{Org: unknown}); ok || err != nil {
			t.Errorf("an organization that isn't there: %v, %v", ok, err)
		}
	})
}

// TestAFeedOnTwoProcesses takes the real parts together: the log, NATS and two hubs.
func TestAFeedOnTwoProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := seed(t, db, 0)
		insert(t, db, place(row(key, 1, 700), 1)...)
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&models.OrgFeed{OrgID: key.Org, Position: 700}).Error })
		if err != nil {
			t.Fatal(err)
		}
		server := startNATS(t, -1)
		log := events.NewLog(db)
		a, b := startHub(t, log, connect(t, server.ClientURL()), nil), startHub(t, log, connect(t, server.ClientURL()), nil)
		sub, err := b.SubscribeOrg(t.Context(), key.Org, events.Options{After: new(int64(0))})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		expect := func(position int64, kind models.EventKind) {
			t.Helper()
			item, err := sub.Next(context.Background())
			if err != nil || *item.Event.FeedPosition != position || kind != "" && item.Event.Kind != kind {
				t.Fatalf("got %+v, %v, want %d", item, err, position)
			}
		}
		for n := int64(1); n <= 700; n++ {
			expect(n, "")
		}
		expect(700, models.EventCaughtUp)
		live := place(row(key, 701, 703), 701)
		insert(t, db, live[:2]...)
		a.Publish(key.Org, key.Session, live[1:2])
		expect(701, "")
		expect(702, "")
		agent := models.NewID[models.AgentEntity]()
		live[2].AgentID = &agent
		a.Publish(key.Org, key.Session, live[2:])
		item, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := sameEvent(item.Event, live[2]); err != nil { // by the bus, with the agent of that moment
			t.Error(err)
		}
	})
}

func TestCheckFeedFindsFaults(t *testing.T) {
	org := models.NewID[models.OrgEntity]()
	db := newFeeds(org)
	one, two := models.NewID[models.SessionEntity](), models.NewID[models.SessionEntity]()
	for range 3 {
		db.commit(org, one, 2)
		db.commit(org, two, 2)
	}
	if err := events.CheckFeed(db.feed(org)); err != nil {
		t.Fatalf("a good feed: %v", err)
	}
	for want, spoil := range map[string]func(feed []models.Event) []models.Event{
		"no. 3: its position is 4":      func(feed []models.Event) []models.Event { return slices.Delete(feed, 2, 3) },
		"no. 2: it has no position":     func(feed []models.Event) []models.Event { feed[1].FeedPosition = nil; return feed },
		"no. 1: its kind is in no feed": func(feed []models.Event) []models.Event { feed[0].Kind = models.EventToolStarted; return feed },
		"no. 2: its sequence is 1":      func(feed []models.Event) []models.Event { feed[1].Sequence = feed[0].Sequence; return feed },
		"no. 2: it belongs to session":  func(feed []models.Event) []models.Event { feed[1].OrgID = models.OrgID{1}; return feed },
		"no. 4: its id":                 func(feed []models.Event) []models.Event { feed[3].ID = feed[0].ID; return feed },
	} {
		if err := events.CheckFeed(spoil(db.feed(org))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
