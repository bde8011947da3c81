package budget_test

import (
	"math"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

// machine puts some budgets through whatever may happen to them, and the accounts that they are beside them.
type machine struct {
	now     models.Millis
	resumed models.Millis
	// scale is what limits are of the size of; steps take of the size of a part of it.
	scale models.Amount
	rows  []models.Budget
	is    []*account
	open  [][]grant
	// warned is when people were warned of a budget, since they had last changed it or its period had begun.
	warned map[models.BudgetID]models.Millis
}

// grant is an amount that is held, and the period of the account that it was granted in.
type grant struct {
	models.Held

	period int
}

func newMachine(t *rapid.T) *machine {
	m := &machine{now: 1_800_000_000_000, warned: map[models.BudgetID]models.Millis{}}
	m.scale = rapid.SampledFrom([]models.Amount{10, 5000, 5_000_000_000, budget.MaxAmount}).Draw(t, "scale")
	for i := range rapid.IntRange(1, 4).Draw(t, "budgets") {
		b := models.Budget{ID: models.BudgetID{15: byte(i)}, CreatedAt: m.now, Currency: rapid.SampledFrom([]string{
			models.CurrencyUSD, models.CurrencyTokens, models.CurrencyCredits, models.CurrencyToolCalls, "gpu",
		}).Draw(t, "currency")}
		a := &account{currency: b.Currency, credits: new(big.Int), spent: new(big.Int), reserved: new(big.Int), periodEnds: m.now + hour}
		switch a.kind = rapid.SampledFrom([]models.PeriodKind{"", models.PeriodCalendar, models.PeriodFixed, models.PeriodRolling}).Draw(t, "kind"); a.kind {
		case "":
		case models.PeriodCalendar:
			b.PeriodKind, b.PeriodUnit = &a.kind, new(models.UnitHour)
		case models.PeriodFixed, models.PeriodRolling:
			b.PeriodKind, b.PeriodSeconds = &a.kind, new(int64(3600))
		}
		m.rows, m.is = append(m.rows, b), append(m.is, a)
		m.limits(t, i)
		budget.Begin(&m.rows[i], m.now)
	}
	return m
}

// amount draws one between bounds, and often a bound.
func amount(t *rapid.T, name string, least, most models.Amount) models.Amount {
	between := rapid.Int64Range(int64(least), int64(most))
	return models.Amount(rapid.OneOf(between, rapid.SampledFrom([]int64{int64(least), int64(most)})).Draw(t, name))
}

func (m *machine) limits(t *rapid.T, i int) {
	b, a := &m.rows[i], m.is[i]
	b.LimitAmount, b.SoftLimit, a.soft = amount(t, "limit", m.scale/3+1, m.scale), nil, nil
	a.limit = num(b.LimitAmount)
	if rapid.Bool().Draw(t, "has a soft limit") {
		soft := amount(t, "soft limit", 0, b.LimitAmount)
		b.SoftLimit, a.soft = &soft, num(soft)
	}
	if err := budget.CheckLimits(b.LimitAmount, b.SoftLimit); err != nil {
		t.Fatal(err)
	}
}

// roll is what everybody does first.
func (m *machine) roll(t *rapid.T) {
	for i := range m.rows {
		b, before := &m.rows[i], m.rows[i].PeriodStartedAt
		budget.Roll(b, m.now)
		m.is[i].roll(m.now)
		if b.PeriodStartedAt == before {
			continue
		}
		delete(m.warned, b.ID)
		if s := budget.StatusOf(b); s != budget.StatusActive || b.WarnedAt != nil {
			t.Fatalf("a new period begins with the status %s, warned at %v", s, b.WarnedAt)
		}
	}
}

func (m *machine) pick(t *rapid.T) int { return rapid.IntRange(0, len(m.rows)-1).Draw(t, "budget") }

// decided checks a verdict.
func (m *machine) decided(t *rapid.T, v budget.Verdict, want budget.Kind, bound []*account, before []models.Budget) {
	if !reflect.DeepEqual(before, m.rows) {
		t.Fatal("the gate has changed a row")
	}
	if v.Kind != want {
		t.Fatalf("the gate says %d, want %d", v.Kind, want)
	}
	if v.Kind == budget.Go {
		var grants []grant
		for _, h := range v.Held {
			i := m.index(h.Budget)
			if line := budget.Hold(&m.rows[i], h.Amount); line != h {
				t.Fatalf("%+v is held, the gate said %+v", line, h)
			}
			grants = append(grants, grant{h, m.is[i].period})
			m.is[i].reserved.Add(m.is[i].reserved, num(h.Amount))
			if h.Amount > 0 && m.is[i].available().Sign() < 0 { // what nobody can tell the price of holds nothing
				t.Fatalf("%d of %s were granted beyond the limit", h.Amount, m.is[i].currency)
			}
		}
		m.open = append(m.open, grants)
		return
	}
	i := slices.IndexFunc(m.rows, func(b models.Budget) bool { return v.Budget != nil && b.ID == v.Budget.ID })
	if i < 0 || !slices.Contains(bound, m.is[i]) {
		t.Fatalf("%v stands in the way", v.Budget)
	}
	switch a := m.is[i]; {
	case v.Kind == budget.Exhausted:
		m.rows[i].ExhaustedAt = m.now.Ptr() // as the engine does
		if v.Need < math.MaxInt64 && num(v.Need).Cmp(a.balance()) <= 0 && a.balance().Sign() > 0 {
			t.Fatalf("%d would fit into the %v that are left", v.Need, a.balance())
		}
	case v.Kind == budget.Wait && (num(v.Need).Cmp(a.balance()) > 0 || a.reserved.Sign() == 0 && a.kept == nil):
		t.Fatalf("the wait for %d of %v, of which %v are held, would never end", v.Need, a.balance(), a.reserved)
	}
}

func (m *machine) index(id models.BudgetID) int {
	return slices.IndexFunc(m.rows, func(b models.Budget) bool { return b.ID == id })
}

func (m *machine) bound(is func(currency string) bool) (list []*account) {
	for _, a := range m.is {
		if is(a.currency) {
			list = append(list, a)
		}
	}
	return list
}

func (m *machine) resumedAt() *models.Millis {
	if m.resumed == 0 {
		return nil
	}
	return &m.resumed
}

func (m *machine) who(t *rapid.T) asker {
	return asker{place: rapid.IntRange(0, 4).Draw(t, "place"), begun: rapid.IntRange(0, 9).Draw(t, "begun") == 0}
}

func (m *machine) asker(who asker) budget.Asker {
	return budget.Asker{Resumed: m.resumedAt(), Waited: waitAt(who.place, 1), Begun: who.begun}
}

// waitAt is one of the waits at a place; the zero one at 0.
func waitAt(place, which int) (id models.WaitID) {
	if place > 0 {
		id[7], id[15] = byte(place), byte(which)
	}
	return id
}

// keep keeps something for one that waits, or ends that.
func (m *machine) keep(t *rapid.T) {
	m.roll(t)
	i := m.pick(t)
	b, a := &m.rows[i], m.is[i]
	if a.kept != nil && rapid.Bool().Draw(t, "ends") {
		budget.Unkeep(b)
		a.kept = nil
		return
	}
	much := amount(t, "kept", 0, m.scale)
	a.kept, a.keptPlace, a.keptUntil = num(much), rapid.IntRange(1, 4).Draw(t, "its place"), m.now+slot
	budget.Keep(b, much, waitAt(a.keptPlace, 2), a.keptUntil)
}

func (m *machine) call(t *rapid.T) budget.Call {
	dearest := rapid.SampledFrom([]int64{3_000_000, 100_000_000_000}).Draw(t, "dearest")
	price := rapid.Map(rapid.Int64Range(0, dearest), func(n int64) models.Nanos { return models.Nanos(n) })
	c := budget.Call{
		InputTokens: int64(amount(t, "input", 0, m.scale/5)), MaxTokens: rapid.SampledFrom([]int{0, 1, 255, 256, 257, 4096, 64_000}).Draw(t, "most"),
	}
	if rapid.IntRange(0, 9).Draw(t, "priced") > 0 {
		c.Input, c.Output = new(price.Draw(t, "input price")), new(price.Draw(t, "output price"))
		c.CacheRead, c.CacheWrite = rapid.Ptr(price, true).Draw(t, "read price"), rapid.Ptr(price, true).Draw(t, "write price")
	}
	return c
}

func (m *machine) reserve(t *rapid.T) {
	m.roll(t)
	c, allow, who := m.call(t), rapid.Bool().Draw(t, "unpriced is allowed"), m.who(t)
	least := min(budget.MinOutput, int64(c.MaxTokens))
	bound, before := m.bound(modelCallsDrawOn), slices.Clone(m.rows)
	want := gate(bound, m.resumed, who, !c.Priced() && !allow, func(a *account) *big.Int { return worst(c, a.currency, least) })
	fits := func(output int64) bool {
		return !slices.ContainsFunc(bound, func(a *account) bool { return worst(c, a.currency, output).Cmp(a.free(who)) > 0 })
	}
	v := budget.Reserve(m.rows, c, m.asker(who), allow)
	if output := int64(v.MaxTokens); v.Kind == budget.Go {
		if output < least || output > int64(c.MaxTokens) {
			t.Fatalf("%d tokens of output for %d that are wanted", output, c.MaxTokens)
		}
		if (bound != nil && !fits(output)) || (output < int64(c.MaxTokens) && fits(output+1)) {
			t.Fatalf("%d tokens of output are not the most that fit", output)
		}
		for _, a := range bound {
			held := new(big.Int)
			for _, h := range v.Held {
				if m.is[m.index(h.Budget)] == a {
					held.Add(held, num(h.Amount))
				}
			}
			if want := worst(c, a.currency, output); held.Cmp(want) != 0 && (held.Sign() != 0 || want.Sign() > 0) {
				t.Fatalf("%v of %s are held, want %v", held, a.currency, want)
			}
		}
	}
	m.decided(t, v, want, bound, before)
}

func (m *machine) reserveMeters(t *rapid.T) {
	m.roll(t)
	take := map[string]models.Amount{
		models.CurrencyToolCalls: models.Amount(rapid.IntRange(0, 5).Draw(t, "calls")), "gpu": amount(t, "gpu", 0, m.scale/2),
	}
	bound, before := m.bound(func(currency string) bool { return take[currency] > 0 }), slices.Clone(m.rows)
	who := m.who(t)
	want := gate(bound, m.resumed, who, false, func(a *account) *big.Int { return num(take[a.currency]) })
	v := budget.ReserveMeters(m.rows, m.asker(who), func(currency string) models.Amount { return take[currency] })
	m.decided(t, v, want, bound, before)
}

// take takes an open reservation out.
func (m *machine) take(t *rapid.T) []grant {
	m.roll(t)
	if len(m.open) == 0 {
		t.Skip("nothing is held")
	}
	i := rapid.IntRange(0, len(m.open)-1).Draw(t, "reservation")
	lines := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	return lines
}

// giveBack takes a grant off the account, and tells whether its period is still there.
func (m *machine) giveBack(g grant) (i int, present bool) {
	i = m.index(g.Budget)
	if present = m.is[i].period == g.period; present {
		m.is[i].reserved.Sub(m.is[i].reserved, num(g.Amount))
	}
	return i, present
}

func (m *machine) release(t *rapid.T) {
	for _, g := range m.take(t) {
		i, _ := m.giveBack(g)
		budget.Release(&m.rows[i], &g.Held, g.Amount)
	}
}

func (m *machine) settle(t *rapid.T) {
	for _, g := range m.take(t) {
		over := m.is[m.index(g.Budget)].overshoot()
		i, present := m.giveBack(g)
		cost := amount(t, "cost", 0, g.Amount)
		overrun := models.Amount(0)
		if rapid.IntRange(0, 9).Draw(t, "reported above") == 0 {
			overrun = amount(t, "overrun", 1, m.scale)
			cost = models.Amount(kept(sum(num(g.Amount), num(overrun))).Int64())
			overrun = cost - g.Amount
		}
		m.debit(t, i, present && cost > 0, cost, func(b *models.Budget) budget.Posted {
			beyond, p := budget.Settle(b, &g.Held, g.Amount, cost, m.now)
			if beyond != overrun || g.Amount != 0 {
				t.Fatalf("an overrun of %d, want %d; %d are left of the line", beyond, overrun, g.Amount)
			}
			return p
		})
		if now := m.is[i].overshoot(); now.Cmp(sum(over, num(overrun))) > 0 {
			t.Fatalf("a settlement has raised what is beyond the limit from %v to %v, with an overrun of %d", over, now, overrun)
		}
	}
}

// debit posts an amount to a row, and to its account where it counts there.
func (m *machine) debit(t *rapid.T, i int, counts bool, amount models.Amount, post func(*models.Budget) budget.Posted) {
	b := &m.rows[i]
	passed := m.is[i].softPassedAt
	p, warned := post(b), counts && m.is[i].debit(num(amount), m.now)
	if p.Warned != warned {
		t.Fatalf("warned: %t, want %t", p.Warned, warned)
	}
	if want := passed == 0 && m.is[i].softPassedAt != 0; p.SoftPassed != want {
		t.Fatalf("passed the soft limit: %t, want %t", p.SoftPassed, want)
	}
	if at, ok := m.warned[b.ID]; warned && ok && (m.is[i].kind != models.PeriodRolling || m.now-at < hour) {
		t.Fatalf("people were warned at %s, and again at %s", at.Time(), m.now.Time())
	}
	if warned {
		m.warned[b.ID] = m.now
	}
}

func (m *machine) credit(t *rapid.T) {
	m.roll(t)
	i := m.pick(t)
	b, a := &m.rows[i], m.is[i]
	most := minus(num(budget.MaxAmount), a.balance())
	if credits := minus(num(budget.MaxAmount), a.credits); credits.Cmp(most) < 0 {
		most = credits
	}
	if most.Sign() <= 0 {
		t.Skip("too much for those who top up")
	}
	credit := amount(t, "credit", 1, min(models.Amount(kept(most).Int64()), m.scale))
	budget.Credit(b, credit, m.now)
	a.credits = sum(a.credits, num(credit))
	m.changed(t, i)
}

func (m *machine) change(t *rapid.T) {
	m.roll(t)
	i := m.pick(t)
	before := m.is[i].limit
	m.limits(t, i)
	if m.is[i].balance().Cmp(num(budget.MaxAmount)) > 0 {
		m.rows[i].LimitAmount, m.is[i].limit = models.Amount(before.Int64()), before
	}
	budget.Reopen(&m.rows[i], m.now)
	m.changed(t, i)
}

func (m *machine) changed(t *rapid.T, i int) {
	a := m.is[i]
	a.changed(m.now)
	delete(m.warned, m.rows[i].ID)
	if s := budget.StatusOf(&m.rows[i]); a.balance().Sign() > 0 && s == budget.StatusExhausted {
		t.Fatalf("the status is %s with %v left", s, a.balance())
	}
}

func (m *machine) check(t *rapid.T) {
	for i, b := range m.rows {
		a := m.is[i]
		for _, c := range []struct {
			name      string
			got, want *big.Int
		}{
			{"spent", num(b.Spent), a.spent},
			{"credits", num(b.Credits), a.credits},
			{"reserved", num(b.Reserved), a.reserved},
			{"balance", num(budget.Balance(&b)), a.balance()},
			{"available", num(budget.Available(&b)), a.available()},
		} {
			if c.got.Cmp(c.want) != 0 {
				t.Fatalf("%s of %s is %v, want %v", c.name, a.currency, c.got, c.want)
			}
		}
		if (b.WarnedAt != nil) != (a.warnedAt != 0) || (b.SoftPassedAt != nil) != (a.softPassedAt != 0) {
			t.Fatalf("warned at %v, soft limit passed at %v; want %d, %d", b.WarnedAt, b.SoftPassedAt, a.warnedAt, a.softPassedAt)
		}
		if budget.OverSoft(&b) != a.overSoft() {
			t.Fatalf("over the soft limit: %t", budget.OverSoft(&b))
		}
	}
}

// goOn lets time pass: up to something that may change then, or for a while.
func (m *machine) goOn(t *rapid.T) {
	times := []models.Millis{m.now + 1, m.now + slot, m.now + hour}
	for _, a := range m.is {
		times = append(times, a.periodEnds, a.warnedAt+hour, a.softPassedAt+hour, a.keptUntil)
		for _, p := range a.postings {
			times = append(times, p.at+hour)
		}
	}
	at := rapid.SampledFrom(times).Draw(t, "time") + models.Millis(rapid.SampledFrom([]int64{-1, 0, 0, 1, int64(slot)}).Draw(t, "more"))
	m.now = max(m.now, at)
}

// Whatever comes in whatever order: the rows say what the accounts say, and the gate grants nothing beyond them.
func TestGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"":        m.check,
			"reserve": m.reserve, "reserve again": m.reserve, "reserve meters": m.reserveMeters,
			"settle": m.settle, "settle again": m.settle, "release": m.release,
			"credit": m.credit, "change": m.change, "keep": m.keep,
			"resume": func(*rapid.T) { m.resumed = m.now },
			"go on":  m.goOn, "go on again": m.goOn,
			"go back": func(t *rapid.T) { m.now -= models.Millis(rapid.Int64Range(0, 5000).Draw(t, "time")) },
		})
	})
}
