package orgs_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// eachLimited runs a test with two nodes on one database, with the same limits.
func eachLimited(t *testing.T, v limits.Values, test func(t *testing.T, w, other *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		node := func() *world {
			return newNode(t, db, clk, func(c *orgs.Config) {
				c.Limits = limits.New(limits.Config{DB: db, Clock: clk, Usual: v})
			})
		}
		w := node()
		if _, err := w.FirstStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, w, node())
	})
}

// race does something n times at once on two nodes, and tells how often it succeeded; all others must have been refused.
func race(t *testing.T, n int, w, other *world, do func(w *world, i int) error) (done int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := do([]*world{w, other}[i%2], i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done++
			} else {
				wantFault(t, "one too many", err, fault.LimitReached)
			}
		})
	}
	all.Wait()
	return done
}

func TestACapOfKeys(t *testing.T) {
	eachLimited(t, limits.Values{APIKeys: 3}, func(t *testing.T, w, other *world) {
		by := w.owner()
		p := by.Principal
		first, _ := w.key(p, orgs.NewAPIKey{Permissions: []string{"ORG_READ"}})
		create := func(w *world, i int) error {
			_, _, err := w.CreateAPIKey(w.ctx(), p, orgs.NewAPIKey{Name: fmt.Sprint(i), Permissions: []string{"ORG_READ"}})
			return err
		}
		if done := race(t, 12, w, other, create); done != 2 {
			t.Errorf("%d were created beside one, where three may be", done)
		}
		if n := w.count(&models.APIKey{}, "org_id = ?", p.OrgID); n != 3 {
			t.Errorf("there are %d", n)
		}
		// What was refused is not in the log, and a key that is revoked makes room.
		if n := w.count(&models.AuditEntry{}, "org_id = ? AND action = 'apiKey.created'", p.OrgID); n != 3 {
			t.Errorf("%d are in the log", n)
		}
		if _, err := w.RevokeAPIKey(w.ctx(), p, first.ID); err != nil {
			t.Fatal(err)
		}
		if err := create(other, 100); err != nil {
			t.Errorf("after one was revoked: %v", err)
		}
		org := w.createOrg(by, "Another")
		_, theirs := w.someone("olga", org.ID, models.RoleOwner)
		if _, _, err := w.CreateAPIKey(w.ctx(), theirs, orgs.NewAPIKey{Name: "x", Permissions: []string{"ORG_READ"}}); err != nil {
			t.Errorf("another organization: %v", err)
		}
	})
}

