package books_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Each posting is held against what its fact tells: units of tools, tool calls and top-ups as well.
func TestPostingsAreHeldAgainstTheirFacts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		o := w.org()
		for _, c := range []struct {
			kind               models.JournalKind
			currency, measures string
			amount             models.Amount
			computed           string // empty when the posting is right
		}{
			{models.JournalToolCall, "gpu_seconds", `{"gpu_seconds":"1.5"}`, 1_500_000_000, ""},
			{models.JournalToolCall, "gpu_seconds", `{"gpu_seconds":"1.5"}`, 1_500_000_001, "1.5"},
			{models.JournalToolCall, "gpu_seconds", `{"pages":"1.5"}`, 1, "0"},
			{models.JournalToolCall, "gpu_seconds", "", 1, "0"},
			{models.JournalToolCall, models.CurrencyToolCalls, `{"pages":"3"}`, 1, ""},
			{models.JournalToolCall, models.CurrencyToolCalls, "", 2, "1"},
			{models.JournalModelCall, models.CurrencyCredits, "", 0, ""},
			{models.JournalModelCall, models.CurrencyToolCalls, "", 1, "0"},
			{models.JournalTopUp, "gpu_seconds", `{"budgetId":"b","currency":"gpu_seconds","amount":"2"}`, -2_000_000_000, ""},
			{models.JournalTopUp, "gpu_seconds", `{"budgetId":"b","currency":"gpu_seconds","amount":"2"}`, -1, "-2"},
			{models.JournalTopUp, models.CurrencyTokens, "", -1, ""},
			{models.JournalTopUp, models.CurrencyTokens, "", 1, "less than 0"},
			{models.JournalAdjustment, models.CurrencyTokens, `{"why":"a gift"}`, -5, ""},
			{models.JournalPayment, models.CurrencyUSD, "", 5, "0"},
		} {
			b := o.budget(c.currency, nil)
			j := &models.JournalEntry{
				OrgID: o.org, ID: models.NewID[models.JournalEntity](), Kind: c.kind, OccurredAt: reconcileStart, Measures: models.JSON(c.measures),
			}
			l := posting(b, j, c.amount)
			if c.amount < 0 {
				b.Credits = -c.amount
			} else {
				b.Spent = c.amount
			}
			w.create(b, j, l)
			found, err := w.Repair(t.Context(), o.org, b.ID)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if c.computed != "" {
				want = append(want, fmt.Sprintf("amount of %s: stored %s, computed %s", l.ID, budget.Decimal(c.currency, c.amount), c.computed))
			}
			var got []string
			for _, d := range found.Differences {
				got = append(got, d.String())
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || found.Repaired {
				t.Errorf("%+v: got %v, want %v", c, got, want)
			}
		}
	})
}

// A posting counts in the slot of its own time, also when it comes late, from a node whose clock is a little behind.
func TestPostingsThatComeLateToAWindow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		o := w.org()
		b := o.budget(models.CurrencyTokens, rolling(3600))
		boundary := (reconcileStart/60_000 + 1) * 60_000
		var facts, postings []any
		for _, at := range []models.Millis{boundary - 5000, boundary + 1, boundary - 1} {
			j, l := o.call(b, at, models.Usage{OutputTokens: 7}, 7)
			budget.Roll(b, at)
			budget.Debit(b, 7, at)
			b.UpdatedAt = at
			facts, postings = append(facts, j), append(postings, l)
		}
		w.create(slices.Concat([]any{b}, facts, postings)...)
		w.advance((boundary - reconcileStart).Time().Sub(time.UnixMilli(0)) + time.Second)
		w.right(o.org)
		first, second := b.Slots[0], b.Slots[1]
		if first.Spent != 14 || second.Spent != 7 {
			t.Fatalf("the window has %v", b.Slots)
		}
		first.Spent, second.Spent = 7, 14
		w.setSlot(first)
		w.setSlot(second)
		if got := w.differences(o.org); len(got) != 1 || !strings.Contains(got[0], "slots") {
			t.Errorf("in another slot: got %v", got)
		}
		w.setSlot(b.Slots[0])
		w.setSlot(b.Slots[1])
		// Nor is there a difference while the slots leave.
		w.advance(time.Hour - 10*time.Second)
		for range 75 {
			w.advance(time.Second)
			w.right(o.org)
		}
	})
}

// The length of a window need not be a multiple of its sixty buckets.
func TestWindowsOfAnyLengthAreReconciled(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		for _, seconds := range []int64{60, 61, 99, 100, 1000, 3600, 3601, 86_400} {
			o := w.org()
			b := o.budget(models.CurrencyTokens, rolling(seconds))
			j, l := o.call(b, w.now(), models.Usage{OutputTokens: 700}, 700)
			budget.Debit(b, 700, w.now())
			w.create(b, j, l)
			w.right(o.org)
			wrong := b.Slots[0]
			wrong.Spent = 7
			w.set(b, "spent", 7)
			w.setSlot(wrong)
			if got := w.differences(o.org); len(got) != 2 {
				t.Errorf("%d s: the row says 7 and the ledger 700: differences: %v", seconds, got)
			}
		}
	})
}
