package commit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// member is an organization of a world that has several.
type member struct {
	org     models.OrgID
	harness models.HarnessID
}

func (w *world) members(n int) []member {
	w.t.Helper()
	list := []member{{w.org, w.harness}}
	for len(list) < n {
		org, harness := seedOrg(w.t, w.db)
		list = append(list, member{org, harness})
	}
	return list
}

// opened makes a session of the organization.
func (m member) opened(s models.SessionID) *cmd {
	return &cmd{Needs{Org: m.org, Session: s, Create: true, Bytes: 100}, func(tx *Tx) error {
		tx.CreateSession(models.Session{
			OrgID: m.org, ID: s, HarnessID: m.harness, Tags: []string{}, CreatedByKind: models.ActorUser, CreatedAt: tx.Now, Status: models.SessionStarted,
		})
		tx.Emit(nil, events.SessionStarted{HarnessID: m.harness})
		return nil
	}}
}

// happens emits lifecycle events with one between that is in no feed.
func (m member) happens(s models.SessionID, n int) *cmd {
	return &cmd{Needs{Org: m.org, Session: s, Bytes: 100}, func(tx *Tx) error {
		if tx.Session == nil {
			return errRefused
		}
		for range n {
			tx.Emit(nil, events.SessionTitleChanged{Title: new("t")})
			tx.Emit(nil, events.FileWritten{Path: "/f"})
		}
		return nil
	}}
}

// feed reads the feed of an organization, and fails unless it is as the law says, and as far as org_feeds says.
func (w *world) feed(org models.OrgID) []models.Event {
	w.t.Helper()
	var list []models.Event
	if err := store.Of(w.db.ReadAcross(context.Background()), org).Where("feed_position IS NOT NULL").Order("feed_position").Find(&list).Error; err != nil {
		w.t.Fatalf("read the feed of %s: %v", org, err)
	}
	if err := events.CheckFeed(list); err != nil {
		w.t.Fatalf("the feed of %s: %v", org, err)
	}
	var missing int64
	err := store.Of(w.db.ReadAcross(context.Background()).Model(&models.Event{}), org).Where("feed_position IS NULL AND kind IN ?", feedKinds()).Count(&missing).Error
	if err != nil || missing > 0 {
		w.t.Fatalf("%d events of %s have no place in its feed, %v", missing, org, err)
	}
	var row []models.OrgFeed
	if err := store.Of(w.db.ReadAcross(context.Background()), org).Find(&row).Error; err != nil {
		w.t.Fatalf("read how far the feed of %s goes: %v", org, err)
	}
	if len(row) == 0 && len(list) > 0 || len(row) > 0 && row[0].Position != int64(len(list)) {
		w.t.Fatalf("the feed of %s has %d events, and its row says %v", org, len(list), row)
	}
	w.checkTotals(org, row)
	return list
}

// log reads the events of a session, and fails unless their sequences are 1, 2, 3 and so on.
func (w *world) log(org models.OrgID, s models.SessionID) (list []models.Event) {
	w.t.Helper()
	if err := store.Of(w.db.ReadAcross(context.Background()), org).Where("session_id = ?", s).Order("sequence").Find(&list).Error; err != nil {
		w.t.Fatalf("read the log of %s: %v", s, err)
	}
	for i, e := range list {
		if e.Sequence != int64(i+1) {
			w.t.Fatalf("event %d of session %s has sequence %d", i+1, s, e.Sequence)
		}
	}
	return list
}

func feedKinds() (kinds []models.EventKind) {
	for _, r := range events.Table() {
		if r.OrgFeed {
			kinds = append(kinds, r.Kind())
		}
	}
	return kinds
}

