package sessions

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
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
		never := e.create().ID // has no turn, and thus none that took long or ended
		e.index()
		first := e.made(append(slices.Clone(all), never), time.Hour)
		for name, c := range map[string]struct {
			f    Filter
			want []int
		}{
			"outcome":           {Filter{Indexed: Indexed{Outcome: ptr(models.TurnFailed)}}, []int{1}},
			"model":             {Filter{Indexed: Indexed{ModelID: &model}}, []int{1}},
			"another model":     {Filter{Indexed: Indexed{ModelID: ptr(models.NewID[models.ModelEntity]())}}, nil},
			"cost from":         {Filter{Indexed: Indexed{MinCost: ptr(models.Nanos(2))}}, []int{2, 1}},
			"cost to":           {Filter{Indexed: Indexed{MaxCost: ptr(models.Nanos(2))}}, []int{3, 1, 0}},
			"at most that long": {Filter{Indexed: Indexed{MaxDuration: ptr(int64(3000))}}, []int{2, 1, 0}},
			"at least no time":  {Filter{Indexed: Indexed{MinDuration: ptr(int64(0))}}, []int{2, 1, 0}},
			"duration from, to": {Filter{Indexed: Indexed{MinDuration: ptr(int64(2000)), MaxDuration: ptr(int64(2000))}}, []int{1}},
			"with another one":  {Filter{Failed: ptr(true), Indexed: Indexed{MinCost: ptr(models.Nanos(3))}}, []int{2}},
			"before":            {Filter{CreatedBefore: ptr(first + 1)}, []int{0}},
			"between":           {Filter{CreatedAfter: &first, CreatedBefore: ptr(first + 2*3_600_000)}, []int{1}},
			"before all":        {Filter{CreatedBefore: ptr(first - 1_000_000_000)}, nil},
		} {
			t.Run(name, func(*testing.T) {
				var want []models.SessionID
				for _, at := range c.want {
					want = append(want, append(all, never)[at])
				}
				e.wantFound(c.f, want...)
			})
		}
	})
}

func TestFiltersThatMeanNothingAreRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		for path, f := range map[string]Indexed{
			"filter.outcome":       {Outcome: ptr(models.TurnRunning)},
			"filter.minCostUsd":    {MinCost: ptr(models.Nanos(-1))},
			"filter.maxCostUsd":    {MaxCost: ptr(models.Nanos(-1))},
			"filter.minDurationMs": {MinDuration: ptr(int64(-1))},
			"filter.maxDurationMs": {MaxDuration: ptr(int64(-1))},
		} {
			_, err := e.svc.List(t.Context(), e.by.OrgID, Filter{Indexed: f}, Sorting{}, nil, 10)
			wantFault(t, err, fault.Invalid, path)
		}
	})
}

