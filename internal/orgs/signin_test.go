package orgs_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func TestSignIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.signIn("  owner@EXAMPLE.com ", ownerPassword)
		p, err := w.Authenticate(w.ctx(), in.Access)
		if err != nil {
			t.Fatal(err)
		}
		if *p != *in.Principal {
			t.Errorf("the token gives %+v, the sign-in %+v", p, in.Principal)
		}
		if in.User.Email != ownerEmail || in.Transport != auth.TransportBody || p.Permissions != auth.RolePermissions(models.RoleOwner, true) {
			t.Errorf("got %+v", in)
		}
		if !in.AccessExpires.Equal(start.Add(15*time.Minute)) || !in.RefreshExpires.Equal(start.Add(30*24*time.Hour)) {
			t.Errorf("ends at %v and %v", in.AccessExpires, in.RefreshExpires)
		}
		var row models.SignIn
		if err := w.db.ReadAcross(t.Context()).Take(&row).Error; err != nil || row.Address != "192.0.2.1" || row.UserAgent != "test" {
			t.Errorf("got %+v, %v", row, err)
		}
		var token models.RefreshToken
		if err := w.db.ReadAcross(t.Context()).Take(&token).Error; err != nil || strings.Contains(string(token.Hash), in.Refresh) || len(token.Hash) != 32 {
			t.Errorf("got %+v, %v", token, err)
		}
	})
}

func TestSignInGivesOneAnswerForAllThatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.createOrg(w.owner(), "Other")
		stranger := w.addUser("stranger@example.com", "stranger-password", other.ID)
		homeless := w.addUser("homeless@example.com", "homeless-password")
		unknownOrg, noOrg := models.NewID[models.OrgEntity](), models.OrgID{}
		home := w.owner().Org.ID
		var messages []string
		for name, in := range map[string]orgs.Credentials{
			"wrong password":  {Email: ownerEmail, Password: "wrong-password"},
			"no password":     {Email: ownerEmail},
			"unknown e-mail":  {Email: "unknown@example.com", Password: ownerPassword},
			"another's org":   {Email: stranger.Email, Password: "stranger-password", OrgID: &home},
			"unknown org":     {Email: stranger.Email, Password: "stranger-password", OrgID: &unknownOrg},
			"no such org id":  {Email: stranger.Email, Password: "stranger-password", OrgID: &noOrg},
			"no organization": {Email: homeless.Email, Password: "homeless-password"},
			"password of NUL": {Email: ownerEmail, Password: "\x00"},
		} {
			in.Transport = auth.TransportBody
			_, err := w.SignIn(w.ctx(), in)
			wantFault(t, name, err, fault.InvalidCredentials)
			if got := fault.As(err).Message; got != "Wrong email or password." {
				t.Errorf("%s: %q", name, got)
			}
			if f := fault.As(err); f != nil {
				messages = append(messages, f.Message)
			}
		}
		for _, m := range messages {
			if m != messages[0] {
				t.Errorf("the answers differ: %q, %q", messages[0], m)
			}
		}
	})
}

func TestSignInRefusesWhatIsNoInput(t *testing.T) {
	w := newSQLiteWorld(t)
	for _, email := range []string{"", "x", "@", "a@", "@b", "a b@c", "a@b@c", "a\x00@b", "a\xff@b", strings.Repeat("a", 250) + "@b.cc"} {
		_, err := w.SignIn(w.ctx(), orgs.Credentials{Email: email, Password: "p", Transport: auth.TransportBody})
		wantFault(t, email, err, fault.Invalid, "input", "email")
	}
	in := orgs.Credentials{Email: ownerEmail, Password: ownerPassword, Transport: auth.TransportCookie}
	socket := auth.WithRequest(t.Context(), &auth.RequestInfo{Socket: true})
	_, err := w.SignIn(socket, in)
	wantFault(t, "cookies over a socket", err, fault.Invalid, "input", "transport")
	if done, err := w.SignIn(w.ctx(), in); err != nil || done.Transport != auth.TransportCookie || done.Principal.Transport != auth.TransportCookie {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestSignInGoesWhereThePersonWasLast(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		home := w.owner()
		other := w.createOrg(home, "Other")
		if got := w.owner().Org.ID; got != home.Org.ID {
			t.Errorf("creating an organization moved its owner to %v", got)
		}
		done, err := w.SignIn(w.ctx(), orgs.Credentials{
			Email: ownerEmail, Password: ownerPassword, OrgID: &other.ID, Transport: auth.TransportBody,
		})
		if err != nil || done.Org.ID != other.ID {
			t.Fatalf("got %+v, %v", done, err)
		}
		if got := w.owner().Org.ID; got != other.ID {
			t.Errorf("got %v, want the organization used last", got)
		}
		w.removeMember(other.ID, home.User.ID)
		if got := w.owner().Org.ID; got != home.Org.ID {
			t.Errorf("got %v, want the organization that is left", got)
		}
	})
}

func TestSignInIsThrottledPerAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		try := func(password string) error {
			_, err := w.SignIn(w.ctx(), orgs.Credentials{Email: ownerEmail, Password: password, Transport: auth.TransportBody})
			return err
		}
		for range 5 {
			wantFault(t, "a free attempt", try("wrong-password"), fault.InvalidCredentials)
		}
		err := try(ownerPassword)
		wantFault(t, "after five attempts", err, fault.RateLimited)
		if f := fault.As(err); f == nil || f.RetryAfterSeconds != 1 {
			t.Errorf("got %+v, want 1 s to wait", f)
		}
		w.clock.Advance(time.Second)
		if err := try(ownerPassword); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		wantFault(t, "after a success", try("wrong-password"), fault.InvalidCredentials)
	})
}

// Guesses keep the owner out of nothing but the network that they come from.
func TestGuessesKeepNobodyElseOut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		try := func(address, browser, password string) (*orgs.SignedIn, error) {
			ctx := auth.WithRequest(w.ctx(), &auth.RequestInfo{Address: address, Browser: browser})
			return w.SignIn(ctx, orgs.Credentials{Email: ownerEmail, Password: password, Transport: auth.TransportBody})
		}
		first, err := try("192.0.2.1", "", ownerPassword)
		if err != nil {
			t.Fatal(err)
		}
		for range 13 {
			_, _ = try("198.51.100.1", "", "wrong-password")
		}
		if _, err := try("203.0.113.1", "", ownerPassword); err != nil {
			t.Errorf("from a network that nobody guessed from: %v", err)
		}
		// Many networks together make the account wait, but neither those that are known nor a browser that is.
		for i := range 40 {
			_, _ = try("198.51.100."+strconv.Itoa(i), "", "wrong-password")
		}
		_, err = try("203.0.113.200", "", ownerPassword)
		wantFault(t, "from a network that is not known", err, fault.RateLimited)
		_, err = try("203.0.113.200", "forged", ownerPassword)
		wantFault(t, "with a forged proof", err, fault.RateLimited)
		_, err = try("192.0.2.1", "", "wrong-password")
		wantFault(t, "a wrong password from a known network", err, fault.InvalidCredentials)
		for range 2 {
			if _, err := try("198.51.100.1", first.Browser, ownerPassword); err != nil {
				t.Errorf("with a browser that is known, where the guesses come from: %v", err)
			}
			for i := range 40 {
				_, _ = try("198.51.100."+strconv.Itoa(100+i), "", "wrong-password")
			}
		}
		if _, err := try("192.0.2.1", "", ownerPassword); err != nil {
			t.Errorf("from a network that is known: %v", err)
		}
		for range 5 {
			_, err = try("192.0.2.99", first.Browser, "wrong-password")
			wantFault(t, "a guess with the proof", err, fault.InvalidCredentials)
		}
		_, err = try("192.0.2.99", first.Browser, "wrong-password")
		wantFault(t, "one guess too many with the proof", err, fault.RateLimited)
	})
}

func TestARemovedMemberIsOutWithinSeconds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		authenticate := func() error { _, err := w.Authenticate(w.ctx(), in.Access); return err }
		if err := authenticate(); err != nil {
			t.Fatal(err)
		}
		w.write(func(tx *gorm.DB) error {
			return tx.Model(&models.Membership{}).Where("org_id = ?", in.Org.ID).Update("role", models.RoleViewer).Error
		})
		w.clock.Advance(5 * time.Second)
		if p, err := w.Authenticate(w.ctx(), in.Access); err != nil || p.Role != models.RoleViewer || p.Can(auth.OrgManage) {
			t.Errorf("a demoted member: got %+v, %v", p, err)
		}
		w.removeMember(in.Org.ID, in.User.ID)
		w.clock.Advance(5 * time.Second)
		wantUnauthenticated(t, "a removed member", authenticate())
		_, err := w.Refresh(w.ctx(), in.Refresh)
		wantFault(t, "a removed member's refresh token", err, fault.InvalidCredentials)
	})
}

func TestATokenNeedsItsOwnSignIn(t *testing.T) {
	w := newSQLiteWorld(t)
	in := w.owner()
	stranger := w.addUser("stranger@example.com", "stranger-password", in.Org.ID)
	forged, _, err := w.tokens.Issue(t.Context(), auth.Claims{
		UserID: stranger.ID, OrgID: in.Org.ID, SignInID: in.Principal.SignInID, Role: models.RoleOwner,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Authenticate(w.ctx(), forged)
	wantUnauthenticated(t, "another's sign-in", err)
	if _, err := w.Authenticate(w.ctx(), in.Access); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(15 * time.Minute)
	_, err = w.Authenticate(w.ctx(), in.Access)
	wantUnauthenticated(t, "a token that has ended", err)
}
