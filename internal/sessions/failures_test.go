package sessions

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// failAt ends a turn of a session of its own with a code, or well for none, at a time.
func (e *env) failAt(at models.Millis, status models.TurnStatus, code string) models.TurnID {
	e.t.Helper()
	return e.failIn(e.create().ID, at, status, code)
}

// failIn is failAt in a session that there is.
func (e *env) failIn(session models.SessionID, at models.Millis, status models.TurnStatus, code string) models.TurnID {
	e.t.Helper()
	id := e.say(session, "x")
	if err := e.commit.Submit(e.t.Context(), &endTurn{org: e.by.OrgID, session: session, status: status}); err != nil {
		e.t.Fatal(err)
	}
	changes := models.Turn{FinishedAt: &at}
	if code != "" {
		changes.Error = &models.Failure{Code: code, Message: "It went wrong."}
	}
	err := e.db.Write(e.t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
		return store.OneRow(store.Of(tx.Model(&models.Turn{}), e.by.OrgID).Where("id = ?", id).Updates(&changes))
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return id
}

func TestFailuresAreGroupedByCodeAndCountedOverTime(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		hour := models.Millis(time.Hour.Milliseconds())
		start := 1000 * 24 * hour
		e.failAt(start-1, models.TurnFailed, "provider_unavailable")
		first := e.failAt(start, models.TurnFailed, "provider_unavailable")
		second := e.failAt(start+hour-1, models.TurnSealed, "iteration_limit")
		third := e.failAt(start+hour, models.TurnFailed, "provider_unavailable")
		e.failAt(start+hour, models.TurnCompleted, "")
		e.failAt(start+2*hour, models.TurnFailed, "provider_unavailable")

		r, err := e.svc.Failures(t.Context(), e.by.OrgID, start, start+2*hour, time.Hour)
		if err != nil || r.CountedFrom != nil || len(r.Groups) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		provider, limit := r.Groups[0], r.Groups[1]
		if provider.Code != "provider_unavailable" || provider.Turns != 2 || provider.LatestAt != start+hour ||
			!slices.Equal(provider.Counts, []FailureCount{{start, 1}, {start + hour, 1}}) {
			t.Errorf("%+v", provider)
		}
		if limit.Code != "iteration_limit" || limit.Turns != 1 || !slices.Equal(limit.Counts, []FailureCount{{start, 1}}) {
			t.Errorf("%+v", limit)
		}
		if r, err := e.svc.Failures(t.Context(), e.theirs.OrgID, start, start+2*hour, time.Hour); err != nil || len(r.Groups) != 0 {
			t.Errorf("others see %+v, %v", r, err)
		}

		from, to := start, start+2*hour
		for name, want := range map[string][]models.TurnID{"": {third, second, first}, "provider_unavailable": {third, first}, "brand_new": nil} {
			f := FailureFilter{From: &from, To: &to}
			if name != "" {
				f.Code = &name
			}
			var got []models.TurnID
			var after *FailurePlace
			for {
				page, err := e.svc.FailedTurns(t.Context(), e.by.OrgID, f, after, 1)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				got, after = append(got, page[0].ID), &FailurePlace{At: *page[0].FinishedAt, ID: page[0].ID}
			}
			n, err := e.svc.CountFailedTurns(t.Context(), e.by.OrgID, f)
			if !slices.Equal(got, want) || n != len(want) || err != nil {
				t.Errorf("%q: listed %v, counted %d, %v; want %v", name, got, n, err, want)
			}
		}
	})
}

// What is tried says nothing about the agents as they are, and lists of an agent's sessions don't show it.
func TestFailuresLeaveTrialsOut(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		trial, err := e.svc.Create(t.Context(), e.by, NewSession{Draft: &catalog.NewAgent{}})
		if err != nil {
			t.Fatal(err)
		}
		e.failIn(trial.ID, hourMillis, models.TurnFailed, "iteration_limit")
		want := e.failAt(hourMillis+1, models.TurnFailed, "provider_unavailable")
		r, err := e.svc.Failures(t.Context(), e.by.OrgID, 0, 2*hourMillis, time.Hour)
		if err != nil || len(r.Groups) != 1 || r.Groups[0].Code != "provider_unavailable" {
			t.Errorf("%+v, %v", r, err)
		}
		list, err := e.svc.FailedTurns(t.Context(), e.by.OrgID, FailureFilter{}, nil, 10)
		if err != nil || len(list) != 1 || list[0].ID != want {
			t.Errorf("%+v, %v", list, err)
		}
		if n, err := e.svc.CountFailedTurns(t.Context(), e.by.OrgID, FailureFilter{}); err != nil || n != 1 {
			t.Errorf("counted %d, %v", n, err)
		}
		o, err := e.svc.Operations(t.Context(), e.by.OrgID, 0, 2*hourMillis)
		if err != nil || o.Total.Failed != 1 || len(o.ByFailures) != 1 || o.ByFailures[0].Failed != 1 {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

func TestPeriodsThatMakeNoSenseAreRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		day := models.Millis(24 * time.Hour.Milliseconds())
		for _, to := range []models.Millis{day, 2*day + 400*day + 1} {
			_, err := e.svc.Failures(t.Context(), e.by.OrgID, 2*day, to, 24*time.Hour)
			wantFault(t, err, fault.Invalid, "from")
		}
	})
}

func TestFailuresAreReadByIndexes(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		if e.db.Dialect != store.SQLite {
			return // tables are too small for PostgreSQL's planner to want an index
		}
		from, code := models.Millis(1), "provider_unavailable"
		page := func(f FailureFilter) *gorm.DB {
			return e.svc.failedTurns(t.Context(), e.by.OrgID, f).Session(&gorm.Session{DryRun: true}).
				Order("finished_at DESC, id DESC").Limit(20).Find(&[]models.Turn{})
		}
		counted := e.db.Read(t.Context(), e.by.OrgID).Session(&gorm.Session{DryRun: true}).Raw(countedFailures, 1, e.by.OrgID, 1, 2, maxCount).Scan(&[]struct{}{})
		for _, read := range []struct {
			name, index string
			st          *gorm.DB
		}{
			{"all", "turns_failed_by_time", page(FailureFilter{})},
			{"of a period", "turns_failed_by_time", page(FailureFilter{From: &from})},
			{"with a code", "turns_failed_by_code", page(FailureFilter{From: &from, Code: &code})},
			{"counted", "turns_failed_by_time", counted},
		} {
			plan := strings.Join(e.explain(read.st.Statement), "\n")
			if !strings.Contains(plan, "SEARCH turns USING INDEX "+read.index+" (org_id=?") || read.st != counted && strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s: the plan is\n%s", read.name, plan)
			}
		}
	})
}
