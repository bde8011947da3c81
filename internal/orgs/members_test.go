package orgs_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// roles are all of them, from least to most; the order is what the tests go by.
var roles = []models.Role{models.RoleViewer, models.RoleMember, models.RoleAdmin, models.RoleOwner}

func above(a, b models.Role) bool { return slices.Index(roles, a) > slices.Index(roles, b) }

func manages(r models.Role) bool { return r == models.RoleAdmin || r == models.RoleOwner }

// join makes somebody a member.
func (w *world) join(org models.OrgID, user models.UserID, role models.Role) models.Membership {
	w.t.Helper()
	m := models.Membership{OrgID: org, ID: models.NewID[models.MembershipEntity](), UserID: user, Role: role, CreatedAt: 1}
	w.write(func(tx *gorm.DB) error { return tx.Create(&m).Error })
	return m
}

// someone makes a person without a password that anybody knows, and what a token of theirs said before the last change of roles.
func (w *world) someone(name string, org models.OrgID, role models.Role) (models.Membership, *auth.Principal) {
	w.t.Helper()
	u := models.User{
		ID: models.NewID[models.UserEntity](), Email: name + "@example.com", EmailKey: name + "@example.com", Name: name, PasswordHash: "-", CreatedAt: 1,
	}
	w.write(func(tx *gorm.DB) error { return tx.Create(&u).Error })
	return w.join(org, u.ID, role), &auth.Principal{
		UserID: u.ID, OrgID: org, Role: models.RoleOwner, Permissions: auth.RolePermissions(models.RoleOwner, false),
	}
}

func (w *world) setRole(m models.Membership, role models.Role) {
	w.t.Helper()
	w.write(func(tx *gorm.DB) error {
		return store.Of(tx.Model(&models.Membership{}), m.OrgID).Where("id = ?", m.ID).Update("role", role).Error
	})
}

func (w *world) roleOf(m models.Membership) models.Role {
	w.t.Helper()
	found, err := w.Membership(w.ctx(), m.OrgID, m.ID)
	if fault.Is(err, fault.NotFound) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return found.Role
}

// recorded returns the actions and the last details that the log of an organization has to tell, the oldest first, but for its beginning
// and for sign-ins.
func (w *world) recorded(org models.OrgID) (actions []string, last map[string]any) {
	w.t.Helper()
	var rows []models.AuditEntry
	if err := store.Of(w.db.ReadAcross(w.t.Context()), org).Order("position").Find(&rows).Error; err != nil {
		w.t.Fatal(err)
	}
	rows = slices.DeleteFunc(rows, func(e models.AuditEntry) bool {
		return e.Action == "org.created" || strings.HasPrefix(e.Action, "signin.")
	})
	for _, r := range rows {
		actions = append(actions, r.Action)
	}
	if len(rows) > 0 {
		end := rows[len(rows)-1]
		if err := json.Unmarshal([]byte(end.Details), &last); err != nil {
			w.t.Fatal(err)
		}
		last["target"] = end.TargetID
		if end.ActorID != nil {
			last["actor"] = models.UserID(*end.ActorID).String()
		}
	}
	return actions, last
}

