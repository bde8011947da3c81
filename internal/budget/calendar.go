package budget

import (
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// Clocks are set forward, back, and across whole days, so that a local time may come twice or never. One rule holds for all units: a
// period begins with the first instant at which clocks show a time in it or later, and lasts until the next one begins. So periods follow
// each other without gap or overlap; an hour or a day that clocks show twice is one period, and one that they never show is none.
//
// Times are counted in whole seconds since 1970 here, and what clocks show as the seconds of the same date and time in UTC.

// farthest is more than clocks have ever been set back at once: a day, where the date line was moved, and some hours.
const farthest = 48 * 60 * 60

// calendar returns the period of a unit that a time is in, in a time zone; false for a unit that there is none of.
func calendar(now models.Millis, unit models.CalendarUnit, location *time.Location) (start, end models.Millis, ok bool) {
	shown := latestShown(now.Time().Unix(), location)
	from, to, ok := around(time.Unix(shown, 0).UTC(), unit)
	return 1000 * models.Millis(firstShown(from.Unix(), location)), 1000 * models.Millis(firstShown(to.Unix(), location)), ok
}

// around returns the unit of the calendar that a date and time is in: its beginning and that of the next.
func around(shown time.Time, unit models.CalendarUnit) (from, to time.Time, ok bool) {
	y, m, d := shown.Date()
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	switch unit {
	case models.UnitHour:
		from = shown.Truncate(time.Hour)
		return from, from.Add(time.Hour), true
	case models.UnitDay:
		return date(y, m, d), date(y, m, d+1), true
	case models.UnitWeek:
		d -= (int(shown.Weekday()) + 6) % 7
		return date(y, m, d), date(y, m, d+7), true
	case models.UnitMonth:
		return date(y, m, 1), date(y, m+1, 1), true
	case models.UnitYear:
		return date(y, 1, 1), date(y+1, 1, 1), true
	}
	return time.Time{}, time.Time{}, false
}

// stretch returns how far clocks are from UTC at a time, and until when they stay so at least; false when they stay so forever.
func stretch(at int64, location *time.Location) (offset, end int64, ends bool) {
	t := time.Unix(at, 0).In(location)
	_, seconds := t.Zone()
	_, until := t.ZoneBounds()
	if !until.IsZero() && until.Unix() <= at {
		// Where rules go on after the table of a zone, Go takes years to have 365 days: on the last day of a leap year the bound is over
		// already. What it stands for is the end of the year.
		until = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return int64(seconds), until.Unix(), !until.IsZero()
}

// latestShown returns the latest time that clocks have shown until a time.
func latestShown(until int64, location *time.Location) int64 {
	at := until - farthest
	offset, end, ends := stretch(at, location)
	latest := at + offset
	for ends && end <= until {
		latest = max(latest, end-1+offset)
		offset, end, ends = stretch(end, location)
	}
	return max(latest, until+offset)
}

// firstShown returns the first time at which clocks show a time or a later one.
func firstShown(shown int64, location *time.Location) int64 {
	at := shown - farthest
	offset, end, ends := stretch(at, location)
	for ends && end+offset <= shown {
		at = end
		offset, end, ends = stretch(end, location)
	}
	return max(at, shown-offset)
}
