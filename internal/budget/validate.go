package budget

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	// Zones must be known on hosts without a zone database, too.
	_ "time/tzdata"

	"github.com/ostler-dev/ostler/internal/models"
)

// How long fixed periods and windows that roll may be, in seconds: from a minute to ten years of 365 days.
const (
	MinPeriodSeconds = 60
	MaxPeriodSeconds = 10 * 365 * 24 * 60 * 60
)

// CheckPeriod reports what is wrong with a period: which fields belong to which kind, and what may be in them. A zone that is nil is UTC;
// as the API sends "UTC" when nobody has named a zone, kinds without a zone bear that, too, and ignore it.
func CheckPeriod(kind models.PeriodKind, unit *models.CalendarUnit, seconds *int64, zone *string) error {
	switch kind {
	case models.PeriodCalendar:
		if seconds != nil {
			return errors.New("a CALENDAR period is as long as its unit: leave out seconds, or choose FIXED or ROLLING")
		}
		return checkCalendar(unit, zone)
	case models.PeriodRolling, models.PeriodFixed:
	default:
		return fmt.Errorf("%.40q is not a kind of period: want CALENDAR, ROLLING or FIXED", string(kind))
	}
	switch {
	case unit != nil:
		return fmt.Errorf("a %s period has no unit: give its length in seconds, or choose CALENDAR", kind)
	case zone != nil && *zone != "UTC":
		return fmt.Errorf("a %s period is counted in seconds, in every time zone alike: leave out timezone, or choose CALENDAR", kind)
	case seconds == nil:
		return fmt.Errorf("a %s period needs seconds: from %d to %d, e.g. 86400 for a day", kind, MinPeriodSeconds, MaxPeriodSeconds)
	case *seconds < MinPeriodSeconds, *seconds > MaxPeriodSeconds:
		return fmt.Errorf("a %s period can't have %d seconds: want from %d (a minute) to %d (ten years)", kind, *seconds, MinPeriodSeconds, MaxPeriodSeconds)
	}
	return nil
}

func checkCalendar(unit *models.CalendarUnit, zone *string) error {
	if unit == nil {
		return errors.New("a CALENDAR period needs a unit: HOUR, DAY, WEEK, MONTH or YEAR")
	}
	switch *unit {
	case models.UnitHour, models.UnitDay, models.UnitWeek, models.UnitMonth, models.UnitYear:
	default:
		return fmt.Errorf("%.40q is not a calendar unit: want HOUR, DAY, WEEK, MONTH or YEAR", string(*unit))
	}
	if zone == nil {
		return nil
	}
	_, err := loadZone(*zone)
	return err
}

// zoneName leaves out what the directory of zones of some hosts holds besides those of the database: localtime, posix/…, right/….
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// loadZone is time.LoadLocation for names of the tz database alone: the zone of the host is nobody's business.
func loadZone(name string) (*time.Location, error) {
	if zoneName.MatchString(name) && name != "Local" {
		if location, err := time.LoadLocation(name); err == nil {
			return location, nil
		}
	}
	return nil, fmt.Errorf("%.64q is not the IANA name of a time zone: want a name like Europe/Berlin, America/New_York or UTC", name)
}

// CheckLimits reports what is wrong with the limit and the soft limit of a budget.
func CheckLimits(limit models.Amount, soft *models.Amount) error {
	switch {
	case limit <= 0:
		return errors.New("the limit must be more than 0; to stop an agent, archive it or disable its model")
	case limit > MaxAmount:
		return errors.New("the limit is too large: the maximum is 9000000000, or 9·10^18 for tokens and tool_calls")
	case soft == nil:
		return nil
	case *soft < 0:
		return errors.New("the soft limit must not be less than 0: leave it out for none")
	case *soft > limit:
		return errors.New("the soft limit must not be more than the limit, or it would never be reached: lower it, or raise the limit")
	}
	return nil
}
