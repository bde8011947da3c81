package auth_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestNodesThatStartAtOnceShareOneKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		nodes := make([]*auth.AccessTokens, 6)
		var wg sync.WaitGroup
		for i := range nodes {
			wg.Go(func() {
				keys, err := auth.OpenKeys(t.Context(), db, plain{}, clk)
				if err != nil {
					t.Error(err)
					return
				}
				if nodes[i], err = auth.NewAccessTokens(keys, clk, config); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var n int64
		if err := db.ReadAcross(t.Context()).Model(&models.SigningKey{}).Count(&n).Error; err != nil || n != 1 {
			t.Fatalf("got %d keys, %v", n, err)
		}
		if t.Failed() {
			return
		}
		token, _ := issue(t, nodes[0], someone())
		for i, other := range nodes {
			if _, err := other.Verify(t.Context(), token); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		}
	})
}

func TestARetiredKeyStillVerifies(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		first, _ := node(t, db, clk)
		old, _ := issue(t, first, someone())
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Model(&models.SigningKey{}).Where("retired_at IS NULL").Update("retired_at", clock.Millis(clk)).Error
		}); err != nil {
			t.Fatal(err)
		}
		clk.Advance(2 * time.Second)
		second, _ := node(t, db, clk)
		fresh, _ := issue(t, second, someone())
		// A node that doesn't know the new key looks for it; one that started later knows the retired one.
		for name, err := range map[string]error{
			"the new key on the old node": verify(t, first, fresh),
			"the old key on the new node": verify(t, second, old),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		// The old node signs with the new key from now on: it has read the set again.
		again, _ := issue(t, first, someone())
		a, _ := parts(t, again)
		b, _ := parts(t, fresh)
		if a["kid"] != b["kid"] {
			t.Error("a retired key signs")
		}
		clk.Advance(15 * time.Minute)
		if err := verify(t, second, old); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("a token of a key that is gone: got %v", err)
		}
	})
}

func TestAKeyOfAnotherSealIsRefused(t *testing.T) {
	db := storetest.SQLite(t)
	clk := clock.NewManual(start)
	node(t, db, clk)
	if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		return tx.Model(&models.SigningKey{}).Where("retired_at IS NULL").Update("private_key", []byte("other|key")).Error
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := auth.OpenKeys(t.Context(), db, plain{}, clk); err == nil {
		t.Error("the set was read")
	}
}

func verify(t *testing.T, tokens *auth.AccessTokens, token string) error {
	t.Helper()
	_, err := tokens.Verify(t.Context(), token)
	return err
}
