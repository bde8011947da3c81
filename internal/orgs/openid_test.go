package orgs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/auth/oidc"
	"github.com/ostler-dev/ostler/internal/auth/oidc/oidctest"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// vouched is a world with an issuer.
type vouched struct {
	*world

	issuer *oidctest.Issuer
	log    *lockedBuffer
}

func eachVouched(t *testing.T, test func(t *testing.T, w *vouched)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := &vouched{issuer: oidctest.Start(t), log: &lockedBuffer{}}
		clk := clock.NewManual(start)
		w.issuer.Now = clk.Now
		w.world = newNode(t, db, clk, w.with(w.issuer))
		if _, err := w.FirstStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, w)
	})
}

// with configures an issuer.
func (w *vouched) with(issuer *oidctest.Issuer) func(*orgs.Config) {
	return func(c *orgs.Config) {
		var err error
		c.Issuer, err = oidc.New(oidc.Config{
			Issuer: issuer.URL, Name: "Example", ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret,
			RedirectURL: publicURL + "/auth/oidc/callback", Clock: c.Clock, Secrets: [][]byte{bytes.Repeat([]byte{1}, 32)},
		})
		if err != nil {
			panic(err)
		}
		c.Resets = orgs.Resets{PublicURL: publicURL, Logger: slog.New(slog.NewTextHandler(w.log, nil))}
	}
}

// trip is a sign-in up to where the browser comes back.
type trip struct {
	cookie string
	back   url.Values
}

func (w *vouched) begin(who oidctest.Person, invitation string) trip {
	w.t.Helper()
	w.issuer.SignIn(who)
	r, err := w.BeginOpenID(w.ctx(), "/sessions?a=b", invitation)
	if err != nil {
		w.t.Fatal(err)
	}
	return trip{r.Cookie, oidctest.Visit(w.t, r.URL)}
}

func (w *vouched) finish(ctx context.Context, p *auth.Principal, at trip) (*orgs.SignedIn, error) {
	back, err := w.FinishOpenID(ctx, p, at.cookie, oidc.Answer{
		Code: at.back.Get("code"), State: at.back.Get("state"), Error: at.back.Get("error"), Issuer: at.back.Get("iss"),
	})
	if err == nil && back.ReturnTo != "/sessions?a=b" {
		w.t.Errorf("they return to %s", back.ReturnTo)
	}
	return back.SignedIn, err
}

// as signs somebody in at the issuer. p is who is signed in here meanwhile.
func (w *vouched) as(who oidctest.Person, p *auth.Principal) (*orgs.SignedIn, error) {
	w.t.Helper()
	return w.finish(w.ctx(), p, w.begin(who, ""))
}

func (w *vouched) invited(who oidctest.Person, token string) (*orgs.SignedIn, error) {
	w.t.Helper()
	return w.finish(w.ctx(), nil, w.begin(who, token))
}

func wantRefusal(t *testing.T, what string, err error, want oidc.Refusal) {
	t.Helper()
	if got, ok := errors.AsType[oidc.Refusal](err); !ok || got != want {
		t.Errorf("%s: got %v, want %s", what, err, want)
	}
}

// lastEntry returns what was recorded last for an organization.
func (w *vouched) lastEntry(org models.OrgID) models.AuditEntry {
	w.t.Helper()
	list := w.audited(org)
	return list[len(list)-1]
}

var ada = oidctest.Person{Subject: "ada-1", Email: "Ada@example.com", Name: "Ada L."}

