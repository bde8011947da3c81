package orgs_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
)

func credentialsOf(email, password string, org *models.OrgID) orgs.Credentials {
	return orgs.Credentials{Email: email, Password: password, OrgID: org, Transport: auth.TransportBody}
}

func (w *world) invite(p *auth.Principal, email string, role models.Role) (*models.Invitation, string) {
	w.t.Helper()
	inv, token, err := w.Invite(w.ctx(), p, email, role)
	if err != nil {
		w.t.Fatal(err)
	}
	return inv, token
}

// accept takes an invitation as a person whom nobody knows.
func (w *world) accept(token string) (*orgs.SignedIn, error) {
	name, password := "Ada", "ada-password"
	return w.AcceptInvitation(w.ctx(), nil, orgs.Acceptance{Token: token, Name: &name, Password: &password, Transport: auth.TransportBody})
}

func TestInvite(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		inv, token := w.invite(in.Principal, "  Ada@Example.com ", models.RoleMember)
		if inv.Email != "Ada@Example.com" || inv.Role != models.RoleMember || !inv.ExpiresAt.Time().Equal(start.Add(7*24*time.Hour)) {
			t.Errorf("got %+v", inv)
		}
		stored, err := w.Invitation(w.ctx(), in.Org.ID, inv.ID)
		hash := sha256.Sum256([]byte(token))
		if err != nil || len(token) != 43 || !bytes.Equal(stored.TokenHash, hash[:]) {
			t.Errorf("got %+v, %v for the token %s", stored, err, token)
		}
		var entry models.AuditEntry
		if err := store.Of(w.db.Read(t.Context(), in.Org.ID), in.Org.ID).Order("position DESC").Take(&entry).Error; err != nil {
			t.Fatal(err)
		}
		if entry.Action != "invitation.created" || entry.TargetID != inv.ID.String() || strings.Contains(entry.Details, token) ||
			!strings.Contains(entry.Details, "Ada@Example.com") {
			t.Errorf("recorded %+v", entry)
		}
		_, _, err = w.Invite(w.ctx(), in.Principal, "ADA@example.com", models.RoleViewer)
		wantFault(t, "a second one", err, fault.Taken, "input", "email")
		_, _, err = w.Invite(w.ctx(), in.Principal, ownerEmail, models.RoleViewer)
		wantFault(t, "a member", err, fault.Taken, "input", "email")
		for _, none := range []string{"ada", "<ada@y.test>", "a>da@y.test", "a,da@b.test", `"ada@b.test`, "ada@b..test", "ada@b.test:25", "a\u202eda@b.test"} {
			_, _, err = w.Invite(w.ctx(), in.Principal, none, models.RoleViewer)
			wantFault(t, none, err, fault.Invalid, "input", "email")
		}
		// Another organization may invite the same person.
		other := *in.Principal
		other.OrgID = w.createOrg(in, "Other").ID
		w.invite(&other, "ada@example.com", models.RoleViewer)
		if n, err := w.CountInvitations(w.ctx(), in.Org.ID); err != nil || n != 1 {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

func TestAnExpiredInvitationIsReplaced(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		old, token := w.invite(in.Principal, "ada@example.com", models.RoleMember)
		w.clock.Advance(7*24*time.Hour - time.Millisecond)
		_, _, err := w.Invite(w.ctx(), in.Principal, "ada@example.com", models.RoleViewer)
		wantFault(t, "just before the end", err, fault.Taken, "input", "email")
		w.clock.Advance(time.Millisecond)
		_, err = w.accept(token)
		wantFault(t, "expired", err, fault.Expired, "input", "token")
		inv, next := w.invite(in.Principal, "ada@example.com", models.RoleViewer)
		_, err = w.accept(token)
		wantFault(t, "replaced", err, fault.Expired, "input", "token")
		if _, last := w.recorded(in.Org.ID); last["replaces"] != old.ID.String() {
			t.Errorf("recorded %v", last)
		}
		list, err := w.ListInvitations(w.ctx(), in.Org.ID, nil, 10)
		if err != nil || len(list) != 2 || list[0].ID != inv.ID || list[1].RevokedAt == nil {
			t.Errorf("got %+v, %v", list, err)
		}
		if done, err := w.accept(next); err != nil || done.Principal.Role != models.RoleViewer {
			t.Errorf("got %+v, %v", done, err)
		}
	})
}

