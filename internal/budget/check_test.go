package budget

import (
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

func bound(limit, spent models.Amount, change ...func(*models.Budget)) models.Budget {
	b := models.Budget{Currency: models.CurrencyTokens, LimitAmount: limit, Spent: spent}
	for _, fn := range change {
		fn(&b)
	}
	return b
}

func TestCheckTellsTheWorst(t *testing.T) {
	t.Parallel()
	soft := func(at models.Amount) func(*models.Budget) {
		return func(b *models.Budget) { b.SoftLimit = &at }
	}
	disabled := func(b *models.Budget) { b.DisabledAt = models.Millis(1).Ptr() }
	fixed := func(b *models.Budget) {
		kind, seconds := models.PeriodFixed, int64(10)
		b.PeriodKind, b.PeriodSeconds, b.PeriodEndsAt = &kind, &seconds, models.Millis(10_000).Ptr()
	}
	for _, c := range []struct {
		name     string
		list     []models.Budget
		now      models.Millis
		want     CheckStatus
		percents []float64
		hint     string
	}{
		{"none", nil, 0, CheckNoBudgets, nil, "No budget applies"},
		{"disabled ones do not bind", []models.Budget{bound(10, 10, disabled)}, 0, CheckNoBudgets, nil, "No budget applies"},
		{"untouched", []models.Budget{bound(10, 0)}, 0, CheckActive, []float64{100}, "More than 20%"},
		{"more than a fifth", []models.Budget{bound(1000, 799)}, 0, CheckActive, []float64{20.1}, "More than 20%"},
		{"a fifth", []models.Budget{bound(1000, 800)}, 0, CheckWarning, []float64{20}, "20% or less"},
		{"rounded down", []models.Budget{bound(3, 1)}, 0, CheckActive, []float64{66.6}, "More than 20%"},
		{"past the soft limit", []models.Budget{bound(100, 51, soft(50))}, 0, CheckPaused, []float64{49}, "soft limit"},
		{"spent", []models.Budget{bound(100, 100)}, 0, CheckExhausted, []float64{0}, "used up"},
		{"overrun", []models.Budget{bound(100, 150)}, 0, CheckExhausted, []float64{0}, "used up"},
		{"nothing allowed", []models.Budget{bound(0, 0)}, 0, CheckExhausted, []float64{0}, "used up"},
		{"no room for a call", []models.Budget{bound(100, 10, func(b *models.Budget) { b.ExhaustedAt = models.Millis(1).Ptr() })}, 0,
			CheckExhausted, []float64{90}, "too little left for the next call: 90"},
		{"topped up", []models.Budget{bound(100, 100, func(b *models.Budget) { b.Credits = 100 })}, 0, CheckActive, []float64{50}, "More than 20%"},
		{"what is taken back can't be more than all", []models.Budget{bound(100, -10)}, 0, CheckActive, []float64{100}, "More than 20%"},
		{"the largest", []models.Budget{bound(MaxAmount, MaxAmount/2)}, 0, CheckActive, []float64{50}, "More than 20%"},
		{"the worst of several", []models.Budget{bound(100, 0), bound(100, 100), bound(100, 51, soft(50)), bound(100, 90)}, 0, CheckExhausted,
			[]float64{100, 0, 49, 10}, "used up: 100 tokens of 100 tokens spent"},
		{"paused before warning", []models.Budget{bound(100, 99), bound(100, 51, soft(50))}, 0, CheckPaused, []float64{1, 49}, "soft limit"},
		{"in its period", []models.Budget{bound(100, 100, fixed)}, 9_999, CheckExhausted, []float64{0}, "1970-01-01 00:00 UTC"},
		{"in its next period", []models.Budget{bound(100, 100, fixed)}, 10_000, CheckActive, []float64{100}, "More than 20%"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := Check(c.list, nil, c.now)
			if r.Status != c.want {
				t.Errorf("status: got %s, want %s", r.Status, c.want)
			}
			if len(r.Lines) != len(c.percents) {
				t.Fatalf("lines: got %d, want %d", len(r.Lines), len(c.percents))
			}
			for i, p := range c.percents {
				if got := r.Lines[i].PercentRemaining; got != p {
					t.Errorf("percent of line %d: got %v, want %v", i, got, p)
				}
			}
			if !strings.Contains(r.Hint, c.hint) {
				t.Errorf("hint: got %q, want it to say %q", r.Hint, c.hint)
			}
		})
	}
}

func TestCheckOfASessionThatWasLetGoOn(t *testing.T) {
	t.Parallel()
	soft := models.Amount(50)
	passed := models.Millis(1000)
	list := []models.Budget{bound(100, 60, func(b *models.Budget) { b.SoftLimit, b.SoftPassedAt = &soft, &passed })}
	for _, c := range []struct {
		resumed *models.Millis
		spent   models.Amount
		want    CheckStatus
	}{
		{nil, 60, CheckPaused},
		{models.Millis(999).Ptr(), 60, CheckPaused},
		{models.Millis(1000).Ptr(), 60, CheckActive},
		{models.Millis(1001).Ptr(), 80, CheckWarning},
		{models.Millis(1001).Ptr(), 100, CheckExhausted},
	} {
		list[0].Spent = c.spent
		if r := Check(list, c.resumed, 2000); r.Status != c.want || r.Lines[0].Status != c.want {
			t.Errorf("with %d spent: got %+v, want %s", c.spent, r, c.want)
		}
	}
}

func TestCheckChangesNoRow(t *testing.T) {
	t.Parallel()
	kind, seconds := models.PeriodRolling, int64(60)
	b := models.Budget{Currency: models.CurrencyTokens, LimitAmount: 100, PeriodKind: &kind, PeriodSeconds: &seconds}
	Debit(&b, 100, 1000)
	list := []models.Budget{b}
	if r := Check(list, nil, 1000); r.Status != CheckExhausted || !strings.Contains(r.Hint, "window") {
		t.Errorf("in the window: got %s, %q; want it to be exhausted, and to tell of the window", r.Status, r.Hint)
	}
	r := Check(list, nil, 120_000)
	if r.Status != CheckActive || r.Lines[0].Budget.Spent != 0 {
		t.Errorf("past the window: got %s with %d spent, want ACTIVE with nothing", r.Status, r.Lines[0].Budget.Spent)
	}
	if list[0].Spent != 100 || list[0].WarnedAt == nil || !slices.Equal(list[0].Slots, b.Slots) {
		t.Errorf("the row was changed: %+v", list[0])
	}
}
