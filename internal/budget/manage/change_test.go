package manage_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

func TestNewWantsAllItNeeds(t *testing.T) {
	if _, err := manage.New(manage.Config{}); err == nil {
		t.Error("a service of nothing was made")
	}
}

func TestCreate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		session, agent := w.session(w.by), w.agent(w.by, models.LifecycleArchived)
		month := &manage.Period{Kind: models.PeriodCalendar, Unit: new(models.UnitMonth), Timezone: new("Europe/Berlin")}
		for _, c := range []struct {
			in    manage.NewBudget
			limit models.Amount
		}{
			{manage.NewBudget{Subject: models.SubjectOrg, SubjectID: w.by.OrgID.String(), Currency: "usd", Limit: d("12.5"), SoftLimit: dp("10"), Period: month}, 12_500_000_000},
			{manage.NewBudget{Subject: models.SubjectUser, SubjectID: w.by.UserID.String(), Currency: "tokens", Limit: d("9000000000000000000")}, budget.MaxAmount},
			{manage.NewBudget{Subject: models.SubjectAgent, SubjectID: agent.String(), Currency: "credits", Limit: d("0.000000001")}, 1},
			{manage.NewBudget{Subject: models.SubjectSession, SubjectID: session.String(), Currency: "tool_calls", Limit: d("7.0")}, 7},
			{manage.NewBudget{Subject: models.SubjectCustomer, SubjectID: strings.Repeat("ü", 200), Currency: "gpu_seconds", Limit: d("1"),
				Period: &manage.Period{Kind: models.PeriodRolling, Seconds: new(int64(3600)), Timezone: new("UTC")}}, 1_000_000_000},
		} {
			b := w.create(w.by, c.in)
			got := w.stored(w.by, b.ID)
			if got.LimitAmount != c.limit || got.Subject != c.in.Subject || manage.SubjectID(&got) != c.in.SubjectID || got.Currency != c.in.Currency ||
				got.CreatedAt != models.MillisOf(start) || got.UpdatedAt != got.CreatedAt || got.Spent != 0 || got.DisabledAt != nil {
				t.Errorf("%v: got %+v", c.in, got)
			}
			if woken := w.woken.take(); !slices.Equal(woken, []models.BudgetID{b.ID}) {
				t.Errorf("woke %v", woken)
			}
		}
		list, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, nil, 10)
		if err != nil || len(list) != 5 {
			t.Fatalf("got %d budgets, %v", len(list), err)
		}
		first := list[4]
		// March in Berlin begins an hour before March in UTC.
		if *first.SoftLimit != 10_000_000_000 || *first.Timezone != "Europe/Berlin" || first.PeriodStartedAt.Time().UTC().Hour() != 23 ||
			!first.PeriodEndsAt.Time().Equal(time.Date(2026, 3, 31, 22, 0, 0, 0, time.UTC)) {
			t.Errorf("got %+v", first)
		}
		if last := list[0]; *last.PeriodSeconds != 3600 || last.Timezone != nil || last.PeriodEndsAt != nil {
			t.Errorf("got %+v", last)
		}
		actions, _ := w.recorded(w.by)
		if actions != strings.TrimSpace(strings.Repeat("budget.created ", 5)) {
			t.Errorf("recorded %s", actions)
		}
	})
}

func TestCreateTellsTheAuditWhatItMade(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := ofOrg(w.by, "100")
		in.SoftLimit, in.Period = dp("50"), &manage.Period{Kind: models.PeriodCalendar, Unit: new(models.UnitDay)}
		w.create(w.by, in)
		_, last := w.recorded(w.by)
		want := map[string]any{
			"subject": "ORG", "subjectId": w.by.OrgID.String(), "currency": "tokens", "limit": "100", "softLimit": "50",
			"period": map[string]any{"kind": "CALENDAR", "unit": "DAY", "timezone": "UTC"},
		}
		if got := fmt.Sprint(last["after"]); got != fmt.Sprint(want) {
			t.Errorf("got %s, want %s", got, fmt.Sprint(want))
		}
	})
}