func TestACapOfInvitations(t *testing.T) {
	eachLimited(t, limits.Values{PendingInvitations: 2}, func(t *testing.T, w, other *world) {
		p := w.owner().Principal
		invite := func(w *world, i int) error {
			_, _, err := w.Invite(w.ctx(), p, fmt.Sprintf("guest%d@example.com", i), models.RoleMember)
			return err
		}
		if done := race(t, 10, w, other, invite); done != 2 {
			t.Errorf("%d were invited where two may be", done)
		}
		var pending []models.Invitation
		if err := store.Of(w.db.ReadAcross(t.Context()), p.OrgID).Find(&pending).Error; err != nil || len(pending) != 2 {
			t.Fatalf("%d, %v", len(pending), err)
		}
		if _, err := w.RevokeInvitation(w.ctx(), p, pending[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := invite(other, 20); err != nil {
			t.Errorf("after one was revoked: %v", err)
		}
		// Those that have expired don't count, and one that is replaced needs no room.
		w.clock.Advance(orgs.InvitationLifetime)
		for i := range 2 {
			if err := invite(w, 30+i); err != nil {
				t.Errorf("after the others have expired: %v", err)
			}
		}
		wantFault(t, "a third", invite(w, 40), fault.LimitReached)
		_, _, err := w.Invite(w.ctx(), p, pending[1].Email, models.RoleMember)
		wantFault(t, "anew, in the place of one that doesn't count", err, fault.LimitReached)
	})
}

func TestOperatorsSetLimits(t *testing.T) {
	usual := limits.Values{Sessions: 100, Agents: 10, ActiveTurns: 5, EnvironmentKeys: 1}
	eachLimited(t, usual, func(t *testing.T, w, other *world) {
		by := w.owner()
		org := w.createOrg(by, "Another")
		operator := &auth.Principal{UserID: by.User.ID, OrgID: by.Org.ID, Operator: true}
		set := func(change orgs.LimitsChange) error {
			_, err := w.SetLimits(w.ctx(), operator, org.ID, change)
			return err
		}
		other.Limits(t.Context(), org.ID) // it knows the old ones
		if err := set(orgs.LimitsChange{"sessions": catalog.Give(new(7)), "agents": catalog.Give(new(0)), "activeTurns": catalog.Give(new(2))}); err != nil {
			t.Fatal(err)
		}
		want := limits.Values{Sessions: 7, ActiveTurns: 2, EnvironmentKeys: 1}
		if v := w.Limits(t.Context(), org.ID); v != want {
			t.Errorf("at once: %+v", v)
		}
		w.clock.Advance(2 * time.Second)
		if v := other.Limits(t.Context(), org.ID); v != want {
			t.Errorf("on another node after 2 s: %+v", v)
		}
		if v := other.Limits(t.Context(), by.Org.ID); v != usual {
			t.Errorf("another organization: %+v", v)
		}
		if n := w.count(&models.OrgLoad{}, "org_id = ? AND weight = 1 AND active_turns = 2", org.ID); n != 1 {
			t.Error("the runners don't see the cap")
		}
		actions, last := w.recorded(org.ID)
		if got := actions[len(actions)-1]; got != "org.limits_changed" || fmt.Sprint(last["sessions"]) != "map[after:7 before:<nil>]" {
			t.Errorf("recorded is %s, %v", got, last)
		}
		// The same again changes nothing, what is left out stays, and null puts the usual one back.
		if err := set(orgs.LimitsChange{"sessions": catalog.Give(new(7))}); err != nil {
			t.Error(err)
		}
		if err := set(orgs.LimitsChange{"agents": catalog.Give[*int](nil)}); err != nil {
			t.Error(err)
		}
		if v := w.Limits(t.Context(), org.ID); v != (limits.Values{Sessions: 7, ActiveTurns: 2, Agents: 10, EnvironmentKeys: 1}) {
			t.Errorf("%+v", v)
		}
		again, last := w.recorded(org.ID)
		if len(again) != len(actions)+1 || last["sessions"] != nil || fmt.Sprint(last["agents"]) != "map[after:<nil> before:0]" {
			t.Errorf("recorded is %v, %v", again, last)
		}
		wantFault(t, "negative", set(orgs.LimitsChange{"sessions": catalog.Give(new(1)), "sockets": catalog.Give(new(-1))}), fault.Invalid, "input", "sockets")
		wantFault(t, "too large", set(orgs.LimitsChange{"sockets": catalog.Give(new(limits.Most + 1))}), fault.Invalid, "input", "sockets")
		_, err := w.SetLimits(w.ctx(), operator, models.NewID[models.OrgEntity](), orgs.LimitsChange{"sessions": catalog.Give(new(1))})
		wantFault(t, "an organization that doesn't exist", err, fault.NotFound, "orgId")
		if v := w.Limits(t.Context(), org.ID); v.Sessions != 7 {
			t.Errorf("a change that failed has done something: %+v", v)
		}

		admin := orgs.NewAdmin(w.db, w.clock, "")
		for _, name := range []string{org.Slug, org.ID.String()} {
			if _, row, err := admin.SetLimits(t.Context(), name, orgs.LimitsChange{"sessions": catalog.Give(new(8))}); err != nil || *row.Sessions != 8 || *row.ActiveTurns != 2 {
				t.Errorf("%+v, %v", row, err)
			}
		}
		_, _, err = admin.SetLimits(t.Context(), "nobody", orgs.LimitsChange{})
		wantFault(t, "no such slug", err, fault.NotFound)
		if actions := w.auditActions(org.ID); actions[len(actions)-1] != "org.limits_changed "+org.ID.String()+" by SYSTEM" {
			t.Errorf("%v", actions)
		}
	})
}

// Operators who change different limits at once don't undo each other's.
func TestTwoOperatorsAtOnce(t *testing.T) {
	eachLimited(t, limits.Values{}, func(t *testing.T, w, other *world) {
		by := w.owner()
		var all sync.WaitGroup
		for i, name := range limits.Names() {
			all.Go(func() {
				_, err := []*world{w, other}[i%2].SetLimits(w.ctx(), by.Principal, by.Org.ID, orgs.LimitsChange{name.Name: catalog.Give(new(min(i+1, name.Most)))})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.clock.Advance(2 * time.Second)
		v := w.Limits(t.Context(), by.Org.ID)
		for i, name := range limits.Names() {
			if got, want := *name.Value(&v), min(i+1, name.Most); got != want {
				t.Errorf("%s is %d, want %d", name.Name, got, want)
			}
		}
	})
}