func TestRevokeInvitation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		inv, token := w.invite(in.Principal, "ada@example.com", models.RoleMember)
		for range 2 {
			revoked, err := w.RevokeInvitation(w.ctx(), in.Principal, inv.ID)
			if err != nil || revoked.RevokedAt == nil || !revoked.RevokedAt.Time().Equal(start) {
				t.Errorf("got %+v, %v", revoked, err)
			}
		}
		if actions, _ := w.recorded(in.Org.ID); !slices.Equal(actions, []string{"invitation.created", "invitation.revoked"}) {
			t.Errorf("recorded %v", actions)
		}
		_, err := w.accept(token)
		wantFault(t, "revoked", err, fault.InvalidCredentials, "input", "token")
		_, err = w.accept("forged")
		wantFault(t, "forged", err, fault.InvalidCredentials, "input", "token")
		again, token := w.invite(in.Principal, "ada@example.com", models.RoleMember)
		if _, err := w.accept(token); err != nil {
			t.Fatal(err)
		}
		_, err = w.RevokeInvitation(w.ctx(), in.Principal, again.ID)
		wantFault(t, "accepted", err, fault.Conflict, "id")
	})
}

func TestANewPersonAcceptsOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		inv, token := w.invite(in.Principal, "Ada@example.com", models.RoleAdmin)
		done, err := w.accept(token)
		if err != nil {
			t.Fatal(err)
		}
		if done.User.Email != "Ada@example.com" || done.User.Name != "Ada" || done.User.Operator || done.Org.ID != in.Org.ID ||
			done.Principal.Role != models.RoleAdmin || done.Transport != auth.TransportBody {
			t.Errorf("got %+v", done)
		}
		if p, err := w.Authenticate(w.ctx(), done.Access); err != nil || *p != *done.Principal {
			t.Errorf("got %+v, %v", p, err)
		}
		w.refresh(done.Refresh)
		w.signIn("ada@EXAMPLE.com", "ada-password")
		stored, err := w.Invitation(w.ctx(), in.Org.ID, inv.ID)
		if err != nil || stored.AcceptedAt == nil || stored.RevokedAt != nil {
			t.Errorf("got %+v, %v", stored, err)
		}
		actions, last := w.recorded(in.Org.ID)
		if !slices.Equal(actions, []string{"invitation.created", "invitation.accepted"}) || last["userCreated"] != true ||
			last["actor"] != done.User.ID.String() || last["target"] != inv.ID.String() {
			t.Errorf("recorded %v, last %v", actions, last)
		}
		_, err = w.accept(token)
		wantFault(t, "a second time", err, fault.InvalidCredentials, "input", "token")
		if users := w.count(&models.User{}, "1 = 1"); users != 2 {
			t.Errorf("%d users exist, want 2", users)
		}
	})
}

func TestWhatANewPersonMustGive(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		_, token := w.invite(in.Principal, "ada@example.com", models.RoleMember)
		name, blank, password, short := "Ada", " ", "ada-password", "x"
		// So often that it would be too often, if these counted as attempts.
		for range 10 {
			for _, c := range []struct {
				name, password *string
				transport, at  string
			}{
				{nil, &password, auth.TransportBody, "name"},
				{&blank, &password, auth.TransportBody, "name"},
				{&name, nil, auth.TransportBody, "password"},
				{&name, &short, auth.TransportBody, "password"},
				{&name, &password, "PIGEON", "transport"},
			} {
				_, err := w.AcceptInvitation(w.ctx(), nil, orgs.Acceptance{Token: token, Name: c.name, Password: c.password, Transport: c.transport})
				wantFault(t, "without "+c.at, err, fault.Invalid, "input", c.at)
			}
		}
		if users := w.count(&models.User{}, "1 = 1"); users != 1 {
			t.Errorf("%d users exist, want 1", users)
		}
		done, err := w.AcceptInvitation(w.ctx(), nil, orgs.Acceptance{Token: token, Name: &name, Password: &password, Transport: auth.TransportCookie})
		if err != nil || done.Transport != auth.TransportCookie {
			t.Errorf("got %+v, %v", done, err)
		}
	})
}

func TestAKnownPersonMustBeSignedIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		home := w.createOrg(in, "Home").ID
		before := w.addUser("ada@example.com", "ada-password", home)
		_, token := w.invite(in.Principal, "ADA@example.com", models.RoleViewer)
		ada := w.signIn("ada@example.com", "ada-password")
		name, right, wrong := "Eve", "ada-password", "eve-password"
		messages := map[string]bool{}
		for what, c := range map[string]struct {
			p        *auth.Principal
			password *string
		}{
			"nobody": {nil, nil}, "somebody else": {in.Principal, nil}, "a wrong password": {nil, &wrong}, "the password alone": {nil, &right},
		} {
			_, err := w.AcceptInvitation(w.ctx(), c.p, orgs.Acceptance{Token: token, Name: &name, Password: c.password, Transport: auth.TransportBody})
			wantFault(t, what, err, fault.Forbidden, "input", "token")
			if f := fault.As(err); f != nil {
				messages[f.Message] = true
				if strings.Contains(f.Message, "ada") {
					t.Errorf("the answer tells who it is: %s", f.Message)
				}
			}
		}
		if len(messages) != 1 {
			t.Errorf("the answers differ: %v", messages)
		}
		done, err := w.AcceptInvitation(w.ctx(), ada.Principal, orgs.Acceptance{Token: token, Name: &name, Password: &wrong, Transport: auth.TransportBody})
		if err != nil || done.Org.ID != in.Org.ID || done.Principal.Role != models.RoleViewer || done.User.ID != before.ID {
			t.Fatalf("got %+v, %v", done, err)
		}
		after, err := w.User(w.ctx(), before.ID)
		if err != nil || after.Name != before.Name || after.PasswordHash != before.PasswordHash || after.Email != before.Email {
			t.Errorf("the user changed: %+v, %v", after, err)
		}
		if p, err := w.Authenticate(w.ctx(), ada.Access); err != nil || p.OrgID != home {
			t.Errorf("the sign-in from before: got %+v, %v", p, err)
		}
	})
}

// TestAPersonWithoutOrganizationsComesBack has somebody who can't sign in, because they belong nowhere: their password proves them.
func TestAPersonWithoutOrganizationsComesBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		before := w.addUser("ada@example.com", "ada-password")
		_, token := w.invite(in.Principal, "ada@example.com", models.RoleMember)
		right, wrong := "ada-password", "eve-password"
		try := func(password *string) (*orgs.SignedIn, error) {
			return w.AcceptInvitation(w.ctx(), nil, orgs.Acceptance{Token: token, Password: password, Transport: auth.TransportBody})
		}
		_, err := try(nil)
		wantFault(t, "no password", err, fault.Forbidden, "input", "token")
		_, err = try(&wrong)
		wantFault(t, "a wrong password", err, fault.Forbidden, "input", "token")
		done, err := try(&right)
		if err != nil || done.User.ID != before.ID || done.User.Name != before.Name {
			t.Fatalf("got %+v, %v", done, err)
		}
	})
}

func TestGuessingIsThrottled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		_, token := w.invite(in.Principal, "ada@example.com", models.RoleMember)
		for i := range 20 {
			_, err := w.accept("guess" + strings.Repeat("x", i))
			wantFault(t, "a guess", err, fault.InvalidCredentials, "input", "token")
		}
		_, err := w.accept(token)
		wantFault(t, "after twenty guesses from one address", err, fault.RateLimited)
		if f := fault.As(err); f == nil || f.RetryAfterSeconds < 1 {
			t.Errorf("got %+v", f)
		}
		w.clock.Advance(time.Minute)
		if _, err := w.accept(token); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}

// TestInvitationsUnderConcurrency lets what concerns one invitation meet: one of each two wins, and nothing is done by halves.
func TestInvitationsUnderConcurrency(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		other := *in.Principal
		other.OrgID = w.createOrg(in, "Other").ID
		both := func(a, b func() error) (won int, lost error) {
			errs := make([]error, 2)
			var wg sync.WaitGroup
			wg.Go(func() { errs[0] = a() })
			wg.Go(func() { errs[1] = b() })
			wg.Wait()
			for _, err := range errs {
				if err == nil {
					won++
				} else if lost = err; fault.As(err) == nil {
					t.Errorf("got %v", err)
				}
			}
			return won, lost
		}
		inviting := func() error {
			_, _, err := w.Invite(w.ctx(), in.Principal, "two@example.com", models.RoleMember)
			return err
		}
		if won, lost := both(inviting, inviting); won != 1 || !fault.Is(lost, fault.Taken) {
			t.Errorf("invited twice: %d won, %v", won, lost)
		}
		accepting := func(token string) func() error {
			return func() error { _, err := w.accept(token); return err }
		}
		_, token := w.invite(in.Principal, "a@example.com", models.RoleMember)
		if won, lost := both(accepting(token), accepting(token)); won != 1 ||
			!fault.Is(lost, fault.InvalidCredentials) && !fault.Is(lost, fault.Forbidden) {
			t.Errorf("accepted twice: %d won, %v", won, lost)
		}
		_, here := w.invite(in.Principal, "b@example.com", models.RoleMember)
		_, there := w.invite(&other, "b@example.com", models.RoleMember)
		if won, lost := both(accepting(here), accepting(there)); won != 1 || !fault.Is(lost, fault.Forbidden) {
			t.Errorf("a new person accepted in two organizations: %d won, %v", won, lost)
		}
		inv, token := w.invite(in.Principal, "c@example.com", models.RoleMember)
		won, lost := both(accepting(token), func() error { _, err := w.RevokeInvitation(w.ctx(), in.Principal, inv.ID); return err })
		if won != 1 || !fault.Is(lost, fault.Conflict) && !fault.Is(lost, fault.InvalidCredentials) {
			t.Errorf("accepted and revoked: %d won, %v", won, lost)
		}
		for _, email := range []string{"a@example.com", "b@example.com"} {
			if n := w.count(&models.Membership{}, "user_id IN (SELECT id FROM users WHERE email_key = ?)", email); n != 1 {
				t.Errorf("%s has %d memberships, want 1", email, n)
			}
		}
	})
}

