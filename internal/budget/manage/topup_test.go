package manage_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

func TestTopUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		session := w.session(w.by)
		in := ofOrg(w.by, "10")
		in.Currency = "usd"
		b := w.create(w.by, in)
		w.spend(w.by, session, 10_000_000_000)
		w.woken.take()
		got, err := w.TopUp(background(t), w.by, manage.TopUp{BudgetID: b.ID, Amount: d("2.5"), Description: new("for the demo")})
		if err != nil || got.Credits != 2_500_000_000 || budget.Balance(got) != 2_500_000_000 || budget.StatusOf(got) != budget.StatusActive {
			t.Fatalf("got %+v, %v", got, err)
		}
		if woken := w.woken.take(); !slices.Equal(woken, []models.BudgetID{b.ID}) {
			t.Errorf("woke %v", woken)
		}
		w.addsUp(w.by, b.ID)
		ledger := w.ledger(w.by, b.ID)
		p := ledger[0]
		if len(ledger) != 2 || p.Amount != -2_500_000_000 || p.Source != models.JournalTopUp || *p.Description != "for the demo" || p.SessionID != nil ||
			p.PeriodStartedAt != b.PeriodStartedAt {
			t.Errorf("posted %+v", ledger)
		}
		var fact models.JournalEntry
		if err := store.Of(w.db.Read(t.Context(), w.by.OrgID), w.by.OrgID).Where("id = ?", p.JournalID).Take(&fact).Error; err != nil {
			t.Fatal(err)
		}
		var measures map[string]any
		if err := json.Unmarshal(fact.Measures, &measures); err != nil {
			t.Fatal(err)
		}
		if fact.Kind != models.JournalTopUp || *fact.UserID != w.by.UserID || fact.OccurredAt != models.MillisOf(start) || measures["amount"] != "2.5" {
			t.Errorf("the fact is %+v", fact)
		}
		actions, last := w.recorded(w.by)
		if !strings.HasSuffix(actions, " budget.topped_up") || last["amount"] != "2.5" || last["description"] != "for the demo" ||
			last["before"].(map[string]any)["balance"] != "0" || last["after"].(map[string]any)["balance"] != "2.5" {
			t.Errorf("recorded %s, last %v", actions, last)
		}
		// Sums of what was used don't count it.
		var sums []models.UsageHour
		if err := store.Of(w.db.Read(t.Context(), w.by.OrgID), w.by.OrgID).Find(&sums).Error; err != nil || len(sums) != 1 {
			t.Errorf("got %+v, %v", sums, err)
		}
		found, currency, err := w.Posting(t.Context(), w.by.OrgID, p.ID)
		if err != nil || found.Amount != p.Amount || currency != "usd" {
			t.Errorf("got %+v, %s, %v", found, currency, err)
		}
		// A key has no user.
		key := *w.by
		key.UserID, key.KeyID = models.UserID{}, models.NewID[models.APIKeyEntity]()
		w.topUp(&key, b.ID, "1")
		w.addsUp(w.by, b.ID)
	})
}

