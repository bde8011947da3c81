package orgs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
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

var keyForm = regexp.MustCompile(`^ost_[0-9A-Za-z]{40}$`)

func (w *world) key(by *auth.Principal, in orgs.NewAPIKey) (*models.APIKey, string) {
	w.t.Helper()
	if in.Name == "" {
		in.Name = "CI"
	}
	row, key, err := w.CreateAPIKey(w.ctx(), by, in)
	if err != nil {
		w.t.Fatalf("create a key: %v", err)
	}
	return row, key
}

func (w *world) principal(token string) *auth.Principal {
	w.t.Helper()
	p, err := w.Authenticate(w.ctx(), token)
	if err != nil {
		w.t.Fatalf("authenticate: %v", err)
	}
	return p
}

func (w *world) auditActions(org models.OrgID) []string {
	w.t.Helper()
	var list []models.AuditEntry
	if err := store.Of(w.db.ReadAcross(w.t.Context()), org).Order("position").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	var actions []string
	for _, e := range list {
		actions = append(actions, e.Action+" "+e.TargetID+" by "+string(e.ActorKind))
	}
	return actions
}

func TestAPIKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		row, key := w.key(in.Principal, orgs.NewAPIKey{Name: "  The CI ", Permissions: []string{"SESSIONS_READ", "ORG_READ", "ORG_READ"}})
		if !keyForm.MatchString(key) || row.Name != "The CI" || row.Prefix != key[:12] || row.ExpiresAt != nil || row.LastUsedAt != nil {
			t.Errorf("got %s and %+v", key, row)
		}
		if got := fmt.Sprint(row.Permissions); got != "[ORG_READ CATALOG_READ SESSIONS_READ]" {
			t.Errorf("the permissions are %s", got)
		}
		sum := sha256.Sum256([]byte(key))
		if n := w.count(&models.APIKey{}, "hash = ?", sum[:]); n != 1 {
			t.Errorf("%d rows have the hash", n)
		}

		p := w.principal(key)
		if p.KeyID != row.ID || p.OrgID != in.Org.ID || !p.UserID.IsZero() || p.Role != "" || p.Operator || !p.ExpiresAt.IsZero() ||
			p.Permissions != auth.PermissionsOf(auth.OrgRead, auth.CatalogRead, auth.SessionsRead) {
			t.Errorf("the key stands for %+v", p)
		}
		if kind, id := p.Actor(); kind != models.ActorAPIKey || models.APIKeyID(id) != row.ID {
			t.Errorf("the actor is %s %s", kind, id)
		}
		v, err := w.Viewer(w.ctx(), p)
		if err != nil || v.User != nil || v.Key == nil || v.Key.ID != row.ID || v.Org.ID != in.Org.ID {
			t.Errorf("the viewer is %+v, %v", v, err)
		}

		for name, wrong := range map[string]string{
			"another one": "ost_" + strings.Repeat("a", 40), "cut": key[:43], "longer": key + "a", "no random part": "ost_",
			"the prefix": row.Prefix, "its hash": hex.EncodeToString(sum[:]), "a letter too exotic": key[:43] + "é",
		} {
			_, err := w.Authenticate(w.ctx(), wrong)
			wantUnauthenticated(t, name, err)
		}
		if got, want := w.auditActions(in.Org.ID), "apiKey.created "+row.ID.String()+" by USER"; len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("the audit has %v", got)
		}
	})
}

func TestAPIKeysAreRandom(t *testing.T) {
	w := newSQLiteWorld(t)
	in, seen := w.owner(), map[rune]bool{}
	keys := map[string]bool{}
	for range 60 {
		_, key := w.key(in.Principal, orgs.NewAPIKey{})
		keys[key] = true
		for _, r := range key[4:] {
			seen[r] = true
		}
	}
	// That one of 62 letters is missing among 2400 happens once in 10¹⁵ runs.
	if len(keys) != 60 || len(seen) != 62 {
		t.Errorf("%d different keys of %d different letters", len(keys), len(seen))
	}
}

func TestAPIKeyRefusals(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		now := models.MillisOf(start)
		for name, c := range map[string]struct {
			in   orgs.NewAPIKey
			code fault.Code
			at   string
		}{
			"empty name":         {orgs.NewAPIKey{Name: " "}, fault.Invalid, "name"},
			"long name":          {orgs.NewAPIKey{Name: strings.Repeat("ä", 201)}, fault.Invalid, "name"},
			"NUL":                {orgs.NewAPIKey{Name: "a\x00b"}, fault.Invalid, "name"},
			"unknown permission": {orgs.NewAPIKey{Name: "a", Permissions: []string{"ALL"}}, fault.Invalid, "permissions"},
			"too many":           {orgs.NewAPIKey{Name: "a", Permissions: slices.Repeat([]string{"ORG_READ"}, 101)}, fault.Invalid, "permissions"},
			"platform":           {orgs.NewAPIKey{Name: "a", Permissions: []string{"PLATFORM_READ"}}, fault.Forbidden, "permissions"},
			"now":                {orgs.NewAPIKey{Name: "a", ExpiresAt: &now}, fault.Invalid, "expiresAt"},
		} {
			_, _, err := w.CreateAPIKey(w.ctx(), in.Principal, c.in)
			wantFault(t, name, err, c.code, "input", c.at)
		}
		if n := w.count(&models.APIKey{}, "1 = 1"); n != 0 {
			t.Errorf("%d keys exist", n)
		}
		if list := w.auditActions(in.Org.ID); slices.ContainsFunc(list, func(a string) bool { return strings.HasPrefix(a, "apiKey.") }) {
			t.Errorf("the audit has %v", list)
		}
	})
}