// Rules: E5.
func TestLifecycleEventsGetAPlaceInTheFeed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		orgs := w.members(3)
		a, b, c := models.NewID[models.SessionEntity](), models.NewID[models.SessionEntity](), models.NewID[models.SessionEntity]()
		must(t, batch(w.c, orgs[0].opened(a), orgs[1].opened(b), orgs[0].opened(c)))
		must(t, batch(w.c, orgs[1].happens(b, 3), orgs[0].happens(a, 1), orgs[0].happens(c, 2)))
		must(t, batch(w.c, orgs[0].happens(a, 1)))
		for i, want := range []int{6, 4, 0} {
			if got := len(w.feed(orgs[i].org)); got != want {
				t.Errorf("the feed of organization %d has %d events, want %d", i, got, want)
			}
		}
		w.checkPublished(a)
		w.checkPublished(c)
		w.mu.Lock()
		defer w.mu.Unlock()
		for s, list := range w.published {
			for _, e := range list {
				if (e.FeedPosition != nil) != (e.Kind != models.EventFileWritten) {
					t.Errorf("%s of %s was published with position %v", e.Kind, s, e.FeedPosition)
				}
			}
		}
	})
}

// What the database refuses takes no place; nor does what a command refuses.
func TestWhatIsRefusedLeavesNoHoleInTheFeed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		var cmds []Command
		for _, bad := range w.bad(s) { // each emits an event of the feed first
			cmds = append(cmds, w.send(s, newMessage()), bad, w.command(s, func(tx *Tx) error {
				tx.Emit(nil, events.SessionActivated{})
				return errRefused
			}))
		}
		before := len(w.feed(w.org))
		cmds = append(cmds, w.command(s, func(tx *Tx) error { tx.Emit(nil, events.SessionActivated{}); return nil }))
		if errs := batch(w.c, cmds...); errs[len(errs)-1] != nil {
			t.Fatal(errs)
		}
		if got := len(w.feed(w.org)); got != before+1 {
			t.Errorf("the feed has %d events, want %d", got, before+1)
		}
		w.checkPublished(s)
	})
}

// A batch that is tried again gets its places anew, one whose reply was lost keeps those that it has.
func TestABatchThatBreaksOffTakesItsPlacesOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		orgs := w.members(2)
		for _, point := range []string{"begin", "loaded", "written", "committed"} {
			a, b := models.NewID[models.SessionEntity](), models.NewID[models.SessionEntity]()
			w.faults.set(once(point))
			must(t, batch(w.c, orgs[1].opened(b), orgs[0].opened(a)))
			w.faults.set(once(point))
			must(t, batch(w.c, orgs[1].happens(b, 2), orgs[0].happens(a, 2)))
			w.checkPublished(a)
			w.checkPublishedOf(orgs[1].org, b)
		}
		for _, m := range orgs {
			if got := len(w.feed(m.org)); got != 12 {
				t.Errorf("a feed has %d events, want 12", got)
			}
		}
	})
}

// Several processes commit for many sessions of several organizations, each in an order of its own, and break off at random;
// readers look all the time. What a reader sees of a feed never has a hole: the order of positions is the order of commits.
func TestPositionsAreInTheOrderOfCommits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		orgs := w.members(5)
		nodes := []*Committer{w.committer(nil)}
		if w.db.Pool != nil {
			nodes = append(nodes, w.committer(nil), w.committer(nil))
		}
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(rand.Uint64(), 1))
		pick := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(n)
		}
		w.faults.set(func(point string) error {
			if pick(20) == 0 {
				return errors.New("injected at " + point)
			}
			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		var readers, writers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				seen := make([]int, len(orgs))
				for ctx.Err() == nil {
					i := pick(len(orgs))
					var list []int64
					err := store.Of(w.db.ReadAcross(context.Background()).Model(&models.Event{}), orgs[i].org).
						Where("feed_position > ?", seen[i]).Order("feed_position").Pluck("feed_position", &list).Error
					if err != nil {
						t.Errorf("read: %v", err)
						return
					}
					for _, p := range list {
						if p != int64(seen[i]+1) {
							t.Errorf("a reader sees %d after %d", p, seen[i])
						}
						seen[i] = int(p)
					}
				}
			})
		}
		sessions := make([][]models.SessionID, len(orgs))
		total := make([]int, len(orgs))
		for i := range orgs {
			for range 3 {
				sessions[i] = append(sessions[i], models.NewID[models.SessionEntity]())
				if err := nodes[0].Submit(ctx, orgs[i].opened(sessions[i][len(sessions[i])-1])); err != nil {
					t.Fatal(err)
				}
				total[i]++
			}
		}
		for range 12 {
			writers.Go(func() {
				for range 12 {
					i, n := pick(len(orgs)), 1+pick(3)
					c := nodes[pick(len(nodes))]
					if err := c.Submit(context.Background(), orgs[i].happens(sessions[i][pick(3)], n)); err != nil {
						t.Errorf("submit: %v", err)
					}
					mu.Lock()
					total[i] += n
					mu.Unlock()
				}
			})
		}
		writers.Wait()
		w.faults.set(nil)
		stop()
		readers.Wait()
		for i, m := range orgs {
			if got := len(w.feed(m.org)); got != total[i] {
				t.Errorf("feed %d has %d events, want %d", i, got, total[i])
			}
			for _, s := range sessions[i] {
				w.log(m.org, s)
			}
		}
	})
}