func TestTopUpRefusals(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.create(w.by, ofOrg(w.by, "100"))
		large := w.create(w.by, ofOrg(w.by, "8999999999999999999"))
		for what, c := range map[string]struct {
			in manage.TopUp
			at string
		}{
			"nothing":                {manage.TopUp{Amount: d("0")}, "amount"},
			"less than nothing":      {manage.TopUp{Amount: d("-5")}, "amount"},
			"a part of a token":      {manage.TopUp{Amount: d("0.5")}, "amount"},
			"too much":               {manage.TopUp{Amount: d("9000000000000000001")}, "amount"},
			"too much together":      {manage.TopUp{Amount: d("9000000000000000000")}, "amount"},
			"one too much together":  {manage.TopUp{BudgetID: large.ID, Amount: d("2")}, "amount"},
			"a long description":     {manage.TopUp{Amount: d("5"), Description: new(strings.Repeat("x", 501))}, "description"},
			"NUL in the description": {manage.TopUp{Amount: d("5"), Description: new("a\x00")}, "description"},
			"an empty key":           {manage.TopUp{Amount: d("5"), IdempotencyKey: new("")}, "idempotencyKey"},
			"a long key":             {manage.TopUp{Amount: d("5"), IdempotencyKey: new(strings.Repeat("x", 201))}, "idempotencyKey"},
		} {
			if c.in.BudgetID.IsZero() {
				c.in.BudgetID = b.ID
			}
			if c.in.IdempotencyKey == nil {
				c.in.IdempotencyKey = new("same")
			}
			_, err := w.TopUp(t.Context(), w.by, c.in)
			wantFault(t, what, err, fault.Invalid, "input", c.at)
		}
		if n := w.count(&models.LedgerEntry{}, w.by) + w.count(&models.JournalEntry{}, w.by) + w.count(&models.IdempotencyKey{}, w.by); n != 0 {
			t.Errorf("%d rows were written", n)
		}
		// To the brim, no more, and the limit can't go around it.
		if got := w.topUp(w.by, large.ID, "1"); budget.Balance(got) != budget.MaxAmount {
			t.Errorf("got %+v", got)
		}
		_, err := w.TopUp(t.Context(), w.by, manage.TopUp{BudgetID: large.ID, Amount: d("1")})
		wantFault(t, "one more", err, fault.Invalid, "input", "amount")
		_, err = w.Update(t.Context(), w.by, large.ID, manage.Change{Limit: dp("9000000000000000000")})
		wantFault(t, "a limit of one more", err, fault.Invalid, "input", "limit")
		// A new period has room again.
		if got, err := w.Update(t.Context(), w.by, large.ID, manage.Change{
			Limit: dp("9000000000000000000"), Period: catalog.Give(&manage.Period{Kind: models.PeriodFixed, Seconds: new(int64(60))}),
		}); err != nil || budget.Balance(got) != budget.MaxAmount {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestATopUpCountsOnceUnderItsKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b, other := w.create(w.by, ofOrg(w.by, "100")), w.create(w.by, ofOrg(w.by, "100"))
		in := manage.TopUp{BudgetID: b.ID, Amount: d("5.0"), IdempotencyKey: new("key")}
		for _, amount := range []string{"5.0", "5", "5.00"} {
			in.Amount = d(amount)
			if got, err := w.TopUp(t.Context(), w.by, in); err != nil || got.Credits != 5 {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		for what, change := range map[string]func(*manage.TopUp){
			"another amount":      func(in *manage.TopUp) { in.Amount = d("6") },
			"another budget":      func(in *manage.TopUp) { in.BudgetID = other.ID },
			"another description": func(in *manage.TopUp) { in.Description = new("") },
		} {
			in := in
			change(&in)
			_, err := w.TopUp(t.Context(), w.by, in)
			wantFault(t, what, err, fault.IdempotencyMismatch, "input", "idempotencyKey")
		}
		if n := w.count(&models.LedgerEntry{}, w.by); n != 1 {
			t.Errorf("posted %d times", n)
		}
		if actions, _ := w.recorded(w.by); strings.Count(actions, "topped_up") != 1 {
			t.Errorf("recorded %s", actions)
		}
		// Another organization has keys of its own.
		theirs := w.create(w.theirs, ofOrg(w.theirs, "100"))
		if got, err := w.TopUp(t.Context(), w.theirs, manage.TopUp{BudgetID: theirs.ID, Amount: d("7"), IdempotencyKey: new("key")}); err != nil || got.Credits != 7 {
			t.Errorf("got %+v, %v", got, err)
		}
		// A repetition succeeds also after the budget went out of force.
		if _, err := w.Disable(t.Context(), w.by, b.ID); err != nil {
			t.Fatal(err)
		}
		if got, err := w.TopUp(t.Context(), w.by, in); err != nil || got.Credits != 5 || got.DisabledAt == nil {
			t.Errorf("got %+v, %v", got, err)
		}
		// After a day the key is free, also for something else, and then bound to that.
		w.clock.Advance(24 * time.Hour)
		in = manage.TopUp{BudgetID: other.ID, Amount: d("9"), IdempotencyKey: new("key")}
		for range 2 {
			if got, err := w.TopUp(t.Context(), w.by, in); err != nil || got.Credits != 9 {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		w.addsUp(w.by, b.ID)
		w.addsUp(w.by, other.ID)
	})
}

// together calls a function many times at once and returns the errors.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	return errs
}

func TestTopUpsWithOneKeyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b, other := w.create(w.by, ofOrg(w.by, "100")), w.create(w.by, ofOrg(w.by, "100"))
		for round, key := range []string{"a", "b", "c"} {
			for _, err := range together(6, func(int) error {
				_, err := w.TopUp(t.Context(), w.by, manage.TopUp{BudgetID: b.ID, Amount: d("5"), IdempotencyKey: &key})
				return err
			}) {
				if err != nil {
					t.Error(err)
				}
			}
			if got := w.get(w.by, b.ID); got.Credits != models.Amount(5*(round+1)) {
				t.Fatalf("round %d: got %+v", round, got)
			}
		}
		// One key for two budgets: one of them gets it, whoever comes first.
		mismatches := 0
		for _, err := range together(6, func(i int) error {
			_, err := w.TopUp(t.Context(), w.by, manage.TopUp{
				BudgetID: []models.BudgetID{b.ID, other.ID}[i%2], Amount: d("5"), IdempotencyKey: new("d"),
			})
			return err
		}) {
			if fault.Is(err, fault.IdempotencyMismatch) {
				mismatches++
			} else if err != nil {
				t.Error(err)
			}
		}
		if sum := w.get(w.by, b.ID).Credits + w.get(w.by, other.ID).Credits; mismatches != 3 || sum != 20 {
			t.Errorf("%d were refused, %d topped up in all", mismatches, sum)
		}
		w.addsUp(w.by, b.ID)
		w.addsUp(w.by, other.ID)
	})
}

// Whatever is done to a budget at once, nothing of it is lost.
func TestABudgetIsChangedByManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.create(w.by, ofOrg(w.by, "1000"))
		sessions := []models.SessionID{w.session(w.by), w.session(w.by)}
		errs := together(24, func(i int) error {
			var err error
			switch i % 3 {
			case 0:
				_, err = w.TopUp(t.Context(), w.by, manage.TopUp{BudgetID: b.ID, Amount: d("5")})
			case 1:
				_, err = w.Update(t.Context(), w.by, b.ID, manage.Change{Limit: dp("1010")})
			case 2:
				w.spend(w.by, sessions[i%2], 7)
			}
			return err
		})
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		if got := w.get(w.by, b.ID); got.LimitAmount != 1010 || got.Credits != 40 || got.Spent != 56 {
			t.Errorf("got %+v", got)
		}
		w.addsUp(w.by, b.ID)
	})
}

func TestRacingFromTwoOrganizations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		of := map[*auth.Principal]*models.Budget{w.by: w.create(w.by, ofOrg(w.by, "1")), w.theirs: w.create(w.theirs, ofOrg(w.theirs, "1"))}
		for _, err := range together(8, func(i int) error {
			by := []*auth.Principal{w.by, w.theirs}[i%2]
			_, err := w.TopUp(t.Context(), by, manage.TopUp{BudgetID: of[by].ID, Amount: d("1"), IdempotencyKey: new("k")})
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		for by, b := range of {
			if got := w.get(by, b.ID); got.Credits != 1 {
				t.Errorf("got %+v", got)
			}
		}
	})
}
