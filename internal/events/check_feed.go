package events

import (
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// CheckFeed checks the whole feed of an organization: positions are 1 to n without gaps, ids are unique, all kinds belong in a
// feed, and the events of each session come in the order of its log. Tests and fault programs call it on every feed that they
// have made.
func CheckFeed(feed []models.Event) error {
	var errs []error
	sequences := map[models.SessionID]int64{}
	ids := map[models.EventID]bool{}
	for i, e := range feed {
		failf := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s no. %d: %s", e.Kind, i+1, fmt.Sprintf(format, args...)))
		}
		if e.FeedPosition == nil {
			failf("it has no position")
		} else if *e.FeedPosition != int64(i+1) {
			failf("its position is %d", *e.FeedPosition)
		}
		if !InOrgFeed(e.Kind) {
			failf("its kind is in no feed")
		}
		if e.OrgID != feed[0].OrgID || e.SessionID.IsZero() {
			failf("it belongs to session %s of %s", e.SessionID, e.OrgID)
		}
		if last := sequences[e.SessionID]; e.Sequence <= last {
			failf("its sequence is %d, and %d of session %s came before it", e.Sequence, last, e.SessionID)
		}
		if e.ID.IsZero() || ids[e.ID] {
			failf("its id %s is not its own", e.ID)
		}
		sequences[e.SessionID], ids[e.ID] = e.Sequence, true
		if len(errs) >= maxFindings {
			break
		}
	}
	return errors.Join(errs...)
}

// position checks an event's place in the organization's feed. Logs from before there were feeds have none.
func (c *checker) position() {
	p := c.event.FeedPosition
	if p == nil {
		return
	}
	if !InOrgFeed(c.event.Kind) {
		c.failf("it has position %d in the feed, where its kind does not belong", *p)
	}
	if *p <= c.fed {
		c.failf("its position in the feed is %d, and an earlier event has %d", *p, c.fed)
	}
	c.fed = *p
}
