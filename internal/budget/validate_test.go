package budget_test

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestCheckPeriod(t *testing.T) {
	type period struct {
		kind    models.PeriodKind
		unit    *models.CalendarUnit
		seconds *int64
		zone    *string
	}
	for _, c := range []struct {
		name string
		period
		want string // a part of the message; empty for none
	}{
		{"by the month", period{models.PeriodCalendar, new(models.UnitMonth), nil, new("Europe/Berlin")}, ""},
		{"by the hour, without a zone", period{models.PeriodCalendar, new(models.UnitHour), nil, nil}, ""},
		{"a zone of three parts", period{models.PeriodCalendar, new(models.UnitDay), nil, new("America/Argentina/Buenos_Aires")}, ""},
		{"a zone with a sign", period{models.PeriodCalendar, new(models.UnitDay), nil, new("Etc/GMT+12")}, ""},
		{"rolling", period{models.PeriodRolling, nil, new(int64(60)), nil}, ""},
		{"fixed, with the zone that nobody named", period{models.PeriodFixed, nil, new(int64(budget.MaxPeriodSeconds)), new("UTC")}, ""},

		{"not a kind", period{"DAILY", nil, nil, nil}, `"DAILY" is not a kind`},
		{"calendar without a unit", period{models.PeriodCalendar, nil, nil, new("UTC")}, "needs a unit"},
		{"an unknown unit", period{models.PeriodCalendar, new(models.CalendarUnit("EON")), nil, nil}, `"EON" is not a calendar unit`},
		{"calendar with seconds", period{models.PeriodCalendar, new(models.UnitDay), new(int64(60)), nil}, "leave out seconds"},
		{"an unknown zone", period{models.PeriodCalendar, new(models.UnitDay), nil, new("Europe/Atlantis")}, `"Europe/Atlantis" is not the IANA name`},
		{"an empty zone", period{models.PeriodCalendar, new(models.UnitDay), nil, new("")}, "is not the IANA name"},
		{"the zone of the host", period{models.PeriodCalendar, new(models.UnitDay), nil, new("Local")}, "is not the IANA name"},
		{"another file of the host's zones", period{models.PeriodCalendar, new(models.UnitDay), nil, new("right/UTC")}, "is not the IANA name"},
		{"a way out", period{models.PeriodCalendar, new(models.UnitDay), nil, new("../../etc/passwd")}, "is not the IANA name"},
		{"a long zone", period{models.PeriodCalendar, new(models.UnitDay), nil, new(strings.Repeat("A", 1_000_000))}, "is not the IANA name"},
		{"rolling with a unit", period{models.PeriodRolling, new(models.UnitDay), new(int64(60)), nil}, "has no unit"},
		{"fixed with a zone", period{models.PeriodFixed, nil, new(int64(60)), new("Europe/Berlin")}, "leave out timezone"},
		{"rolling without seconds", period{models.PeriodRolling, nil, nil, nil}, "needs seconds"},
		{"too short", period{models.PeriodRolling, nil, new(int64(59)), nil}, "want from 60"},
		{"too long", period{models.PeriodFixed, nil, new(int64(budget.MaxPeriodSeconds + 1)), nil}, "want from 60"},
		{"less than nothing", period{models.PeriodFixed, nil, new(int64(-1)), nil}, "want from 60"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, budget.CheckPeriod(c.kind, c.unit, c.seconds, c.zone), c.want)
		})
	}
}

func TestCheckLimits(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit models.Amount
		soft  *models.Amount
		want  string
	}{
		{"the least", 1, nil, ""},
		{"the most", budget.MaxAmount, new(budget.MaxAmount), ""},
		{"soft at nothing", 1, new(models.Amount(0)), ""},
		{"nothing", 0, nil, "must be more than 0"},
		{"less than nothing", -1, nil, "must be more than 0"},
		{"too much", budget.MaxAmount + 1, nil, "too large"},
		{"soft below nothing", 1, new(models.Amount(-1)), "must not be less than 0"},
		{"soft above the limit", 1, new(models.Amount(2)), "must not be more than the limit"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, budget.CheckLimits(c.limit, c.soft), c.want) })
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want no error", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want an error with %q", err, want)
	case err != nil && len(err.Error()) > 250:
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
}
