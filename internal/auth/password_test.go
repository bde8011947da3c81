package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ostler-dev/ostler/internal/fault"
)

func TestPasswords(t *testing.T) {
	p := NewPasswords()
	hash, err := p.Hash(t.Context(), "correct horse ä")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("got %q, %v", hash, err)
	}
	other, err := p.Hash(t.Context(), "correct horse ä")
	if err != nil || hash == other {
		t.Errorf("two hashes share a salt: %v", err)
	}
	for password, want := range map[string]bool{
		"correct horse ä": true, "correct horse a\u0308": true, // the same text in other code points
		"correct horse": false, "Correct horse ä": false, "": false, "correct horse ä ": false, "\xff": false,
	} {
		if got, err := p.Verify(t.Context(), hash, password); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", password, got, err, want)
		}
	}
	if err := p.VerifyNothing(t.Context(), "anything"); err != nil {
		t.Error(err)
	}
}

// A flood from one network makes nobody else wait for more than one of its passwords, and who is known for none.
func TestAFloodOfPasswordsDelaysNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPasswords()
		p.slots.Places = 1
		if !p.slots.Try("busy", 1) {
			t.Fatal("there is no place")
		}
		var mu sync.Mutex
		var order []string
		arrive := func(name string, info RequestInfo) {
			go func() {
				if err := p.VerifyNothing(WithRequest(t.Context(), &info), "anything"); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			}()
			synctest.Wait()
		}
		for range 5 {
			arrive("flood", RequestInfo{Address: "192.0.2.1"})
		}
		arrive("other", RequestInfo{Address: "198.51.100.1"})
		arrive("known", RequestInfo{Address: "192.0.2.1", Known: true})
		p.slots.Leave("busy", 1)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"known", "flood", "other", "flood", "flood", "flood", "flood"}; !slices.Equal(order, want) {
			t.Errorf("the order was %q, want %q", order, want)
		}
	})
}

func TestHashesOfOtherKindsAreRefused(t *testing.T) {
	for _, phc := range []string{
		"", "x", "$argon2id$", "$argon2i$v=19$m=19456,t=2,p=1$AAAA$AAAA", "$argon2id$v=18$m=19456,t=2,p=1$AAAA$" + strings.Repeat("A", 43),
		"$argon2id$v=19$m=19456,t=0,p=1$AAAA$" + strings.Repeat("A", 43), "$argon2id$v=19$m=19456,t=2,p=0$AAAA$" + strings.Repeat("A", 43),
		"$argon2id$v=19$m=19456,t=2,p=1$!!!!$" + strings.Repeat("A", 43), "$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA",
	} {
		if ok, err := NewPasswords().Verify(t.Context(), phc, "p"); ok || !errors.Is(err, errBadHash) {
			t.Errorf("%q: got %v, %v; want errBadHash", phc, ok, err)
		}
	}
}

func TestWaitingForASlotEndsWithTheRequest(t *testing.T) {
	p := NewPasswords()
	if !p.slots.Try("", argonAtOnce) {
		t.Fatal("there is no place")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Hash(ctx, "password"); !errors.Is(err, context.Canceled) {
		t.Errorf("hash: got %v", err)
	}
	if err := p.VerifyNothing(ctx, "password"); !errors.Is(err, context.Canceled) {
		t.Errorf("verify: got %v", err)
	}
	p.slots.Leave("", 1)
	if _, err := p.Hash(t.Context(), "password"); err != nil {
		t.Errorf("a free slot: got %v", err)
	}
}

func TestCheckPassword(t *testing.T) {
	for password, good := range map[string]bool{
		"12345678": true, "ääääääää": true, strings.Repeat("x", 1000): true, "pass word": true,
		"": false, "1234567": false, "äääääää": false, strings.Repeat("x", 1001): false, "1234567\x008": false, "12345678\xff": false,
	} {
		if err := CheckPassword(password); (err == nil) != good || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%.20q: got %v", password, err)
		}
	}
}
