package orgs_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func TestCreateOrg(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		org := w.createOrg(in, "  Ünïted Föö & Co. 7 ")
		if org.Name != "Ünïted Föö & Co. 7" || org.Slug != "united-foo-co-7" || org.DefaultHarnessID == nil || org.DefaultModelID == nil {
			t.Errorf("got %+v", org)
		}
		stored, err := w.Org(w.ctx(), org.ID)
		if err != nil || *stored.DefaultModelID != *org.DefaultModelID {
			t.Errorf("got %+v, %v", stored, err)
		}
		list, err := w.OrgsOf(w.ctx(), in.User.ID)
		if err != nil || len(list) != 2 || list[0].Slug != "default" || list[1].ID != org.ID {
			t.Errorf("got %+v, %v", list, err)
		}
		// The token stays where it was.
		if p, err := w.Authenticate(w.ctx(), in.Access); err != nil || p.OrgID != in.Org.ID {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}

func TestCreateOrgRefusals(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		slug := func(s string) *string { return &s }
		for name, c := range map[string]struct {
			in   orgs.NewOrg
			code fault.Code
			at   string
		}{
			"empty name":         {orgs.NewOrg{Name: "  "}, fault.Invalid, "name"},
			"long name":          {orgs.NewOrg{Name: strings.Repeat("ä", 201)}, fault.Invalid, "name"},
			"NUL":                {orgs.NewOrg{Name: "a\x00b"}, fault.Invalid, "name"},
			"not UTF-8":          {orgs.NewOrg{Name: "a\xff"}, fault.Invalid, "name"},
			"no slug in name":    {orgs.NewOrg{Name: "株式会社"}, fault.Invalid, "slug"},
			"empty slug":         {orgs.NewOrg{Name: "A", Slug: slug("")}, fault.Invalid, "slug"},
			"uppercase slug":     {orgs.NewOrg{Name: "A", Slug: slug("Acme")}, fault.Invalid, "slug"},
			"slug with a hyphen": {orgs.NewOrg{Name: "A", Slug: slug("acme-")}, fault.Invalid, "slug"},
			"slug with newline":  {orgs.NewOrg{Name: "A", Slug: slug("acme\n")}, fault.Invalid, "slug"},
			"long slug":          {orgs.NewOrg{Name: "A", Slug: slug(strings.Repeat("a", 64))}, fault.Invalid, "slug"},
			"taken slug":         {orgs.NewOrg{Name: "A", Slug: slug("default")}, fault.Taken, "slug"},
			"taken by name":      {orgs.NewOrg{Name: "DEFAULT"}, fault.Taken, "slug"},
		} {
			_, err := w.CreateOrg(w.ctx(), in.Principal, c.in)
			wantFault(t, name, err, c.code, "input", c.at)
		}
		if n := w.count(&models.Org{}, "1 = 1"); n != 1 {
			t.Errorf("%d organizations exist, want 1", n)
		}
		if org, err := w.CreateOrg(w.ctx(), in.Principal, orgs.NewOrg{Name: strings.Repeat("x", 200)}); err != nil || len(org.Slug) != 63 {
			t.Errorf("the longest name: got %+v, %v", org, err)
		}
	})
}

func TestSwitchOrg(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		other := w.createOrg(in, "Other")
		done, err := w.SwitchOrg(w.ctx(), in.Principal, other.ID)
		if err != nil || done.Org.ID != other.ID || done.Principal.SignInID != in.Principal.SignInID {
			t.Fatalf("got %+v, %v", done, err)
		}
		p, err := w.Authenticate(w.ctx(), done.Access)
		if err != nil || p.OrgID != other.ID || p.Role != models.RoleOwner {
			t.Errorf("got %+v, %v", p, err)
		}
		next := w.refresh(done.Refresh)
		if next.Org.ID != other.ID {
			t.Errorf("a refresh left the organization: %+v", next.Org)
		}
		// A tab that refreshed while the other switched goes on; later the old token counts as stolen.
		if tab := w.refresh(in.Refresh); tab.Org.ID != other.ID || tab.Refresh == done.Refresh {
			t.Errorf("got %+v", tab)
		}
		w.clock.Advance(time.Minute)
		_, err = w.Refresh(w.ctx(), in.Refresh)
		wantFault(t, "the token from before the switch", err, fault.InvalidCredentials)
		if got := w.owner().Org.ID; got != other.ID {
			t.Errorf("the next sign-in goes to %v", got)
		}
	})
}