func TestCreateRefusals(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root := w.session(w.by)
		child := w.session(w.by, func(s *models.Session) { s.ParentID, s.RootID = &root, &root })
		of := func(kind models.BudgetSubject, id string) manage.NewBudget {
			return manage.NewBudget{Subject: kind, SubjectID: id, Currency: "usd", Limit: d("1")}
		}
		with := func(change func(*manage.NewBudget)) manage.NewBudget {
			in := of(models.SubjectOrg, w.by.OrgID.String())
			change(&in)
			return in
		}
		for what, c := range map[string]struct {
			in   manage.NewBudget
			code fault.Code
			at   string
		}{
			"another organization":       {of(models.SubjectOrg, w.theirs.OrgID.String()), fault.NotFound, "subjectId"},
			"no organization":            {of(models.SubjectOrg, models.NewID[models.OrgEntity]().String()), fault.NotFound, "subjectId"},
			"another one's member":       {of(models.SubjectUser, w.theirs.UserID.String()), fault.NotFound, "subjectId"},
			"no member":                  {of(models.SubjectUser, models.NewID[models.UserEntity]().String()), fault.NotFound, "subjectId"},
			"another one's agent":        {of(models.SubjectAgent, w.agent(w.theirs, models.LifecycleActive).String()), fault.NotFound, "subjectId"},
			"a deleted agent":            {of(models.SubjectAgent, w.agent(w.by, models.LifecycleDeleted).String()), fault.NotFound, "subjectId"},
			"another one's session":      {of(models.SubjectSession, w.session(w.theirs).String()), fault.NotFound, "subjectId"},
			"no session":                 {of(models.SubjectSession, models.NewID[models.SessionEntity]().String()), fault.NotFound, "subjectId"},
			"the zero session":           {of(models.SubjectSession, models.SessionID{}.String()), fault.NotFound, "subjectId"},
			"an agent's id of a session": {of(models.SubjectSession, w.agent(w.by, models.LifecycleActive).String()), fault.NotFound, "subjectId"},
			"a session made by another":  {of(models.SubjectSession, child.String()), fault.Invalid, "subjectId"},
			"no id":                      {of(models.SubjectAgent, ""), fault.NotFound, "subjectId"},
			"an empty key":               {of(models.SubjectCustomer, " "), fault.Invalid, "subjectId"},
			"a long key":                 {of(models.SubjectCustomer, strings.Repeat("k", 201)), fault.Invalid, "subjectId"},
			"NUL in a key":               {of(models.SubjectCustomer, "a\x00b"), fault.Invalid, "subjectId"},
			"no UTF-8 in a key":          {of(models.SubjectCustomer, "a\xffb"), fault.Invalid, "subjectId"},
			"not a subject":              {of("PLANET", "x"), fault.Invalid, "subjectId"},
			"not a currency":             {with(func(in *manage.NewBudget) { in.Currency = "US$" }), fault.Invalid, "currency"},
			"too many digits":            {with(func(in *manage.NewBudget) { in.Limit = d("0.0000000001") }), fault.Invalid, "limit"},
			"a part of a token":          {with(func(in *manage.NewBudget) { in.Currency, in.Limit = "tokens", d("1.5") }), fault.Invalid, "limit"},
			"too much":                   {with(func(in *manage.NewBudget) { in.Limit = d("9000000000.000000001") }), fault.Invalid, "limit"},
			"nothing":                    {with(func(in *manage.NewBudget) { in.Limit = d("0") }), fault.Invalid, "limit"},
			"less than nothing":          {with(func(in *manage.NewBudget) { in.Limit = d("-1") }), fault.Invalid, "limit"},
			"soft above hard":            {with(func(in *manage.NewBudget) { in.SoftLimit = dp("1.1") }), fault.Invalid, "softLimit"},
			"soft with too many digits":  {with(func(in *manage.NewBudget) { in.SoftLimit = dp("0.1234567891") }), fault.Invalid, "softLimit"},
			"a period without a unit":    {with(func(in *manage.NewBudget) { in.Period = &manage.Period{Kind: models.PeriodCalendar} }), fault.Invalid, "period"},
			"a zone that nobody knows": {with(func(in *manage.NewBudget) {
				in.Period = &manage.Period{Kind: models.PeriodCalendar, Unit: new(models.UnitDay), Timezone: new("Mars/Olympus")}
			}), fault.Invalid, "period"},
			"a window without a length": {with(func(in *manage.NewBudget) { in.Period = &manage.Period{Kind: models.PeriodRolling} }), fault.Invalid, "period"},
		} {
			_, err := w.Create(t.Context(), w.by, c.in)
			wantFault(t, what, err, c.code, "input", c.at)
			if what == "a session made by another" && !strings.Contains(err.Error(), root.String()) {
				t.Errorf("%s: the root is not named: %v", what, err)
			}
		}
		if list, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("got %+v, %v", list, err)
		}
		if actions, _ := w.recorded(w.by); actions != "" {
			t.Errorf("recorded %s", actions)
		}
		if woken := w.woken.take(); len(woken) != 0 {
			t.Errorf("woke %v", woken)
		}
	})
}

