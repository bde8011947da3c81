package budget_test

import (
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

func calendarBudget(unit models.CalendarUnit, zone string) *models.Budget {
	return &models.Budget{PeriodKind: new(models.PeriodCalendar), PeriodUnit: &unit, Timezone: &zone, Currency: models.CurrencyTokens, LimitAmount: 100}
}

func periodAt(t testing.TB, b *models.Budget, now models.Millis) (start, end models.Millis) {
	t.Helper()
	start, ends := budget.PeriodAt(b, now)
	if ends == nil {
		t.Fatalf("the %s in %s never ends", *b.PeriodUnit, *b.Timezone)
	}
	return start, *ends
}

// What people see on the clock at the place, written down by hand.
func TestCalendarPeriods(t *testing.T) {
	for _, c := range []struct {
		name         string
		zone         string
		unit         models.CalendarUnit
		at, from, to string
	}{
		{"a day", "UTC", models.UnitDay, "2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"its first instant", "UTC", models.UnitDay, "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"its last instant", "UTC", models.UnitDay, "2026-03-01T23:59:59.999Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"a week from Monday, on a Sunday", "Europe/Berlin", models.UnitWeek, "2026-03-01T12:00:00+01:00", "2026-02-23T00:00:00+01:00", "2026-03-02T00:00:00+01:00"},
		{"a week from Monday, on a Monday", "Europe/Berlin", models.UnitWeek, "2026-03-02T00:00:00+01:00", "2026-03-02T00:00:00+01:00", "2026-03-09T00:00:00+01:00"},
		{"a week of 169 hours", "Europe/Berlin", models.UnitWeek, "2026-10-25T12:00:00+01:00", "2026-10-19T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"February of a leap year", "Asia/Tokyo", models.UnitMonth, "2028-02-29T23:59:59+09:00", "2028-02-01T00:00:00+09:00", "2028-03-01T00:00:00+09:00"},
		{"a month with a change", "America/New_York", models.UnitMonth, "2026-03-31T23:59:59-04:00", "2026-03-01T00:00:00-05:00", "2026-04-01T00:00:00-04:00"},
		{"a year", "Asia/Kolkata", models.UnitYear, "2026-07-01T00:00:00+05:30", "2026-01-01T00:00:00+05:30", "2027-01-01T00:00:00+05:30"},
		// Midnights that there are not: the day begins at one o'clock.
		{"no midnight in Santiago", "America/Santiago", models.UnitDay, "2022-09-11T12:00:00-03:00", "2022-09-11T01:00:00-03:00", "2022-09-12T00:00:00-03:00"},
		{"the day before that", "America/Santiago", models.UnitDay, "2022-09-10T12:00:00-04:00", "2022-09-10T00:00:00-04:00", "2022-09-11T01:00:00-03:00"},
		{"no midnight in Beirut", "Asia/Beirut", models.UnitDay, "2024-03-31T12:00:00+03:00", "2024-03-31T01:00:00+03:00", "2024-04-01T00:00:00+03:00"},
		{"no midnight in Cairo", "Africa/Cairo", models.UnitDay, "2024-04-26T12:00:00+03:00", "2024-04-26T01:00:00+03:00", "2024-04-27T00:00:00+03:00"},
		// At midnight clocks went back to 23:00: the day before has 25 hours, and Sunday no second midnight.
		{"twice 23 o'clock in Santiago", "America/Santiago", models.UnitDay, "2022-04-02T23:30:00-04:00", "2022-04-02T00:00:00-03:00", "2022-04-03T00:00:00-04:00"},
		// At 00:01 clocks went back to 23:01: Sunday has begun by then.
		{"a minute of Sunday before Saturday's end in St. John's", "America/St_Johns", models.UnitDay, "2010-11-06T23:30:00-03:30", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"},
		{"Saturday until then", "America/St_Johns", models.UnitDay, "2010-11-06T23:59:00-02:30", "2010-11-06T00:00:00-02:30", "2010-11-07T00:00:00-02:30"},
		// Days that there were not.
		{"before the lost day of Samoa", "Pacific/Apia", models.UnitDay, "2011-12-29T23:59:59-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"after the lost day of Samoa", "Pacific/Apia", models.UnitDay, "2011-12-31T00:00:00+14:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
		{"the week of the lost day of Samoa", "Pacific/Apia", models.UnitWeek, "2011-12-31T12:00:00+14:00", "2011-12-26T00:00:00-10:00", "2012-01-02T00:00:00+14:00"},
		{"before the lost day of Kwajalein", "Pacific/Kwajalein", models.UnitDay, "1993-08-20T12:00:00-12:00", "1993-08-20T00:00:00-12:00", "1993-08-22T00:00:00+12:00"},
		// Half an hour on Lord Howe Island.
		{"an hour of thirty minutes", "Australia/Lord_Howe", models.UnitHour, "2026-10-04T02:45:00+11:00", "2026-10-04T02:30:00+11:00", "2026-10-04T03:00:00+11:00"},
		{"an hour of ninety minutes", "Australia/Lord_Howe", models.UnitHour, "2026-04-05T01:45:00+10:30", "2026-04-05T01:00:00+11:00", "2026-04-05T02:00:00+10:30"},
		{"an hour that comes twice is one", "Europe/Berlin", models.UnitHour, "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"},
		{"an hour that there isn't", "Europe/Berlin", models.UnitHour, "2026-03-29T01:59:59+01:00", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"an hour of Nepal", "Asia/Kathmandu", models.UnitHour, "2026-01-01T12:10:00+05:45", "2026-01-01T12:00:00+05:45", "2026-01-01T13:00:00+05:45"},
		{"an hour in an offset with seconds", "Africa/Monrovia", models.UnitHour, "1971-01-01T12:50:00Z", "1971-01-01T12:44:30Z", "1971-01-01T13:44:30Z"},
		// Beyond the table of a zone Go's bounds are wrong on the last day of leap years.
		{"the last day of a leap year", "America/New_York", models.UnitDay, "2028-12-31T12:00:00-05:00", "2028-12-31T00:00:00-05:00", "2029-01-01T00:00:00-05:00"},
		{"the year of that", "America/New_York", models.UnitYear, "2028-12-31T12:00:00-05:00", "2028-01-01T00:00:00-05:00", "2029-01-01T00:00:00-05:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, from, to := instant(t, c.at), instant(t, c.from), instant(t, c.to)
			start, end := periodAt(t, calendarBudget(c.unit, c.zone), at)
			if start != from || end != to {
				t.Errorf("the %s of %s in %s is from %s to %s, want from %s to %s", c.unit, c.at, c.zone, start.Time(), end.Time(), from.Time(), to.Time())
			}
		})
	}
}

func instant(t *testing.T, text string) models.Millis {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return models.MillisOf(at)
}