func TestInvitedPeopleSignInByTheIssuer(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		home := w.owner()
		inv, token := w.invite(home.Principal, "ada@Example.com", models.RoleViewer)
		before := len(w.audited(home.Org.ID))
		in, err := w.invited(ada, token)
		if err != nil {
			t.Fatal(err)
		}
		if in.Org.ID != home.Org.ID || in.Principal.Role != models.RoleViewer || in.Transport != auth.TransportCookie || in.User.Name != "Ada L." ||
			in.User.Email != "ada@Example.com" || in.User.PasswordHash != "" {
			t.Errorf("got %+v", in)
		}
		if p, err := w.Authenticate(w.ctx(), in.Access); err != nil || p.UserID != in.User.ID || p.Transport != auth.TransportCookie {
			t.Errorf("the access token: %+v, %v", p, err)
		}
		if _, err := w.Refresh(w.ctx(), in.Refresh); err != nil {
			t.Errorf("the refresh token: %v", err)
		}
		if got := w.since(home.Org.ID, before); got != "identity.linked invitation.accepted" {
			t.Errorf("recorded: %s", got)
		}
		if e := w.lastEntry(home.Org.ID); e.TargetID != inv.ID.String() || *e.ActorID != models.ActorID(in.User.ID) || e.Address != "192.0.2.1" {
			t.Errorf("recorded: %+v", e)
		}

		// From now on the issuer's word is enough, whatever the e-mail is there.
		before = len(w.audited(home.Org.ID))
		renamed := ada
		renamed.Email = "ada.lovelace@example.org"
		again, err := w.as(renamed, nil)
		if err != nil || again.User.ID != in.User.ID || again.User.Email != "ada@Example.com" || again.Principal.SignInID == in.Principal.SignInID {
			t.Fatalf("again: %+v, %v", again, err)
		}
		if got := w.since(home.Org.ID, before); got != "signin.succeeded" {
			t.Errorf("recorded: %s", got)
		}
		if e := w.lastEntry(home.Org.ID); e.TargetID != again.Principal.SignInID.String() || e.Details != `{"method":"oidc","transport":"COOKIE"}` {
			t.Errorf("recorded: %+v", e)
		}
		list, err := w.SignIns(w.ctx(), again.Principal)
		if err != nil || len(list) != 2 || list[0].Address != "192.0.2.1" || list[0].UserAgent != "test" || list[0].Transport != auth.TransportCookie {
			t.Errorf("listed: %+v, %v", list, err)
		}
		if n := w.count(&models.Identity{}, "issuer = ? AND subject = ? AND user_id = ?", w.issuer.URL, "ada-1", in.User.ID); n != 1 {
			t.Errorf("%d identities are hers", n)
		}

		// The invitation is spent; another one, of another organization, is accepted by who she is here.
		_, err = w.invited(ada, token)
		wantRefusal(t, "the invitation again", err, oidc.BadInvitation)
		elsewhere := w.createOrg(home, "Elsewhere")
		owner := *home.Principal
		owner.OrgID = elsewhere.ID
		_, token = w.invite(&owner, "ada@example.com", models.RoleMember)
		there, err := w.invited(renamed, token)
		if err != nil || there.Org.ID != elsewhere.ID || there.User.ID != in.User.ID || there.Principal.Role != models.RoleMember {
			t.Errorf("elsewhere: %+v, %v", there, err)
		}
	})
}

func TestStrangersGetNothing(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		home := w.owner()
		_, token := w.invite(home.Principal, "bob@example.com", models.RoleMember)
		users, platform := w.count(&models.User{}, "1 = 1"), len(w.audited(audit.Platform))
		_, err := w.as(ada, nil)
		wantRefusal(t, "nobody", err, oidc.NotInvited)
		_, err = w.as(oidctest.Person{Subject: "bob-1", Email: "bob@example.com"}, nil)
		wantRefusal(t, "invited, and without the invitation", err, oidc.NotInvited)
		_, err = w.invited(ada, token)
		wantRefusal(t, "with somebody else's invitation", err, oidc.BadInvitation)
		_, err = w.invited(ada, "made up")
		wantRefusal(t, "with an invitation that is none", err, oidc.BadInvitation)
		unverified := ada
		unverified.Unverified = true
		_, err = w.as(unverified, nil)
		wantRefusal(t, "not verified", err, oidc.NoEmail)
		nameless := ada
		nameless.Email = ""
		_, err = w.as(nameless, nil)
		wantRefusal(t, "without an e-mail", err, oidc.NoEmail)
		w.clock.Advance(orgs.InvitationLifetime)
		_, err = w.invited(oidctest.Person{Subject: "bob-1", Email: "bob@example.com"}, token)
		wantRefusal(t, "with one that is too old", err, oidc.BadInvitation)

		if a, b := w.count(&models.User{}, "1 = 1"), w.count(&models.Identity{}, "1 = 1"); a != users || b != 0 {
			t.Errorf("there are %d users and %d identities", a, b)
		}
		if n := w.count(&models.SignIn{}, "user_id <> ?", home.User.ID); n != 0 {
			t.Errorf("%d sign-ins were made", n)
		}
		if n := w.count(&models.Invitation{}, "accepted_at IS NOT NULL"); n != 0 {
			t.Errorf("%d invitations were accepted", n)
		}
		if got := w.since(audit.Platform, platform); got != strings.TrimSpace(strings.Repeat("signin.failed ", 5)) {
			t.Errorf("recorded: %s", got)
		}
		if e := w.audited(audit.Platform)[platform]; e.Details != `{"email":"ada@example.com","method":"oidc","reason":"not_invited"}` {
			t.Errorf("recorded: %s", e.Details)
		}
		// Somebody who was removed from everywhere is no different.
		gone := w.addUser("gone@example.com", "gone-password")
		_, err = w.as(oidctest.Person{Subject: "gone-1", Email: "gone@example.com"}, &auth.Principal{UserID: gone.ID})
		wantRefusal(t, "a member of nothing", err, oidc.NotInvited)
		if n := w.count(&models.Identity{}, "1 = 1"); n != 0 {
			t.Error("and was linked nevertheless")
		}
	})
}

