package manage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Who reads a budget sees the period of now, though nobody has written it.
func TestPeriodsRollInReads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		session := w.session(w.by)
		day := ofOrg(w.by, "100")
		day.SoftLimit, day.Period = dp("50"), &manage.Period{Kind: models.PeriodCalendar, Unit: new(models.UnitDay)}
		window := ofOrg(w.by, "100")
		window.Period = &manage.Period{Kind: models.PeriodRolling, Seconds: new(int64(3600))}
		hour := ofOrg(w.by, "100")
		hour.Period = &manage.Period{Kind: models.PeriodFixed, Seconds: new(int64(3600))}
		ids := []models.BudgetID{w.create(w.by, day).ID, w.create(w.by, window).ID, w.create(w.by, hour).ID}
		w.spend(w.by, session, 60)
		w.clock.Advance(30 * time.Minute)
		w.spend(w.by, session, 40)
		w.topUp(w.by, ids[0], "1")
		look := func() string {
			t.Helper()
			list, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, nil, 10)
			if err != nil || len(list) != 3 {
				t.Fatalf("got %+v, %v", list, err)
			}
			byID, err := w.ByID(t.Context(), w.by.OrgID, ids)
			if err != nil || len(byID) != 3 {
				t.Fatalf("got %+v, %v", byID, err)
			}
			report, err := w.Check(t.Context(), w.by.OrgID, session)
			if err != nil || len(report.Lines) != 3 {
				t.Fatalf("got %+v, %v", report, err)
			}
			out := string(report.Status)
			for i, id := range ids {
				one := w.get(w.by, id)
				for _, b := range append(append([]models.Budget{report.Lines[i].Budget}, list...), byID...) {
					if b.ID == id && (b.Spent != one.Spent || b.Credits != one.Credits || b.PeriodStartedAt != one.PeriodStartedAt || budget.StatusOf(&b) != budget.StatusOf(one)) {
						t.Errorf("got %+v here, %+v there", one, b)
					}
				}
				out += fmt.Sprintf(" %d+%d:%s", one.Spent, one.Credits, budget.StatusOf(one))
			}
			return out
		}
		before := w.stored(w.by, ids[0])
		if got := look(); got != "EXHAUSTED 100+1:PAUSED 100+0:EXHAUSTED 100+0:EXHAUSTED" {
			t.Errorf("at half past twelve: %s", got)
		}
		w.clock.Advance(30 * time.Minute)
		if got := look(); got != "PAUSED 100+1:PAUSED 40+0:ACTIVE 0+0:ACTIVE" {
			t.Errorf("at one: %s", got)
		}
		w.clock.Advance(12 * time.Hour)
		if got := look(); got != "ACTIVE 0+0:ACTIVE 0+0:ACTIVE 0+0:ACTIVE" {
			t.Errorf("on the next day: %s", got)
		}
		if after := w.stored(w.by, ids[0]); after.Spent != before.Spent || after.PeriodStartedAt != before.PeriodStartedAt || after.UpdatedAt != before.UpdatedAt {
			t.Errorf("reading has changed %+v to %+v", before, after)
		}
		// Who writes begins the period before anything else, and what is posted counts in that.
		got := w.topUp(w.by, ids[0], "5")
		if got.Spent != 0 || got.Credits != 5 || got.SoftPassedAt != nil || got.PeriodStartedAt != models.MillisOf(start.Add(12*time.Hour)) {
			t.Errorf("got %+v", got)
		}
		w.addsUp(w.by, ids[0])
	})
}

