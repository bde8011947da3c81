package orgs_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestFirstStartMakesOneOwner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newNode(t, db, clock.NewManual(start), func(c *orgs.Config) { c.AdminEmail, c.AdminPassword = "", "" })
		first, err := w.FirstStart(t.Context())
		if err != nil || first == nil || first.Email != "admin@localhost" || len(first.Password) < 20 {
			t.Fatalf("got %+v, %v", first, err)
		}
		if again, err := w.FirstStart(t.Context()); err != nil || again != nil {
			t.Fatalf("a second start: got %+v, %v", again, err)
		}
		in := w.signIn(first.Email, first.Password)
		p := in.Principal
		if in.Org.Name != "Default" || in.Org.Slug != "default" || p.Role != models.RoleOwner || !p.Operator {
			t.Errorf("got %+v, %+v", in.Org, p)
		}
		if in.Org.DefaultHarnessID == nil || in.Org.DefaultModelID == nil {
			t.Errorf("the organization has no defaults: %+v", in.Org)
		}
		if got := w.count(&models.Harness{}, "org_id = ? AND id = ?", in.Org.ID, *in.Org.DefaultHarnessID); got != 1 {
			t.Errorf("the default harness doesn't exist")
		}
	})
}

func TestFirstStartTakesWhatIsConfigured(t *testing.T) {
	db := storetest.SQLite(t)
	w := newNode(t, db, clock.NewManual(start), nil)
	first, err := w.FirstStart(t.Context())
	if err != nil || first.Email != ownerEmail || first.Password != "" {
		t.Fatalf("got %+v, %v: a configured password must not be printed", first, err)
	}
	w.owner()
}

func TestFirstStartRefusesABadConfiguration(t *testing.T) {
	db := storetest.SQLite(t)
	for want, change := range map[string]func(*orgs.Config){
		"OSTLER_ADMIN_EMAIL":    func(c *orgs.Config) { c.AdminEmail = "nobody" },
		"OSTLER_ADMIN_PASSWORD": func(c *orgs.Config) { c.AdminPassword = "short" },
		"out of models":         func(c *orgs.Config) { c.Seeder = seeder{errors.New("out of models")} },
	} {
		w := newNode(t, db, clock.NewManual(start), change)
		if got, err := w.FirstStart(t.Context()); err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v", want, got, err)
		}
		if w.count(&models.User{}, "1 = 1") != 0 || w.count(&models.Org{}, "1 = 1") != 0 {
			t.Errorf("%s: something was left behind", want)
		}
	}
}

func TestOneOfSeveralNodesDoesTheFirstStart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		var (
			wg    sync.WaitGroup
			made  atomic.Int32
			nodes = make([]*world, 5)
		)
		for i := range nodes {
			nodes[i] = newNode(t, db, clk, func(c *orgs.Config) { c.AdminPassword = "" })
		}
		for _, n := range nodes {
			wg.Go(func() {
				first, err := n.FirstStart(t.Context())
				if err != nil {
					t.Errorf("got %v", err)
				}
				if first != nil {
					made.Add(1)
				}
			})
		}
		wg.Wait()
		w := nodes[0]
		if made.Load() != 1 || w.count(&models.User{}, "1 = 1") != 1 || w.count(&models.Org{}, "1 = 1") != 1 {
			t.Errorf("%d nodes made an owner", made.Load())
		}
	})
}
