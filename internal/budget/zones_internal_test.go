package budget

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// zoneNames returns all zones of the database that comes with Go, each once: some have several names.
func zoneNames(t *testing.T) []string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var names []string
	seen := map[uint32]bool{}
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if err := CheckPeriod(models.PeriodCalendar, new(models.UnitHour), nil, &f.Name); err != nil {
			t.Error(err)
		}
		if !seen[f.CRC32] {
			names = append(names, f.Name)
			seen[f.CRC32] = true
		}
	}
	if len(names) < 300 {
		t.Fatalf("there are %d zones only", len(names))
	}
	return names
}

// In every zone and for all units periods follow each other without gap or overlap, begin with the first instant of what clocks show,
// and end with the last: around every change of clocks from 1970 to 2042, and all over the years.
func TestPeriodsOfAllZones(t *testing.T) {
	names := make(chan string)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range names {
				checkZone(t, name)
			}
		})
	}
	for _, name := range zoneNames(t) {
		names <- name
	}
	close(names)
	workers.Wait()
}

func checkZone(t *testing.T, name string) {
	location, err := loadZone(name)
	if err != nil {
		t.Error(err)
		return
	}
	changes := changesOf(location)
	times := timesOf(changes)
	for _, unit := range []models.CalendarUnit{models.UnitHour, models.UnitDay, models.UnitWeek, models.UnitMonth, models.UnitYear} {
		period := func(at models.Millis) (start, end models.Millis) {
			start, end, _ = calendar(at, unit, location)
			return start, end
		}
		var lastStart, lastEnd models.Millis
		for _, at := range times {
			start, end := period(at)
			if start > at || at >= end {
				t.Errorf("%s, %s: %s is not in %s to %s", name, unit, at.Time(), start.Time(), end.Time())
				return
			}
			begins := labelOf(start, unit, location)
			if shown := max(labelOf(at, unit, location), labelOf(end-1, unit, location)); shown > begins {
				t.Errorf("%s, %s: clocks show %s in what began at %s and ends at %s", name, unit, shown, start.Time(), end.Time())
				return
			}
			if start == lastStart && end == lastEnd {
				continue // its bounds were looked at
			}
			lastStart, lastEnd = start, end
			// The instants on both sides of both bounds belong where the bounds say.
			for _, side := range []struct {
				at    models.Millis
				is    func(from, to models.Millis) bool
				wants string
			}{
				{start, func(from, to models.Millis) bool { return from == start && to == end }, "begin it"},
				{end - 1, func(from, to models.Millis) bool { return from == start && to == end }, "end it"},
				{end, func(from, _ models.Millis) bool { return from == end }, "begin the next"},
				{start - 1, func(_, to models.Millis) bool { return to == start }, "end the one before"},
			} {
				if from, to := period(side.at); !side.is(from, to) {
					t.Errorf("%s, %s of %s, from %s to %s: %s doesn't %s but is in %s to %s", name, unit, at.Time(), start.Time(), end.Time(),
						side.at.Time(), side.wants, from.Time(), to.Time())
					return
				}
			}
			if begins <= latestBefore(start, unit, location, changes) {
				t.Errorf("%s, %s: at %s clocks show nothing new: %s", name, unit, start.Time(), begins)
				return
			}
		}
	}
}

// labelOf returns what clocks show of a unit, so that later is greater.
func labelOf(at models.Millis, unit models.CalendarUnit, location *time.Location) string {
	local := at.Time().In(location)
	switch unit {
	case models.UnitHour:
		return local.Format("2006-01-02 15")
	case models.UnitDay:
		return local.Format("2006-01-02")
	case models.UnitWeek:
		monday := time.Date(local.Year(), local.Month(), local.Day()-(int(local.Weekday())+6)%7, 12, 0, 0, 0, time.UTC)
		return monday.Format("2006-01-02")
	case models.UnitMonth:
		return local.Format("2006-01")
	case models.UnitYear:
	}
	return local.Format("2006")
}

// latestBefore returns the latest of what clocks have shown before a time: just before it, or just before they were set back.
func latestBefore(at models.Millis, unit models.CalendarUnit, location *time.Location, changes []models.Millis) string {
	latest := labelOf(at-1, unit, location)
	until, _ := slices.BinarySearch(changes, at)
	for _, change := range changes[max(until-4, 0):until] {
		latest = max(latest, labelOf(change-1, unit, location))
	}
	return latest
}

// changesOf finds the changes of clocks by looking at them every six hours, not by the bounds that the product relies on.
func changesOf(location *time.Location) (changes []models.Millis) {
	offset := func(at int64) int {
		_, seconds := time.Unix(at, 0).In(location).Zone()
		return seconds
	}
	const step = 6 * 60 * 60
	first, last := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2042, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for at := first; at < last; at += step {
		if offset(at) == offset(at+step) {
			continue
		}
		before, after := at, at+step
		for before+1 < after {
			if middle := before + (after-before)/2; offset(middle) == offset(at) {
				before = middle
			} else {
				after = middle
			}
		}
		changes = append(changes, models.Millis(after*1000))
	}
	return changes
}

// timesOf returns the times to look at: around each change, and the ends of years, with those of leap years among them.
func timesOf(changes []models.Millis) (times []models.Millis) {
	const minute = 60_000
	for _, change := range changes {
		for _, around := range []models.Millis{-24 * 60 * minute, -60 * minute, 0, 29 * minute, 24 * 60 * minute} {
			times = append(times, change+around)
		}
	}
	for year := 1971; year < 2042; year++ {
		times = append(times, models.MillisOf(time.Date(year, 12, 31, 12, 0, 0, 0, time.UTC)))
	}
	slices.Sort(times)
	return times
}
