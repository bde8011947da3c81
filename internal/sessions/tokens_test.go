package sessions

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// fixedSecrets gives each organization a secret that follows from its id, and notes who was asked for.
type fixedSecrets struct {
	mu    sync.Mutex
	asked []models.OrgID
}

func (f *fixedSecrets) Get(_ context.Context, org models.OrgID, name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, org)
	return append([]byte(name), org[:]...), nil
}

func (e *env) withSecrets() *fixedSecrets {
	f := &fixedSecrets{}
	e.svc.cfg.Secrets = f
	return f
}

func callback(id string) waitingCall {
	return waitingCall{id: id, tool: "call_back", arguments: `{}`, kind: models.WaitCompletion}
}

func (e *env) token(w models.Wait) string {
	e.t.Helper()
	token, err := e.svc.TokenOf(e.t.Context(), w.OrgID, w.ID, w.Kind)
	if err != nil {
		e.t.Fatal(err)
	}
	return token
}

// says is the outcome of a callback.
func says(out Outcome) func(models.OrgID) (Outcome, error) {
	return func(models.OrgID) (Outcome, error) { return out, nil }
}

func (e *env) resolve(token string, out Outcome) Resolved {
	e.t.Helper()
	r, err := e.svc.ResolveWait(e.t.Context(), token, says(out))
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

// Rules: W5.
func TestATokenResolvesItsWaitOnce(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.withSecrets()
		turn, waits := e.parked(e.by, callback("a"), callback("b"))
		token := e.token(waits[0])
		if r := e.resolve(token, Outcome{Value: models.JSON(`{"ok": true}`)}); r != Accepted {
			t.Fatalf("got %s", r)
		}
		if r := e.resolve(token, Outcome{Value: models.JSON(`{"ok":true}`)}); r != AlreadyResolved {
			t.Fatalf("the second time: %s", r)
		}
		if r := e.resolve(e.token(waits[1]), Outcome{ErrorCode: ptr("no_stock"), ErrorMessage: ptr("Sold out.")}); r != Accepted {
			t.Fatalf("got %s", r)
		}
		results := e.results(turn.SessionID)
		if len(results) != 2 || string(results[0].Result) != `{"ok":true}` || results[1].Error != "no_stock: Sold out." {
			t.Fatalf("the results are %+v", results)
		}
		if got := e.turn(e.by, turn.ID); got.Status != models.TurnRunning || got.ReadyAt == nil {
			t.Fatalf("the turn is %s", got.Status)
		}
	})
}

// Rules: W5.
func TestTokensThatAreGoodForNothing(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		secrets := e.withSecrets()
		_, waits := e.parked(e.by, callback("a"), client("b"), waitingCall{id: "c", tool: "x", arguments: `{}`, kind: models.WaitCustom})
		cancelled, gone := e.parked(e.by, callback("a"))
		if _, err := e.svc.CancelTurn(t.Context(), e.by, cancelled.ID, nil); err != nil {
			t.Fatal(err)
		}
		good := e.token(waits[0])
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(good, TokenPrefix))
		if err != nil {
			t.Fatal(err)
		}
		altered := func(i int) string {
			b := bytes.Clone(raw)
			b[i] ^= 1
			return TokenPrefix + base64.RawURLEncoding.EncodeToString(b)
		}
		secret := func(org models.OrgID) []byte { return append([]byte(waitsSecret), org[:]...) }
		tests := map[string]string{
			"empty":                     "",
			"without its beginning":     strings.TrimPrefix(good, TokenPrefix),
			"cut off":                   good[:len(good)-2],
			"longer":                    good + "AA",
			"with padding":              good + "==",
			"very long":                 TokenPrefix + strings.Repeat("A", 1<<20),
			"of another organization":   altered(0),
			"of another wait":           altered(20),
			"with another signature":    altered(40),
			"of no wait":                encodeToken(secret(e.by.OrgID), e.by.OrgID, models.NewID[models.WaitEntity]()),
			"signed by another tenant":  encodeToken(secret(e.theirs.OrgID), e.by.OrgID, waits[0].ID),
			"of the wait of another":    encodeToken(secret(e.theirs.OrgID), e.theirs.OrgID, waits[0].ID),
			"of a client tool":          encodeToken(secret(e.by.OrgID), e.by.OrgID, waits[1].ID),
			"of a turn that has ended":  e.token(gone[0]),
			"of nobody at all":          encodeToken(make([]byte, 32), models.OrgID{}, models.WaitID{}),
			"with an unused bit at end": good[:len(good)-1] + string(good[len(good)-1]+1),
		}
		for name, token := range tests {
			if r := e.resolve(token, Outcome{Value: models.JSON(`1`)}); r != Unknown {
				t.Errorf("%s: %s", name, r)
			}
		}
		if r := e.resolve(e.token(waits[2]), Outcome{}); r != Accepted {
			t.Errorf("a custom wait: %s", r)
		}
		for _, org := range secrets.asked {
			if org != e.by.OrgID {
				t.Errorf("the secret of %s was asked for, whose wait it isn't", org)
			}
		}
		if token := e.token(waits[1]); token != "" {
			t.Errorf("a client tool has the token %s", token)
		}
		if w := e.wait(e.by, waits[0].ID); w.State != models.WaitOpen {
			t.Errorf("the wait is %s", w.State)
		}
	})
}

// Rules: W5.
func TestOutcomesThatCannotBeUsed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.withSecrets()
		_, waits := e.parked(e.by, callback("a"))
		tests := map[string]struct {
			out  Outcome
			code fault.Code
			path string
		}{
			"large":           {Outcome{Value: models.JSON(`"` + strings.Repeat("x", MaxResultBytes) + `"`)}, fault.LimitReached, "value"},
			"not JSON":        {Outcome{Value: models.JSON(`{`)}, fault.Invalid, "value"},
			"both":            {Outcome{Value: models.JSON(`1`), ErrorCode: ptr("x")}, fault.Invalid, "value"},
			"without a code":  {Outcome{ErrorMessage: ptr("x")}, fault.Invalid, "errorCode"},
			"a long code":     {Outcome{ErrorCode: ptr(strings.Repeat("x", 101))}, fault.Invalid, "errorCode"},
			"a long message":  {Outcome{ErrorCode: ptr("x"), ErrorMessage: ptr(strings.Repeat("x", 4001))}, fault.Invalid, "errorMessage"},
			"a NUL character": {Outcome{Value: models.JSON(`{"\u0000":1}`)}, fault.Invalid, "value"},
		}
		for name, tt := range tests {
			_, err := e.svc.ResolveWait(t.Context(), e.token(waits[0]), says(tt.out))
			t.Log(name)
			wantFault(t, err, tt.code, tt.path)
		}
	})
}

// Rules: W1.
func TestOneOfSeveralTokensWins(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.withSecrets()
		turn, waits := e.parked(e.by, callback("a"))
		token := e.token(waits[0])
		answers := make([]Resolved, 4)
		var fns []func() error
		for i := range answers {
			fns = append(fns, func() (err error) {
				answers[i], err = e.svc.ResolveWait(t.Context(), token, says(Outcome{Value: models.JSON(`1`)}))
				return err
			})
		}
		accepted := 0
		for i, err := range race(fns...) {
			switch {
			case err != nil:
				t.Fatal(err)
			case answers[i] == Accepted:
				accepted++
			case answers[i] != AlreadyResolved:
				t.Fatalf("got %s", answers[i])
			}
		}
		if accepted != 1 || len(e.results(turn.SessionID)) != 1 {
			t.Fatalf("%d were accepted", accepted)
		}
	})
}
