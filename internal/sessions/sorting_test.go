package sessions

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// listed returns what a list has, read in pages of one.
func (e *env) listed(f Filter, by Sorting) (got []models.SessionID) {
	e.t.Helper()
	var after *Place
	for {
		page, err := e.svc.List(e.t.Context(), e.by.OrgID, f, by, after, 1)
		if err != nil {
			e.t.Fatal(err)
		}
		if len(page) == 0 {
			return got
		}
		at := page[0].Place()
		got, after = append(got, at.ID), &at
	}
}

// took gives the latest turn of a session a length, and the session a cost, as its turns would have.
func (e *env) took(session models.SessionID, duration time.Duration, cost models.Nanos) {
	e.t.Helper()
	err := e.db.Write(e.t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
		turns := store.Of(tx.Model(&models.Turn{}), e.by.OrgID).Where("session_id = ?", session)
		if err := turns.Update("finished_at", gorm.Expr("started_at + ?", duration.Milliseconds())).Error; err != nil {
			return err
		}
		return store.Of(tx.Model(&models.Session{}), e.by.OrgID).Where("id = ?", session).Update("cost_nanos", cost).Error
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

func TestSessionsAreSortedByActivityCostAndDuration(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		var all []models.SessionID
		for range 4 {
			all = append(all, e.create().ID)
		}
		// Their turns end in another order than the sessions were made in, and two cost the same.
		for i, at := range []int{2, 0, 3, 1} {
			e.clock.Advance(time.Minute)
			e.wholeTurn(all[at], "x")
			e.took(all[at], time.Duration([]int64{4, 1, 3, 2}[i])*time.Second, []models.Nanos{7, 9, 7, 1}[i])
		}
		e.index()
		for _, c := range []struct {
			by   Order
			want []int
		}{
			{ByCreation, []int{3, 2, 1, 0}},
			{ByActivity, []int{1, 3, 0, 2}},
			{ByCost, []int{0, 3, 2, 1}},
			{ByDuration, []int{2, 3, 1, 0}},
		} {
			var want []models.SessionID
			for _, at := range c.want {
				want = append(want, all[at])
			}
			if got := e.listed(Filter{}, Sorting{By: c.by}); !slices.Equal(got, want) {
				t.Errorf("by %q: %v, want %v", c.by, got, want)
			}
			slices.Reverse(want)
			if got := e.listed(Filter{}, Sorting{By: c.by, Ascending: true}); !slices.Equal(got, want) {
				t.Errorf("by %q, ascending: %v, want %v", c.by, got, want)
			}
		}
		if got := e.listed(Filter{Search: ptr("x"), Failed: ptr(false)}, Sorting{By: ByDuration}); len(got) != 4 || got[0] != all[2] {
			t.Errorf("of those that were searched for the longest is %v, want %s", got, all[2])
		}
		if list, err := e.svc.List(t.Context(), e.theirs.OrgID, Filter{}, Sorting{By: ByCost}, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("the others list %v, %v", list, err)
		}
	})
}

func TestSessionsAreFilteredByOutcomeModelCostDurationAndTime(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		var all []models.SessionID
		for i, status := range []models.TurnStatus{models.TurnCompleted, models.TurnFailed, models.TurnSealed} {
			id := e.create().ID
			all = append(all, id)
			e.say(id, "x")
			if err := e.commit.Submit(t.Context(), &endTurn{org: e.by.OrgID, session: id, status: status}); err != nil {
				t.Fatal(err)
			}
			e.took(id, time.Duration(i+1)*time.Second, models.Nanos(i+1))
			e.clock.Advance(time.Hour)
		}
		model := models.NewID[models.ModelEntity]()
		e.calls(all[1], model)
		e.index()
		first := e.get(all[0]).CreatedAt
		for name, c := range map[string]struct {
			f    Filter
			want []int
		}{
			"outcome":           {Filter{Indexed: Indexed{Outcome: ptr(models.TurnFailed)}}, []int{1}},
			"model":             {Filter{Indexed: Indexed{ModelID: &model}}, []int{1}},
			"another model":     {Filter{Indexed: Indexed{ModelID: ptr(models.NewID[models.ModelEntity]())}}, nil},
			"cost from":         {Filter{Indexed: Indexed{MinCost: ptr(models.Nanos(2))}}, []int{2, 1}},
			"cost to":           {Filter{Indexed: Indexed{MaxCost: ptr(models.Nanos(2))}}, []int{1, 0}},
			"duration from, to": {Filter{Indexed: Indexed{MinDuration: ptr(int64(2000)), MaxDuration: ptr(int64(2000))}}, []int{1}},
			"with another one":  {Filter{Failed: ptr(true), Indexed: Indexed{MinCost: ptr(models.Nanos(3))}}, []int{2}},
			"before":            {Filter{CreatedBefore: ptr(first + 1)}, []int{0}},
			"between":           {Filter{CreatedAfter: &first, CreatedBefore: ptr(first + 2*3_600_000)}, []int{1}},
			"before all":        {Filter{CreatedBefore: ptr(first - 1_000_000_000)}, nil},
		} {
			t.Run(name, func(*testing.T) {
				var want []models.SessionID
				for _, at := range c.want {
					want = append(want, all[at])
				}
				e.wantFound(c.f, want...)
			})
		}
	})
}

