package budget

import (
	"cmp"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

// windowSlots is how many slots a rolling window has.
const windowSlots = 60

// SlotLength is the length of a rolling budget's slots. It is rounded up, so that a window never touches more than one slot beyond
// its sixty.
func SlotLength(b *models.Budget) models.Millis {
	return max((PeriodLength(b)+windowSlots-1)/windowSlots, 1)
}

// slotOf numbers the slot that a time is in.
func slotOf(b *models.Budget, at models.Millis) int64 { return int64(max(at, 0) / SlotLength(b)) }

// OldestSlot is the first slot that may have been in the window when the row was written last: those before it have left for good, and need
// not be read.
func OldestSlot(b *models.Budget) int64 { return slotOf(b, b.UpdatedAt-PeriodLength(b)) }

// Rolls reports whether a budget has a rolling window, whose slots have to be read with it.
func Rolls(b *models.Budget) bool {
	return b.PeriodKind != nil && *b.PeriodKind == models.PeriodRolling
}

// roll drops the slots that have left the window, each when its newest posting is out, so that never too little is counted. What came
// about in a period came about within a window's length here: who was warned is not warned again, and who let a session go on past the
// soft limit is not asked again, each time that a slot leaves and the next call fills its place. Of a row whose slots were not read, all that
// it says to be spent counts.
func roll(b *models.Budget, now models.Millis) {
	window := PeriodLength(b)
	if b.Slots != nil && window > 0 {
		before := b.Spent
		setSlots(b, slices.DeleteFunc(slices.Clone(b.Slots), func(k models.BudgetSlot) bool { return k.Newest <= now-window }))
		if b.Spent < before && Balance(b) > 0 {
			b.ExhaustedAt = nil
		}
	}
	if b.ExhaustedAt != nil && now-*b.ExhaustedAt >= window && Balance(b) > 0 {
		b.ExhaustedAt = nil // by a call that was too large, with little or nothing spent
	}
	if b.WarnedAt != nil && now-*b.WarnedAt >= window && !nearLimit(b) {
		b.WarnedAt = nil
	}
	if b.SoftPassedAt != nil && now-*b.SoftPassedAt >= window && window > 0 {
		if OverSoft(b) {
			// Still past it a window later: that asks anew, from a moment that follows from the row alone.
			b.SoftPassedAt = (now - (now-*b.SoftPassedAt)%window).Ptr()
		} else {
			b.SoftPassedAt = nil
		}
	}
}

// setSlots keeps slots, with their sum.
func setSlots(b *models.Budget, list []models.BudgetSlot) {
	b.Spent, b.Slots = 0, list
	for _, k := range list {
		b.Spent = add(b.Spent, k.Spent)
	}
}

// enter adds a debit to the slot of now, wherever it is in the list: clocks of different nodes differ, and go back. The list may be shared with
// a copy of the row, and is left as it is. What costs nothing is in no slot.
func enter(b *models.Budget, amount models.Amount, now models.Millis) {
	if amount == 0 {
		return
	}
	if b.Slots == nil && b.Spent != 0 {
		b.Spent = add(b.Spent, amount)
		return
	}
	list, slot := slices.Clone(b.Slots), slotOf(b, now)
	at, found := slices.BinarySearchFunc(list, slot, func(k models.BudgetSlot, slot int64) int { return cmp.Compare(k.Slot, slot) })
	if found {
		list[at].Spent, list[at].Newest = add(list[at].Spent, amount), max(list[at].Newest, now)
	} else {
		list = slices.Insert(list, at, models.BudgetSlot{OrgID: b.OrgID, BudgetID: b.ID, Slot: slot, Newest: now, Spent: amount})
	}
	setSlots(b, list)
}
