package sessions

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// limited returns a second node on the same database, and both the limits.
func (e *env) limited(v limits.Values) (other *Service) {
	e.t.Helper()
	committer := commit.New(commit.Config{DB: e.db, Clock: e.clock})
	e.t.Cleanup(committer.Stop)
	mine := limits.New(limits.Config{DB: e.db, Clock: e.clock, Usual: v})
	theirs := limits.New(limits.Config{DB: e.db, Clock: e.clock, Usual: v})
	e.svc = New(Config{DB: e.db, Committer: e.commit, Catalog: e.catalog, Clock: e.clock, Limits: mine})
	return New(Config{DB: e.db, Committer: committer, Catalog: e.catalog, Clock: e.clock, Limits: theirs})
}

// nodes are the services that work at the same time: with SQLite there is one process.
func (e *env) nodes(other *Service) []*Service {
	if e.db.Dialect == store.SQLite {
		return []*Service{e.svc}
	}
	return []*Service{e.svc, other}
}

// tally counts how concurrent attempts have ended.
type tally struct {
	mu            sync.Mutex
	done, refused int
	others        []error
}

func (a *tally) add(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.done++
	case fault.Is(err, fault.LimitReached):
		a.refused++
	default:
		a.others = append(a.others, err)
	}
}

func (e *env) feedRow() models.OrgFeed {
	e.t.Helper()
	var row models.OrgFeed
	if err := store.Of(e.db.Read(e.t.Context(), e.by.OrgID), e.by.OrgID).Take(&row).Error; err != nil {
		e.t.Fatal(err)
	}
	return row
}

// However many create sessions on however many nodes, there are exactly as many as there may be.
func TestASessionCapIsExact(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		const most = 7
		nodes := e.nodes(e.limited(limits.Values{Sessions: most}))
		origin := e.create() // one of the seven
		var made tally
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				var err error
				if i%5 == 0 {
					_, err = nodes[i%len(nodes)].Fork(t.Context(), e.by, NewFork{SessionID: origin.ID})
				} else {
					_, err = nodes[i%len(nodes)].Create(t.Context(), e.by, NewSession{Tags: []string{"x"}})
				}
				made.add(err)
			})
		}
		all.Wait()
		if made.done != most-1 || made.refused != 50-made.done || len(made.others) > 0 {
			t.Fatalf("%d were made and %d refused, %v", made.done, made.refused, made.others)
		}
		var rows int64
		if err := store.Of(e.db.Read(t.Context(), e.by.OrgID).Model(&models.Session{}), e.by.OrgID).Count(&rows).Error; err != nil || rows != most {
			t.Fatalf("there are %d sessions, %v", rows, err)
		}
		if counted := e.feedRow().Sessions; counted != most {
			t.Errorf("%d are counted", counted)
		}
		if _, err := e.svc.Create(t.Context(), e.theirs, NewSession{}); err != nil {
			t.Errorf("the other organization: %v", err)
		}
	})
}

// What was refused has left nothing, not even its idempotency key.
func TestARefusedSessionLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		other := e.limited(limits.Values{Sessions: 1})
		first := NewSession{IdempotencyKey: ptr("first"), Title: ptr("a")}
		made, err := e.svc.Create(t.Context(), e.by, first)
		if err != nil {
			t.Fatal(err)
		}
		second := NewSession{IdempotencyKey: ptr("second"), Tags: []string{"b"}}
		for _, node := range []*Service{e.svc, other} {
			_, err = node.Create(t.Context(), e.by, second)
			wantFault(t, err, fault.LimitReached, "")
			if again, err := node.Create(t.Context(), e.by, first); err != nil || again.ID != made.ID {
				t.Fatalf("what was made before: %v", err)
			}
		}
		_, err = e.svc.Fork(t.Context(), e.by, NewFork{SessionID: made.ID, IdempotencyKey: ptr("fork")})
		wantFault(t, err, fault.LimitReached, "")
		var keys, sessions, tags int64
		db := e.db.Read(t.Context(), e.by.OrgID)
		for _, q := range []error{
			store.Of(db.Model(&models.IdempotencyKey{}), e.by.OrgID).Count(&keys).Error,
			store.Of(db.Model(&models.Session{}), e.by.OrgID).Count(&sessions).Error,
			store.Of(db.Table("session_tags"), e.by.OrgID).Count(&tags).Error,
		} {
			if q != nil {
				t.Fatal(q)
			}
		}
		if keys != 1 || sessions != 1 || tags != 0 {
			t.Errorf("%d keys, %d sessions, %d tags", keys, sessions, tags)
		}
		// With more room the same key succeeds.
		e.own(map[string]any{"sessions": 2})
		if _, err := e.svc.Create(t.Context(), e.by, second); err != nil {
			t.Errorf("with an own limit of 2: %v", err)
		}
	})
}

