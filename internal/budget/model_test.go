package budget_test

import (
	"math"
	"math/big"
	"slices"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	hour = models.Millis(60 * 60 * 1000)
	// slot is the length of a bucket where the window is an hour.
	slot = hour / 60
)

// account is what a budget is by the words of the specification, in numbers without bounds: what the rules on rows are held against.
type account struct {
	kind         models.PeriodKind // "" for a budget that lasts
	currency     string
	limit        *big.Int
	soft         *big.Int // nil for none
	credits      *big.Int
	spent        *big.Int
	reserved     *big.Int
	postings     []posting // of a window
	periodEnds   models.Millis
	period       int           // counts those that have begun
	warnedAt     models.Millis // 0 for never
	softPassedAt models.Millis
	// kept is left by those who come behind a place, until a time; nil for nothing.
	kept      *big.Int
	keptPlace int
	keptUntil models.Millis
}

// asker is who asks: at a place among those that wait, 0 for one that has come just now.
type asker struct {
	place int
	begun bool
}

type posting struct {
	at     models.Millis
	amount *big.Int
}

func num[T ~int | ~int64](n T) *big.Int               { return big.NewInt(int64(n)) }
func sum(a, b *big.Int) *big.Int                      { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int                    { return new(big.Int).Sub(a, b) }
func times[T ~int | ~int64](a *big.Int, b T) *big.Int { return new(big.Int).Mul(a, num(b)) }

// kept is what a row can hold.
func kept(n *big.Int) *big.Int {
	if n.Cmp(num(math.MaxInt64)) > 0 {
		return num(math.MaxInt64)
	}
	if n.Cmp(num(math.MinInt64)) < 0 {
		return num(math.MinInt64)
	}
	return n
}

func (a *account) all() *big.Int       { return sum(a.limit, a.credits) }
func (a *account) balance() *big.Int   { return kept(minus(a.all(), a.spent)) }
func (a *account) available() *big.Int { return kept(minus(a.balance(), a.reserved)) }

// free is what is there for who asks.
func (a *account) free(who asker) *big.Int {
	if a.kept == nil || who.begun || who.place != 0 && who.place <= a.keptPlace {
		return a.available()
	}
	return kept(minus(a.available(), a.kept))
}

// overshoot is by how much what is granted and settled is above limit and credits.
func (a *account) overshoot() *big.Int {
	if over := minus(sum(a.spent, a.reserved), a.all()); over.Sign() > 0 {
		return over
	}
	return new(big.Int)
}

func (a *account) overSoft() bool {
	return a.soft != nil && a.spent.Cmp(sum(a.soft, a.credits)) > 0
}

// near is four fifths: 5·spent ≥ 4·(limit + credits).
func (a *account) near() bool { return times(a.spent, 5).Cmp(times(a.all(), 4)) >= 0 }

func (a *account) roll(now models.Millis) {
	if a.kept != nil && now >= a.keptUntil {
		a.kept = nil
	}
	switch a.kind {
	case models.PeriodCalendar, models.PeriodFixed:
		if now >= a.periodEnds {
			a.spent, a.credits, a.reserved, a.warnedAt, a.softPassedAt = new(big.Int), new(big.Int), new(big.Int), 0, 0
			a.period++
			a.periodEnds = now - now%hour + hour
		}
	case models.PeriodRolling:
		newest := map[models.Millis]models.Millis{}
		for _, p := range a.postings {
			newest[p.at/slot] = max(newest[p.at/slot], p.at)
		}
		a.postings = slices.DeleteFunc(a.postings, func(p posting) bool { return newest[p.at/slot] <= now-hour })
		a.spent = new(big.Int)
		for _, p := range a.postings {
			a.spent = kept(sum(a.spent, p.amount))
		}
		if now-a.warnedAt >= hour && !a.near() {
			a.warnedAt = 0
		}
		if a.softPassedAt != 0 && now-a.softPassedAt >= hour {
			if a.overSoft() {
				for a.softPassedAt <= now-hour {
					a.softPassedAt += hour
				}
			} else {
				a.softPassedAt = 0
			}
		}
	}
}

// debit reports whether people are warned.
func (a *account) debit(amount *big.Int, now models.Millis) (warned bool) {
	a.spent = kept(sum(a.spent, amount))
	if a.kind == models.PeriodRolling {
		a.postings = append(a.postings, posting{now, amount})
	}
	if a.overSoft() && a.softPassedAt == 0 {
		a.softPassedAt = now
	}
	if a.near() && a.warnedAt == 0 {
		a.warnedAt = now
		return true
	}
	return false
}

// changed is after people have changed limits or credits.
func (a *account) changed(now models.Millis) {
	if !a.near() {
		a.warnedAt = 0
	}
	switch {
	case !a.overSoft():
		a.softPassedAt = 0
	case a.softPassedAt == 0:
		a.softPassedAt = now
	}
}

// worst is what a call takes at most: dollars are rounded up once, a credit is a thousand tokens.
func worst(c budget.Call, currency string, output int64) *big.Int {
	tokens := sum(num(c.InputTokens), num(output))
	switch currency {
	case models.CurrencyTokens:
		return tokens
	case models.CurrencyCredits:
		return times(tokens, int64(1_000_000))
	}
	if !c.Priced() {
		return num(math.MinInt64) // nobody can tell: it always fits
	}
	input := *c.Input
	if c.CacheRead != nil {
		input = max(input, *c.CacheRead)
	}
	if c.CacheWrite != nil {
		input = max(input, *c.CacheWrite)
	}
	cost := sum(times(num(c.InputTokens), input), times(num(output), *c.Output))
	whole, rest := new(big.Int).QuoRem(cost, num(1_000_000), new(big.Int))
	if rest.Sign() > 0 {
		return sum(whole, num(1))
	}
	return whole
}

func modelCallsDrawOn(currency string) bool {
	return slices.Contains([]string{models.CurrencyUSD, models.CurrencyTokens, models.CurrencyCredits}, currency)
}

// gate is what accounts say of a step that needs so much of each of those that are bound.
func gate(bound []*account, resumed models.Millis, who asker, unpriced bool, need func(*account) *big.Int) budget.Kind {
	is := func(says func(*account) bool) bool { return slices.ContainsFunc(bound, says) }
	switch {
	case is(func(a *account) bool { return a.balance().Sign() <= 0 }):
		return budget.Exhausted
	case is(func(a *account) bool { return a.overSoft() && (resumed == 0 || resumed < a.softPassedAt) }):
		return budget.Paused
	case unpriced && is(func(a *account) bool { return a.currency == models.CurrencyUSD }):
		return budget.Unpriced
	case is(func(a *account) bool { return need(a).Cmp(a.balance()) > 0 }):
		return budget.Exhausted
	case is(func(a *account) bool { return need(a).Cmp(a.free(who)) > 0 }):
		return budget.Wait
	}
	return budget.Go
}
