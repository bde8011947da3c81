package waiting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// long is how long a turn waits before what it needs is kept from those that came later. Until then whoever fits goes on, so that
// nothing lies idle; for ever that would let one that needs much starve behind many that need little.
const long = 5 * time.Second

// headroom is what a look at all budgets keeps for turns that have waited long: of each budget for one turn, the oldest that can get what it needs.
type headroom struct {
	// now is the time of the look, and until is when what is kept is free again.
	now, until models.Millis
	kept       map[models.BudgetID]bool
	// idle is what is held by turns that wait themselves; nil before it was read.
	idle map[grant]models.Amount
}

// grant is where an amount is held: of a budget, in the period that it was granted in.
type grant struct {
	budget models.BudgetID
	period models.Millis
}

func newHeadroom(now models.Millis) *headroom {
	return &headroom{now: now, until: now + hold.KeptFor, kept: map[models.BudgetID]bool{}}
}

// wanted reports whether to keep what a turn needs, if it can't go on; never in nil.
func (h *headroom) wanted(w *models.Wait) bool {
	if h == nil || w.CreatedAt > h.now-models.Millis(long.Milliseconds()) {
		return false
	}
	return !slices.ContainsFunc(hold.Awaited(*w).Needs, func(n models.BudgetNeed) bool { return h.kept[n.Budget] })
}

// keep notes what is kept for a turn.
func (h *headroom) keep(w *models.BudgetWait) {
	for _, n := range w.Needs {
		h.kept[n.Budget] = true
	}
}

// read reads what turns of the organization hold that wait, once.
func (h *headroom) read(ctx context.Context, db *store.DB, org models.OrgID) error {
	if h.idle != nil {
		return nil
	}
	var list []models.Turn
	err := store.Of(db.Read(ctx, org), org).Select("reservation").Where("reservation IS NOT NULL AND status = 'WAITING'").Find(&list).Error
	if err != nil {
		return fmt.Errorf("read what turns of %s hold that wait: %w", org, err)
	}
	h.idle = map[grant]models.Amount{}
	for _, t := range list {
		for _, line := range t.Reservation.Lines {
			h.idle[grant{line.Budget, line.Period}] += line.Amount
		}
	}
	return nil
}

// idleOf returns what is held of a budget by turns that wait.
func (h *headroom) idleOf(b *models.Budget) models.Amount {
	return h.idle[grant{b.ID, b.PeriodStartedAt}]
}
