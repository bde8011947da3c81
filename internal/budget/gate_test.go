package budget_test

import (
	"math"
	"testing"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

const start = models.Millis(1_800_000_000_000) // a full minute

func lasting(currency string, limit models.Amount) models.Budget {
	return models.Budget{ID: models.BudgetID{1}, CreatedAt: start, PeriodStartedAt: start, Currency: currency, LimitAmount: limit}
}

// What bounds and prices say that is wrong must not make room.
func TestNothingIsLessThanNothing(t *testing.T) {
	b := lasting(models.CurrencyTokens, 1000)
	line := budget.Hold(&b, 10)
	budget.Hold(&b, -5)
	budget.Release(&b, &line, -5)
	budget.Debit(&b, -5, start)
	if over, _ := budget.Settle(&b, &line, -5, -5, start); over != 0 || b.Reserved != 10 || b.Spent != 0 || line.Amount != 10 {
		t.Errorf("%d are held, %d in the line, and %d spent, %d of it as an overrun; want 10, 10, 0 and 0", b.Reserved, line.Amount, b.Spent, over)
	}
	if budget.Release(&b, &line, 50); b.Reserved != 0 || line.Amount != 0 {
		t.Errorf("%d are held after more was given back, %d in the line", b.Reserved, line.Amount)
	}
	v := budget.Reserve([]models.Budget{b}, budget.Call{InputTokens: -500, MaxTokens: 4096}, budget.Asker{}, false)
	if v.MaxTokens != 1000 || len(v.Held) != 1 || v.Held[0].Amount != 1000 {
		t.Errorf("a prompt of -500 tokens gives %+v", v)
	}
	if v := budget.Reserve([]models.Budget{b}, budget.Call{InputTokens: 1, MaxTokens: -1}, budget.Asker{}, false); v.MaxTokens != 0 || v.Held[0].Amount != 1 {
		t.Errorf("an output of -1 tokens gives %+v", v)
	}
	usd := lasting(models.CurrencyUSD, 1000)
	call := budget.Call{InputTokens: 1_000_000, MaxTokens: 1_000_000, Input: new(models.Nanos(-700)), Output: new(models.Nanos(800))}
	if v := budget.Reserve([]models.Budget{usd}, call, budget.Asker{}, false); v.Kind != budget.Go || v.Held[0].Amount != 800 {
		t.Errorf("a price of -700 gives %+v", v)
	}
	if *call.Input != -700 {
		t.Error("the caller's price was changed")
	}
	if cost, _ := budget.CostOf(models.CurrencyUSD, models.Usage{CostNanos: -5}); cost != 0 {
		t.Errorf("a cost of -5 is %d", cost)
	}
}

// The figures of a turn that ends, by hand.
func TestReserve(t *testing.T) {
	price := func(n models.Nanos) *models.Nanos { return &n }
	call := budget.Call{InputTokens: 1000, MaxTokens: 1000, Input: price(1_000_000), Output: price(5_000_000)} // 1 and 5 each token
	overrun := lasting(models.CurrencyUSD, 1000)
	overrun.Spent, overrun.Reserved = 100, 950 // what others hold is more than what is left
	disabled := lasting(models.CurrencyTokens, 1)
	disabled.DisabledAt = new(start)
	calls := lasting(models.CurrencyToolCalls, 3)
	calls.Spent = 3
	largest := lasting(models.CurrencyCredits, math.MaxInt64)
	spent := lasting(models.CurrencyUSD, 1000)
	spent.Spent = 1000
	for _, c := range []struct {
		name  string
		list  []models.Budget
		call  budget.Call
		allow bool
		want  budget.Kind
		most  int
		held  []models.Amount
	}{
		{"no budgets", nil, call, false, budget.Go, 1000, nil},
		{"all of it", []models.Budget{lasting(models.CurrencyUSD, 6000)}, call, false, budget.Go, 1000, []models.Amount{6000}},
		{"lowered to what there is", []models.Budget{lasting(models.CurrencyUSD, 5999)}, call, false, budget.Go, 999, []models.Amount{5995}},
		{"lowered by the tightest", []models.Budget{lasting(models.CurrencyUSD, 5000), lasting(models.CurrencyTokens, 1500)}, call, false, budget.Go, 500, []models.Amount{3500, 1500}},
		{"lowered as far as it goes", []models.Budget{lasting(models.CurrencyTokens, 1256)}, call, false, budget.Go, 256, []models.Amount{1256}},
		{"not any further", []models.Budget{lasting(models.CurrencyTokens, 1255)}, call, false, budget.Exhausted, 0, nil},
		{"credits", []models.Budget{lasting(models.CurrencyCredits, 2_000_000_000)}, call, false, budget.Go, 1000, []models.Amount{2_000_000_000}},
		{"a cost beyond the largest amount", []models.Budget{largest}, budget.Call{InputTokens: 1 << 60, MaxTokens: 1}, false, budget.Exhausted, 0, nil},
		{"without a price", []models.Budget{lasting(models.CurrencyUSD, 6000)}, budget.Call{MaxTokens: 1000}, false, budget.Unpriced, 0, nil},
		{"without a price that is needed", []models.Budget{overrun}, budget.Call{InputTokens: 1, MaxTokens: 1000}, true, budget.Go, 1000, []models.Amount{0}},
		{"others hold too much", []models.Budget{overrun}, call, false, budget.Exhausted, 0, nil},
		{"it will fit", []models.Budget{overrun}, budget.Call{InputTokens: 1, MaxTokens: 1, Input: call.Input, Output: call.Output}, false, budget.Wait, 0, nil},
		{"a free model where all is spent", []models.Budget{spent}, budget.Call{InputTokens: 1, MaxTokens: 1, Input: price(0), Output: price(0)}, false, budget.Exhausted, 0, nil},
		{"out of force", []models.Budget{disabled}, call, false, budget.Go, 1000, nil},
		{"the model's answer after the last tool call", []models.Budget{calls}, call, false, budget.Go, 1000, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := budget.Reserve(c.list, c.call, budget.Asker{}, c.allow)
			if v.Kind != c.want || v.MaxTokens != c.most || len(v.Held) != len(c.held) {
				t.Fatalf("the gate says %+v", v)
			}
			for i, amount := range c.held {
				if v.Held[i].Amount != amount {
					t.Errorf("%d are held of the budget %d, want %d", v.Held[i].Amount, i, amount)
				}
			}
		})
	}
	one := func(currency string) models.Amount {
		if currency == models.CurrencyToolCalls {
			return 1
		}
		return 0
	}
	if v := budget.ReserveMeters([]models.Budget{calls}, budget.Asker{}, one); v.Kind != budget.Exhausted {
		t.Errorf("of the fourth of three tool calls the gate says %+v", v)
	}
	calls.Spent = 2
	if v := budget.ReserveMeters([]models.Budget{calls}, budget.Asker{}, one); v.Kind != budget.Go || v.Held[0].Amount != 1 {
		t.Errorf("of the third of three tool calls the gate says %+v", v)
	}
}

