package budget

import (
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// Roll begins the period of now when the one that the row tells of is over, and ends what is kept for a turn when its time is. It is called before anything is read from the row, so that
// no job has to begin periods. What is held of the period before stays with it: see Settle. A clock that has gone back stays in the period
// that was begun.
func Roll(b *models.Budget, now models.Millis) {
	if b.KeptUntil != nil && now >= *b.KeptUntil {
		Unkeep(b)
	}
	switch {
	case b.PeriodKind == nil:
	case *b.PeriodKind == models.PeriodRolling:
		roll(b, now)
	case b.PeriodEndsAt == nil && b.PeriodStartedAt == 0:
		Begin(b, now)
	case b.PeriodEndsAt != nil && now >= *b.PeriodEndsAt:
		// The rules of a time zone may have changed since: a new period never reaches back into the one before, whose postings would count
		// in it, too.
		begin(b, now, *b.PeriodEndsAt)
	}
}

// Begin puts a budget into its period of now, with nothing spent and nothing held. One that had a period before, which was changed, begins the new one at
// this very moment: postings are told apart by the start of their period, so that no two begin at the same time.
func Begin(b *models.Budget, now models.Millis) {
	earliest := models.Millis(0)
	if b.PeriodStartedAt != 0 {
		earliest = max(now, b.PeriodStartedAt+1)
	}
	begin(b, now, earliest)
}

func begin(b *models.Budget, now, earliest models.Millis) {
	start, end := PeriodAt(b, max(now, earliest))
	b.PeriodStartedAt, b.PeriodEndsAt = max(start, earliest), end
	b.Spent, b.Credits, b.Reserved, b.Slots = 0, 0, 0, nil
	b.WarnedAt, b.SoftPassedAt, b.ExhaustedAt = nil, nil, nil
}

// PeriodAt returns the period that a time is in: from its start to just before its end. A budget without periods, and one with a rolling
// window, has one that began with it and never ends; so has one whose row tells of no period that there could be, for then its limit
// holds at least.
func PeriodAt(b *models.Budget, now models.Millis) (start models.Millis, end *models.Millis) {
	if b.PeriodKind == nil {
		return b.CreatedAt, nil
	}
	switch *b.PeriodKind {
	case models.PeriodFixed:
		length := PeriodLength(b)
		if length <= 0 {
			break
		}
		n := max(now-b.CreatedAt, 0) / length
		start = b.CreatedAt + n*length
		return start, (start + length).Ptr()
	case models.PeriodCalendar:
		if b.PeriodUnit == nil {
			break
		}
		if from, to, ok := calendar(now, *b.PeriodUnit, zoneOf(b)); ok {
			return from, to.Ptr()
		}
	case models.PeriodRolling:
	}
	return b.CreatedAt, nil
}

// PeriodLength returns the length of a fixed period, and the window of a rolling one, in milliseconds; 0 where there is none.
func PeriodLength(b *models.Budget) models.Millis {
	if b.PeriodSeconds == nil {
		return 0
	}
	return models.Millis(min(max(*b.PeriodSeconds, 0), MaxPeriodSeconds) * 1000)
}

// zoneOf returns the time zone of a budget. A zone that this binary doesn't know, as it is newer than it, is UTC: CheckPeriod has refused
// those that nobody knows. It takes some 20 µs to read one, once in a period, so none is kept.
func zoneOf(b *models.Budget) *time.Location {
	if b.Timezone != nil {
		if location, err := loadZone(*b.Timezone); err == nil {
			return location
		}
	}
	return time.UTC
}

// post adds a debit to the present period.
func post(b *models.Budget, amount models.Amount, now models.Millis) {
	if Rolls(b) {
		enter(b, amount, now)
		return
	}
	b.Spent = add(b.Spent, amount)
}