// TestWhoMayChangeWhom tries every role on every role: nobody grants above their own, nor changes or removes somebody above it. The
// callers' tokens say OWNER; what counts is what is stored.
func TestWhoMayChangeWhom(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		org := w.owner().Org.ID // its owner stays, so that no other one is the last
		me, p := w.someone("me", org, models.RoleOwner)
		target, _ := w.someone("target", org, models.RoleViewer)
		for _, own := range roles {
			w.setRole(me, own)
			for _, has := range roles {
				for _, gets := range roles {
					w.setRole(target, has)
					allowed := manages(own) && !above(has, own) && !above(gets, own)
					_, err := w.SetMemberRole(w.ctx(), p, target.ID, gets)
					want := gets
					if !allowed {
						want = has
					}
					if (err == nil) != allowed || err != nil && !fault.Is(err, fault.Forbidden) || w.roleOf(target) != want {
						t.Errorf("%s makes %s %s: got %v, and the member is %s", own, has, gets, err, w.roleOf(target))
					}
				}
				w.setRole(target, has)
				allowed := manages(own) && !above(has, own)
				_, err := w.RemoveMember(w.ctx(), p, target.ID)
				if gone := w.roleOf(target) == ""; (err == nil) != allowed || err != nil && !fault.Is(err, fault.Forbidden) || gone != allowed {
					t.Errorf("%s removes %s: got %v, gone %v", own, has, err, gone)
				}
				if allowed {
					target = w.join(org, target.UserID, has)
				}
				allowed = manages(own) && !above(has, own)
				inv, _, err := w.Invite(w.ctx(), p, string(own)+string(has)+"@example.com", has)
				if (err == nil) != allowed || err != nil && !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s invites %s: got %v", own, has, err)
				}
				if allowed && inv.Role != has {
					t.Errorf("got %+v", inv)
				}
			}
		}
		w.setRole(me, models.RoleOwner)
		inv, _, err := w.Invite(w.ctx(), p, "boss@example.com", models.RoleOwner)
		if err != nil {
			t.Fatal(err)
		}
		w.setRole(me, models.RoleAdmin)
		_, err = w.RevokeInvitation(w.ctx(), p, inv.ID)
		wantFault(t, "an administrator revokes an owner's invitation", err, fault.Forbidden, "id")
		_, err = w.SetMemberRole(w.ctx(), p, target.ID, models.RoleOwner)
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
}

// TestWhoIsNoPersonManagesUpToItsPermissions has principals without a user: they may not make somebody who can do more than they.
func TestWhoIsNoPersonManagesUpToItsPermissions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		org := w.owner().Org.ID
		for _, own := range roles {
			p := &auth.Principal{OrgID: org, Permissions: auth.RolePermissions(own, false) | auth.PermissionsOf(auth.MembersManage)}
			for _, gets := range roles {
				_, _, err := w.Invite(w.ctx(), p, string(own)+string(gets)+"@example.com", gets)
				if allowed := !above(gets, own); (err == nil) != allowed || err != nil && !fault.Is(err, fault.Forbidden) {
					t.Errorf("what may do as much as %s invites %s: got %v", own, gets, err)
				}
			}
		}
		p := &auth.Principal{OrgID: org, Permissions: auth.PermissionsOf(auth.MembersManage)}
		_, _, err := w.Invite(w.ctx(), p, "x@example.com", models.RoleViewer)
		wantFault(t, "what may do less than a viewer", err, fault.Forbidden, "input", "role")
	})
}

func TestTheLastOwnerStays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		page, err := w.ListMembers(w.ctx(), in.Org.ID, nil, 10)
		if err != nil || len(page) != 1 {
			t.Fatalf("got %+v, %v", page, err)
		}
		me := page[0]
		_, err = w.SetMemberRole(w.ctx(), in.Principal, me.ID, models.RoleAdmin)
		wantFault(t, "the last owner is demoted", err, fault.Forbidden, "membershipId")
		_, err = w.RemoveMember(w.ctx(), in.Principal, me.ID)
		wantFault(t, "the last owner leaves", err, fault.Forbidden, "membershipId")
		if _, err := w.SetMemberRole(w.ctx(), in.Principal, me.ID, models.RoleOwner); err != nil {
			t.Errorf("the role that one has: %v", err)
		}
		if actions, _ := w.recorded(in.Org.ID); len(actions) != 0 {
			t.Errorf("recorded %v, and nothing happened", actions)
		}
		w.someone("other", in.Org.ID, models.RoleOwner)
		if _, err := w.SetMemberRole(w.ctx(), in.Principal, me.ID, models.RoleAdmin); err != nil {
			t.Errorf("one of two owners: %v", err)
		}
	})
}