// Those who create budgets at once don't get past the limit of one subject; those that are out of force don't count.
func TestASubjectHasNoMoreThanItsBudgets(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range manage.MaxOfSubject - 2 {
			w.create(w.by, ofOrg(w.by, "1"))
		}
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = w.Create(t.Context(), w.by, ofOrg(w.by, "1")) })
		}
		wg.Wait()
		refused := 0
		for _, err := range errs {
			if fault.Is(err, fault.LimitReached) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if refused != 4 {
			t.Errorf("%d of 6 were refused, want 4", refused)
		}
		// Others have room.
		w.create(w.by, manage.NewBudget{Subject: models.SubjectCustomer, SubjectID: "acme", Currency: "usd", Limit: d("1")})
		w.create(w.theirs, ofOrg(w.theirs, "1"))
		list, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, nil, 100)
		if err != nil || len(list) != manage.MaxOfSubject+1 {
			t.Fatalf("there are %d budgets, %v", len(list), err)
		}
		if _, err := w.Disable(t.Context(), w.by, list[5].ID); err != nil {
			t.Fatal(err)
		}
		w.create(w.by, ofOrg(w.by, "1"))
		_, err = w.Create(t.Context(), w.by, ofOrg(w.by, "1"))
		wantFault(t, "one too many", err, fault.LimitReached)
	})
}

func TestAnOrganizationHasNoMoreThanItsBudgets(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rows := make([]models.Budget, 0, 500)
		for i := range manage.MaxBudgets {
			b := models.Budget{
				OrgID: w.by.OrgID, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectCustomer, CustomerKey: new(fmt.Sprint(i)),
				Currency: "usd", LimitAmount: 1, CreatedAt: 1, UpdatedAt: 1,
			}
			if i%2 == 0 {
				b.Subject, b.CustomerKey, b.SubjectID = models.SubjectUser, nil, new(models.NewID[models.SubjectEntity]())
			}
			if rows = append(rows, b); len(rows) == cap(rows) {
				w.write(w.by.OrgID, &rows)
				rows = rows[:0]
			}
		}
		_, err := w.Create(t.Context(), w.by, ofOrg(w.by, "1"))
		wantFault(t, "one too many", err, fault.LimitReached)
		list, err := w.List(t.Context(), w.by.OrgID, manage.Filter{}, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Disable(t.Context(), w.by, list[0].ID); err != nil {
			t.Fatal(err)
		}
		w.create(w.by, ofOrg(w.by, "1"))
		if n, err := w.Count(t.Context(), w.by.OrgID, manage.Filter{}); err != nil || n != 10_001 {
			t.Errorf("counted %d, %v", n, err)
		}
	})
}

