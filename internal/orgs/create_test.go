package orgs_test

import (
	"fmt"
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

// Each setting lets in those that it names, and whoever is refused isn't offered it either.
func TestWhoMayCreateOrganizations(t *testing.T) {
	who := []models.Role{"operator", models.RoleOwner, models.RoleAdmin, models.RoleMember, models.RoleViewer}
	for creators, open := range map[orgs.Creators]int{
		orgs.CreatedByNobody: 0, orgs.CreatedByOperators: 1, orgs.CreatedByOwners: 2, orgs.CreatedByMembers: 4, orgs.CreatedByEverybody: 5,
		"": 2, // the default
	} {
		t.Run(string(creators), func(t *testing.T) {
			w := newNode(t, storetest.SQLite(t), clock.NewManual(start), func(c *orgs.Config) { c.Creators = creators })
			if _, err := w.FirstStart(t.Context()); err != nil {
				t.Fatal(err)
			}
			operator := w.owner().Principal
			key, _ := w.key(operator, orgs.NewAPIKey{Permissions: []string{"ORG_READ"}})
			for i, role := range who {
				p := operator
				if i > 0 {
					_, p = w.someone(string(role), operator.OrgID, role)
					p.Role, p.Permissions = role, auth.RolePermissions(role, false)
				}
				can, err := w.CanCreateOrg(t.Context(), p)
				if err != nil || can != (i < open) {
					t.Errorf("%s is offered it: %v, %v", role, can, err)
				}
				_, err = w.CreateOrg(w.ctx(), p, orgs.NewOrg{Name: fmt.Sprint("Org ", i)})
				if i < open && err != nil {
					t.Errorf("%s: %v", role, err)
				} else if i >= open {
					wantFault(t, string(role), err, fault.Forbidden)
				}
			}
			if can, err := w.CanCreateOrg(t.Context(), &auth.Principal{KeyID: key.ID, OrgID: operator.OrgID}); err != nil || can {
				t.Errorf("a key is offered it: %v", err)
			}
		})
	}
}

// One person creates no more than the limit, however many requests they make at once and whatever becomes of what they have created.
func TestTheLimitOfOrganizationsPerPerson(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		node := func() *world {
			return newNode(t, db, clk, func(c *orgs.Config) { c.PersonOrgs = 3 })
		}
		w, other := node(), node()
		if _, err := w.FirstStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		operator := w.owner().Principal
		_, p := w.someone("olga", operator.OrgID, models.RoleOwner)
		create := func(w *world, i int) error {
			_, err := w.CreateOrg(w.ctx(), p, orgs.NewOrg{Name: fmt.Sprint("Org ", i)})
			return err
		}
		if done := race(t, 10, w, other, create); done != 3 {
			t.Errorf("%d were created, want 3", done)
		}
		if can, err := w.CanCreateOrg(t.Context(), p); err != nil || can {
			t.Errorf("a fourth is offered: %v", err)
		}
		// Who leaves an organization has created it all the same.
		w.asOwner("DELETE FROM memberships WHERE org_id IN (SELECT id FROM orgs WHERE slug <> 'default')")
		wantFault(t, "after leaving", create(w, 20), fault.LimitReached)
		_, another := w.someone("pavel", operator.OrgID, models.RoleOwner)
		for i, p := range []*auth.Principal{another, operator, operator, operator, operator} {
			if _, err := w.CreateOrg(w.ctx(), p, orgs.NewOrg{Name: fmt.Sprint("Theirs ", i)}); err != nil {
				t.Error(err)
			}
		}
	})
}

// Accounts that an owner invites as owners create no more organizations together than may come from one, in whichever of them they are signed in.
func TestTheLimitOfOrganizationsThatComeFromOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		node := func() *world {
			return newNode(t, db, clk, func(c *orgs.Config) { c.PersonOrgs, c.Descendants = 2, 5 })
		}
		w, other := node(), node()
		if _, err := w.FirstStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		operator := w.owner().Principal
		_, olga := w.someone("olga", operator.OrgID, models.RoleOwner)
		create := func(w *world, p *auth.Principal, name string) (models.Org, error) {
			return w.CreateOrg(w.ctx(), p, orgs.NewOrg{Name: name})
		}
		child, err := create(w, olga, "Child")
		if err != nil {
			t.Fatal(err)
		}
		var puppets []*auth.Principal
		for i := range 10 {
			_, p := w.someone(fmt.Sprint("puppet", i), []models.OrgID{operator.OrgID, child.ID}[i%2], models.RoleOwner)
			puppets = append(puppets, p)
		}
		done := race(t, 10, w, other, func(w *world, i int) error {
			_, err := create(w, puppets[i], fmt.Sprint("Of puppet ", i))
			return err
		})
		if done != 4 {
			t.Errorf("the puppets created %d, want 4", done)
		}
		if can, err := w.CanCreateOrg(t.Context(), olga); err != nil || can {
			t.Errorf("another is offered: %v", err)
		}
		mine, err := create(w, operator, "Of the operator")
		if err != nil {
			t.Fatal(err)
		}
		_, pavel := w.someone("pavel", mine.ID, models.RoleOwner)
		if _, err := create(w, pavel, "Of another root"); err != nil {
			t.Error(err)
		}
	})
}

// The first organization and those of operators may use the keys of the environment; those that others create may not before an operator
// allows it, which every node then knows.
func TestWhoMayUseTheKeysOfTheEnvironment(t *testing.T) {
	eachLimited(t, limits.Values{}, func(t *testing.T, w, other *world) {
		by := w.owner()
		may := func(w *world, org models.OrgID) bool { return w.Limits(t.Context(), org).EnvironmentKeys == 1 }
		if !may(w, by.Org.ID) {
			t.Error("the first organization may not")
		}
		if !may(w, w.createOrg(by, "Of the operator").ID) {
			t.Error("an operator's may not")
		}
		_, p := w.someone("olga", by.Org.ID, models.RoleOwner)
		org, err := w.CreateOrg(w.ctx(), p, orgs.NewOrg{Name: "Of a person"})
		if err != nil {
			t.Fatal(err)
		}
		if may(w, org.ID) || may(other, org.ID) {
			t.Error("a person's may")
		}
		for _, want := range []bool{true, false} {
			value := 0
			if want {
				value = 1
			}
			if _, err := w.SetLimits(w.ctx(), by.Principal, org.ID, orgs.LimitsChange{"environmentKeys": catalog.Give(&value)}); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(2 * time.Second)
			if may(w, org.ID) != want || may(other, org.ID) != want {
				t.Errorf("it may not be %v everywhere", want)
			}
		}
		_, err = w.SetLimits(w.ctx(), by.Principal, org.ID, orgs.LimitsChange{"environmentKeys": catalog.Give(new(2))})
		wantFault(t, "neither yes nor no", err, fault.Invalid, "input", "environmentKeys")
	})
}
