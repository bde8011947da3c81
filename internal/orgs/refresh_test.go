package orgs_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func newSQLiteWorld(t *testing.T) *world { t.Helper(); return newWorld(t, storetest.SQLite(t)) }

func (w *world) removeMember(org models.OrgID, user models.UserID) {
	w.t.Helper()
	w.write(func(tx *gorm.DB) error {
		return store.Of(tx, org).Where("user_id = ?", user).Delete(&models.Membership{}).Error
	})
}

func wantUnauthenticated(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("%s: got %v, want ErrUnauthenticated", what, err)
	}
}

func (w *world) refresh(token string) *orgs.SignedIn {
	w.t.Helper()
	done, err := w.Refresh(w.ctx(), token)
	if err != nil {
		w.t.Fatalf("refresh: %v", err)
	}
	return done
}

func TestRefreshTokensAreGoodForOneUse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.owner()
		w.clock.Advance(time.Hour)
		second := w.refresh(first.Refresh)
		if second.Refresh == first.Refresh || second.Access == first.Access || second.Principal.SignInID != first.Principal.SignInID {
			t.Fatalf("got %+v after %+v", second, first)
		}
		if !second.RefreshExpires.Equal(start.Add(time.Hour + 30*24*time.Hour)) {
			t.Errorf("ends at %v", second.RefreshExpires)
		}
		if _, err := w.Authenticate(w.ctx(), second.Access); err != nil {
			t.Error(err)
		}
		w.clock.Advance(30 * time.Second)
		again := w.refresh(first.Refresh)
		if again.Refresh != second.Refresh || !again.RefreshExpires.Equal(second.RefreshExpires) {
			t.Errorf("within 30 s: got another successor")
		}
		third := w.refresh(second.Refresh)
		if third.Refresh == second.Refresh {
			t.Error("the successor was not rotated")
		}
	})
}

func TestTwoTabsGetTheSameSuccessor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		// Two nodes share the database, not the memory.
		nodes := []*world{w, newNode(t, w.db, w.clock, nil)}
		token := w.owner().Refresh
		// Each round exchanges the token of the one before: tabs don't meet in every one.
		const rounds = 10
		for range rounds {
			got := make([]string, 12)
			var wg sync.WaitGroup
			for i := range got {
				node := nodes[i%len(nodes)]
				wg.Go(func() {
					done, err := node.Refresh(node.ctx(), token)
					if err != nil {
						t.Errorf("tab %d: %v", i, err)
						return
					}
					got[i] = done.Refresh
				})
			}
			wg.Wait()
			for i := range got {
				if got[i] == "" || got[i] != got[0] {
					t.Fatalf("tab %d has another token", i)
				}
			}
			token = got[0]
		}
		if n := w.count(&models.RefreshToken{}, "1 = 1"); n != rounds+1 {
			t.Errorf("got %d tokens, want %d", n, rounds+1)
		}
	})
}

func TestLateReuseEndsTheSignIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		bystander := w.owner()
		first := w.owner()
		second := w.refresh(first.Refresh)
		if _, err := w.Authenticate(w.ctx(), second.Access); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(30*time.Second + time.Millisecond)
		_, err := w.Refresh(w.ctx(), first.Refresh)
		wantFault(t, "late reuse", err, fault.InvalidCredentials)
		_, err = w.Refresh(w.ctx(), second.Refresh)
		wantFault(t, "the successor after theft", err, fault.InvalidCredentials)
		_, err = w.Authenticate(w.ctx(), second.Access)
		wantUnauthenticated(t, "the access token after theft", err)
		w.refresh(bystander.Refresh)
	})
}