// TestTwoOwnersWhoGoAtOnce lets two owners leave or demote themselves at the same moment, again and again: one stays, always.
func TestTwoOwnersWhoGoAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		for i := range 12 {
			org := w.createOrg(in, "Org "+string(rune('a'+i))).ID
			mine, err := w.ListMembers(w.ctx(), org, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			first := *in.Principal
			first.OrgID = org
			other, second := w.someone("other"+string(rune('a'+i)), org, models.RoleOwner)
			errs := make([]error, 2)
			var wg sync.WaitGroup
			wg.Go(func() { _, errs[0] = w.RemoveMember(w.ctx(), &first, mine[0].ID) })
			wg.Go(func() {
				if i%2 == 0 {
					_, errs[1] = w.RemoveMember(w.ctx(), second, other.ID)
				} else {
					_, errs[1] = w.SetMemberRole(w.ctx(), second, other.ID, models.RoleViewer)
				}
			})
			wg.Wait()
			refused := 0
			for _, err := range errs {
				if err != nil {
					wantFault(t, "the one who came second", err, fault.Forbidden, "membershipId")
					refused++
				}
			}
			if owners := w.count(&models.Membership{}, "org_id = ? AND role = 'OWNER'", org); refused != 1 || owners != 1 {
				t.Errorf("%d were refused and %d owners are left, want 1 and 1", refused, owners)
			}
		}
	})
}

func TestMembersOfOthersLookLikeNone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		theirs := w.createOrg(in, "Theirs").ID
		foreign, _ := w.someone("foreign", theirs, models.RoleMember)
		unknown := models.NewID[models.MembershipEntity]()
		foreignInv, _, err := w.Invite(w.ctx(), &auth.Principal{UserID: in.User.ID, OrgID: theirs}, "x@example.com", models.RoleViewer)
		if err != nil {
			t.Fatal(err)
		}
		unknownInv := models.NewID[models.InvitationEntity]()
		for name, c := range map[string]struct {
			at      string
			foreign func() error
			unknown func() error
		}{
			"set": {"membershipId", func() error {
				_, err := w.SetMemberRole(w.ctx(), in.Principal, foreign.ID, models.RoleViewer)
				return err
			},
				func() error { _, err := w.SetMemberRole(w.ctx(), in.Principal, unknown, models.RoleViewer); return err }},
			"remove": {"membershipId", func() error { _, err := w.RemoveMember(w.ctx(), in.Principal, foreign.ID); return err },
				func() error { _, err := w.RemoveMember(w.ctx(), in.Principal, unknown); return err }},
			"revoke": {"id", func() error { _, err := w.RevokeInvitation(w.ctx(), in.Principal, foreignInv.ID); return err },
				func() error { _, err := w.RevokeInvitation(w.ctx(), in.Principal, unknownInv); return err }},
		} {
			a, b := c.foreign(), c.unknown()
			wantFault(t, name+" foreign", a, fault.NotFound, c.at)
			wantFault(t, name+" unknown", b, fault.NotFound, c.at)
			mask := strings.NewReplacer(foreign.ID.String(), "ID", unknown.String(), "ID", foreignInv.ID.String(), "ID", unknownInv.String(), "ID")
			if mask.Replace(a.Error()) != mask.Replace(b.Error()) {
				t.Errorf("%s: the answers differ: %q, %q", name, a, b)
			}
		}
		if _, err := w.Membership(w.ctx(), in.Org.ID, foreign.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if _, err := w.Invitation(w.ctx(), in.Org.ID, foreignInv.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if w.roleOf(foreign) != models.RoleMember {
			t.Error("a foreign member was changed")
		}
		if list, err := w.ListInvitations(w.ctx(), in.Org.ID, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("got %+v, %v", list, err)
		}
	})
}

