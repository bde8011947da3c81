package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// kid returns the id of the key that signs on a node now.
func kid(t *testing.T, tokens *auth.AccessTokens) string {
	t.Helper()
	token, _ := issue(t, tokens, someone())
	header, _ := parts(t, token)
	id, _ := header["kid"].(string)
	return id
}

// published reads a node's key set with a library that is not ours.
func published(t *testing.T, tokens *auth.AccessTokens) jose.JSONWebKeySet {
	t.Helper()
	body, err := tokens.JWKS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(body, &set); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	for _, key := range set.Keys {
		if !key.Valid() || !key.IsPublic() || key.Use != "sig" || key.Algorithm != "EdDSA" {
			t.Errorf("a published key is %+v", key)
		}
	}
	return set
}

// foreignVerify verifies a token as somebody does who has nothing but the published set.
func foreignVerify(token string, set jose.JSONWebKeySet, now time.Time) error {
	parsed, err := josejwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return err
	}
	var claims josejwt.Claims
	if err := parsed.Claims(set, &claims); err != nil {
		return err
	}
	return claims.ValidateWithLeeway(josejwt.Expected{Issuer: config.Issuer, AnyAudience: josejwt.Audience{config.Audience}, Time: now}, 0)
}

func keyRows(t *testing.T, db *store.DB) int64 {
	t.Helper()
	var n int64
	if err := db.ReadAcross(t.Context()).Model(&models.SigningKey{}).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKeysRotateByThemselves(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		tokens, keys := node(t, db, clk)
		first := kid(t, tokens)
		due := func() auth.Rotation {
			t.Helper()
			done, err := keys.RotateDue(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		clk.Advance(auth.KeyLifetime - time.Millisecond)
		if done := due(); done.Made || keyRows(t, db) != 1 {
			t.Fatalf("before its time: %+v", done)
		}
		clk.Advance(time.Millisecond)
		done := due()
		if !done.Made || done.KeyID == first || !done.SignsAt.Equal(clk.Now().Add(auth.KeyLead)) {
			t.Fatalf("at its time: got %+v", done)
		}
		if again := due(); again.Made || keyRows(t, db) != 2 {
			t.Errorf("it was made twice: %+v", again)
		}
		// The new key is published before it signs.
		clk.Advance(auth.KeyLead - time.Millisecond)
		if set := published(t, tokens); len(set.Keys) != 2 || len(set.Key(done.KeyID)) != 1 {
			t.Errorf("published: %+v", set)
		}
		if got := kid(t, tokens); got != first {
			t.Errorf("before the new key's time %s signs", got)
		}
		last, ends := issue(t, tokens, someone())
		clk.Advance(time.Millisecond)
		if got := kid(t, tokens); got != done.KeyID {
			t.Errorf("at the new key's time %s signs", got)
		}
		// What the old one signed last is good until it ends, here and elsewhere.
		other, _ := node(t, db, clk)
		clk.Advance(ends.Sub(clk.Now()) - time.Millisecond)
		for name, n := range map[string]*auth.AccessTokens{"here": tokens, "a node that started later": other} {
			if err := verify(t, n, last); err != nil {
				t.Errorf("%s: a token of before the rotation: %v", name, err)
			}
		}
		if err := foreignVerify(last, published(t, tokens), clk.Now()); err != nil {
			t.Errorf("a token of before the rotation, by the published set: %v", err)
		}
		// Then the key goes.
		clk.Advance(5 * time.Minute)
		if set := published(t, tokens); len(set.Keys) != 1 || set.Keys[0].KeyID != done.KeyID {
			t.Errorf("published in the end: %+v", set)
		}
		if due(); keyRows(t, db) != 1 {
			t.Error("the row of the old key stays")
		}
	})
}

// A token whose key has retired for good is refused for its key, even if its own time were not over.
func TestTheKeyOfATokenMustNotBeGone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		tokens, keys := node(t, db, clk)
		if _, err := keys.RotateNow(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		clk.Advance(auth.KeyLeadAtOnce + 17*time.Minute)
		kid(t, tokens) // the set is read again
		// A clock that is set back makes tokens young again, but not keys that are gone.
		late, _ := issue(t, tokens, someone())
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Model(&models.SigningKey{}).Where("retired_at IS NULL").Update("retired_at", models.MillisOf(clk.Now().Add(-17*time.Minute))).Error
		}); err != nil {
			t.Fatal(err)
		}
		if err := verify(t, tokens, late); err != nil {
			t.Fatalf("the control was refused: %v", err)
		}
		other, _ := node(t, db, clk)
		if err := verify(t, other, late); !errors.Is(err, auth.ErrUnauthenticated) || errors.Is(err, auth.ErrTokenExpired) {
			t.Errorf("the kid of a key that is gone: got %v", err)
		}
	})
}