func TestUpdate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		session := w.session(w.by)
		in := ofOrg(w.by, "100")
		in.SoftLimit = dp("50")
		b := w.create(w.by, in)
		w.spend(w.by, session, 100)
		if got := w.get(w.by, b.ID); budget.StatusOf(got) != budget.StatusExhausted || got.SoftPassedAt == nil {
			t.Fatalf("got %+v", got)
		}
		w.woken.take()
		w.clock.Advance(time.Minute)
		update := func(c manage.Change) *models.Budget {
			t.Helper()
			got, err := w.Update(t.Context(), w.by, b.ID, c)
			if err != nil {
				t.Fatal(err)
			}
			if stored := w.stored(w.by, b.ID); stored.LimitAmount != got.LimitAmount || stored.Spent != got.Spent || stored.PeriodStartedAt != got.PeriodStartedAt {
				t.Errorf("gave %+v, stored %+v", got, stored)
			}
			w.addsUp(w.by, b.ID)
			return got
		}
		// A higher limit is room, and it is still past the soft one.
		if got := update(manage.Change{Limit: dp("200")}); got.LimitAmount != 200 || *got.SoftLimit != 50 || budget.StatusOf(got) != budget.StatusPaused ||
			got.UpdatedAt != models.MillisOf(start.Add(time.Minute)) {
			t.Errorf("a higher limit: %+v", got)
		}
		if woken := w.woken.take(); !slices.Equal(woken, []models.BudgetID{b.ID}) {
			t.Errorf("woke %v", woken)
		}
		if got := update(manage.Change{SoftLimit: catalog.Give[*decimal.Decimal](nil)}); got.SoftLimit != nil || got.SoftPassedAt != nil || budget.StatusOf(got) != budget.StatusActive {
			t.Errorf("without a soft limit: %+v", got)
		}
		// What it has already changes nothing.
		before, _ := w.recorded(w.by)
		update(manage.Change{Limit: dp("200.00"), SoftLimit: catalog.Give[*decimal.Decimal](nil), Period: catalog.Give[*manage.Period](nil)})
		if after, _ := w.recorded(w.by); after != before {
			t.Errorf("recorded %s, then %s", before, after)
		}
		if got := update(manage.Change{SoftLimit: catalog.Give(dp("99"))}); got.SoftPassedAt == nil || budget.StatusOf(got) != budget.StatusPaused {
			t.Errorf("with a soft limit that was passed before: %+v", got)
		}
		if got := update(manage.Change{Limit: dp("100")}); budget.StatusOf(got) != budget.StatusExhausted {
			t.Errorf("a limit that is used up: %+v", got)
		}
		_, last := w.recorded(w.by)
		if last["before"].(map[string]any)["limit"] != "200" || last["after"].(map[string]any)["limit"] != "100" {
			t.Errorf("recorded %v", last)
		}
		for what, c := range map[string]struct {
			in manage.Change
			at string
		}{
			"a limit below the soft one": {manage.Change{Limit: dp("98")}, "limit"},
			"no limit":                   {manage.Change{Limit: dp("0")}, "limit"},
			"a part of a token":          {manage.Change{Limit: dp("1.5")}, "limit"},
			"soft above hard":            {manage.Change{SoftLimit: catalog.Give(dp("101"))}, "softLimit"},
			"half of it is bad":          {manage.Change{Limit: dp("500"), Period: catalog.Give(&manage.Period{Kind: models.PeriodFixed})}, "period"},
		} {
			_, err := w.Update(t.Context(), w.by, b.ID, c.in)
			wantFault(t, what, err, fault.Invalid, "input", c.at)
		}
		if got := w.stored(w.by, b.ID); got.LimitAmount != 100 || *got.SoftLimit != 99 || got.Spent != 100 {
			t.Errorf("got %+v", got)
		}
	})
}

