package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// TestBooks plants what is to be seen in the rows of budgets.
func TestBooks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		kind := db.ReadAcross(t.Context()).Name()
		org := models.NewID[models.OrgEntity]()
		subject, seconds := models.SubjectID(org), int64(10)
		rolling, now := models.PeriodRolling, models.Millis(1_700_000_000_000)
		lasting := models.Budget{
			OrgID: org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: "tokens", LimitAmount: 100, CreatedAt: 1,
		}
		window := lasting
		window.ID, window.Currency, window.PeriodKind, window.PeriodSeconds = models.NewID[models.BudgetEntity](), "tool_calls", &rolling, &seconds
		rows := []any{&models.Org{ID: org, Name: "o", Slug: "o", CreatedAt: 1}, &lasting, &window}
		var facts []any
		for i, b := range []*models.Budget{&lasting, &window} {
			budget.Begin(b, 1)
			for _, at := range []models.Millis{now - 60_000, now} {
				budget.Roll(b, at)
				budget.Debit(b, 7, at)
				fact := &models.JournalEntry{OrgID: org, ID: models.NewID[models.JournalEntity](), Kind: models.JournalModelCall, OccurredAt: at}
				facts = append(facts, fact, &models.LedgerEntry{
					OrgID: org, ID: models.PostingID(fact.ID, b.ID), BudgetID: b.ID, JournalID: fact.ID, Source: fact.Kind, Amount: 7, Overrun: models.Amount(i),
					PeriodStartedAt: b.PeriodStartedAt, CreatedAt: at,
				})
			}
		}
		for i := range window.Slots {
			facts = append(facts, &window.Slots[i])
		}
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			for _, row := range append(rows, facts...) {
				if err := tx.Create(row).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		look := func() *books {
			return &books{a: &arena{kind: kind, db: db}, org: org, most: map[string]models.Amount{}, above: map[string]models.Amount{}}
		}
		found := func(atRest bool) string {
			b := look()
			if err := b.check(t.Context(), "now", atRest); err != nil {
				t.Fatal(err)
			}
			return strings.Join(b.wrong, "\n")
		}
		if text := found(true); text != "" {
			t.Errorf("of what is right it says %s", text)
		}
		change := func(set string, args ...any) {
			if _, err := storetest.Exec(t.Context(), db, `UPDATE budgets SET `+set, args...); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct{ plant, undo, want string }{
			{"spent = spent + 1", "spent = spent - 1", "by the ledger these are 14 and 0"},
			{"credits = 1", "credits = 0", "credits 1"},
			{"reserved = 1", "reserved = 0", "turns hold 0"},
		} {
			change(c.plant)
			if text := found(false); strings.Count(text, "now:") != 2 || !strings.Contains(text, c.want) {
				t.Errorf("after %s it says %q, want %q of both", c.plant, text, c.want)
			}
			change(c.undo)
		}
		change("reserved = 1")
		if text := found(true); strings.Count(text, "nobody is at work") != 2 {
			t.Errorf("of what is held at rest it says %q", text)
		}
		// The lasting one is 5 above its limit, of which nothing was posted as an overrun; the rolling one 2 above, and all of that was.
		change("reserved = 0, limit_amount = CASE WHEN currency = 'tokens' THEN 9 ELSE 5 END")
		b := look()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.watch(ctx)
		}()
		for until := time.Now().Add(patience); time.Now().Before(until); wait(ctx, time.Millisecond) {
			b.mu.Lock()
			enough := b.samples > 0
			b.mu.Unlock()
			if enough {
				break
			}
		}
		stop()
		<-done
		if b.most["tokens"] != 5 || b.most["tool_calls"] != 0 || b.above["tool_calls"] != 2 {
			t.Errorf("the overshoot is %v, with overruns %v", b.most, b.above)
		}
		// A period that is over is looked at by its ledger.
		change("spent = 0, period_started_at = period_started_at + 1")
		b = look()
		if err := b.periods(t.Context()); err != nil || b.most["tokens"] != 5 || b.above["tool_calls"] != 0 {
			t.Errorf("the overshoot of periods is %v: %v", b.most, err)
		}
	})
}