// TestAnAcceptanceIsWholeOrNothing breaks the last thing that an acceptance writes.
func TestAnAcceptanceIsWholeOrNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		_, token := w.invite(in.Principal, "ada@example.com", models.RoleMember)
		w.asOwner("ALTER TABLE audit_entries RENAME TO audit_away")
		if _, err := w.accept(token); err == nil || fault.As(err) != nil {
			t.Errorf("got %v, want an error of the server's own", err)
		}
		w.asOwner("ALTER TABLE audit_away RENAME TO audit_entries")
		if users := w.count(&models.User{}, "1 = 1"); users != 1 {
			t.Errorf("%d users exist, want 1", users)
		}
		if _, err := w.accept(token); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// An invitation is worth what its inviter may still do: it ends when they are removed, get a lower role than it gives, or their key is revoked. It stays
// ended when they get the right again.
func TestAnInvitationEndsWithTheRightOfItsInviter(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.owner()
		org := owner.Org.ID
		member, admin := w.someone("olga", org, models.RoleAdmin)
		_, asAdmin := w.invite(admin, "one@example.com", models.RoleAdmin)
		_, asViewer := w.invite(admin, "two@example.com", models.RoleViewer)
		refused := func(what, token string) {
			t.Helper()
			_, err := w.accept(token)
			wantFault(t, what, err, fault.InvalidCredentials, "input", "token")
		}
		become := func(role models.Role) {
			t.Helper()
			if _, err := w.SetMemberRole(w.ctx(), owner.Principal, member.ID, role); err != nil {
				t.Fatal(err)
			}
		}
		become(models.RoleOwner)
		_, asOwner := w.invite(admin, "five@example.com", models.RoleOwner)
		become(models.RoleAdmin)
		refused("an owner's, who is an administrator now", asOwner)
		become(models.RoleOwner)
		refused("an owner's, who is one again", asOwner)
		if _, err := w.accept(asViewer); err != nil {
			t.Errorf("what an administrator may give, too: %v", err)
		}
		become(models.RoleMember)
		if _, last := w.recorded(org); len(last["revokedInvitations"].([]any)) != 1 {
			t.Errorf("recorded %v", last)
		}
		become(models.RoleAdmin)
		refused("an administrator's, who was a member meanwhile", asAdmin)
		// It had ended before the role was raised, although nobody had noted that.
		_, before := w.invite(admin, "six@example.com", models.RoleViewer)
		w.setRole(member, models.RoleMember)
		refused("a member may invite nobody", before)
		become(models.RoleAdmin)
		refused("from before the role was raised", before)
		_, token := w.invite(admin, "six@example.com", models.RoleViewer)
		if _, err := w.RemoveMember(w.ctx(), owner.Principal, member.ID); err != nil {
			t.Fatal(err)
		}
		w.write(func(tx *gorm.DB) error { return tx.Create(&member).Error })
		refused("from somebody who was removed, and came back", token)

		row, key := w.key(owner.Principal, orgs.NewAPIKey{Permissions: auth.RolePermissions(models.RoleAdmin, false).Names()})
		p, err := w.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		_, byKey := w.invite(p, "three@example.com", models.RoleMember)
		_, byRevoked := w.invite(p, "four@example.com", models.RoleMember)
		if _, err := w.accept(byKey); err != nil {
			t.Errorf("from a key: %v", err)
		}
		if _, err := w.RevokeAPIKey(w.ctx(), owner.Principal, row.ID); err != nil {
			t.Fatal(err)
		}
		refused("from a key that was revoked", byRevoked)
	})
}