// calls plants a call of a model at the end of a session's log.
func (e *env) calls(session models.SessionID, model models.ModelID) {
	e.t.Helper()
	data, err := json.Marshal(events.GenerationRecorded{ModelID: model})
	if err != nil {
		e.t.Fatal(err)
	}
	row := models.Event{
		OrgID: e.by.OrgID, SessionID: session, Sequence: e.get(session).LastSequence + 1, ID: models.NewID[models.EventEntity](),
		Kind: models.EventGenerationRecorded, Data: data, OccurredAt: 1,
	}
	if err := e.db.Write(e.t.Context(), e.by.OrgID, func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
		e.t.Fatal(err)
	}
}

func TestPreviewsAreOneShortLine(t *testing.T) {
	t.Parallel()
	said := "  What\n is  this? " + strings.Repeat("é", maxPreview)
	line := previewOf(&models.Message{Content: []models.Part{{Type: models.PartText, Text: said}}})
	if !strings.HasPrefix(line, "What is this? é") || len([]rune(line)) != maxPreview {
		t.Errorf("got %q", line)
	}
}

func TestTheIndexHasWhatListsShow(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session := e.create().ID
		indexed := func() models.IndexedSession {
			t.Helper()
			e.index()
			list, err := e.svc.IndexedByID(t.Context(), e.by.OrgID, []models.SessionID{session})
			if err != nil || len(list) != 1 {
				t.Fatalf("%d sessions are indexed, %v", len(list), err)
			}
			return list[0]
		}
		if s := indexed(); s.Preview != nil || s.Outcome != nil || s.ModelID != nil || s.DurationMs != 0 {
			t.Errorf("a new session is indexed as %+v", s)
		}
		e.say(session, "What is this?")
		model := models.NewID[models.ModelEntity]()
		e.play(session, true, false, NewChanges())
		if s := indexed(); s.Preview != nil || s.Outcome != nil {
			t.Errorf("a session at work is indexed as %+v", s)
		}
		e.play(session, false, true, NewChanges())
		e.calls(session, model)
		if s := indexed(); s.Preview == nil || *s.Preview != "ok" || s.Outcome == nil || *s.Outcome != models.TurnCompleted || s.ModelID == nil || *s.ModelID != model {
			t.Errorf("a session that was answered is indexed as %+v", s)
		}
		if list, err := e.svc.IndexedByID(t.Context(), e.theirs.OrgID, []models.SessionID{session}); err != nil || len(list) != 0 {
			t.Errorf("the others read %v, %v", list, err)
		}
	})
}

func TestEveryOrderAndFilterOfTheIndexIsReadByAnIndex(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		if e.db.Dialect != store.SQLite {
			return // figures of PostgreSQL, whose planner looks at the tables' sizes, are in bench/load
		}
		for name, c := range map[string]struct {
			f     Filter
			by    Order
			index string
		}{
			"activity": {Filter{}, ByActivity, "indexed_sessions_by_activity"},
			"cost":     {Filter{}, ByCost, "indexed_sessions_by_cost"},
			"duration": {Filter{}, ByDuration, "indexed_sessions_by_duration"},
			"outcome":  {Filter{Indexed: Indexed{Outcome: ptr(models.TurnFailed)}}, ByCreation, "indexed_sessions_by_outcome"},
			"model":    {Filter{Indexed: Indexed{ModelID: new(models.ModelID)}}, ByCreation, "indexed_sessions_by_model"},
			"costly":   {Filter{Indexed: Indexed{MinCost: ptr(models.Nanos(2))}}, ByCost, "indexed_sessions_by_cost"},
			"long":     {Filter{Indexed: Indexed{MinDuration: ptr(int64(2))}}, ByDuration, "indexed_sessions_by_duration"},
			"before":   {Filter{CreatedBefore: ptr(models.Millis(9))}, ByCreation, "sessions_by_time"},
		} {
			plan := strings.Join(e.planOf(c.f, Sorting{By: c.by}), "\n")
			if !strings.Contains(plan, c.index) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s: the plan is\n%s", name, plan)
			}
		}
	})
}
