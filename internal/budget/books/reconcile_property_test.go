package books_test

import (
	"testing"
	"time"

	"gorm.io/gorm"
	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// drawnBudget draws a budget of any period.
func drawnBudget(t *rapid.T, o testBooks, now models.Millis) *models.Budget {
	return o.budget(rapid.SampledFrom([]string{models.CurrencyTokens, models.CurrencyUSD, models.CurrencyCredits}).Draw(t, "currency"), func(b *models.Budget) {
		b.CreatedAt, b.UpdatedAt = now, now
		kind := rapid.SampledFrom([]models.PeriodKind{"", models.PeriodCalendar, models.PeriodFixed, models.PeriodRolling}).Draw(t, "period")
		switch kind {
		case models.PeriodCalendar:
			unit := rapid.SampledFrom([]models.CalendarUnit{models.UnitHour, models.UnitDay, models.UnitWeek}).Draw(t, "unit")
			zone := rapid.SampledFrom([]string{"UTC", "Asia/Kolkata", "Europe/Berlin"}).Draw(t, "zone")
			b.PeriodUnit, b.Timezone = &unit, &zone
		case models.PeriodFixed, models.PeriodRolling:
			seconds := rapid.Int64Range(60, 10_000).Draw(t, "seconds")
			b.PeriodSeconds = &seconds
		}
		if kind != "" {
			b.PeriodKind = &kind
		}
		soft := models.Amount(rapid.Int64Range(0, 1_000_000).Draw(t, "soft"))
		b.SoftLimit = &soft
		budget.Begin(b, now)
	})
}

// step does something to a budget, as the engine and people do: its row, the posting and what a turn holds change in one transaction.
func (w *reconcileWorld) step(t *rapid.T, o testBooks, b *models.Budget, turns *[]*models.Turn) {
	now := w.now()
	budget.Roll(b, now)
	b.UpdatedAt = now
	var made []any
	freed := -1
	switch op := rapid.SampledFrom([]string{"call", "call", "top up", "hold", "release", "settle"}).Draw(t, "op"); op {
	case "top up":
		amount := models.Amount(rapid.Int64Range(1, 1000).Draw(t, "amount"))
		j, l := o.topUp(b, now, amount)
		budget.Credit(b, amount, now)
		made = append(made, j, l)
	case "hold":
		amount := models.Amount(rapid.Int64Range(1, 1000).Draw(t, "amount"))
		turn := o.turn(budget.Hold(b, amount))
		*turns = append(*turns, turn)
		made = append(made, turn)
	default:
		if op != "call" {
			if len(*turns) == 0 {
				return
			}
			freed = rapid.IntRange(0, len(*turns)-1).Draw(t, "turn")
		}
		n := rapid.Int64Range(0, 1000).Draw(t, "tokens")
		u := models.Usage{InputTokens: n, OutputTokens: n / 2, CacheReadTokens: n / 3, CostNanos: models.Nanos(n * 3)}
		cost, _ := budget.CostOf(b.Currency, u)
		j, l := o.call(b, now, u, cost)
		switch op {
		case "release":
			line := (*turns)[freed].Reservation.Lines[0]
			budget.Release(b, &line, line.Amount)
		case "settle":
			line := (*turns)[freed].Reservation.Lines[0]
			l.Overrun, _ = budget.Settle(b, &line, line.Amount, cost, now)
			l.PeriodStartedAt = line.Period
			made = append(made, j, l)
		default:
			budget.Debit(b, cost, now)
			made = append(made, j, l)
		}
	}
	w.write(func(tx *gorm.DB) error {
		for _, row := range made {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		if freed >= 0 {
			turn := (*turns)[freed]
			err := store.OneRow(store.Of(tx.Model(&models.Turn{}), o.org).Where("id = ?", turn.ID).Update("reservation", nil))
			if err != nil {
				return err
			}
			*turns = append((*turns)[:freed], (*turns)[freed+1:]...)
		}
		if err := rows.SaveSlots(tx, b); err != nil {
			return err
		}
		return store.OneRow(store.Of(tx.Model(&models.Budget{}), o.org).Where("id = ?", b.ID).Updates(map[string]any{
			"spent": b.Spent, "credits": b.Credits, "reserved": b.Reserved, "period_started_at": b.PeriodStartedAt,
			"period_ends_at": b.PeriodEndsAt, "updated_at": b.UpdatedAt,
		}))
	})
}

// Whatever is done to a budget by the rules of package budget, its row fits its books at every moment; and one that is off by one doesn't.
func TestHistoriesReconcile(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		node := w.node() // which doesn't read again what it knows
		rapid.Check(t, func(t *rapid.T) {
			o := w.org()
			b := drawnBudget(t, o, w.now())
			w.create(b)
			var turns []*models.Turn
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				w.advance(time.Duration(rapid.SampledFrom([]int64{0, 1, 999, 60_000, 1_800_000, 90_000_000}).Draw(t, "pause")) * time.Millisecond)
				w.step(t, o, b, &turns)
				w.advance(time.Duration(rapid.SampledFrom([]int64{0, 7_200_000}).Draw(t, "until the sweep")) * time.Millisecond)
				if _, err := commit.DeleteLeftSlots(w.t.Context(), db, w.now()); err != nil {
					t.Fatal(err)
				}
				if err := node.Pass(w.t.Context()); err != nil || node.meter.differences > 0 {
					t.Fatalf("the self-check: %d differences, %v: %s", node.meter.differences, err, node.logged)
				}
			}
			w.advance(time.Duration(rapid.Int64Range(0, 20_000_000).Draw(t, "until the check")) * time.Millisecond)
			if got := w.differences(o.org); len(got) > 0 {
				t.Fatalf("differences: %v", got)
			}
			column := rapid.SampledFrom([]string{"spent", "credits", "reserved"}).Draw(t, "column")
			w.set(b, column, gorm.Expr(column+" + 1"))
			if got := w.differences(o.org); len(got) != 1 {
				t.Fatalf("%s is one too high: differences: %v", column, got)
			}
			repair := func() {
				if _, err := w.Repair(w.t.Context(), o.org, b.ID); err != nil {
					t.Fatal(err)
				}
			}
			repair()
			if kind := b.PeriodKind; kind != nil && *kind == models.PeriodRolling {
				w.spoilNewestBucket(t, o, b)
				repair()
			}
		})
	})
}

// spoilNewestBucket raises what a rolling budget's row says to be spent, with the bucket that it stands in, by more than any posting can
// excuse: the row agrees with itself, and only the ledger tells.
func (w *reconcileWorld) spoilNewestBucket(t *rapid.T, o testBooks, b *models.Budget) {
	const extra = 1_000_000_000
	now := w.now()
	budget.Roll(b, now)
	budget.Debit(b, extra, now)
	w.write(func(tx *gorm.DB) error {
		if err := rows.SaveSlots(tx, b); err != nil {
			return err
		}
		return store.OneRow(store.Of(tx.Model(&models.Budget{}), o.org).Where("id = ?", b.ID).Updates(map[string]any{"spent": b.Spent, "updated_at": now}))
	})
	if got := w.differences(o.org); len(got) != 2 {
		t.Fatalf("spent and its bucket are too high by %d, for a window of %d s: differences: %v", extra, *b.PeriodSeconds, got)
	}
}
