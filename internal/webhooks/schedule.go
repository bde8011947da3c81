package webhooks

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxAttempts is how often a delivery is tried by itself: over about a day.
	MaxAttempts = 8
	// jitterPart is how much longer or shorter a pause may be, so that what failed together doesn't come back together.
	jitterPart = 0.2
	// maxRetryAfter bounds how long a receiver may ask us to wait.
	maxRetryAfter = 6 * time.Hour
	// disableAfter is how long a webhook may fail, without a single success, before it is disabled.
	disableAfter = 3 * 24 * time.Hour
	// quiet is after how long without a failed attempt a failure counts as the first: longer than any pause between two attempts, so that
	// a single failure and another one a week later are not a week of failing.
	quiet = 24 * time.Hour
	// keepDays is how long deliveries are kept.
	keepDays = 30
)

// pause returns how long to wait after a number of attempts have failed, give or take jitterPart.
func pause(attempts int) time.Duration {
	pauses := [MaxAttempts - 1]time.Duration{
		30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 14 * time.Hour,
	}
	return pauses[min(max(attempts, 1), len(pauses))-1]
}

// nextPause is pause with a jitter, of which chance is from 0 to 1, and no shorter than what the receiver asked for.
func nextPause(attempts int, chance float64, asked time.Duration) time.Duration {
	p := time.Duration(float64(pause(attempts)) * (1 - jitterPart + 2*jitterPart*chance))
	return max(p, min(asked, maxRetryAfter))
}

// retryAfter reads how long a receiver asks us to wait; 0 when it doesn't say or can't be understood.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
