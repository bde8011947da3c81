package secrets_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func keeperOf(t *testing.T, keys ...byte) *secrets.Keeper {
	t.Helper()
	raw := make([][]byte, 0, len(keys))
	for _, k := range keys {
		raw = append(raw, bytes.Repeat([]byte{k}, 32))
	}
	k, err := secrets.NewKeeper(raw[0], raw[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// vault is a database with secrets of every kind, sealed under key 1.
type vault struct {
	db        *store.DB
	clock     *clock.Manual
	orgs      [2]models.OrgID
	providers []models.Provider
	hooks     [2][]byte
	token     string
}

func placeOf(p models.Provider) secrets.Place {
	return secrets.Place{Org: p.OrgID, Table: "providers", Column: "credentials", Row: p.ID.String()}
}

func newVault(t *testing.T, db *store.DB, providers int) *vault {
	t.Helper()
	v := &vault{db: db, clock: clock.NewManual(time.Unix(1_800_000_000, 0))}
	keeper := keeperOf(t, 1)
	if err := keeper.VerifyKey(t.Context(), db, v.clock); err != nil {
		t.Fatal(err)
	}
	err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		for i := range v.orgs {
			v.orgs[i] = models.NewID[models.OrgEntity]()
			if err := tx.Create(&models.Org{ID: v.orgs[i], Name: "o", Slug: v.orgs[i].String()}).Error; err != nil {
				return err
			}
		}
		for i := range providers {
			p := models.Provider{OrgID: v.orgs[i%2], ID: models.NewID[models.ProviderEntity](), Kind: models.ProviderOpenAI, Lifecycle: models.LifecycleActive}
			p.Name = p.ID.String()
			if i != 2 { // one has no key
				var err error
				if p.Credentials, err = keeper.Seal([]byte("key of "+p.Name), placeOf(p)); err != nil {
					return err
				}
			}
			if err := tx.Create(&p).Error; err != nil {
				return err
			}
			v.providers = append(v.providers, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.hooks {
		v.hooks[i] = v.hook(t, keeper, v.orgs[i])
	}
	if v.token, _, err = v.tokens(t, keeper).Issue(t.Context(), auth.Claims{
		UserID: models.NewID[models.UserEntity](), OrgID: v.orgs[0], SignInID: models.NewID[models.SignInEntity](), Role: models.RoleOwner,
	}); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *vault) hook(t *testing.T, keeper *secrets.Keeper, org models.OrgID) []byte {
	t.Helper()
	s, err := secrets.NewOrgSecrets(v.db, keeper, v.clock)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Get(t.Context(), org, secrets.SecretHooks)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v *vault) tokens(t *testing.T, keeper *secrets.Keeper) *auth.AccessTokens {
	t.Helper()
	keys, err := auth.OpenKeys(t.Context(), v.db, keeper.SigningKeys(), v.clock)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.NewAccessTokens(keys, v.clock, auth.TokenConfig{Issuer: "i", Audience: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// opens checks that a keeper can start on the database and read everything.
func (v *vault) opens(t *testing.T, keeper *secrets.Keeper) {
	t.Helper()
	if err := keeper.VerifyKey(t.Context(), v.db, v.clock); err != nil {
		t.Fatal(err)
	}
	for _, was := range v.providers {
		var p models.Provider
		if err := store.Of(v.db.ReadAcross(t.Context()), was.OrgID).Where("id = ?", was.ID).Take(&p).Error; err != nil {
			t.Fatal(err)
		}
		if len(was.Credentials) == 0 {
			if len(p.Credentials) != 0 {
				t.Error("a provider without a key has one")
			}
			continue
		}
		if got, err := keeper.Open(p.Credentials, placeOf(p)); err != nil || string(got) != "key of "+p.Name {
			t.Fatalf("provider %s: %q, %v", p.Name, got, err)
		}
	}
	for i, org := range v.orgs {
		if !bytes.Equal(v.hook(t, keeper, org), v.hooks[i]) {
			t.Errorf("organization %d has another secret", i)
		}
	}
	if _, err := v.tokens(t, keeper).Verify(t.Context(), v.token); err != nil {
		t.Errorf("a token of before: %v", err)
	}
}

func TestRewrapEndsTheNeedForTheEarlierKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const providers = 230 // more than two batches
		v := newVault(t, db, providers)
		v.opens(t, keeperOf(t, 1))
		both := keeperOf(t, 2, 1)
		if err := keeperOf(t, 2).VerifyKey(t.Context(), db, v.clock); !errors.Is(err, secrets.ErrWrongKey) {
			t.Fatalf("the new key alone, before: %v", err)
		}
		v.opens(t, both)
		n, err := secrets.Rewrap(t.Context(), db, both, func(int) {})
		if want := providers - 1 + len(v.orgs) + 1; err != nil || n != want {
			t.Fatalf("rewrapped %d values, %v; want %d", n, err, want)
		}
		v.opens(t, keeperOf(t, 2))
		if err := keeperOf(t, 1).VerifyKey(t.Context(), db, v.clock); !errors.Is(err, secrets.ErrWrongKey) {
			t.Errorf("the earlier key alone, after: %v", err)
		}
		if n, err := secrets.Rewrap(t.Context(), db, keeperOf(t, 2), func(int) {}); err != nil || n != 0 {
			t.Errorf("once more: %d, %v", n, err)
		}
	})
}

func TestRewrapCanBeInterrupted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		v := newVault(t, db, 230)
		both := keeperOf(t, 2, 1)
		v.opens(t, both)
		interruptions, done := 0, 0
		for at := 1; ; at++ {
			if at > 20 {
				t.Fatal("it comes to no end")
			}
			// It dies after its next batch, again and again.
			ctx, cancel := context.WithCancel(t.Context())
			n, err := secrets.Rewrap(ctx, db, both, func(int) { cancel() })
			cancel()
			done += n
			v.opens(t, both)
			if err == nil {
				break
			}
			interruptions++
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			// Half is not enough: neither key alone may start.
			for _, alone := range []byte{1, 2} {
				if err := keeperOf(t, alone).VerifyKey(t.Context(), db, v.clock); !errors.Is(err, secrets.ErrWrongKey) {
					t.Fatalf("key %d alone in the middle: %v", alone, err)
				}
			}
		}
		if interruptions < 4 || done != 230-1+2+1 {
			t.Errorf("it was interrupted %d times, and rewrapped %d values", interruptions, done)
		}
		v.opens(t, keeperOf(t, 2))
	})
}

// A value that was put into another row, or into another organization's, must not be made good by being wrapped again.
func TestRewrapRefusesWhatWasMoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for name, pair := range map[string][2]int{"another row": {0, 4}, "another organization's": {0, 1}} {
			t.Run(name, func(t *testing.T) {
				v := newVault(t, db, 6)
				both := keeperOf(t, 2, 1)
				from, to := v.providers[pair[0]], v.providers[pair[1]]
				set := func(sealed []byte) {
					t.Helper()
					if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
						return store.OneRow(store.Of(tx.Model(&models.Provider{}), to.OrgID).Where("id = ?", to.ID).Update("credentials", sealed))
					}); err != nil {
						t.Fatal(err)
					}
				}
				set(from.Credentials)
				if _, err := both.Open(from.Credentials, placeOf(to)); !errors.Is(err, secrets.ErrOpen) {
					t.Errorf("it opens: %v", err)
				}
				if _, err := secrets.Rewrap(t.Context(), db, both, func(int) {}); !errors.Is(err, secrets.ErrOpen) {
					t.Errorf("it is wrapped: %v", err)
				}
				set(to.Credentials)
				v.opens(t, both)
				if _, err := secrets.Rewrap(t.Context(), db, both, func(int) {}); err != nil {
					t.Fatal(err)
				}
				// The next vault begins anew.
				if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
					return errors.Join(tx.Exec("DELETE FROM master_keys").Error, tx.Exec("DELETE FROM providers").Error,
						tx.Exec("DELETE FROM org_secrets").Error, tx.Exec("DELETE FROM signing_keys").Error)
				}); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// Every place where something is sealed is known to Rewrap: one that is not would be lost with the earlier key.
func TestRewrapKnowsAllPlaces(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("rewrap.go")
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile(`(?s)(?:Place|Column)\{[^{}]*?[tT]able: "(\w+)",\s*[cC]olumn: "(\w+)"`)
	n := 0
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "rewrap.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range place.FindAllStringSubmatch(string(b), -1) {
			n++
			if m[1] != "master_keys" && !strings.Contains(string(known), `{table: "`+m[1]+`", column: "`+m[2]+`"`) {
				t.Errorf("%s seals %s.%s, which sealedColumns doesn't have", path, m[1], m[2])
			}
		}
		return nil
	})
	if err != nil || n < 4 {
		t.Errorf("%d places were found, %v", n, err)
	}
}
