package tools

import (
	"fmt"
	"math"
	"time"
)

// RetryPolicy says which failed calls of a tool are tried again. All policies try only failures that say Retryable.
type RetryPolicy string

// The policies.
const (
	// RetryNever tries once.
	RetryNever RetryPolicy = "never"
	// RetrySafe tries again: a failure that says so has had no effect.
	RetrySafe RetryPolicy = "safe"
	// RetryIdempotent tries again with the same idempotency key, by which the outside knows it; without a key it tries once.
	RetryIdempotent RetryPolicy = "idempotent"
)

// The limits of a tool's retries.
const (
	maxAttempts   = 10
	maxRetryDelay = 10 * time.Minute
)

// Retry is a tool's policy for failed calls. It is frozen with a call, so its JSON form is stored.
type Retry struct {
	Policy RetryPolicy `json:"policy"`
	// Max is how many attempts there are, the first one included; at most 10.
	Max int `json:"max,omitempty"`
	// BaseMs is the delay after the first attempt in milliseconds; it doubles with each further one, up to MaxDelayMs.
	BaseMs int64 `json:"baseMs,omitempty"`
	// MaxDelayMs bounds a delay; 0 means ten minutes.
	MaxDelayMs int64 `json:"maxDelayMs,omitempty"`
}

// Attempts returns how many attempts a call with this idempotency key has.
func (r *Retry) Attempts(idempotencyKey string) int {
	if r == nil || r.Policy != RetrySafe && (r.Policy != RetryIdempotent || idempotencyKey == "") {
		return 1
	}
	return min(max(r.Max, 1), maxAttempts)
}

// Delay returns how long to wait after an attempt (from 1) that failed. Half of it is fixed, so that no retry comes at
// once; the other half is scaled by random (from 0 to below 1), so that many calls don't come back together.
func (r *Retry) Delay(attempt int, random float64) time.Duration {
	if r == nil || r.BaseMs <= 0 {
		return 0
	}
	limit := maxRetryDelay.Milliseconds()
	if r.MaxDelayMs > 0 {
		limit = min(limit, r.MaxDelayMs)
	}
	whole := limit
	// From here on doubling passes every limit.
	if shift := max(attempt, 1) - 1; shift < 32 && r.BaseMs <= math.MaxInt64>>shift {
		whole = min(limit, r.BaseMs<<shift)
	}
	half := float64(whole) / 2
	return time.Duration((half + half*min(max(random, 0), 1)) * float64(time.Millisecond))
}

// RetryAfter decides about the result of an attempt: whether there is another one, and after how long. It is pure; random
// is from 0 to below 1.
func (f Frozen) RetryAfter(r Result, idempotencyKey string, attempt int, random float64) (time.Duration, bool) {
	if !r.Failed() || !r.Retryable || r.Pending != nil || attempt >= f.Hints.Retry.Attempts(idempotencyKey) {
		return 0, false
	}
	return f.Hints.Retry.Delay(attempt, random), true
}

// check refuses a policy that could only surprise later.
func (r *Retry) check() error {
	if r == nil {
		return nil
	}
	switch r.Policy {
	case RetryNever, RetrySafe, RetryIdempotent:
	default:
		return fmt.Errorf("the retry policy %q is unknown; it must be never, safe or idempotent", r.Policy)
	}
	if r.Max < 0 || r.Max > maxAttempts || r.BaseMs < 0 || r.MaxDelayMs < 0 {
		return fmt.Errorf("the retry policy has %d attempts, %d ms base and %d ms at most; use up to %d attempts and no negative delay",
			r.Max, r.BaseMs, r.MaxDelayMs, maxAttempts)
	}
	return nil
}