// own gives the organization limits of its own, which the nodes see after 2 s.
func (e *env) own(columns map[string]any) {
	e.t.Helper()
	columns["limits_changed_at"] = e.clock.Now().UnixMilli()
	err := e.db.WriteAcross(e.t.Context(), func(tx *gorm.DB) error {
		if _, err := limits.LockLoad(tx, e.by.OrgID); err != nil {
			return err
		}
		return store.Of(tx.Model(&models.OrgLoad{}), e.by.OrgID).Updates(columns).Error
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.clock.Advance(2 * time.Second)
}

// However many send to however many sessions on however many nodes, no more turns wait than may.
func TestACapOfQueuedTurnsIsExact(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		const most = 9
		nodes := e.nodes(e.limited(limits.Values{QueuedTurns: most}))
		var sessions []models.SessionID
		for range 6 {
			sessions = append(sessions, e.create().ID)
		}
		var sent tally
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				_, _, err := nodes[i%len(nodes)].Send(t.Context(), e.by, NewMessage{
					SessionID: sessions[i%len(sessions)], Content: []NewPart{Text("hello")}, Delivery: turns.Queue, IdempotencyKey: ptr(fmt.Sprint(i)),
				})
				sent.add(err)
				if f := fault.As(err); f != nil && f.RetryAfterSeconds != turns.QueueRetrySeconds {
					t.Errorf("wait %d s", f.RetryAfterSeconds)
				}
			})
		}
		all.Wait()
		if sent.done != most || sent.refused != 40-most || len(sent.others) > 0 {
			t.Fatalf("%d were sent and %d refused, %v", sent.done, sent.refused, sent.others)
		}
		e.turns(most)

		// A message into the turn that is active needs no room.
		var busy models.Turn
		if err := store.Of(e.db.Read(t.Context(), e.by.OrgID), e.by.OrgID).Where("ready_at IS NOT NULL").Limit(1).Take(&busy).Error; err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: busy.SessionID, Content: []NewPart{Text("more")}}); err != nil {
			t.Errorf("steer: %v", err)
		}
		// What interrupts has room beyond the cap.
		if _, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: busy.SessionID, Content: []NewPart{Text("stop")}, Delivery: turns.Interrupt}); err != nil {
			t.Errorf("interrupt: %v", err)
		}
		e.turns(most) // one was cancelled, and another one made
		// A turn that is cancelled makes room for another one: here at once, on another node when it looks again.
		var behind models.Turn
		if err := store.Of(e.db.Read(t.Context(), e.by.OrgID), e.by.OrgID).Where("status = 'QUEUED' AND ready_at IS NULL").Limit(1).Take(&behind).Error; err != nil {
			t.Fatal(err)
		}
		if _, err := e.svc.CancelTurn(t.Context(), e.by, behind.ID, nil); err != nil {
			t.Fatal(err)
		}
		e.turns(most - 1)
		last := NewMessage{SessionID: sessions[0], Content: []NewPart{Text("last")}, Delivery: turns.Queue, IdempotencyKey: ptr("last")}
		e.clock.Advance(time.Second)
		if _, _, err := nodes[len(nodes)-1].Send(t.Context(), e.by, last); err != nil {
			t.Errorf("with room for one: %v", err)
		}
		e.turns(most)
	})
}

// turns fails unless so many turns wait, by their rows and by what is counted.
func (e *env) turns(want int64) {
	e.t.Helper()
	var rows int64
	err := store.Of(e.db.Read(e.t.Context(), e.by.OrgID).Model(&models.Turn{}), e.by.OrgID).Where("started_at IS NULL AND finished_at IS NULL").Count(&rows).Error
	if counted := e.feedRow().QueuedTurns; err != nil || rows != want || counted != want {
		e.t.Fatalf("%d turns wait, and %d are counted, want %d: %v", rows, counted, want, err)
	}
}

// Callbacks count as requests of the organization that waits, and tokens that are good for nothing against their address.
func TestTokensOfNobodyAreLimitedByAddress(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.clock.Advance(time.Minute - time.Duration(e.clock.Now().UnixMilli()%60_000)*time.Millisecond + 10*time.Second)
		from := func(address string) error {
			ctx := auth.WithRequest(t.Context(), &auth.RequestInfo{Address: address})
			_, err := e.svc.ResolveWait(ctx, TokenPrefix+"nothing", says(Outcome{}))
			return err
		}
		for i := range maxStrange {
			if err := from("192.0.2.1"); err != nil {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
		err := from("192.0.2.1")
		wantFault(t, err, fault.RateLimited, "")
		if wait := fault.As(err).RetryAfterSeconds; wait != 50 {
			t.Errorf("wait %d s, want 50", wait)
		}
		// One customer has many addresses of IPv6.
		for i := range maxStrange {
			if err := from(fmt.Sprintf("2001:db8::%x", i+1)); err != nil {
				t.Fatalf("attempt %d: %v", i, err)
			}
		}
		wantFault(t, from("2001:db8::ffff"), fault.RateLimited, "")
		if err := errors.Join(from("192.0.2.2"), from(""), from("2001:db8:0:1::1")); err != nil {
			t.Errorf("others: %v", err)
		}
		e.clock.Advance(50 * time.Second)
		if err := from("192.0.2.1"); err != nil {
			t.Errorf("in the next minute: %v", err)
		}
	})
}
