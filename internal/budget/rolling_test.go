package budget_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

func rollingBudget(seconds int64) models.Budget {
	return models.Budget{PeriodKind: new(models.PeriodRolling), PeriodSeconds: &seconds, Currency: models.CurrencyTokens, LimitAmount: 1000, CreatedAt: 1}
}

// What counts is never less than what was posted within the window, and never more than what was within the window and a sixtieth.
func TestRollingWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.OneOf(rapid.Int64Range(60, 200), rapid.Int64Range(60, budget.MaxPeriodSeconds)).Draw(t, "window")
		window := models.Millis(seconds * 1000)
		bucket := (window + 59) / 60
		b := rollingBudget(seconds)
		now := models.Millis(1_800_000_000_000)
		budget.Begin(&b, now)
		var all []posting
		for range rapid.IntRange(1, 300).Draw(t, "postings") {
			now += models.Millis(rapid.OneOf(rapid.Int64Range(0, int64(bucket)*2), rapid.SampledFrom([]int64{0, 1, int64(bucket), int64(window)})).Draw(t, "time"))
			amount := models.Amount(rapid.Int64Range(0, 100).Draw(t, "amount"))
			budget.Roll(&b, now)
			budget.Debit(&b, amount, now)
			all = append(all, posting{now, num(amount)})
			if n := len(b.Slots); n > 61 {
				t.Fatalf("there are %d buckets", n)
			}
		}
		within := func(length models.Millis) (sum models.Amount) {
			for _, p := range all {
				if p.at > now-length {
					sum += models.Amount(p.amount.Int64())
				}
			}
			return sum
		}
		if least, most := within(window), within(window+bucket); b.Spent < least || b.Spent > most {
			t.Fatalf("%d are counted, of %d within the window and %d with a bucket more", b.Spent, least, most)
		}
		var sum models.Amount
		for _, k := range b.Slots {
			sum += k.Spent
		}
		if sum != b.Spent {
			t.Fatalf("%d are spent, and %d in the buckets", b.Spent, sum)
		}
		now += window
		if budget.Roll(&b, now); b.Spent != 0 || len(b.Slots) > 0 {
			t.Fatalf("a window later there are %d: %v", b.Spent, b.Slots)
		}
	})
}

// windowFrom returns the time from which on the debits of a rolling budget's period make up what its row says at a time: those since then,
// debited in any order to a budget with nothing spent, which is then rolled to that time, make the same buckets. That holds for times from
// the row's last change on: what has left by one clock stays away when another one is behind.
func windowFrom(b *models.Budget, now models.Millis) models.Millis {
	return (max(now-budget.PeriodLength(b), 0) / budget.SlotLength(b)) * budget.SlotLength(b)
}

// The ledger's postings since windowFrom, in any order, make the row: that is how it is reconciled. Clocks may go back.
func TestRollingIsRebuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(60, 100_000).Draw(t, "window")
		window := models.Millis(seconds * 1000)
		b := rollingBudget(seconds)
		now := models.Millis(1_800_000_000_000)
		budget.Begin(&b, now)
		fresh := b
		var all []posting
		latest := now
		for range rapid.IntRange(1, 100).Draw(t, "postings") {
			now += models.Millis(rapid.Int64Range(-int64(window)/60, int64(window)/6).Draw(t, "time"))
			amount := models.Amount(rapid.Int64Range(1, 100).Draw(t, "amount"))
			budget.Roll(&b, now)
			budget.Debit(&b, amount, now)
			all = append(all, posting{now, num(amount)})
			latest = max(latest, now)
		}
		now = latest + models.Millis(rapid.Int64Range(0, int64(window)).Draw(t, "later"))
		budget.Roll(&b, now)
		all = slices.DeleteFunc(all, func(p posting) bool { return p.at < windowFrom(&b, now) })
		for _, p := range rapid.Permutation(all).Draw(t, "order") {
			budget.Debit(&fresh, models.Amount(p.amount.Int64()), p.at)
		}
		budget.Roll(&fresh, now)
		if fresh.Spent != b.Spent || !slices.Equal(fresh.Slots, b.Slots) {
			t.Fatalf("the postings make %d: %v\nthe row has %d: %v", fresh.Spent, fresh.Slots, b.Spent, b.Slots)
		}
	})
}