// made gives sessions the times at which they were made: the first that of its id, and each one a while after the one before.
func (e *env) made(list []models.SessionID, apart time.Duration) (first models.Millis) {
	e.t.Helper()
	first = models.Millis(binary.BigEndian.Uint64(append([]byte{0, 0}, list[0][:6]...)))
	err := e.db.Write(e.t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
		for i, id := range list {
			at := first + models.Millis(i)*models.Millis(apart.Milliseconds())
			if err := store.Of(tx.Model(&models.Session{}), e.by.OrgID).Where("id = ?", id).Update("created_at", at).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return first
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

// A page costs a page: it is read in order, and what few sessions have is looked up first.
func TestEveryOrderAndFilterOfTheIndexIsReadByAnIndex(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		if e.db.Dialect != store.SQLite {
			return // figures of PostgreSQL, whose planner looks at the tables' sizes, are in bench/load
		}
		agent, harness, model := new(models.AgentID), new(models.HarnessID), new(models.ModelID)
		completed := Indexed{Outcome: ptr(models.TurnCompleted)}
		for name, c := range map[string]struct {
			f     Filter
			by    Order
			first string
		}{
			"all":                   {Filter{}, ByCreation, "sessions USING INDEX sessions_listed (org_id=? AND trial=?)"},
			"trials":                {Filter{Trial: true}, ByCreation, "sessions USING INDEX sessions_listed (org_id=? AND trial=?)"},
			"agent":                 {Filter{AgentID: agent}, ByCreation, "sessions USING INDEX sessions_by_agent (org_id=? AND agent_id=? AND trial=?)"},
			"harness":               {Filter{HarnessID: harness}, ByCreation, "sessions USING INDEX sessions_by_harness (org_id=? AND harness_id=? AND trial=?)"},
			"status":                {Filter{Status: []models.SessionStatus{models.SessionIdle}}, ByCreation, "sessions USING INDEX sessions_by_status (org_id=? AND status=? AND trial=?)"},
			"customer":              {Filter{CustomerKey: ptr("c")}, ByCreation, "sessions USING INDEX sessions_by_customer (org_id=? AND customer_key=? AND trial=?)"},
			"since":                 {Filter{CreatedAfter: ptr(models.Millis(9))}, ByCreation, "sessions USING INDEX sessions_listed (org_id=? AND trial=? AND id>?)"},
			"before":                {Filter{CreatedBefore: ptr(models.Millis(9))}, ByCreation, "sessions USING INDEX sessions_listed (org_id=? AND trial=? AND id<?)"},
			"outcome, before":       {Filter{Indexed: completed, CreatedBefore: ptr(models.Millis(9))}, ByCreation, "indexed_sessions_by_outcome (org_id=? AND trial=? AND outcome=? AND session_id<?)"},
			"activity":              {Filter{}, ByActivity, "indexed_sessions_by_activity"},
			"cost":                  {Filter{}, ByCost, "indexed_sessions_by_cost"},
			"duration":              {Filter{}, ByDuration, "indexed_sessions_by_duration"},
			"outcome":               {Filter{Indexed: completed}, ByCreation, "indexed_sessions_by_outcome"},
			"model":                 {Filter{Indexed: Indexed{ModelID: model}}, ByCreation, "indexed_sessions_by_model"},
			"costly":                {Filter{Indexed: Indexed{MinCost: ptr(models.Nanos(2))}}, ByCost, "indexed_sessions_by_cost"},
			"long":                  {Filter{Indexed: Indexed{MinDuration: ptr(int64(2))}}, ByDuration, "indexed_sessions_by_duration"},
			"outcome, by cost":      {Filter{Indexed: completed}, ByCost, "indexed_sessions_by_cost"},
			"model, by cost":        {Filter{Indexed: Indexed{ModelID: model}}, ByCost, "indexed_sessions_by_cost"},
			"long, by cost":         {Filter{Indexed: Indexed{MinDuration: ptr(int64(2))}}, ByCost, "indexed_sessions_by_cost"},
			"outcome, by activity":  {Filter{Indexed: completed}, ByActivity, "indexed_sessions_by_activity"},
			"agent, by cost":        {Filter{AgentID: agent}, ByCost, "sessions_by_agent"},
			"harness, by cost":      {Filter{HarnessID: harness}, ByCost, "sessions_by_harness"},
			"status, by cost":       {Filter{Status: []models.SessionStatus{models.SessionWaiting}}, ByCost, "sessions_by_status"},
			"customer, by cost":     {Filter{CustomerKey: ptr("c")}, ByCost, "sessions_by_customer"},
			"since, by cost":        {Filter{CreatedAfter: ptr(models.Millis(9))}, ByCost, "sessions_listed"},
			"before, by cost":       {Filter{CreatedBefore: ptr(models.Millis(9))}, ByCost, "sessions_listed"},
			"tag, by cost":          {Filter{Tag: ptr("t")}, ByCost, "sessions_listed (org_id=? AND trial=? AND id=?)"},
			"failed, by cost":       {Filter{Failed: ptr(true)}, ByCost, "sessions_listed (org_id=? AND trial=? AND id=?)"},
			"rated down, by cost":   {Filter{RatedDown: ptr(true)}, ByCost, "sessions_listed (org_id=? AND trial=? AND id=?)"},
			"searched for, by cost": {Filter{Search: ptr("word")}, ByCost, "sessions_listed (org_id=? AND trial=? AND id=?)"},
			"not failed, by cost":   {Filter{Failed: ptr(false)}, ByCost, "indexed_sessions_by_cost"},
		} {
			steps := e.planOf(c.f, Sorting{By: c.by})
			plan := strings.Join(steps, "\n")
			lookedUp := strings.HasPrefix(c.first, "sessions_") // and sorted
			if !strings.Contains(steps[0], c.first) || !lookedUp && strings.Contains(plan, "TEMP B-TREE FOR ORDER BY") {
				t.Errorf("%s: the plan is\n%s", name, plan)
			}
		}
	})
}