// A changed period begins anew, and what was posted before, even in the same millisecond, counts in none of the later ones.
func TestAChangedPeriodBeginsAnew(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		session := w.session(w.by)
		b := w.create(w.by, ofOrg(w.by, "100"))
		day := &manage.Period{Kind: models.PeriodCalendar, Unit: new(models.UnitDay)}
		periods := []*manage.Period{
			day, nil, {Kind: models.PeriodFixed, Seconds: new(int64(3600))}, nil, day, {Kind: models.PeriodCalendar, Unit: new(models.UnitMonth)}, day,
		}
		begun := map[models.Millis]bool{b.PeriodStartedAt: true}
		for i, p := range periods {
			w.spend(w.by, session, 10)
			w.hold(w.by, session, 20)
			w.topUp(w.by, b.ID, "3")
			if held := w.stored(w.by, b.ID).Reserved; held != 20 {
				t.Errorf("%d: %d are held before, want 20", i, held)
			}
			got, err := w.Update(t.Context(), w.by, b.ID, manage.Change{Period: catalog.Give(p)})
			if err != nil {
				t.Fatal(err)
			}
			if got.Spent != 0 || got.Credits != 0 || begun[got.PeriodStartedAt] || (got.PeriodEndsAt != nil) != (p != nil) {
				t.Errorf("%d: got %+v, begun before %v", i, got, begun)
			}
			// What is held stays with the period before.
			if stored := w.stored(w.by, b.ID); stored.Reserved != 0 || stored.PeriodStartedAt != got.PeriodStartedAt {
				t.Errorf("%d: the new period holds %d", i, stored.Reserved)
			}
			begun[got.PeriodStartedAt] = true
			w.addsUp(w.by, b.ID)
		}
		w.spend(w.by, session, 10)
		w.addsUp(w.by, b.ID)
		if got := w.get(w.by, b.ID); got.Spent != 10 || !got.PeriodEndsAt.Time().Equal(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("got %+v", got)
		}
		// The same period again is no change.
		if got, err := w.Update(t.Context(), w.by, b.ID, manage.Change{Limit: dp("50"), Period: catalog.Give(day)}); err != nil || got.Spent != 10 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestDisable(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.create(w.by, ofOrg(w.by, "100"))
		w.woken.take()
		for range 2 { // the second time it is so already
			got, err := w.Disable(t.Context(), w.by, b.ID)
			if err != nil || got.DisabledAt == nil || budget.StatusOf(got) != budget.StatusDisabled {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		if got := w.get(w.by, b.ID); got.DisabledAt == nil {
			t.Errorf("got %+v", got)
		}
		if actions, _ := w.recorded(w.by); actions != "budget.created budget.disabled" {
			t.Errorf("recorded %s", actions)
		}
		if woken := w.woken.take(); len(woken) == 0 || woken[0] != b.ID {
			t.Errorf("woke %v", woken)
		}
		_, err := w.Update(t.Context(), w.by, b.ID, manage.Change{Limit: dp("5")})
		wantFault(t, "a change of it", err, fault.Conflict, "id")
		_, err = w.TopUp(t.Context(), w.by, manage.TopUp{BudgetID: b.ID, Amount: d("5")})
		wantFault(t, "a top-up of it", err, fault.Conflict, "input", "budgetId")
	})
}

// What belongs to another organization is as if it didn't exist.
func TestBudgetsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		theirs, session := w.create(w.theirs, ofOrg(w.theirs, "100")), w.session(w.theirs)
		w.topUp(w.theirs, theirs.ID, "5")
		posting := w.ledger(w.theirs, theirs.ID)[0].ID
		for _, id := range []models.BudgetID{theirs.ID, models.NewID[models.BudgetEntity](), {}} {
			_, err := w.Get(t.Context(), w.by.OrgID, id)
			wantFault(t, "get", err, fault.NotFound, "id")
			_, err = w.Update(t.Context(), w.by, id, manage.Change{Limit: dp("1")})
			wantFault(t, "update", err, fault.NotFound, "id")
			_, err = w.Disable(t.Context(), w.by, id)
			wantFault(t, "disable", err, fault.NotFound, "id")
			_, err = w.TopUp(t.Context(), w.by, manage.TopUp{BudgetID: id, Amount: d("1"), IdempotencyKey: new("k")})
			wantFault(t, "top up", err, fault.NotFound, "input", "budgetId")
			if list, err := w.Ledger(t.Context(), w.by.OrgID, id, nil, 10); err != nil || len(list) != 0 {
				t.Errorf("ledger: %v, %v", list, err)
			}
		}
		for _, id := range []models.LedgerID{posting, models.NewID[models.LedgerEntity]()} {
			_, _, err := w.Posting(t.Context(), w.by.OrgID, id)
			wantFault(t, "posting", err, fault.NotFound, "id")
		}
		for _, id := range []models.SessionID{session, models.NewID[models.SessionEntity]()} {
			_, err := w.Check(t.Context(), w.by.OrgID, id)
			wantFault(t, "check", err, fault.NotFound, "sessionId")
			wantFault(t, "resume", w.ResumeSession(t.Context(), w.by, id), fault.NotFound, "sessionId")
		}
		if list, err := w.ByID(t.Context(), w.by.OrgID, []models.BudgetID{theirs.ID}); err != nil || len(list) != 0 {
			t.Errorf("by id: %v, %v", list, err)
		}
		if got := w.stored(w.theirs, theirs.ID); got.Credits != 5 || got.LimitAmount != 100 || got.DisabledAt != nil {
			t.Errorf("got %+v", got)
		}
		if n := w.count(&models.IdempotencyKey{}, w.by); n != 0 {
			t.Errorf("%d keys were taken", n)
		}
	})
}

func (w *world) count(model any, by *auth.Principal) int64 {
	w.t.Helper()
	var n int64
	if err := store.Of(w.db.Read(w.t.Context(), by.OrgID).Model(model), by.OrgID).Count(&n).Error; err != nil {
		w.t.Fatal(err)
	}
	return n
}