// The e-mail of an issuer opens no account that has a password, unless its owner sits at this browser.
func TestAccountsWithPasswordsAreNotGivenAway(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		home := w.owner()
		user := w.addUser("ada@example.com", "ada-password", home.Org.ID)
		w.addUser("eve@example.com", "eve-password", home.Org.ID)
		eve, mine := w.signIn("eve@example.com", "eve-password"), w.signIn("ada@example.com", "ada-password")
		before := len(w.audited(home.Org.ID))
		for name, p := range map[string]*auth.Principal{"nobody is signed in": nil, "somebody else is": eve.Principal, "a key is": {OrgID: home.Org.ID, KeyID: models.NewID[models.APIKeyEntity]()}} {
			_, err := w.as(ada, p)
			wantRefusal(t, name, err, oidc.NeedsPassword)
		}
		if got := w.since(home.Org.ID, before); got != strings.TrimSpace(strings.Repeat("signin.failed ", 3)) {
			t.Errorf("recorded: %s", got)
		}
		if e := w.lastEntry(home.Org.ID); e.TargetID != user.ID.String() || !strings.Contains(e.Details, `"reason":"confirm"`) {
			t.Errorf("recorded: %+v", e)
		}
		if n := w.count(&models.Identity{}, "1 = 1"); n != 0 {
			t.Fatalf("%d were linked", n)
		}
		before = len(w.audited(home.Org.ID))
		in, err := w.as(ada, mine.Principal)
		if err != nil || in.User.ID != user.ID {
			t.Fatalf("she is signed in: %+v, %v", in, err)
		}
		if got := w.since(home.Org.ID, before); got != "identity.linked signin.succeeded" {
			t.Errorf("recorded: %s", got)
		}
		if _, err := w.as(ada, nil); err != nil {
			t.Errorf("the next time: %v", err)
		}
		w.signIn("ada@example.com", "ada-password") // it goes on to work

		// Whoever was given her e-mail later is somebody else, even at her own browser.
		heir := oidctest.Person{Subject: "ada-2", Email: ada.Email}
		for name, p := range map[string]*auth.Principal{"a second subject": nil, "a second subject, at her browser": mine.Principal} {
			_, err = w.as(heir, p)
			wantRefusal(t, name, err, oidc.OtherIdentity)
		}
		_, token := w.invite(home.Principal, "heir@example.com", models.RoleMember)
		_, err = w.invited(heir, token)
		wantRefusal(t, "with an invitation", err, oidc.OtherIdentity)
		if n := w.count(&models.Identity{}, "1 = 1"); n != 1 {
			t.Errorf("%d are linked", n)
		}

		// Until who runs the server says so.
		n, err := orgs.NewAdmin(w.db, w.clock, publicURL).Unlink(w.ctx(), "ADA@example.com")
		if err != nil || n != 1 {
			t.Fatalf("%d, %v", n, err)
		}
		if n, err := orgs.NewAdmin(w.db, w.clock, publicURL).Unlink(w.ctx(), "ada@example.com"); err != nil || n != 0 {
			t.Errorf("again: %d, %v", n, err)
		}
		if e := w.lastEntry(home.Org.ID); e.Action != "identity.unlinked" || e.TargetID != user.ID.String() {
			t.Errorf("recorded: %+v", e)
		}
		if _, err := w.Refresh(w.ctx(), in.Refresh); err == nil {
			t.Error("she is still signed in")
		}
		_, err = w.as(heir, nil)
		wantRefusal(t, "there is still a password", err, oidc.NeedsPassword)
	})
}

