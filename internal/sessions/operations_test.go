package sessions

import (
	"database/sql/driver"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// keyID is an id as the sums of usage have it: the zero one is no NULL there.
type keyID [16]byte

func (id keyID) Value() (driver.Value, error) { return id[:], nil }

// used puts a sum of usage into an hour.
func (e *env) used(hour models.Millis, agent models.AgentID, turns, cost, unpriced int64) {
	e.t.Helper()
	row := map[string]any{
		"org_id": e.by.OrgID, "hour": hour, "model_id": keyID(models.NewID[models.ModelEntity]()), "agent_id": keyID(agent), "user_id": keyID{},
		"customer_key": "", "tool": "", "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4, "reasoning_tokens": 5,
		"cost_nanos": cost, "unpriced_calls": unpriced, "model_calls": 1, "tool_calls": 0, "turns": turns,
	}
	if err := e.db.WriteAcross(e.t.Context(), func(tx *gorm.DB) error { return tx.Table("usage_hours").Create(row).Error }); err != nil {
		e.t.Fatal(err)
	}
}

// timeTurn changes when a turn was what, in milliseconds of a day long ago; a negative time is none.
func (e *env) timeTurn(id models.TurnID, status models.TurnStatus, queued, started, first, finished models.Millis) {
	e.t.Helper()
	at := func(ms models.Millis) any {
		if ms < 0 {
			return nil
		}
		return 1_000_000 + ms
	}
	err := e.db.Write(e.t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
		return store.OneRow(store.Of(tx.Table("turns"), e.by.OrgID).Where("id = ?", id).Updates(map[string]any{
			"status": status, "queued_at": at(queued), "started_at": at(started), "first_token_at": at(first), "finished_at": at(finished),
		}))
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

func TestOperationsAddUpTurnsByTheHourAndByAgent(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		agent, err := e.catalog.CreateAgent(t.Context(), e.by, catalog.NewAgent{Name: "writer", SystemPrompt: "x"})
		if err != nil {
			t.Fatal(err)
		}
		start := 1000 * 24 * hourMillis
		e.used(start-hourMillis, agent.ID, 100, 100, 0)
		e.used(start, agent.ID, 3, 2_000_000_000, 0)
		e.used(start, models.AgentID{}, 5, 1_000_000_000, 1)
		e.used(start+hourMillis, agent.ID, 1, 500_000_000, 0)
		e.used(start+2*hourMillis, agent.ID, 100, 100, 0)
		// Sessions of the tests have no agent. These turns failed before a model took anything, so that no sum has them.
		e.failAt(start-1, models.TurnFailed, "provider_unavailable")
		e.failAt(start+1, models.TurnFailed, "provider_unavailable")
		e.failAt(start+2*hourMillis-1, models.TurnSealed, "iteration_limit")
		e.failAt(start+2*hourMillis, models.TurnFailed, "provider_unavailable")
		e.failAt(start+1, models.TurnCompleted, "")

		r, err := e.svc.Operations(t.Context(), e.by.OrgID, start+1, start+hourMillis+1)
		if err != nil {
			t.Fatal(err)
		}
		if r.Total.Turns != 11 || r.Total.Failed != 2 || r.CountedFrom != nil || r.Total.Usage.CostNanos != 3_500_000_000 || !r.Total.Usage.Unpriced || r.Total.Usage.InputTokens != 3 {
			t.Errorf("in all %+v", r.Total)
		}
		if want := []OperationsHour{{start, 9, 1}, {start + hourMillis, 2, 1}}; !slices.Equal(r.Hours, want) {
			t.Errorf("by the hour %+v, want %+v", r.Hours, want)
		}
		if c := r.ByCost; len(c) != 2 || c[0].Agent != agent.ID || c[0].Turns != 4 || c[0].Failed != 0 || c[0].Usage.CostNanos != 2_500_000_000 || c[1].Usage.CostNanos != 1_000_000_000 {
			t.Errorf("by cost %+v", c)
		}
		if f := r.ByFailures; len(f) != 1 || !f[0].Agent.IsZero() || f[0].Turns != 7 || f[0].Failed != 2 {
			t.Errorf("by failures %+v", f)
		}
		if r.Duration != nil || r.FirstToken != nil {
			t.Errorf("no turn was made then: %+v, %+v", r.Duration, r.FirstToken)
		}
		theirs, err := e.svc.Operations(t.Context(), e.theirs.OrgID, start, start+2*hourMillis)
		if err != nil || len(theirs.Hours) != 0 || len(theirs.ByCost) != 0 || theirs.Total.Turns != 0 {
			t.Errorf("others see %+v, %v", theirs, err)
		}
	})
}

// The sums of usage count a turn by the fact of its first model call: a failure is added where there is none, and only there.
func TestAFailedTurnCountsOnce(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		called := func(calls, fact int) {
			t.Helper()
			turn := e.failAt(1, models.TurnFailed, "provider_unavailable")
			err := e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
				if err := tx.Exec("UPDATE turns SET model_calls = ? WHERE org_id = ? AND id = ?", calls, e.by.OrgID, turn).Error; err != nil || fact == 0 {
					return err
				}
				entry := hold.ModelCall(turn, fact, models.JournalEntry{OrgID: e.by.OrgID, Measures: models.JSON("{}")}).JournalEntry
				return tx.Create(&entry).Error
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		e.used(0, models.AgentID{}, 1, 0, 0) // the first of the third one, which reported no tokens
		called(0, 0)
		called(1, 0)
		called(1, 1)
		called(2, 2) // the first call was lost, and tried again
		r, err := e.svc.Operations(t.Context(), e.by.OrgID, 0, 1)
		if err != nil || r.Total.Turns != 4 || r.Total.Failed != 4 {
			t.Errorf("in all %+v, %v", r.Total, err)
		}
		if want := []OperationsHour{{0, 4, 4}}; !slices.Equal(r.Hours, want) {
			t.Errorf("by the hour %+v, want %+v", r.Hours, want)
		}
	})
}

