package events

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/models"
)

// HeldBytes is how much of the log the readers of a connection may hold that they were not asked for, and LiveBytes how much
// of what is live.
const (
	HeldBytes = heldBytes
	LiveBytes = liveBytes
)

// Live returns how many bytes of live events the readers of a connection hold.
func (a *Allowance) Live() int { return int(a.live.Load()) }

// AtRest reports whether nobody holds a page, or waits for one.
func (a *Allowance) AtRest() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turn == nil && a.line == nil
}

// Held returns how many events a reader holds that it was not asked for, and how many bytes they have.
func (s *Subscription) Held() (count, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.page {
		count, bytes = count+1, bytes+len(i.Event.Data)
	}
	for _, e := range s.queue[s.head:] {
		if e.item != nil {
			count, bytes = count+1, bytes+len(e.item.Event.Data)
		}
	}
	return count, bytes
}

// DecodeBy and CheckBy are Decode and CheckLog for other kinds of events.
func DecodeBy(rows []Row, kind models.EventKind, data models.JSON) (Payload, error) {
	return newKindTable(rows).decode(kind, data)
}

// CheckBy see DecodeBy.
func CheckBy(rows []Row, log []models.Event) error {
	return errors.Join(checkAll(log, newKindTable(rows)).errs...)
}
