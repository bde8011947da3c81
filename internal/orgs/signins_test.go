package orgs_test

import (
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
)

// auditedCount counts the entries of an organization, or of the platform, with an action and a target.
func (w *world) auditedCount(org models.OrgID, action, target string) int {
	w.t.Helper()
	var n int64
	err := store.Of(w.db.ReadAcross(w.t.Context()).Model(&models.AuditEntry{}), org).
		Where("action = ? AND target_id = ?", action, target).Count(&n).Error
	if err != nil {
		w.t.Fatal(err)
	}
	return int(n)
}

func (w *world) signIns(by *orgs.SignedIn) []models.SignInID {
	w.t.Helper()
	list, err := w.SignIns(w.ctx(), by.Principal)
	if err != nil {
		w.t.Fatal(err)
	}
	ids := make([]models.SignInID, 0, len(list))
	for _, in := range list {
		ids = append(ids, in.ID)
	}
	return ids
}

func TestOnesOwnSignIns(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.owner()
		w.addUser("other@example.com", "other-password", first.Org.ID)
		other := w.signIn("other@example.com", "other-password")
		w.clock.Advance(time.Minute)
		second := w.owner()
		want := fmt.Sprint([]models.SignInID{second.Principal.SignInID, first.Principal.SignInID})
		if got := fmt.Sprint(w.signIns(first)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := w.signIns(other); len(got) != 1 || got[0] != other.Principal.SignInID {
			t.Errorf("somebody else sees %v", got)
		}
		list, err := w.SignIns(w.ctx(), first.Principal)
		if err != nil || list[0].Address != "192.0.2.1" || list[0].UserAgent != "test" || list[0].CreatedAt <= list[1].CreatedAt {
			t.Errorf("got %+v, %v", list, err)
		}
		// What was used last comes first.
		w.clock.Advance(time.Minute)
		if _, err := w.Refresh(w.ctx(), first.Refresh); err != nil {
			t.Fatal(err)
		}
		if got := w.signIns(second); got[0] != first.Principal.SignInID {
			t.Errorf("after a refresh: %v", got)
		}
		// One that nobody used for as long as its token is good has ended by itself.
		w.clock.Advance(orgs.RefreshTokenLifetime - time.Minute)
		if got := w.signIns(first); len(got) != 1 || got[0] != first.Principal.SignInID {
			t.Errorf("after a month: %v", got)
		}
	})
}

func TestTheListOfSignInsIsBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		w.write(func(tx *gorm.DB) error {
			for i := range 120 {
				at := models.MillisOf(start.Add(-time.Duration(i+1) * time.Second))
				row := models.SignIn{ID: models.NewID[models.SignInEntity](), UserID: in.User.ID, OrgID: in.Org.ID, Transport: auth.TransportBody, CreatedAt: at, LastUsedAt: at}
				if err := tx.Create(&row).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if got := w.signIns(in); len(got) != 100 || got[0] != in.Principal.SignInID {
			t.Errorf("got %d", len(got))
		}
	})
}

func TestRevokingASignInEndsIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		here, there := w.owner(), w.owner()
		elsewhere := w.createOrg(here, "Elsewhere")
		if _, err := w.Authenticate(w.ctx(), there.Access); err != nil {
			t.Fatal(err)
		}
		id := there.Principal.SignInID
		for range 2 { // a second time it has ended already
			if err := w.RevokeSignIn(w.ctx(), here.Principal, id); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Authenticate(w.ctx(), there.Access); err == nil {
			t.Error("its access token still works here")
		}
		_, err := w.Refresh(w.ctx(), there.Refresh)
		wantFault(t, "its refresh token", err, fault.InvalidCredentials)
		if got := w.signIns(here); len(got) != 1 || got[0] != here.Principal.SignInID {
			t.Errorf("the list is %v", got)
		}
		for _, org := range []models.OrgID{here.Org.ID, elsewhere.ID} {
			if n := w.auditedCount(org, "signin.revoked", id.String()); n != 1 {
				t.Errorf("%d entries in %s", n, org)
			}
		}
		// One may end the one that one uses.
		if err := w.RevokeSignIn(w.ctx(), here.Principal, here.Principal.SignInID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Authenticate(w.ctx(), here.Access); err == nil {
			t.Error("one's own access token still works")
		}
	})
}

func TestSomebodyElsesSignInIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		w.addUser("other@example.com", "other-password", in.Org.ID)
		other := w.signIn("other@example.com", "other-password")
		foreign := w.RevokeSignIn(w.ctx(), in.Principal, other.Principal.SignInID)
		unknown := w.RevokeSignIn(w.ctx(), in.Principal, models.NewID[models.SignInEntity]())
		wantFault(t, "somebody else's", foreign, fault.NotFound, "id")
		wantFault(t, "nobody's", unknown, fault.NotFound, "id")
		if foreign.Error() != unknown.Error() {
			t.Errorf("%q is not %q", foreign, unknown)
		}
		if _, err := w.Authenticate(w.ctx(), other.Access); err != nil {
			t.Errorf("the other is out: %v", err)
		}
		if n := w.count(&models.AuditEntry{}, "action = ?", "signin.revoked"); n != 0 {
			t.Errorf("%d entries", n)
		}
	})
}

func TestKeysHaveNoSignIns(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key := &auth.Principal{OrgID: w.owner().Org.ID, KeyID: models.NewID[models.APIKeyEntity]()}
		_, err := w.SignIns(w.ctx(), key)
		wantFault(t, "list", err, fault.Forbidden)
		wantFault(t, "revoke", w.RevokeSignIn(w.ctx(), key, models.NewID[models.SignInEntity]()), fault.Forbidden)
	})
}

func TestOperatorsAreMadeByWhoHasTheDatabase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		u := w.addUser("other@example.com", "other-password", in.Org.ID)
		admin := orgs.NewAdmin(w.db, w.clock, "https://ostler.test")
		for i, step := range []struct{ operator, changed bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
			changed, err := admin.SetOperator(w.ctx(), " Other@Example.com ", step.operator)
			if err != nil || changed != step.changed {
				t.Fatalf("step %d: %v, %v", i, changed, err)
			}
			if p := w.signIn("other@example.com", "other-password").Principal; p.Operator != step.operator {
				t.Errorf("step %d: operator is %v", i, p.Operator)
			}
		}
		if a, b := w.auditedCount(audit.Platform, "operator.added", u.ID.String()), w.auditedCount(audit.Platform, "operator.removed", u.ID.String()); a != 1 || b != 1 {
			t.Errorf("%d and %d entries", a, b)
		}
		_, err := admin.SetOperator(w.ctx(), "nobody@example.com", true)
		wantFault(t, "an unknown user", err, fault.NotFound)
	})
}