func TestOnlyTheAgentsWithMostAreNamed(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		for i := range int64(7) {
			e.used(0, models.NewID[models.AgentEntity](), 1, i, 0)
		}
		r, err := e.svc.Operations(t.Context(), e.by.OrgID, 0, 1)
		if err != nil || len(r.ByFailures) != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		var costs []models.Nanos
		for _, a := range r.ByCost {
			costs = append(costs, a.Usage.CostNanos)
		}
		if want := []models.Nanos{6, 5, 4, 3, 2}; !slices.Equal(costs, want) || r.Total.Usage.CostNanos != 21 {
			t.Errorf("%v of %v", costs, r.Total)
		}
	})
}

func TestOperationsMeasureTurnsThatEnded(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		before := models.Millis(time.Now().UnixMilli())
		session := e.create().ID
		for i := range models.Millis(20) {
			// 100 ms to 2 s, with the first text after half of it; each waited for 10 ms.
			took := 100 * (i + 1)
			e.timeTurn(e.say(session, "x"), models.TurnCompleted, 0, 10, 10+took/2, 10+took)
		}
		e.timeTurn(e.say(session, "silent"), models.TurnFailed, 0, 10, -1, 10+100_000)
		e.timeTurn(e.say(session, "cancelled"), models.TurnCancelled, 0, 10, 20, 10+900_000)
		e.timeTurn(e.say(session, "never begun"), models.TurnCancelled, 0, -1, -1, 900_000)
		e.say(session, "queued")

		r, err := e.svc.Operations(t.Context(), e.by.OrgID, before, models.Millis(time.Now().Add(time.Hour).UnixMilli()))
		if err != nil {
			t.Fatal(err)
		}
		if want := (Percentiles{P50: 1100, P95: 2000, Measured: 21}); r.Duration == nil || *r.Duration != want {
			t.Errorf("durations %+v, want %+v", r.Duration, want)
		}
		if want := (Percentiles{P50: 510, P95: 960, Measured: 20}); r.FirstToken == nil || *r.FirstToken != want {
			t.Errorf("first tokens %+v, want %+v", r.FirstToken, want)
		}
		if later, err := e.svc.Operations(t.Context(), e.by.OrgID, before+2*hourMillis, before+3*hourMillis); err != nil || later.Duration != nil {
			t.Errorf("later %+v, %v", later, err)
		}
		if theirs, err := e.svc.Operations(t.Context(), e.theirs.OrgID, before, before+1); err != nil || theirs.Duration != nil {
			t.Errorf("others see %+v, %v", theirs, err)
		}
	})
}

func TestPeriodsOfOperationsThatMakeNoSenseAreRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		for _, to := range []models.Millis{hourMillis, 0, 2*hourMillis + 400*hourMillis + 1} {
			_, err := e.svc.Operations(t.Context(), e.by.OrgID, 2*hourMillis, to)
			wantFault(t, err, fault.Invalid, "from")
		}
		for _, from := range []models.Millis{-1 << 62, -hourMillis} {
			if _, err := e.svc.Operations(t.Context(), e.by.OrgID, from, from+1); err != nil {
				t.Errorf("from %d: %v", from, err)
			}
		}
	})
}

func TestOperationsAreReadByIndexes(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		if e.db.Dialect != store.SQLite {
			return // tables are too small for PostgreSQL's planner to want an index
		}
		for _, read := range []struct {
			statement, index string
			args             []any
		}{
			{usageByHourAndAgent, "SEARCH usage_hours USING PRIMARY KEY (org_id=? AND hour>? AND hour<?)", []any{e.by.OrgID, 1, 2}},
			{newestFailures, "SEARCH turns USING INDEX turns_failed_by_time (org_id=?", []any{e.by.OrgID, e.by.OrgID, 1, 2, maxCount}},
			{newestFailures, "SEARCH s USING INDEX sqlite_autoindex_sessions_1 (org_id=? AND id=?)", []any{e.by.OrgID, e.by.OrgID, 1, 2, maxCount}},
			{newestTurns, "SEARCH turns USING INDEX sqlite_autoindex_turns_1 (org_id=? AND id>? AND id<?)", []any{e.by.OrgID, firstIDOf[models.TurnEntity](1), firstIDOf[models.TurnEntity](2), measuredTurns}},
		} {
			st := e.db.Read(t.Context(), e.by.OrgID).Session(&gorm.Session{DryRun: true}).Raw(read.statement, read.args...).Scan(&[]struct{}{})
			plan := strings.Join(e.explain(st.Statement), "\n")
			if !strings.Contains(plan, read.index) || strings.Contains(plan, "SCAN turns") {
				t.Errorf("the plan of %s is\n%s", read.statement, plan)
			}
		}
	})
}