// Somebody without a password has nothing but the issuer to sign in by.
func TestPeopleWithoutPasswords(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		home := w.owner()
		_, token := w.invite(home.Principal, "ada@example.com", models.RoleMember)
		in, err := w.invited(ada, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, password := range []string{"", "any-password"} {
			_, err := w.SignIn(w.ctx(), credentialsOf("ada@example.com", password, nil))
			wantFault(t, "a password", err, fault.InvalidCredentials)
		}
		_, wrong := w.SignIn(w.ctx(), credentialsOf(ownerEmail, "wrong-password", nil))
		_, none := w.SignIn(w.ctx(), credentialsOf("ada@example.com", "wrong-password", nil))
		if wrong.Error() != none.Error() {
			t.Errorf("a wrong password says %v, and none %v", wrong, none)
		}
		wantFault(t, "a change", w.ChangePassword(w.ctx(), in.Principal, "", "a-new-password"), fault.InvalidCredentials, "current")
		// A mailbox is no way around the issuer.
		if err := w.RequestPasswordReset(w.ctx(), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		w.Wait()
		if n := w.count(&models.PasswordReset{}, "1 = 1"); n != 0 || strings.Contains(w.log.String(), "reset?token") {
			t.Errorf("%d links were made; %s", n, w.log)
		}
		if e := w.lastEntry(home.Org.ID); e.Action != "password.reset_requested" || !strings.Contains(e.Details, "refused") {
			t.Errorf("recorded: %+v", e)
		}
		// Without an issuer it is the only way.
		alone := newNode(t, w.db, w.clock, func(c *orgs.Config) {
			c.Resets = orgs.Resets{PublicURL: publicURL, Logger: slog.New(slog.NewTextHandler(w.log, nil))}
		})
		if _, ok := alone.IssuerName(); ok {
			t.Error("there is an issuer")
		}
		if err := alone.RequestPasswordReset(w.ctx(), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		alone.Wait()
		link := tokenOfLink.FindStringSubmatch(w.log.String())
		if link == nil {
			t.Fatalf("the log has no link: %s", w.log)
		}
		if err := alone.ResetPassword(w.ctx(), link[1], "a-new-password"); err != nil {
			t.Fatal(err)
		}
		w.signIn("ada@example.com", "a-new-password")
	})
}

// The operator chose another issuer: its word on e-mails counts as that of the one before did.
func TestAnotherIssuer(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		_, token := w.invite(w.owner().Principal, "ada@example.com", models.RoleMember)
		in, err := w.invited(ada, token)
		if err != nil {
			t.Fatal(err)
		}
		other := oidctest.Start(t)
		other.Now = w.clock.Now
		w.issuer, w.world = other, newNode(t, w.db, w.clock, w.with(other))
		eve := oidctest.Person{Subject: ada.Subject, Email: "eve@example.com"}
		_, err = w.as(eve, nil)
		wantRefusal(t, "her subject, of another issuer", err, oidc.NotInvited)
		there, err := w.as(oidctest.Person{Subject: "5", Email: ada.Email}, nil)
		if err != nil || there.User.ID != in.User.ID {
			t.Errorf("got %+v, %v", there, err)
		}
	})
}

func TestStatesAreGoodOnce(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		_, token := w.invite(w.owner().Principal, "ada@example.com", models.RoleMember)
		at := w.begin(ada, token)
		if _, err := w.finish(w.ctx(), nil, at); err != nil {
			t.Fatal(err)
		}
		_, err := w.finish(w.ctx(), nil, at)
		wantRefusal(t, "the same again", err, oidc.StateLost)
		fresh := w.begin(ada, "")
		at.back.Set("code", fresh.back.Get("code"))
		_, err = w.finish(w.ctx(), nil, at)
		wantRefusal(t, "with a new code", err, oidc.StateLost)
		_, err = w.finish(w.ctx(), nil, trip{at.cookie, fresh.back})
		wantRefusal(t, "in another browser", err, oidc.StateLost)
		// On another node as well: what it failed for doesn't matter either.
		w.issuer.Lie(oidctest.Lies{Claims: func(c map[string]any) { c["nonce"] = "another" }})
		_, err = w.finish(w.ctx(), nil, fresh)
		wantRefusal(t, "a lie", err, oidc.Failed)
		w.issuer.Lie(oidctest.Lies{})
		w.world = newNode(t, w.db, w.clock, w.with(w.issuer))
		_, err = w.finish(w.ctx(), nil, fresh)
		wantRefusal(t, "after a failure, elsewhere", err, oidc.StateLost)

		if n := w.count(&models.SpentState{}, "1 = 1"); n != 2 {
			t.Errorf("%d states are kept", n)
		}
		w.clock.Advance(oidc.AttemptLifetime + time.Second)
		if _, err := w.as(ada, nil); err != nil {
			t.Fatal(err)
		}
		if n := w.count(&models.SpentState{}, "1 = 1"); n != 1 {
			t.Errorf("%d states are kept after their time", n)
		}
	})
}