func TestRollingBuckets(t *testing.T) {
	t.Run("leave when their newest posting is out", func(t *testing.T) {
		b := rollingBudget(3600)
		budget.Begin(&b, start)
		budget.Debit(&b, 1, start)
		budget.Debit(&b, 2, start+50_000)
		for at, want := range map[models.Millis]models.Amount{start + hour: 3, start + hour + 49_999: 3, start + hour + 50_000: 0} {
			later := b
			if budget.Roll(&later, at); later.Spent != want {
				t.Errorf("%d ms later %d are counted, want %d", at-start, later.Spent, want)
			}
		}
	})
	t.Run("are sixty where sixty don't divide the window", func(t *testing.T) {
		const window, each = 61_000, 20
		b := rollingBudget(61)
		budget.Begin(&b, start)
		for at := start; at < start+3*window/2; at += each {
			budget.Roll(&b, at)
			budget.Debit(&b, 1, at)
			if n, most := len(b.Slots), models.Amount((window+1017)/each+1); n > 61 || b.Spent > most {
				t.Fatalf("%d are counted in %d buckets, want at most %d in 61", b.Spent, n, most)
			}
		}
	})
	t.Run("that were not read are counted on", func(t *testing.T) {
		b := rollingBudget(3600)
		budget.Begin(&b, start)
		b.Spent = 7
		budget.Roll(&b, start+2*hour)
		budget.Debit(&b, 1, start+2*hour)
		if b.Spent != 8 || b.Slots != nil {
			t.Errorf("%d are spent: %v", b.Spent, b.Slots)
		}
	})
	t.Run("of a copy are its own", func(t *testing.T) {
		b := rollingBudget(3600)
		budget.Begin(&b, start)
		budget.Debit(&b, 1, start)
		other := b
		budget.Debit(&other, 1, start)
		budget.Debit(&other, 1, start+slot)
		budget.Roll(&other, start+2*hour)
		if b.Spent != 1 || len(b.Slots) != 1 || b.Slots[0].Spent != 1 {
			t.Errorf("%d are spent: %v", b.Spent, b.Slots)
		}
	})
	t.Run("of the largest amounts don't overflow", func(t *testing.T) {
		b := rollingBudget(3600)
		budget.Begin(&b, start)
		for i := range models.Millis(4) {
			budget.Debit(&b, budget.MaxAmount, start+i*slot/2)
		}
		if budget.Balance(&b) >= 0 || b.Spent < budget.MaxAmount {
			t.Errorf("%d are spent, %d are left", b.Spent, budget.Balance(&b))
		}
		if budget.Roll(&b, start+2*hour); b.Spent != 0 {
			t.Errorf("%d are spent when all have left", b.Spent)
		}
	})
}

// A soft limit that somebody has let a session go on past stays so until a window later, though buckets come and go in between.
func TestRollingSoftLimit(t *testing.T) {
	b := rollingBudget(3600)
	b.SoftLimit = new(models.Amount(100))
	budget.Begin(&b, start)
	budget.Debit(&b, 60, start)
	budget.Debit(&b, 60, start+30*slot)
	resumed := start + 31*slot
	verdict := func(at models.Millis) budget.Kind {
		budget.Roll(&b, at)
		return budget.Reserve([]models.Budget{b}, budget.Call{InputTokens: 1, MaxTokens: 1}, budget.Asker{Resumed: &resumed}, false).Kind
	}
	if k := verdict(resumed); k != budget.Go {
		t.Fatalf("after it was resumed the gate says %d", k)
	}
	verdict(start + hour + slot) // the first sixty leave, and come again
	if s := budget.StatusOf(&b); s != budget.StatusActive {
		t.Fatalf("under the soft limit the status is %s", s)
	}
	budget.Debit(&b, 60, start+hour+slot)
	if k := verdict(start + hour + 2*slot); k != budget.Go {
		t.Errorf("past it again within the window the gate says %d", k)
	}
	budget.Debit(&b, 60, start+hour+3*slot)
	if k := verdict(start + hour + 30*slot); k != budget.Paused {
		t.Errorf("past it still, a window later, the gate says %d", k)
	}
	before := *b.SoftPassedAt
	if budget.Roll(&b, start+hour+31*slot); *b.SoftPassedAt != before {
		t.Errorf("the soft limit was passed at %d, and then at %d: who resumes would never be in time", before, *b.SoftPassedAt)
	}
}