// Batches of several processes that hold the same organizations in any order never wait for each other in a circle.
func TestFeedsAreLockedInOneOrder(t *testing.T) {
	w := onPostgres(t)
	orgs := w.members(12)
	var sessions [][]models.SessionID
	l := newLine(t, w)
	var mu sync.Mutex
	var deadlocks int
	l.onError = func(_ string, err error) {
		var e *pgconn.PgError
		mu.Lock()
		defer mu.Unlock()
		if errors.As(err, &e) && e.Code == "40P01" {
			deadlocks++
		}
	}
	nodes := []*Committer{w.over(l), w.over(l), w.over(l)}
	for range nodes {
		var mine []models.SessionID
		for _, m := range orgs {
			mine = append(mine, models.NewID[models.SessionEntity]())
			must(t, batch(w.c, m.opened(mine[len(mine)-1])))
		}
		sessions = append(sessions, mine)
	}
	var wg sync.WaitGroup
	for n, node := range nodes {
		wg.Go(func() {
			for range 30 {
				var cmds []Command
				for _, i := range rand.Perm(len(orgs)) {
					cmds = append(cmds, orgs[i].happens(sessions[n][i], 1))
				}
				must(t, batch(node, cmds...))
			}
		})
	}
	wg.Wait()
	if deadlocks > 0 {
		t.Errorf("%d deadlocks", deadlocks)
	}
	for _, m := range orgs {
		if got, want := len(w.feed(m.org)), len(nodes)*31; got != want {
			t.Errorf("a feed has %d events, want %d", got, want)
		}
	}
}

// A batch that serves feeds has one statement more than another one, however many they are.
func TestFeedsCostOneStatement(t *testing.T) {
	w := onPostgres(t)
	orgs := w.members(40)
	l := newLine(t, w)
	c := w.over(l)
	prepare := func(happen bool) (cmds []Command) {
		for _, m := range orgs {
			s := models.NewID[models.SessionEntity]()
			must(t, batch(w.c, m.opened(s)))
			n := 0
			if happen {
				n = 1
			}
			quiet := m.happens(s, n)
			emit := quiet.apply
			quiet.apply = func(tx *Tx) error {
				tx.Emit(nil, events.FileWritten{Path: "/f"})
				return emit(tx)
			}
			cmds = append(cmds, quiet)
		}
		return cmds
	}
	var counts []int
	for _, happen := range []bool{false, true} {
		must(t, batch(c, prepare(happen)...)) // prepares the statements
		cmds := prepare(happen)
		l.begin()
		must(t, batch(c, cmds...))
		statements, _ := l.seen()
		statements = slices.DeleteFunc(statements, func(sql string) bool { return sql == "DISCARD PLANS" })
		counts = append(counts, len(statements))
		// Whoever waits for a feed waits for nothing but the commit.
		if last := statements[len(statements)-2]; happen && !strings.Contains(last, "org_feeds") || statements[len(statements)-1] != "COMMIT" {
			t.Errorf("before the commit comes %s", last)
		}
	}
	if counts[0]+1 != counts[1] {
		t.Errorf("%d statements without the feeds, %d with them", counts[0], counts[1])
	}
	t.Logf("%d statements for 40 organizations", counts[1])
}