// Many come back at once: each state signs in once, and one user, one membership and one identity come of it all.
func TestManyAtOnce(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		home := w.owner()
		elsewhere := w.createOrg(home, "Elsewhere")
		owner := *home.Principal
		owner.OrgID = elsewhere.ID
		_, here := w.invite(home.Principal, "ada@example.com", models.RoleMember)
		_, there := w.invite(&owner, "ada@example.com", models.RoleMember)
		first, second := w.begin(ada, here), w.begin(ada, there)
		var mu sync.Mutex
		done, refused := 0, map[oidc.Refusal]int{}
		var running sync.WaitGroup
		for _, at := range []trip{first, first, first, second, second, second} {
			running.Go(func() {
				_, err := w.finish(w.ctx(), nil, at)
				mu.Lock()
				defer mu.Unlock()
				if refusal, ok := errors.AsType[oidc.Refusal](err); ok {
					refused[refusal]++
				} else if err == nil {
					done++
				} else {
					t.Errorf("got %v", err)
				}
			})
		}
		running.Wait()
		if done != 2 || refused[oidc.StateLost] != 4 {
			t.Errorf("%d signed in, refused were %v", done, refused)
		}
		var user models.User
		if err := w.db.ReadAcross(t.Context()).Where("email_key = ?", "ada@example.com").Take(&user).Error; err != nil {
			t.Fatal(err)
		}
		if a, b := w.count(&models.Identity{}, "1 = 1"), w.count(&models.Membership{}, "user_id = ?", user.ID); a != 1 || b != 2 {
			t.Errorf("%d identities and %d memberships", a, b)
		}
		// Two subjects that claim one account, which nobody is linked to: one of them gets it.
		if _, err := orgs.NewAdmin(w.db, w.clock, publicURL).Unlink(w.ctx(), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		trips := []trip{w.begin(ada, ""), w.begin(oidctest.Person{Subject: "ada-2", Email: ada.Email}, "")}
		done, refused = 0, map[oidc.Refusal]int{}
		for _, at := range trips {
			running.Go(func() {
				_, err := w.finish(w.ctx(), nil, at)
				mu.Lock()
				defer mu.Unlock()
				if refusal, ok := errors.AsType[oidc.Refusal](err); ok {
					refused[refusal]++
				} else if err == nil {
					done++
				}
			})
		}
		running.Wait()
		if done != 1 || refused[oidc.OtherIdentity] != 1 {
			t.Errorf("%d got the account, refused were %v", done, refused)
		}
	})
}

func TestReturningIsSlowedDown(t *testing.T) {
	eachVouched(t, func(t *testing.T, w *vouched) {
		limited := 0
		for range 30 {
			_, err := w.as(ada, nil)
			if fault.Is(err, fault.RateLimited) {
				limited++
				continue
			}
			wantRefusal(t, "a stranger", err, oidc.NotInvited)
		}
		if limited != 10 {
			t.Errorf("%d of 30 were slowed down, want those after 20", limited)
		}
		// An issuer that is down is nobody's fault.
		w.clock.Advance(2 * time.Hour)
		for range 30 {
			at := w.begin(ada, "")
			w.issuer.Lie(oidctest.Lies{Fails: func(path string) int {
				if path == "/token" {
					return 503
				}
				return 0
			}})
			_, err := w.finish(w.ctx(), nil, at)
			wantRefusal(t, "down", err, oidc.Unavailable)
		}
	})
}
