package queue

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Caps is how many executions of an organization may be at work at the same time, in all processes together. 0 is any number.
type Caps struct {
	// Usual is for all organizations without one of their own.
	Usual int
	// Own has the others.
	Own map[models.OrgID]int
}

// Of returns the cap of an organization.
func (c Caps) Of(org models.OrgID) int {
	if own, ok := c.Own[org]; ok {
		return own
	}
	return c.Usual
}

// Any reports whether an organization may have a cap.
func (c Caps) Any() bool {
	if c.Usual > 0 {
		return true
	}
	for _, own := range c.Own {
		if own > 0 {
			return true
		}
	}
	return false
}

// Caps reads the caps; usual is the one that is configured.
func (q *Queue) Caps(ctx context.Context, usual int) (Caps, error) {
	c := Caps{Usual: usual}
	err := q.db.QueryAcross(ctx, func(r store.Row) error {
		var org models.OrgID
		var own int
		if err := r.Scan(&org, &own); err != nil {
			return err
		}
		if c.Own == nil {
			c.Own = map[models.OrgID]int{}
		}
		c.Own[org] = own
		return nil
	}, "SELECT org_id, active_turns FROM org_loads WHERE active_turns IS NOT NULL")
	if err != nil {
		return c, fmt.Errorf("read how many turns organizations may have at work: %w", err)
	}
	return c, nil
}