func TestAForeignOrgLooksLikeNone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.owner()
		theirs := w.createOrg(owner, "Theirs")
		w.addUser("me@example.com", "my-password", owner.Org.ID)
		me := w.signIn("me@example.com", "my-password")
		_, foreign := w.SwitchOrg(w.ctx(), me.Principal, theirs.ID)
		_, unknown := w.SwitchOrg(w.ctx(), me.Principal, models.NewID[models.OrgEntity]())
		_, zero := w.SwitchOrg(w.ctx(), me.Principal, models.OrgID{})
		for name, err := range map[string]error{"foreign": foreign, "unknown": unknown, "zero": zero} {
			wantFault(t, name, err, fault.NotFound, "orgId")
		}
		if foreign.Error() != unknown.Error() {
			t.Errorf("the answers differ: %q, %q", foreign, unknown)
		}
		// Nothing of the sign-in changed.
		if next := w.refresh(me.Refresh); next.Org.ID != owner.Org.ID {
			t.Errorf("got %+v", next.Org)
		}
		if _, err := w.Member(w.ctx(), theirs.ID, me.User.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("a member of another organization: got %v", err)
		}
		if u, err := w.Member(w.ctx(), owner.Org.ID, owner.User.ID); err != nil || u.ID != owner.User.ID {
			t.Errorf("got %+v, %v", u, err)
		}
		// A token that claims another organization gives no access to it.
		forged, _, err := w.tokens.Issue(t.Context(), auth.Claims{
			UserID: me.User.ID, OrgID: theirs.ID, SignInID: me.Principal.SignInID, Role: models.RoleOwner,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Authenticate(w.ctx(), forged)
		wantUnauthenticated(t, "another organization", err)
	})
}

// TestIdentityUnderConcurrency lets everything that locks a user or a sign-in meet: nothing may wait for itself.
func TestIdentityUnderConcurrency(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		other := w.createOrg(in, "Other")
		var wg sync.WaitGroup
		for i := range 6 {
			to := other.ID
			if i%2 == 0 {
				to = in.Org.ID
			}
			for name, do := range map[string]func() error{
				"switch":  func() error { _, err := w.SwitchOrg(w.ctx(), in.Principal, to); return err },
				"refresh": func() error { _, err := w.Refresh(w.ctx(), in.Refresh); return err },
				"change":  func() error { return w.ChangePassword(w.ctx(), in.Principal, ownerPassword, ownerPassword) },
			} {
				wg.Go(func() {
					if err := do(); err != nil && fault.As(err) == nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
		}
		wg.Wait()
		w.clock.Advance(time.Minute)
		w.owner()
	})
}

func TestViewerAndNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		v, err := w.Viewer(w.ctx(), in.Principal)
		if err != nil || v.User.ID != in.User.ID || v.Org.ID != in.Org.ID {
			t.Errorf("got %+v, %v", v, err)
		}
		names, err := w.Users(w.ctx(), []models.UserID{in.User.ID, models.NewID[models.UserEntity]()})
		if err != nil || len(names) != 1 || names[in.User.ID].Name == "" {
			t.Errorf("got %+v, %v", names, err)
		}
		if names, err := w.Users(w.ctx(), nil); err != nil || len(names) != 0 {
			t.Errorf("got %+v, %v", names, err)
		}
	})
}