// TestWhoIsRemovedOrDemotedLosesAccess looks at the node that did it, where it shows at once, and at another one, within 5 s.
func TestWhoIsRemovedOrDemotedLosesAccess(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		home := w.createOrg(in, "Their own").ID
		u := w.addUser("ada@example.com", "ada-password", in.Org.ID)
		w.join(home, u.ID, models.RoleViewer)
		other := newNode(t, w.db, w.clock, nil)
		ada, err := w.SignIn(w.ctx(), credentialsOf("ada@example.com", "ada-password", &in.Org.ID))
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range []*world{w, other} {
			if p, err := node.Authenticate(w.ctx(), ada.Access); err != nil || !p.Can(auth.SessionsWrite) {
				t.Fatalf("got %+v, %v", p, err)
			}
		}
		var m models.Membership
		if err := store.Of(w.db.ReadAcross(t.Context()), in.Org.ID).Where("user_id = ?", u.ID).Take(&m).Error; err != nil {
			t.Fatal(err)
		}
		demoted, err := w.SetMemberRole(w.ctx(), in.Principal, m.ID, models.RoleViewer)
		if err != nil || demoted.Role != models.RoleViewer {
			t.Fatalf("got %+v, %v", demoted, err)
		}
		_, last := w.recorded(in.Org.ID)
		if last["before"] != "MEMBER" || last["after"] != "VIEWER" || last["target"] != m.ID.String() || last["userId"] != u.ID.String() ||
			last["actor"] != in.User.ID.String() {
			t.Errorf("recorded %v", last)
		}
		if p, err := w.Authenticate(w.ctx(), ada.Access); err != nil || p.Can(auth.SessionsWrite) || p.Role != models.RoleViewer {
			t.Errorf("here: got %+v, %v", p, err)
		}
		w.clock.Advance(5 * time.Second)
		if p, err := other.Authenticate(w.ctx(), ada.Access); err != nil || p.Can(auth.SessionsWrite) {
			t.Errorf("elsewhere: got %+v, %v", p, err)
		}
		if _, err := w.RemoveMember(w.ctx(), in.Principal, m.ID); err != nil {
			t.Fatal(err)
		}
		actions, last := w.recorded(in.Org.ID)
		if !slices.Equal(actions, []string{"member.role_changed", "member.removed"}) || last["role"] != "VIEWER" {
			t.Errorf("recorded %v, last %v", actions, last)
		}
		_, err = w.Authenticate(w.ctx(), ada.Access)
		wantUnauthenticated(t, "here", err)
		w.clock.Advance(5 * time.Second)
		_, err = other.Authenticate(w.ctx(), ada.Access)
		wantUnauthenticated(t, "elsewhere", err)
		_, err = w.Refresh(w.ctx(), ada.Refresh)
		wantFault(t, "their refresh token", err, fault.InvalidCredentials)
		_, err = w.RemoveMember(w.ctx(), in.Principal, m.ID)
		wantFault(t, "a second time", err, fault.NotFound, "membershipId")
		if next := w.signIn("ada@example.com", "ada-password"); next.Org.ID != home {
			t.Errorf("the next sign-in goes to %v", next.Org)
		}
	})
}

// TestWhoLostTheRightMeanwhileCantUseIt has a principal whose right to manage members ended after its token was looked at.
func TestWhoLostTheRightMeanwhileCantUseIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		org := w.owner().Org.ID
		me, p := w.someone("me", org, models.RoleAdmin)
		w.removeMember(org, me.UserID)
		target, _ := w.someone("target", org, models.RoleViewer)
		_, err := w.RemoveMember(w.ctx(), p, target.ID)
		wantFault(t, "remove", err, fault.Forbidden)
		_, _, err = w.Invite(w.ctx(), p, "me2@example.com", models.RoleAdmin)
		wantFault(t, "invite", err, fault.Forbidden)
	})
}

func TestMembersArePaged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		for _, name := range []string{"a", "b", "c"} {
			w.someone(name, in.Org.ID, models.RoleMember)
		}
		var seen []models.MembershipID
		var after *models.MembershipID
		for {
			page, err := w.ListMembers(w.ctx(), in.Org.ID, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, m := range page {
				seen = append(seen, m.ID)
			}
			after = &seen[len(seen)-1]
		}
		if len(seen) != 4 || !slices.IsSortedFunc(seen, func(a, b models.MembershipID) int { return strings.Compare(b.String(), a.String()) }) {
			t.Errorf("got %v", seen)
		}
		if n, err := w.CountMembers(w.ctx(), in.Org.ID); err != nil || n != 4 {
			t.Errorf("got %d, %v", n, err)
		}
	})
}