func TestBadRefreshTokens(t *testing.T) {
	w := newSQLiteWorld(t)
	in := w.owner()
	for _, token := range []string{
		"", "x", in.Access, in.Refresh + "A", in.Refresh[1:], strings.Repeat("A", 43), "\x00", in.Refresh + "=", strings.Repeat("A", 100_000),
	} {
		_, err := w.Refresh(w.ctx(), token)
		wantFault(t, token, err, fault.InvalidCredentials)
	}
	w.clock.Advance(30*24*time.Hour - time.Millisecond)
	in = w.refresh(in.Refresh)
	w.clock.Advance(30 * 24 * time.Hour)
	_, err := w.Refresh(w.ctx(), in.Refresh)
	wantFault(t, "an unused token after its time", err, fault.Expired)
}

func TestCookieTokensAreNotSpentWhereCookiesCanNotBeSet(t *testing.T) {
	w := newSQLiteWorld(t)
	in, err := w.SignIn(w.ctx(), orgs.Credentials{Email: ownerEmail, Password: ownerPassword, Transport: auth.TransportCookie})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Refresh(t.Context(), in.Refresh)
	wantFault(t, "over a socket", err, fault.Invalid)
	w.clock.Advance(time.Hour)
	if done := w.refresh(in.Refresh); done.Transport != auth.TransportCookie {
		t.Errorf("got %+v", done)
	}
}

func TestSpentTokensSurviveARotationOfTheMasterKey(t *testing.T) {
	w := newSQLiteWorld(t)
	first := w.owner()
	second := w.refresh(first.Refresh)
	rotated, err := secrets.NewKeeper(bytes.Repeat([]byte{8}, 32), bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	after := newNode(t, w.db, w.clock, func(c *orgs.Config) { c.Secrets = rotated })
	if again := after.refresh(first.Refresh); again.Refresh != second.Refresh {
		t.Error("got another successor under the new key")
	}
}

func TestSignOut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		byToken, byCookie, other := w.owner(), w.owner(), w.owner()
		p, err := w.Authenticate(w.ctx(), byToken.Access)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing left to end
			if err := w.SignOut(w.ctx(), p, ""); err != nil {
				t.Fatal(err)
			}
			if err := w.SignOut(w.ctx(), nil, byCookie.Refresh); err != nil {
				t.Fatal(err)
			}
		}
		for _, token := range []string{"", "x", strings.Repeat("A", 43)} {
			if err := w.SignOut(w.ctx(), nil, token); err != nil {
				t.Errorf("%q: %v", token, err)
			}
		}
		for name, in := range map[string]*orgs.SignedIn{"by token": byToken, "by cookie": byCookie} {
			_, err := w.Authenticate(w.ctx(), in.Access)
			wantUnauthenticated(t, name, err)
			_, err = w.Refresh(w.ctx(), in.Refresh)
			wantFault(t, name, err, fault.InvalidCredentials)
		}
		w.refresh(other.Refresh)
	})
}

func TestChangePassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		here, there := w.owner(), w.owner()
		if _, err := w.Authenticate(w.ctx(), there.Access); err != nil {
			t.Fatal(err)
		}
		wantFault(t, "wrong", w.ChangePassword(w.ctx(), here.Principal, "wrong-password", "new-password"), fault.InvalidCredentials, "current")
		wantFault(t, "weak", w.ChangePassword(w.ctx(), here.Principal, ownerPassword, "short"), fault.Invalid, "new")
		w.refresh(there.Refresh)
		if err := w.ChangePassword(w.ctx(), here.Principal, ownerPassword, "new-password"); err != nil {
			t.Fatal(err)
		}
		_, err := w.Authenticate(w.ctx(), there.Access)
		wantUnauthenticated(t, "another sign-in", err)
		_, err = w.Refresh(w.ctx(), there.Refresh)
		wantFault(t, "another sign-in", err, fault.InvalidCredentials)
		w.refresh(here.Refresh)
		_, err = w.SignIn(w.ctx(), orgs.Credentials{Email: ownerEmail, Password: ownerPassword, Transport: auth.TransportBody})
		wantFault(t, "the old password", err, fault.InvalidCredentials)
		w.signIn(ownerEmail, "new-password")
	})
}
