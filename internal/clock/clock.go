// Package clock tells the time: that of the machine, that of the database which all processes share, or that which a test sets.
package clock

import (
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// System is the machine's clock.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now() }

// Manual is a clock that stands until it is moved.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual returns a clock that stands at t.
func NewManual(t time.Time) *Manual { return &Manual{now: t} }

// Now implements Clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock on.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// Millis returns the clock's time as the database keeps it.
func Millis(c Clock) models.Millis { return models.MillisOf(c.Now()) }
