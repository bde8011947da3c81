package main

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// accounts is a turn with two calls that are in the journal as they were, one that took more than was held, and a third one that was cut and estimated.
type accounts struct {
	turn     models.TurnID
	purse    models.BudgetID
	calls    map[models.TurnID]map[took]*served
	facts    []fact
	postings map[models.JournalID][]posting
	epochs   map[models.TurnID]int64
}

func goodAccounts() *accounts {
	a := &accounts{
		turn: models.NewID[models.TurnEntity](), purse: models.NewID[models.BudgetEntity](), postings: map[models.JournalID][]posting{},
	}
	a.calls = map[models.TurnID]map[took]*served{a.turn: {}}
	a.epochs = map[models.TurnID]int64{a.turn: 2}
	for _, t := range []took{{100, 10}, {100, 11}, {100, 12}} {
		a.calls[a.turn][t] = &served{turn: a.turn, took: t, whole: true, held: map[models.BudgetID]models.Amount{a.purse: 110}}
	}
	a.book(took{100, 10}, false, 0)
	a.book(took{100, 11}, false, 1)
	a.book(took{90, 3}, true, 0)
	return a
}

func (a *accounts) book(t took, estimated bool, overrun models.Amount) {
	f := fact{ID: models.NewID[models.JournalEntity](), TurnID: a.turn, Estimated: estimated, InputTokens: t.input, OutputTokens: t.output}
	a.facts = append(a.facts, f)
	a.postings[f.ID] = []posting{{JournalID: f.ID, BudgetID: a.purse, Currency: models.CurrencyTokens, Amount: t.cost(models.CurrencyTokens), Overrun: overrun}}
}

// TestCompare plants what O4 is there to see in the journal and the ledger.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		plant        func(a *accounts)
		double, lost int
		want         string
	}{
		{"nothing", func(*accounts) {}, 0, 0, ""},
		{"a call twice", func(a *accounts) { a.book(took{100, 10}, false, 0) }, 1, 0, "twice"},
		{"a call of nobody", func(a *accounts) { a.book(took{7, 7}, false, 0) }, 1, 0, "never answered"},
		{"a call that is in the journal, estimated too", func(a *accounts) {
			a.book(took{1, 1}, true, 0)
			a.book(took{1, 1}, true, 0)
		}, 2, 0, "estimated more than were made"},
		{"an estimate of a turn without a call", func(a *accounts) {
			a.calls = map[models.TurnID]map[took]*served{}
			a.facts, a.epochs = a.facts[2:], nil
		}, 1, 0, "none was made"},
		{"a call that is nowhere", func(a *accounts) { a.facts = a.facts[1:] }, 0, 1, "neither in the journal nor estimated"},
		{"a cut call that is nowhere", func(a *accounts) { a.facts = a.facts[:2] }, 0, 1, "neither in the journal nor estimated"},
		{"a call that was not posted", func(a *accounts) { delete(a.postings, a.facts[0].ID) }, 0, 1, "was not posted"},
		{"too little posted", func(a *accounts) { a.postings[a.facts[0].ID][0].Amount-- }, 0, 0, "the ledger says 109 and 0"},
		{"an overrun untold", func(a *accounts) { a.postings[a.facts[1].ID][0].Overrun = 0 }, 0, 0, "1 above what was held"},
		{"a call without a reservation", func(a *accounts) {
			a.calls[a.turn][took{100, 10}].held = nil
			a.postings[a.facts[0].ID] = nil
		}, 0, 0, "nothing held"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := goodAccounts()
			c.plant(a)
			got := compare(a.calls, a.facts, a.postings, a.epochs)
			if got.double != c.double || got.lost != c.lost {
				t.Errorf("%d double and %d lost, want %d and %d: %v", got.double, got.lost, c.double, c.lost, got.wrong)
			}
			if all := strings.Join(got.wrong, "\n"); c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("it says %q, want %q", all, c.want)
			}
		})
	}
	good := goodAccounts()
	c := compare(good.calls, good.facts, good.postings, good.epochs)
	if c.served != 3 || c.journaled != 2 || c.estimated != 1 || c.cutWhole != 1 || c.reported[models.CurrencyTokens] != 1 || c.posted[models.CurrencyTokens] != 1 {
		t.Errorf("the account is %+v", c)
	}
}
