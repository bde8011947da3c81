package orgs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
)

// audited returns what the audit log of an organization has to tell.
func (w *world) audited(org models.OrgID) []models.AuditEntry {
	w.t.Helper()
	var list []models.AuditEntry
	if err := store.Of(w.db.ReadAcross(w.t.Context()), org).Order("position").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

func actions(list []models.AuditEntry) string {
	var s []string
	for _, e := range list {
		s = append(s, e.Action)
	}
	return strings.Join(s, " ")
}

// since returns what the log of an organization tells after its first n entries.
func (w *world) since(org models.OrgID, n int) string {
	w.t.Helper()
	return actions(w.audited(org)[n:])
}

func TestSignInsAreAudited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		home := w.owner()
		other := w.createOrg(home, "Other")
		ada := w.addUser("ada@example.com", "ada-password", home.Org.ID, other.ID)
		homeless := w.addUser("homeless@example.com", "homeless-password")
		if got := actions(w.audited(home.Org.ID)); got != "org.created signin.succeeded" {
			t.Errorf("at first: %s", got)
		}
		if got := actions(w.audited(other.ID)); got != "org.created" {
			t.Errorf("the other organization, at first: %s", got)
		}
		created := w.audited(other.ID)[0]
		if created.ActorID == nil || *created.ActorID != models.ActorID(home.User.ID) || created.TargetID != other.ID.String() {
			t.Errorf("got %+v", created)
		}
		atHome := len(w.audited(home.Org.ID))

		in := w.signIn(ada.Email, "ada-password")
		try := func(email, password string, org *models.OrgID) {
			t.Helper()
			_, err := w.SignIn(w.ctx(), orgs.Credentials{Email: email, Password: password, OrgID: org, Transport: auth.TransportBody})
			wantFault(t, email, err, "INVALID_CREDENTIALS")
		}
		try("Ada@Example.com", "wrong-password", nil)
		unknown := models.NewID[models.OrgEntity]()
		try(ada.Email, "ada-password", &unknown)
		try("Nobody@Example.com", "some-password", nil)
		try(homeless.Email, "homeless-password", nil)

		for org, from := range map[models.OrgID]int{home.Org.ID: atHome, other.ID: 1} {
			list := w.audited(org)[from:]
			if got := actions(list); got != "signin.succeeded"+strings.Repeat(" signin.failed", 2) {
				t.Fatalf("%s: %s", org, got)
			}
			done, failed := list[0], list[1]
			if done.ActorKind != models.ActorUser || *done.ActorID != models.ActorID(ada.ID) || done.TargetID != in.Principal.SignInID.String() ||
				done.Address != "192.0.2.1" || strings.Contains(done.Details, "org_") {
				t.Errorf("got %+v", done)
			}
			if failed.ActorKind != models.ActorSystem || failed.ActorID != nil || failed.TargetID != ada.ID.String() || failed.Address != "192.0.2.1" ||
				failed.Details != `{"email":"ada@example.com"}` {
				t.Errorf("got %+v", failed)
			}
		}
		platform := w.audited(audit.Platform)
		if len(platform) != 2 || platform[0].Details != `{"email":"nobody@example.com"}` || platform[0].TargetID != "" ||
			platform[1].TargetID != homeless.ID.String() {
			t.Errorf("the platform's: %+v", platform)
		}
		for _, e := range slices.Concat(platform, w.audited(home.Org.ID)) {
			if strings.Contains(e.Details, "password") {
				t.Errorf("%s tells a password: %s", e.Action, e.Details)
			}
		}
	})
}

// Nobody learns by the work that is done whether an e-mail is known.
func TestFailuresTakeTheSameStatements(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		home := w.owner()
		w.addUser("ada@example.com", "ada-password", home.Org.ID)
		var log []string
		note := func(tx *gorm.DB) {
			verb, _, _ := strings.Cut(tx.Statement.SQL.String(), " ")
			log = append(log, verb+" "+tx.Statement.Table)
		}
		w.write(func(tx *gorm.DB) error {
			for i, register := range []func(string, func(*gorm.DB)) error{
				tx.Callback().Query().After("gorm:query").Register, tx.Callback().Create().After("gorm:create").Register,
				tx.Callback().Update().After("gorm:update").Register,
			} {
				if err := register(fmt.Sprintf("test:note_%d", i), note); err != nil {
					return err
				}
			}
			return nil
		})
		try := func(email string) []string {
			log = nil
			_, err := w.SignIn(w.ctx(), orgs.Credentials{Email: email, Password: "wrong-password", Transport: auth.TransportBody})
			wantFault(t, email, err, "INVALID_CREDENTIALS")
			return log
		}
		try("first@example.com") // begins the platform's chain
		known, unknown := try("ada@example.com"), try("nobody@example.com")
		if len(known) < 4 || !slices.Equal(known, unknown) {
			t.Errorf("a known e-mail took %v, an unknown one %v", known, unknown)
		}
	})
}

func TestTheEndOfSignInsIsAudited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.owner()
		other := w.createOrg(first, "Other")
		one, two := len(w.audited(first.Org.ID)), len(w.audited(other.ID))
		sees := func(what, want string) {
			t.Helper()
			for org, n := range map[models.OrgID]*int{first.Org.ID: &one, other.ID: &two} {
				if got := w.since(org, *n); got != want {
					t.Errorf("%s: %s sees %q, want %q", what, org, got, want)
				}
				*n = len(w.audited(org))
			}
		}
		// By token and principal of the same sign-in, and again when it has ended.
		for i, want := range []string{"signin.ended", ""} {
			if err := w.SignOut(w.ctx(), first.Principal, first.Refresh); err != nil {
				t.Fatal(err)
			}
			sees(fmt.Sprintf("sign-out %d", i), want)
		}
		if err := w.SignOut(w.ctx(), nil, strings.Repeat("A", 43)); err != nil {
			t.Fatal(err)
		}
		sees("signing out with a token of nobody", "")

		in := w.owner()
		sees("signing in", "signin.succeeded")
		next, err := w.Refresh(w.ctx(), in.Refresh)
		if err != nil {
			t.Fatal(err)
		}
		sees("refreshing", "")
		w.clock.Advance(31 * time.Second)
		for range 2 {
			_, err = w.Refresh(w.ctx(), in.Refresh)
			wantFault(t, "a copy of the token", err, "INVALID_CREDENTIALS")
		}
		sees("a copy of the token", "signin.token_reused")
		_, err = w.Refresh(w.ctx(), next.Refresh)
		wantFault(t, "the sign-in of which there was a copy", err, "INVALID_CREDENTIALS")

		in = w.owner()
		sees("signing in again", "signin.succeeded")
		err = w.ChangePassword(w.ctx(), in.Principal, "wrong-password", "another-password")
		wantFault(t, "a wrong password", err, "INVALID_CREDENTIALS", "current")
		sees("a change that failed", "")
		if err := w.ChangePassword(w.ctx(), in.Principal, ownerPassword, "another-password"); err != nil {
			t.Fatal(err)
		}
		sees("a change of the password", "password.changed")
	})
}

func TestAnOrganizationThatWasNotCreatedIsNotAudited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		home := w.owner()
		before := w.count(&models.AuditEntry{}, "1 = 1")
		slug := home.Org.Slug
		_, err := w.CreateOrg(w.ctx(), home.Principal, orgs.NewOrg{Name: "Again", Slug: &slug})
		wantFault(t, "a slug in use", err, "TAKEN", "input", "slug")
		if after := w.count(&models.AuditEntry{}, "1 = 1"); after != before {
			t.Errorf("%d entries were written", after-before)
		}
	})
}