func TestListsArePaged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		agent := w.agent(w.by, models.LifecycleActive)
		ins := []manage.NewBudget{
			ofOrg(w.by, "1"),
			{Subject: models.SubjectAgent, SubjectID: agent.String(), Currency: "usd", Limit: d("1")},
			{Subject: models.SubjectCustomer, SubjectID: "acme", Currency: "usd", Limit: d("1")},
		}
		var ids []models.BudgetID
		for i := range 9 {
			ids = append(ids, w.create(w.by, ins[i%3]).ID)
			if i%2 == 0 { // some are made in the same millisecond
				w.clock.Advance(time.Millisecond)
			}
		}
		w.create(w.theirs, ofOrg(w.theirs, "1"))
		if _, err := w.Disable(t.Context(), w.by, ids[4]); err != nil {
			t.Fatal(err)
		}
		all := func(f manage.Filter) (got []models.BudgetID) {
			t.Helper()
			var after *manage.Place[models.BudgetEntity]
			for {
				list, err := w.List(t.Context(), w.by.OrgID, f, after, 2)
				if err != nil {
					t.Fatal(err)
				}
				if len(list) == 0 {
					break
				}
				for _, b := range list {
					got = append(got, b.ID)
				}
				last := list[len(list)-1]
				after = &manage.Place[models.BudgetEntity]{At: last.CreatedAt, ID: last.ID}
			}
			if n, err := w.Count(t.Context(), w.by.OrgID, f); err != nil || n != len(got) {
				t.Errorf("%v: counted %d, %v; listed %d", f, n, err, len(got))
			}
			return got
		}
		for what, c := range map[string]struct {
			f    manage.Filter
			want []int
		}{
			"all":                {manage.Filter{}, []int{8, 7, 6, 5, 4, 3, 2, 1, 0}},
			"those of agents":    {manage.Filter{Subject: new(models.SubjectAgent)}, []int{7, 4, 1}},
			"the agent's":        {manage.Filter{Subject: new(models.SubjectAgent), SubjectID: new(agent.String())}, []int{7, 4, 1}},
			"the customer's":     {manage.Filter{Subject: new(models.SubjectCustomer), SubjectID: new("acme")}, []int{8, 5, 2}},
			"another customer's": {manage.Filter{Subject: new(models.SubjectCustomer), SubjectID: new("Acme")}, nil},
			"the organization's": {manage.Filter{Subject: new(models.SubjectOrg), SubjectID: new(w.by.OrgID.String())}, []int{6, 3, 0}},
			"another one's":      {manage.Filter{Subject: new(models.SubjectOrg), SubjectID: new(w.theirs.OrgID.String())}, nil},
			"no agent's":         {manage.Filter{Subject: new(models.SubjectAgent), SubjectID: new("agent_x")}, nil},
			"nobody's":           {manage.Filter{Subject: new(models.SubjectCustomer), SubjectID: new("a\x00b")}, nil},
			"nobody's at all":    {manage.Filter{Subject: new(models.SubjectCustomer), SubjectID: new("a\xff")}, nil},
		} {
			var want []models.BudgetID
			for _, i := range c.want {
				want = append(want, ids[i])
			}
			if got := all(c.f); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got %v, want %v", what, got, want)
			}
		}
		_, err := w.List(t.Context(), w.by.OrgID, manage.Filter{SubjectID: new("acme")}, nil, 1)
		wantFault(t, "an id of what", err, fault.Invalid, "subject")
		_, err = w.Count(t.Context(), w.by.OrgID, manage.Filter{SubjectID: new("acme")})
		wantFault(t, "an id of what", err, fault.Invalid, "subject")
	})
}

func TestLedgersArePaged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b, other, none := w.create(w.by, ofOrg(w.by, "100")), w.create(w.by, ofOrg(w.by, "100")), w.create(w.by, ofOrg(w.by, "100"))
		for i := range 5 {
			w.topUp(w.by, b.ID, fmt.Sprint(i+1))
			if i%2 == 0 {
				w.clock.Advance(time.Second)
			}
		}
		w.topUp(w.by, other.ID, "77")
		whole := w.ledger(w.by, b.ID)
		var amounts []models.Amount
		for _, p := range whole {
			amounts = append(amounts, p.Amount)
		}
		if fmt.Sprint(amounts) != "[-5 -4 -3 -2 -1]" {
			t.Errorf("got %v", amounts)
		}
		for i := range whole {
			page, err := w.Ledger(t.Context(), w.by.OrgID, b.ID, &manage.Place[models.LedgerEntity]{At: whole[i].CreatedAt, ID: whole[i].ID}, 2)
			if err != nil || len(page) != min(2, 4-i) || len(page) > 0 && page[0].ID != whole[i+1].ID {
				t.Errorf("after %d: got %+v, %v", i, page, err)
			}
		}
		ids := []models.BudgetID{b.ID, other.ID, none.ID}
		pages, err := w.NewestPostings(t.Context(), w.by.OrgID, ids, 3)
		if err != nil || len(pages) != 3 || len(pages[b.ID]) != 3 || pages[b.ID][0].ID != whole[0].ID || pages[b.ID][2].ID != whole[2].ID ||
			len(pages[other.ID]) != 1 || len(pages[none.ID]) != 0 {
			t.Errorf("got %+v, %v", pages, err)
		}
		counts, err := w.CountPostings(t.Context(), w.by.OrgID, ids)
		if err != nil || counts[b.ID] != 5 || counts[other.ID] != 1 || counts[none.ID] != 0 {
			t.Errorf("got %v, %v", counts, err)
		}
		// Another organization sees none of it.
		if pages, err := w.NewestPostings(t.Context(), w.theirs.OrgID, ids, 3); err != nil || len(pages[b.ID]) != 0 {
			t.Errorf("got %+v, %v", pages, err)
		}
		if counts, err := w.CountPostings(t.Context(), w.theirs.OrgID, ids); err != nil || counts[b.ID] != 0 {
			t.Errorf("got %v, %v", counts, err)
		}
	})
}
