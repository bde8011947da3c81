package orgs_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

const (
	ownerEmail    = "Owner@Example.com"
	ownerPassword = "owner-password"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// seeder gives every organization a harness and a model, as the catalog does.
type seeder struct{ err error }

func (s seeder) SeedOrg(_ context.Context, tx *gorm.DB, org models.OrgID, now models.Millis) (models.HarnessID, models.ModelID, error) {
	p := models.Provider{
		OrgID: org, ID: models.NewID[models.ProviderEntity](), Name: "Simulated", Kind: models.ProviderSimulated,
		Lifecycle: models.LifecycleActive, CreatedAt: now, UpdatedAt: now,
	}
	m := models.Model{OrgID: org, ID: models.NewID[models.ModelEntity](), ProviderID: p.ID, Name: "sim-default", CreatedAt: now, UpdatedAt: now}
	h := models.Harness{
		OrgID: org, ID: models.NewID[models.HarnessEntity](), Name: "generic", Lifecycle: models.LifecycleActive,
		Capabilities: []models.CapabilityRef{}, BuiltIn: true, CreatedAt: now, UpdatedAt: now,
	}
	for _, row := range []any{&p, &m, &h} {
		if err := tx.Create(row).Error; err != nil {
			return h.ID, m.ID, err
		}
	}
	return h.ID, m.ID, s.err
}

func (seeder) DefaultsChanged(models.OrgID) {}

// world is one node on one database, with an owner in the organization "Default".
type world struct {
	*orgs.Service

	t      *testing.T
	db     *store.DB
	clock  *clock.Manual
	tokens *auth.AccessTokens
}

func newNode(t *testing.T, db *store.DB, clk *clock.Manual, change func(*orgs.Config)) *world {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := auth.OpenKeys(t.Context(), db, keeper.SigningKeys(), clk)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.NewAccessTokens(keys, clk, auth.TokenConfig{Issuer: "https://ostler.test", Audience: "ostler"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := orgs.Config{
		DB: db, Clock: clk, Passwords: auth.NewPasswords(), Tokens: tokens, Secrets: keeper, Seeder: seeder{},
		AdminEmail: ownerEmail, AdminPassword: ownerPassword,
	}
	if change != nil {
		change(&cfg)
	}
	s, err := orgs.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &world{Service: s, t: t, db: db, clock: clk, tokens: tokens}
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := newNode(t, db, clock.NewManual(start), nil)
	if _, err := w.FirstStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

func (w *world) ctx() context.Context {
	return auth.WithRequest(w.t.Context(), &auth.RequestInfo{
		Address: "192.0.2.1", UserAgent: "test", SetCookies: func(auth.TokenCookies) bool { return true },
	})
}

func (w *world) write(fn func(tx *gorm.DB) error) {
	w.t.Helper()
	if err := w.db.WriteAcross(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// asOwner runs a statement as the owner of the tables.
func (w *world) asOwner(statement string) {
	w.t.Helper()
	if _, err := storetest.Exec(w.t.Context(), w.db, statement); err != nil {
		w.t.Fatal(err)
	}
}

// addUser makes another person, a member of the organizations given.
func (w *world) addUser(email, password string, in ...models.OrgID) models.User {
	w.t.Helper()
	hash, err := auth.NewPasswords().Hash(w.t.Context(), password)
	if err != nil {
		w.t.Fatal(err)
	}
	u := models.User{ID: models.NewID[models.UserEntity](), Email: email, EmailKey: email, Name: email, PasswordHash: hash, CreatedAt: 1}
	w.write(func(tx *gorm.DB) error {
		if err := tx.Create(&u).Error; err != nil {
			return err
		}
		for _, org := range in {
			if err := tx.Create(&models.Membership{
				OrgID: org, ID: models.NewID[models.MembershipEntity](), UserID: u.ID, Role: models.RoleMember, CreatedAt: 1,
			}).Error; err != nil {
				return err
			}
		}
		return nil
	})
	return u
}

func (w *world) signIn(email, password string) *orgs.SignedIn {
	w.t.Helper()
	done, err := w.SignIn(w.ctx(), orgs.Credentials{Email: email, Password: password, Transport: auth.TransportBody})
	if err != nil {
		w.t.Fatalf("sign in as %s: %v", email, err)
	}
	return done
}

func (w *world) owner() *orgs.SignedIn {
	w.t.Helper()
	return w.signIn(ownerEmail, ownerPassword)
}

func (w *world) createOrg(by *orgs.SignedIn, name string) models.Org {
	w.t.Helper()
	org, err := w.CreateOrg(w.ctx(), by.Principal, orgs.NewOrg{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return org
}

func (w *world) count(model any, where string, args ...any) int64 {
	w.t.Helper()
	var n int64
	if err := store.CrossOrg(w.db.ReadAcross(w.t.Context())).Model(model).Where(where, args...).Count(&n).Error; err != nil {
		w.t.Fatal(err)
	}
	return n
}

func wantFault(t *testing.T, what string, err error, code fault.Code, path ...string) {
	t.Helper()
	f := fault.As(err)
	if f == nil || f.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
		return
	}
	if len(f.Path) != len(path) {
		t.Errorf("%s: got path %v, want %v", what, f.Path, path)
		return
	}
	for i := range path {
		if f.Path[i] != path[i] {
			t.Errorf("%s: got path %v, want %v", what, f.Path, path)
		}
	}
}