func TestWarning(t *testing.T) {
	t.Run("at four fifths, rounded up", func(t *testing.T) {
		b := lasting(models.CurrencyTokens, 11)
		if p := budget.Debit(&b, 8, start); p.Warned { // 8.8
			t.Error("warned at 8 of 11")
		}
		if p := budget.Debit(&b, 1, start); !p.Warned {
			t.Error("not warned at 9 of 11")
		}
		if p := budget.Debit(&b, 1, start); p.Warned {
			t.Error("warned twice")
		}
	})
	t.Run("once in a window that rolls", func(t *testing.T) {
		b := rollingBudget(3600)
		budget.Begin(&b, start)
		budget.Debit(&b, 500, start)
		if p := budget.Debit(&b, 400, start+30*slot); !p.Warned {
			t.Fatal("not warned at 900 of 1000")
		}
		budget.Roll(&b, start+hour)
		if p := budget.Debit(&b, 400, start+hour); p.Warned || b.Spent != 800 {
			t.Errorf("warned again half an hour later, with %d spent", b.Spent)
		}
		budget.Roll(&b, start+hour+31*slot)
		if p := budget.Debit(&b, 400, start+hour+31*slot); !p.Warned || b.Spent != 800 {
			t.Errorf("not warned again in the next window, with %d spent", b.Spent)
		}
	})
	t.Run("of the largest amounts", func(t *testing.T) {
		b := lasting(models.CurrencyTokens, budget.MaxAmount)
		budget.Credit(&b, budget.MaxAmount, start)
		if p := budget.Debit(&b, budget.MaxAmount, start); p.Warned {
			t.Error("warned when half of all is spent")
		}
	})
}