// A key may do no more than who creates it, however much the principal says.
func TestAPIKeysAreNoWiderThanTheirCreators(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		admin := w.addUser("admin@example.com", "admin-password")
		setRole := func(role models.Role) {
			w.write(func(tx *gorm.DB) error {
				return store.Of(tx.Model(&models.Membership{}), in.Org.ID).Where("user_id = ?", admin.ID).Update("role", role).Error
			})
		}
		w.write(func(tx *gorm.DB) error {
			return tx.Create(&models.Membership{
				OrgID: in.Org.ID, ID: models.NewID[models.MembershipEntity](), UserID: admin.ID, Role: models.RoleAdmin, CreatedAt: 1,
			}).Error
		})
		by := w.signIn("admin@example.com", "admin-password").Principal
		create := func(by *auth.Principal, permissions ...string) error {
			_, _, err := w.CreateAPIKey(w.ctx(), by, orgs.NewAPIKey{Name: "a", Permissions: permissions})
			return err
		}
		wantFault(t, "wider than an admin", create(by, "ORG_READ", "ORG_MANAGE"), fault.Forbidden, "input", "permissions")

		_, key := w.key(by, orgs.NewAPIKey{Permissions: []string{"API_KEYS_MANAGE", "SESSIONS_WRITE"}})
		p := w.principal(key)
		wantFault(t, "wider than a key", create(p, "SESSIONS_READ"), fault.Forbidden, "input", "permissions")
		if err := create(p, "SESSIONS_WRITE"); err != nil {
			t.Errorf("a key within a key: %v", err)
		}
		_, reader := w.key(by, orgs.NewAPIKey{Permissions: []string{"API_KEYS_MANAGE", "SESSIONS_READ"}})
		if err := create(w.principal(reader), "CATALOG_READ"); err != nil {
			t.Errorf("what is implied may be passed on: %v", err)
		}

		// What a principal says may be out of date by the time that the key is made.
		setRole(models.RoleMember)
		wantFault(t, "who was demoted", create(by, "ORG_READ"), fault.Forbidden)
		w.removeMember(in.Org.ID, admin.ID)
		wantFault(t, "who was removed", create(by, "ORG_READ"), fault.Forbidden)
		if _, err := w.RevokeAPIKey(w.ctx(), in.Principal, p.KeyID); err != nil {
			t.Fatal(err)
		}
		wantFault(t, "a key that was revoked", create(p, "SESSIONS_WRITE"), fault.Forbidden)
	})
}

func TestRevokedKeysEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		row, key := w.key(in.Principal, orgs.NewAPIKey{Permissions: []string{"ORG_READ"}})
		w.principal(key)
		other := newNode(t, w.db, w.clock, nil)
		if _, err := other.Authenticate(w.ctx(), key); err != nil {
			t.Fatal(err)
		}
		stranger := w.createOrg(in, "Strangers")
		theirs := *in.Principal
		theirs.OrgID = stranger.ID
		_, err := w.RevokeAPIKey(w.ctx(), &theirs, row.ID)
		wantFault(t, "another organization's", err, fault.NotFound, "id")
		_, err = w.RevokeAPIKey(w.ctx(), in.Principal, models.NewID[models.APIKeyEntity]())
		wantFault(t, "an unknown one", err, fault.NotFound, "id")
		if _, err := w.Authenticate(w.ctx(), key); err != nil {
			t.Errorf("a refused revocation ended the key: %v", err)
		}

		var both sync.WaitGroup
		ends := make([]*models.APIKey, 2)
		for i := range ends {
			both.Go(func() {
				var err error
				if ends[i], err = w.RevokeAPIKey(w.ctx(), in.Principal, row.ID); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if t.Failed() {
			return
		}
		w.clock.Advance(time.Second)
		again, err := w.RevokeAPIKey(w.ctx(), in.Principal, row.ID)
		if err != nil || *again.RevokedAt != *ends[0].RevokedAt || *again.RevokedAt != *ends[1].RevokedAt {
			t.Errorf("revoked again: %+v, %v", again, err)
		}
		revoked := slices.DeleteFunc(w.auditActions(in.Org.ID), func(a string) bool { return !strings.HasPrefix(a, "apiKey.revoked ") })
		if len(revoked) != 1 {
			t.Errorf("the audit has %v", revoked)
		}
		_, err = w.Authenticate(w.ctx(), key)
		wantUnauthenticated(t, "here", err)
		w.clock.Advance(time.Second)
		_, err = other.Authenticate(w.ctx(), key)
		wantUnauthenticated(t, "at another node, 2 s later", err)
		if k, err := w.APIKey(w.ctx(), in.Org.ID, row.ID); err != nil || k.Name != "CI" {
			t.Errorf("a revoked key is %+v, %v", k, err)
		}
	})
}

