package secrets_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestADatabaseBelongsToItsMasterKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(time.Unix(1_800_000_000, 0))
		verify := func(k *secrets.Keeper) error { clk.Advance(time.Second); return k.VerifyKey(t.Context(), db, clk) }
		for range 2 {
			if err := verify(keeper(t, 1)); err != nil {
				t.Fatalf("its own key: %v", err)
			}
		}
		err := verify(keeper(t, 2))
		if !errors.Is(err, secrets.ErrWrongKey) || !strings.Contains(err.Error(), "OSTLER_MASTER_KEY") {
			t.Fatalf("another key: got %v, want ErrWrongKey", err)
		}
		if err := verify(keeper(t, 1, 2)); err != nil {
			t.Fatalf("its own key and one to come: %v", err)
		}
		if err := verify(keeper(t, 2, 1)); err != nil {
			t.Fatalf("a new key with its own as the previous one: %v", err)
		}
		for _, alone := range []byte{1, 2} {
			if err := verify(keeper(t, alone)); !errors.Is(err, secrets.ErrWrongKey) {
				t.Fatalf("one key in the middle of a rotation: got %v, want ErrWrongKey", err)
			}
		}
		if err := verify(keeper(t, 2, 1)); err != nil {
			t.Fatalf("both keys in the middle of a rotation: %v", err)
		}
		// What the row claims must be proven, not only named.
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Model(&models.MasterKey{}).Where("id = ?", keeper(t, 2).KeyID()).Update("sealed", []byte("x")).Error
		}); err != nil {
			t.Fatal(err)
		}
		if err := verify(keeper(t, 2, 1)); !errors.Is(err, secrets.ErrWrongKey) {
			t.Fatalf("a fingerprint without proof: got %v, want ErrWrongKey", err)
		}
	})
}

func TestNodesWithDifferentKeysCanNotStartTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(time.Unix(1_800_000_000, 0))
		// Nodes don't meet in every round.
		for range 10 {
			var started, refused atomic.Int32
			var wg sync.WaitGroup
			for i := range byte(6) {
				k := keeper(t, i)
				wg.Go(func() {
					switch err := k.VerifyKey(t.Context(), db, clk); {
					case err == nil:
						started.Add(1)
					case errors.Is(err, secrets.ErrWrongKey):
						refused.Add(1)
					default:
						t.Errorf("got %v", err)
					}
				})
			}
			wg.Wait()
			if started.Load() != 1 || refused.Load() != 5 {
				t.Fatalf("%d started and %d were refused, want 1 and 5", started.Load(), refused.Load())
			}
			if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
				return tx.Where("id <> ''").Delete(&models.MasterKey{}).Error
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