// A budget that one large call didn't fit into isn't used up for ever.
func TestExhaustedByALargeCall(t *testing.T) {
	b := rollingBudget(3600)
	budget.Begin(&b, start)
	b.ExhaustedAt = new(start)
	if budget.Roll(&b, start+hour-1); budget.StatusOf(&b) != budget.StatusExhausted {
		t.Error("it is forgotten within the window")
	}
	if budget.Roll(&b, start+hour); budget.StatusOf(&b) != budget.StatusActive {
		t.Error("it is remembered a window later")
	}
}

func TestBegin(t *testing.T) {
	t.Run("of a new budget", func(t *testing.T) {
		b := calendarBudget(models.UnitDay, "UTC")
		b.CreatedAt = start
		budget.Roll(b, start)
		if b.PeriodStartedAt > start || *b.PeriodEndsAt <= start || b.PeriodStartedAt.Time().Hour() != 0 {
			t.Errorf("it is from %s to %s", b.PeriodStartedAt.Time(), b.PeriodEndsAt.Time())
		}
	})
	t.Run("of a period that was changed is never the start of another", func(t *testing.T) {
		b := calendarBudget(models.UnitDay, "UTC")
		budget.Begin(b, start)
		seen := map[models.Millis]bool{b.PeriodStartedAt: true}
		for _, kind := range []*models.PeriodKind{nil, b.PeriodKind, nil, b.PeriodKind} {
			b.PeriodKind, b.Spent = kind, 5
			budget.Begin(b, start)
			if seen[b.PeriodStartedAt] || b.Spent != 0 {
				t.Errorf("%d spent since %s, again", b.Spent, b.PeriodStartedAt.Time())
			}
			seen[b.PeriodStartedAt] = true
		}
		if end := b.PeriodStartedAt - b.PeriodStartedAt%(24*hour) + 24*hour; *b.PeriodEndsAt != end {
			t.Errorf("the day ends at %s, want %s", b.PeriodEndsAt.Time(), end.Time())
		}
	})
	t.Run("where the rules of a zone have changed doesn't reach back", func(t *testing.T) {
		b := calendarBudget(models.UnitDay, "UTC")
		budget.Begin(b, start)
		end := *b.PeriodEndsAt - hour // what was thought to be midnight
		b.PeriodEndsAt, b.Spent = &end, 5
		budget.Roll(b, end)
		if b.PeriodStartedAt != end || *b.PeriodEndsAt != end+hour || b.Spent != 0 {
			t.Errorf("%d spent from %s to %s", b.Spent, b.PeriodStartedAt.Time(), b.PeriodEndsAt.Time())
		}
	})
	t.Run("of a row without a length lets its limit hold", func(t *testing.T) {
		for _, kind := range []models.PeriodKind{models.PeriodCalendar, models.PeriodFixed, models.PeriodRolling, "YEARLY"} {
			b := lasting(models.CurrencyTokens, 10)
			b.PeriodKind = &kind
			budget.Begin(&b, start)
			budget.Debit(&b, 10, start)
			if budget.Roll(&b, math.MaxInt64/2); budget.StatusOf(&b) != budget.StatusExhausted || b.Spent != 10 {
				t.Errorf("%s: it is %s with %d spent", kind, budget.StatusOf(&b), b.Spent)
			}
		}
	})
	t.Run("of fixed lengths counts from the creation", func(t *testing.T) {
		b := lasting(models.CurrencyTokens, 10)
		b.PeriodKind, b.PeriodSeconds, b.PeriodStartedAt = new(models.PeriodFixed), new(int64(100)), 0
		budget.Begin(&b, start)
		for at, want := range map[models.Millis]models.Millis{start: start, start + 99_999: start, start + 100_000: start + 100_000, start + 1_234_567: start + 1_200_000} {
			later := b
			if budget.Roll(&later, at); later.PeriodStartedAt != want || *later.PeriodEndsAt != want+100_000 {
				t.Errorf("%d ms later it is from %d", at-start, later.PeriodStartedAt-start)
			}
		}
	})
}