func TestNodesThatRotateAtOnceMakeOneKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for name, rotate := range map[string]func(*auth.Keys, context.Context, auth.KeyRecorder) (auth.Rotation, error){
			"due": (*auth.Keys).RotateDue, "now": (*auth.Keys).RotateNow,
		} {
			clk := clock.NewManual(start)
			if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Where("id <> ''").Delete(&models.SigningKey{}).Error }); err != nil {
				t.Fatal(err)
			}
			var tokens [4]*auth.AccessTokens
			var keys [4]*auth.Keys
			for i := range keys {
				tokens[i], keys[i] = node(t, db, clk)
			}
			clk.Advance(auth.KeyLifetime)
			var (
				wg      sync.WaitGroup
				mu      sync.Mutex
				made    int
				records []string
			)
			for _, k := range keys {
				wg.Go(func() {
					done, err := rotate(k, t.Context(), func(_ context.Context, _ *gorm.DB, _ models.Millis, id string) error {
						mu.Lock()
						defer mu.Unlock()
						records = append(records, id)
						return nil
					})
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					if done.Made {
						made++
					}
				})
			}
			wg.Wait()
			if made != 1 || len(records) != 1 || keyRows(t, db) != 2 {
				t.Fatalf("%s: %d made a key, %d were recorded, there are %d", name, made, len(records), keyRows(t, db))
			}
			before, _ := issue(t, tokens[0], someone())
			clk.Advance(auth.KeyLead)
			after, _ := issue(t, tokens[1], someone())
			a, _ := parts(t, before)
			b, _ := parts(t, after)
			if a["kid"] == b["kid"] || b["kid"] != records[0] {
				t.Errorf("%s: %v signs after %v", name, b["kid"], a["kid"])
			}
			for i, n := range tokens {
				if err := errors.Join(verify(t, n, before), verify(t, n, after)); err != nil {
					t.Errorf("%s: node %d: %v", name, i, err)
				}
			}
		}
	})
}

// However a node's set is old when others rotate, no node meets a token whose key it doesn't know.
func TestNoNodeIsBehindWhenAKeyTakesOver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		signer, keys := node(t, db, clk)
		verifier, _ := node(t, db, clk)
		done, err := keys.RotateNow(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for clk.Now().Before(done.SignsAt.Add(5 * time.Second)) {
			token, _ := issue(t, signer, someone())
			header, _ := parts(t, token)
			seen[header["kid"].(string)] = true
			if err := verify(t, verifier, token); err != nil {
				t.Fatalf("%v after the rotation: %v", clk.Now().Sub(start), err)
			}
			clk.Advance(700 * time.Millisecond)
		}
		if len(seen) != 2 {
			t.Errorf("the keys %v signed", seen)
		}
	})
}

func TestARotationThatCanNotBeRecordedIsNone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		tokens, keys := node(t, db, clk)
		first := kid(t, tokens)
		full := errors.New("the disk is full")
		refuse := func(context.Context, *gorm.DB, models.Millis, string) error { return full }
		if _, err := keys.RotateNow(t.Context(), refuse); !errors.Is(err, full) {
			t.Fatalf("got %v", err)
		}
		clk.Advance(time.Hour)
		if got := kid(t, tokens); got != first || keyRows(t, db) != 1 {
			t.Errorf("%s signs, and there are %d keys", got, keyRows(t, db))
		}
	})
}

func TestTheRotatorLooksWhenItStarts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clk := clock.NewManual(start)
		_, keys := node(t, db, clk)
		clk.Advance(auth.KeyLifetime)
		made := make(chan string, 1)
		r := auth.NewRotator(keys, func(_ context.Context, _ *gorm.DB, _ models.Millis, id string) error {
			made <- id
			return nil
		}, slog.New(slog.DiscardHandler))
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-made
		r.Stop()
	})
}