func TestAPIKeysExpire(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		ends := models.MillisOf(start.Add(time.Minute))
		_, key := w.key(in.Principal, orgs.NewAPIKey{ExpiresAt: &ends})
		w.clock.Advance(time.Minute - time.Millisecond)
		if p := w.principal(key); !p.ExpiresAt.Equal(ends.Time()) {
			t.Errorf("the principal ends at %v", p.ExpiresAt)
		}
		w.clock.Advance(time.Millisecond)
		_, err := w.Authenticate(w.ctx(), key)
		if !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("at its end, from the cache: %v", err)
		}
	})
}

func TestLastUseOfKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		row, key := w.key(in.Principal, orgs.NewAPIKey{})
		idle, _ := w.key(in.Principal, orgs.NewAPIKey{})
		last := func() string {
			if err := w.StoreKeyUses(w.ctx()); err != nil {
				t.Fatal(err)
			}
			k, err := w.APIKey(w.ctx(), in.Org.ID, row.ID)
			if err != nil || k.LastUsedAt == nil {
				return fmt.Sprint("never ", err)
			}
			return k.LastUsedAt.Time().Sub(start).String()
		}
		if got := last(); got != "never <nil>" {
			t.Errorf("before its first use: %s", got)
		}
		w.principal(key)
		if got := last(); got != "0s" {
			t.Errorf("after the first use: %s", got)
		}
		w.clock.Advance(59 * time.Second)
		w.principal(key)
		if got := last(); got != "0s" {
			t.Errorf("used again within the minute: %s", got)
		}
		w.clock.Advance(2 * time.Second)
		w.principal(key)
		if got := last(); got != "1m1s" {
			t.Errorf("used after a minute: %s", got)
		}
		if k, err := w.APIKey(w.ctx(), in.Org.ID, idle.ID); err != nil || k.LastUsedAt != nil {
			t.Errorf("a key that nobody uses: %+v, %v", k, err)
		}
	})
}

func TestListsOfAPIKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		other := w.createOrg(in, "Other")
		theirs := *in.Principal
		theirs.OrgID = other.ID
		foreign, _ := w.key(&theirs, orgs.NewAPIKey{})
		var ids []models.APIKeyID
		for range 3 {
			row, _ := w.key(in.Principal, orgs.NewAPIKey{})
			ids = append([]models.APIKeyID{row.ID}, ids...)
		}
		list, err := w.ListAPIKeys(w.ctx(), in.Org.ID, nil, 2)
		if err != nil || len(list) != 2 || list[0].ID != ids[0] || list[1].ID != ids[1] {
			t.Errorf("got %+v, %v", list, err)
		}
		list, err = w.ListAPIKeys(w.ctx(), in.Org.ID, &ids[1], 2)
		if err != nil || len(list) != 1 || list[0].ID != ids[2] {
			t.Errorf("the second page: %+v, %v", list, err)
		}
		if n, err := w.CountAPIKeys(w.ctx(), in.Org.ID); err != nil || n != 3 {
			t.Errorf("counted %d, %v", n, err)
		}
		list, err = w.APIKeysByID(w.ctx(), in.Org.ID, []models.APIKeyID{ids[0], foreign.ID})
		if err != nil || len(list) != 1 || list[0].ID != ids[0] {
			t.Errorf("by ids: %+v, %v", list, err)
		}
		_, err = w.APIKey(w.ctx(), in.Org.ID, foreign.ID)
		wantFault(t, "another organization's", err, fault.NotFound)
	})
}

// What is about a person's own sign-in needs a person.
func TestKeysAreNoPersons(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		_, key := w.key(in.Principal, orgs.NewAPIKey{Permissions: in.Principal.Permissions.Names()[:19]})
		p := w.principal(key)
		_, err := w.CreateOrg(w.ctx(), p, orgs.NewOrg{Name: "Mine"})
		wantFault(t, "createOrg", err, fault.Forbidden)
		_, err = w.SwitchOrg(w.ctx(), p, in.Org.ID)
		wantFault(t, "switchOrg", err, fault.Forbidden)
		wantFault(t, "changePassword", w.ChangePassword(w.ctx(), p, ownerPassword, "another-password"), fault.Forbidden)
		wantFault(t, "signOut", w.SignOut(w.ctx(), p, in.Refresh), fault.Forbidden)
		if n := w.count(&models.SignIn{}, "revoked_at IS NOT NULL"); n != 0 {
			t.Errorf("%d sign-ins have ended", n)
		}
	})
}
