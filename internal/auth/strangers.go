package auth

import (
	"sync"
	"time"
)

// maxStrangers is how many networks are remembered; when there are more, all are forgotten.
const maxStrangers = 10_000

// Strangers counts what nobody has signed in for, by the network that it came from, in the present minute and in this process. The zero
// value is ready. It is safe for concurrent use.
type Strangers struct {
	mu     sync.Mutex
	minute int64
	seen   map[string]int
}

// MustWait returns for how many seconds an address is not listened to because most came from its network in this minute; 0 when it is.
func (s *Strangers) MustWait(address string, most int, now time.Time) int {
	if address == "" {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.minute != now.Unix()/60 || s.seen[Network(address)] < most {
		return 0
	}
	return int(60 - now.Unix()%60)
}

// Count counts one more.
func (s *Strangers) Count(address string, now time.Time) {
	if address == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if minute := now.Unix() / 60; s.seen == nil || s.minute != minute || len(s.seen) >= maxStrangers {
		s.seen, s.minute = map[string]int{}, minute
	}
	s.seen[Network(address)]++
}
