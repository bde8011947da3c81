package sessions

import (
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
)

const (
	// maxStrange is how many tokens that are good for nothing an address may bring in a minute, to this process.
	maxStrange = 60
	// maxStrangers is how many addresses are remembered; when there are more, all are forgotten.
	maxStrangers = 10_000
)

// strangers counts tokens that were good for nothing, by the address that they came from, in the present minute.
type strangers struct {
	mu     sync.Mutex
	minute int64
	tokens map[string]int
}

// mustWait gives for how many seconds an address is not listened to; 0 when it is.
func (s *strangers) mustWait(address string, now time.Time) int {
	if address == "" {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.minute != now.Unix()/60 || s.tokens[address] < maxStrange {
		return 0
	}
	return int(60 - now.Unix()%60)
}

// failed counts a token that was good for nothing.
func (s *strangers) failed(address string, now time.Time) {
	if address == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if minute := now.Unix() / 60; s.tokens == nil || s.minute != minute || len(s.tokens) >= maxStrangers {
		s.tokens, s.minute = map[string]int{}, minute
	}
	s.tokens[address]++
}

func tooFast(wait int, why string) error {
	f := fault.New(fault.RateLimited, "%s Try again in %d s.", why, wait)
	f.RetryAfterSeconds = wait
	return f
}
