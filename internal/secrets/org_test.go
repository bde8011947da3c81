package secrets_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func newOrg(t *testing.T, db *store.DB) models.OrgID {
	t.Helper()
	id := models.NewID[models.OrgEntity]()
	if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		return tx.Create(&models.Org{ID: id, Name: "Org", Slug: id.String(), CreatedAt: 1}).Error
	}); err != nil {
		t.Fatal(err)
	}
	return id
}

func orgSecrets(t *testing.T, db *store.DB, clk clock.Clock) *secrets.OrgSecrets {
	t.Helper()
	s, err := secrets.NewOrgSecrets(db, keeper(t, 1), clk)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func getSecret(t *testing.T, s *secrets.OrgSecrets, org models.OrgID, name string) []byte {
	t.Helper()
	v, err := s.Get(t.Context(), org, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestASecretIsMadeOnceAndStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(time.Unix(1_800_000_000, 0))
		s, a, b := orgSecrets(t, db, clk), newOrg(t, db), newOrg(t, db)
		first := getSecret(t, s, a, secrets.SecretHooks)
		if len(first) != 32 || bytes.Equal(first, make([]byte, 32)) {
			t.Fatalf("got %d bytes, want 32 random ones", len(first))
		}
		clk.Advance(time.Hour)
		// Neither the cache's end nor another process changes it.
		for _, from := range []*secrets.OrgSecrets{s, orgSecrets(t, db, clk)} {
			if !bytes.Equal(getSecret(t, from, a, secrets.SecretHooks), first) {
				t.Error("it changed")
			}
		}
		if v, err := s.HookSecret(t.Context(), a); err != nil || !bytes.Equal(v, first) {
			t.Errorf("HookSecret gives another one: %v", err)
		}
		if bytes.Equal(getSecret(t, s, a, secrets.SecretWaits), first) || bytes.Equal(getSecret(t, s, b, secrets.SecretHooks), first) {
			t.Error("another purpose, or another organization, has the same secret")
		}
		// Whoever changes what they got changes nothing for others.
		clear(getSecret(t, s, a, secrets.SecretHooks))
		if !bytes.Equal(getSecret(t, s, a, secrets.SecretHooks), first) {
			t.Error("a caller changed the kept value")
		}
	})
}

func TestAllWhoAskAtOnceGetTheSameSecret(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(time.Unix(1_800_000_000, 0))
		for range 5 {
			org := newOrg(t, db)
			got := make([][]byte, 8)
			var wg sync.WaitGroup
			for i := range got {
				process := orgSecrets(t, db, clk)
				wg.Go(func() {
					var err error
					if got[i], err = process.Get(t.Context(), org, secrets.SecretWaits); err != nil {
						t.Errorf("process %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			for i := range got {
				if len(got[i]) != 32 || !bytes.Equal(got[i], got[0]) {
					t.Fatalf("process %d has another secret", i)
				}
			}
		}
	})
}

func TestARotatedSecretReachesEveryProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(time.Unix(1_800_000_000, 0))
		here, there, org := orgSecrets(t, db, clk), orgSecrets(t, db, clk), newOrg(t, db)
		old := getSecret(t, here, org, secrets.SecretHooks)
		getSecret(t, there, org, secrets.SecretHooks)
		fresh, err := here.Rotate(t.Context(), org, secrets.SecretHooks)
		if err != nil || len(fresh) != 32 || bytes.Equal(fresh, old) {
			t.Fatalf("rotate: %d bytes, %v", len(fresh), err)
		}
		if !bytes.Equal(getSecret(t, here, org, secrets.SecretHooks), fresh) {
			t.Error("where it was rotated the old one is still used")
		}
		if !bytes.Equal(getSecret(t, there, org, secrets.SecretHooks), old) {
			t.Error("the cache isn't used")
		}
		clk.Advance(secrets.OrgSecretStaleness)
		if !bytes.Equal(getSecret(t, there, org, secrets.SecretHooks), fresh) {
			t.Error("another process still uses the old one")
		}
		// One that was never asked for can be rotated, too.
		waits, err := here.Rotate(t.Context(), org, secrets.SecretWaits)
		if err != nil || !bytes.Equal(getSecret(t, there, org, secrets.SecretWaits), waits) {
			t.Errorf("a first rotation: %v", err)
		}
	})
}

func TestASecretDoesNotOpenInAnotherPlace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(time.Unix(1_800_000_000, 0))
		s, a, b := orgSecrets(t, db, clk), newOrg(t, db), newOrg(t, db)
		value := getSecret(t, s, a, secrets.SecretHooks)
		var row models.OrgSecret
		if err := store.Of(db.ReadAcross(t.Context()), a).Where("name = ?", secrets.SecretHooks).Take(&row).Error; err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(row.Sealed, value) {
			t.Error("it is stored as it is")
		}
		for _, moved := range []models.OrgSecret{
			{OrgID: b, Name: secrets.SecretHooks, Sealed: row.Sealed, CreatedAt: 1},
			{OrgID: a, Name: secrets.SecretWaits, Sealed: row.Sealed, CreatedAt: 1},
		} {
			if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&moved).Error }); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context(), moved.OrgID, moved.Name); !errors.Is(err, secrets.ErrOpen) {
				t.Errorf("copied to %s of %s: got %v, want ErrOpen", moved.Name, moved.OrgID, err)
			}
		}
	})
}

func TestSecretsAreOfKnownOrganizationsAndPurposes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s := orgSecrets(t, db, clock.NewManual(time.Unix(1_800_000_000, 0)))
		nobody := models.NewID[models.OrgEntity]()
		if _, err := s.Get(t.Context(), nobody, secrets.SecretHooks); !fault.Is(err, fault.NotFound) {
			t.Errorf("get of an unknown organization: %v", err)
		}
		if _, err := s.Rotate(t.Context(), nobody, secrets.SecretHooks); !fault.Is(err, fault.NotFound) {
			t.Errorf("rotate of an unknown organization: %v", err)
		}
		org := newOrg(t, db)
		if _, err := s.Get(t.Context(), org, "other"); err == nil {
			t.Error("an unknown purpose is taken")
		}
		if _, err := s.Rotate(t.Context(), org, "other"); err == nil {
			t.Error("an unknown purpose is rotated")
		}
	})
}
