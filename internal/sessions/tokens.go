package sessions

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Secrets keeps random secrets of organizations.
type Secrets interface {
	// Get returns a secret of an organization by its name, and makes it when there is none.
	Get(ctx context.Context, org models.OrgID, name string) ([]byte, error)
}

// TokenPrefix begins the bearer tokens of waits, so that they are known where they should not be.
const TokenPrefix = "ostw_"

const (
	// waitsSecret is the name of the secret that signs them.
	waitsSecret = "waits"

	maxErrorCode    = 100
	maxErrorMessage = 4000
)

// Resolved tells what became of a resolution from outside.
type Resolved string

// What may become of it.
const (
	// Accepted means that this one has resolved the wait.
	Accepted Resolved = "ACCEPTED"
	// AlreadyResolved means that another one was first, or that the time was over.
	AlreadyResolved Resolved = "ALREADY_RESOLVED"
	// Unknown means that the token is good for nothing: it is malformed or forged, or nobody waits for it any more.
	Unknown Resolved = "UNKNOWN"
)

// Outcome is what a wait is resolved with from outside: with a value, or with an error when ErrorCode is set.
type Outcome struct {
	Value        models.JSON
	ErrorCode    *string
	ErrorMessage *string
}

// Tokens makes the bearer tokens of waits.
type Tokens struct{ secrets Secrets }

// NewTokens makes Tokens.
func NewTokens(secrets Secrets) Tokens { return Tokens{secrets} }

// WaitToken returns the token that resolves a wait from outside, once.
func (t Tokens) WaitToken(ctx context.Context, org models.OrgID, id models.WaitID) (string, error) {
	secret, err := t.secrets.Get(ctx, org, waitsSecret)
	if err != nil {
		return "", fmt.Errorf("make the token of %s: %w", id, err)
	}
	return encodeToken(secret, org, id), nil
}

// TokenOf returns the bearer token that resolves a wait from outside, once. Only waits for a completion or a custom name have one;
// it is empty for others.
func (s *Service) TokenOf(ctx context.Context, org models.OrgID, id models.WaitID, kind models.WaitKind) (string, error) {
	if !byToken(kind) || s.cfg.Secrets == nil {
		return "", nil
	}
	return NewTokens(s.cfg.Secrets).WaitToken(ctx, org, id)
}

func byToken(kind models.WaitKind) bool {
	return kind == models.WaitCompletion || kind == models.WaitCustom
}

func encodeToken(secret []byte, org models.OrgID, id models.WaitID) string {
	b := append(append(make([]byte, 0, 64), org[:]...), id[:]...)
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(append(b, sign(secret, b)...))
}

// sign returns the HMAC of an organization's id and a wait's, 32 bytes.
func sign(secret, ids []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(ids)
	return mac.Sum(nil)
}

// maxStrange is how many tokens that are good for nothing an address may bring in a minute, to this process.
const maxStrange = 60

// ResolveWait resolves a wait with its bearer token. Who holds a token that is good for nothing can't tell why: whether it is
// malformed or forged, or there is no such wait, the same is done and answered, and an address that brings many such tokens is
// RATE_LIMITED for a while. The outcome is asked for when the token is good, for the organization of the wait: strangers send nothing
// that has to be read. One that can't be used is INVALID.
func (s *Service) ResolveWait(ctx context.Context, token string, outcome func(models.OrgID) (Outcome, error)) (Resolved, error) {
	address, now := auth.RequestFrom(ctx).Address, s.cfg.Clock.Now()
	if wait := s.strangers.MustWait(address, maxStrange, now); wait > 0 {
		return "", tooFast(wait, "Too many invalid tokens came from your address.")
	}
	w, err := s.waitOfToken(ctx, token)
	if err != nil {
		return "", err
	}
	if w == nil {
		s.strangers.Count(address, now)
		return Unknown, nil
	}
	if wait, ok := s.cfg.Limits.Request(ctx, w.OrgID); !ok {
		return "", tooFast(wait, "The organization of this wait has used up its requests for this minute.")
	}
	out, err := outcome(w.OrgID)
	if err != nil {
		return "", err
	}
	state, resolution, err := out.check()
	if err != nil {
		return "", err
	}
	c := &turns.ResolveWait{Org: w.OrgID, Session: w.SessionID, Wait: w.ID, State: state, Resolution: resolution}
	err = s.cfg.Committer.Submit(ctx, c)
	switch {
	case err == nil:
		return Accepted, nil
	case fault.Is(err, fault.NotFound), errors.Is(err, turns.ErrResolved) && c.Found.State == models.WaitCancelled:
		return Unknown, nil
	case errors.Is(err, turns.ErrResolved):
		return AlreadyResolved, nil
	}
	return "", err
}

// waitOfToken returns the wait that a token is good for; nil when it is good for none. It looks a wait up and computes a MAC in any
// case. A secret is only asked for where there is a wait, because asking makes it; it is remembered, so that this is no measure.
func (s *Service) waitOfToken(ctx context.Context, token string) (*models.Wait, error) {
	var ids [32]byte
	var mac [32]byte
	rest, ok := strings.CutPrefix(token, TokenPrefix)
	// Longer ones are not even decoded: the caller says how long.
	if b, err := base64.RawURLEncoding.Strict().DecodeString(clipToken(rest)); ok && err == nil && len(b) == len(ids)+len(mac) {
		copy(ids[:], b)
		copy(mac[:], b[len(ids):])
	}
	org, id := models.OrgID(ids[:16]), models.WaitID(ids[16:])
	w, err := s.Wait(ctx, org, id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	secret := s.decoy[:]
	if w != nil && s.cfg.Secrets != nil {
		if secret, err = s.cfg.Secrets.Get(ctx, org, waitsSecret); err != nil {
			return nil, fmt.Errorf("check the token of %s: %w", id, err)
		}
	}
	if !hmac.Equal(sign(secret, ids[:]), mac[:]) || w == nil || !byToken(w.Kind) {
		return nil, nil
	}
	return w, nil
}

func clipToken(s string) string { return s[:min(len(s), 128)] }

// newDecoy makes the secret that stands for those of waits that don't exist.
func newDecoy() (secret [32]byte) {
	_, _ = rand.Read(secret[:]) // it never fails
	return secret
}

// check returns what is stored of an outcome.
func (o *Outcome) check() (models.WaitState, models.WaitResolution, error) {
	r := models.WaitResolution{ByKind: models.ActorSystem}
	if o.ErrorCode == nil && o.ErrorMessage == nil {
		value := o.Value
		if len(value) == 0 {
			value = models.JSON("null")
		}
		var err error
		r.Value, err = resultValue(value, "value")
		return models.WaitOK, r, err
	}
	if len(o.Value) > 0 && string(o.Value) != "null" {
		return "", r, fault.New(fault.Invalid, "Send a value or an error, not both.").At("value")
	}
	if o.ErrorCode == nil || strings.TrimSpace(*o.ErrorCode) == "" {
		return "", r, fault.New(fault.Invalid, "An error needs a code.").At("errorCode")
	}
	if err := text.Check(*o.ErrorCode, maxErrorCode, "errorCode"); err != nil {
		return "", r, err
	}
	if err := text.CheckOptional(o.ErrorMessage, maxErrorMessage, "errorMessage"); err != nil {
		return "", r, err
	}
	r.ErrorCode, r.ErrorMessage = *o.ErrorCode, models.Value(o.ErrorMessage)
	return models.WaitError, r, nil
}

func tooFast(wait int, why string) error {
	f := fault.New(fault.RateLimited, "%s Try again in %d s.", why, wait)
	f.RetryAfterSeconds = wait
	return f
}
