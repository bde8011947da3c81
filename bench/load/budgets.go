package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
)

// budgetedSessions is how many sessions are at work at once in P11.
const budgetedSessions = 32

// The sides of P11.
const (
	budgetsOff = iota
	budgetsOn
	budgetSides
)

// budgets takes P11: what four budgets that bind and never run out take off the turns per second. The same process has organizations
// with budgets and as many without, and the sides take turns.
func (b *bench) budgets(ctx context.Context, kind string) error {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return err
	}
	with := setup()
	with.Orgs = budgetSides * orgs
	s, err := b.startSystemWith(ctx, kind, noFloor, at, with)
	if err != nil {
		return err
	}
	err = s.api.Orgs(orgs, budgetSides*orgs).Bind(ctx)
	for _, count := range []int{1, orgs} {
		if err == nil {
			err = s.budgeted(ctx, count)
		}
	}
	return s.endBudgeted(ctx, err)
}

// budgeted compares the sides in so many organizations.
func (s *system) budgeted(ctx context.Context, count int) error {
	sides := [budgetSides]client.Part{s.api.Orgs(0, count), s.api.Orgs(orgs, orgs+count)}
	var rates, cpu [budgetSides][]float64
	var ratios, foreign []float64
	var costs [budgetSides]turnCosts
	expected := [budgetSides]float64{maxRate, maxRate}
	for pair := range s.pairs + 1 { // the first one only warms up
		var m [budgetSides]measurement
		for i := range budgetSides {
			side := i
			if pair%2 == 1 {
				side = budgetSides - 1 - i
			}
			var cost turnCosts
			var err error
			if m[side], cost, err = s.costly(ctx, sides[side], expected[side]); err != nil {
				return fmt.Errorf("budgets %s in %d organizations: %w", []string{"off", "on"}[side], count, err)
			}
			expected[side] = m[side].perSecond
			if pair > 0 {
				costs[side].add(cost)
			}
		}
		if pair == 0 {
			continue
		}
		for side := range budgetSides {
			rates[side], cpu[side] = append(rates[side], m[side].perSecond), append(cpu[side], m[side].cpuMillis)
			foreign = append(foreign, m[side].foreign)
		}
		ratios = append(ratios, m[budgetsOn].perSecond/m[budgetsOff].perSecond)
		s.progressf("P11 %d organizations: %.0f turns/s with budgets, %.0f without", count, m[budgetsOn].perSecond, m[budgetsOff].perSecond)
	}
	where := "one organization"
	if count > 1 {
		where = fmt.Sprintf("%d organizations", count)
	}
	s.add(report.Figure{
		ID: "P11", Name: "turns with a tool under four budgets ÷ without, " + where, Unit: "/s",
		Samples: rates[budgetsOn], Floor: report.Median(rates[budgetsOff]), Ratios: ratios,
		CPUMillis: report.Median(cpu[budgetsOn]), FloorCPUMillis: report.Median(cpu[budgetsOff]), Foreign: report.Median(foreign),
		Gate: report.AtLeast(0.6), Target: report.AtLeast(0.85),
		Note: fmt.Sprintf("%d sessions; with: %s; without: %s", budgetedSessions, costs[budgetsOn].of(s.kind), costs[budgetsOff].of(s.kind)),
	})
	return nil
}

// costly takes the throughput of a part, and what its turns cost the database.
func (s *system) costly(ctx context.Context, part client.Part, expected float64) (m measurement, cost turnCosts, err error) {
	prepared, err := prepare(ctx, part, budgetedSessions, s.lasts, expected)
	if err != nil {
		return m, cost, err
	}
	before, err := s.spent(ctx)
	if err != nil {
		return m, cost, err
	}
	if m, err = s.drive(ctx, prepared, s.lasts); err != nil {
		return m, cost, err
	}
	s.count(armProduct, m)
	after, err := s.spent(ctx)
	return m, turnCosts{turns: m.turns, spent: spent{
		written: after.written - before.written, statements: after.statements - before.statements, commits: after.commits - before.commits,
		wal: after.wal - before.wal,
	}}, err
}

// turnCosts is what some turns took of the database.
type turnCosts struct {
	spent

	turns int
}

func (c *turnCosts) add(more turnCosts) {
	c.turns += more.turns
	c.written, c.statements = c.written+more.written, c.statements+more.statements
	c.commits, c.wal = c.commits+more.commits, c.wal+more.wal
}

// of returns the costs of a turn on a kind of database.
func (c *turnCosts) of(kind string) string {
	per := func(n int64) float64 { return float64(n) / float64(c.turns) }
	if kind != postgres {
		return fmt.Sprintf("%.0f KiB to disk per turn", per(c.written)/kibibyte)
	}
	return fmt.Sprintf("%.2f commits, %.1f statements, %.0f KB of log per turn", per(c.commits), per(c.statements), per(c.wal)/1000)
}

// endBudgeted ends a system. After a run that went well each turn under a budget must have been posted, and nothing may still be held.
func (s *system) endBudgeted(ctx context.Context, err error) error {
	if err != nil {
		return s.end(ctx, err)
	}
	// A turn has two calls of the model, which three budgets count, and one of a tool, which one does.
	const perTurn = 7
	return errors.Join(s.product.Stop(), verifyProduct(ctx, s.place, s.done[armProduct], s.resumes), verify(ctx, "product", s.place, "ostler.db", []check{
		{"budgets", `SELECT count(*) FROM budgets`, 4 * orgs},
		{"budgets that still hold something", `SELECT count(*) FROM budgets WHERE reserved <> 0`, 0},
		{"budgets whose ledger says otherwise", `SELECT count(*) FROM budgets b WHERE b.spent <> (SELECT coalesce(sum(l.amount), 0) FROM ledger_entries l
			WHERE l.org_id = b.org_id AND l.budget_id = b.id)`, 0},
		{"postings more than the turns make", fmt.Sprintf(`SELECT (SELECT count(*) FROM ledger_entries) - %d * (SELECT count(*) FROM turns t
			WHERE EXISTS (SELECT 1 FROM budgets b WHERE b.org_id = t.org_id))`, perTurn), 0},
	}), s.remove(ctx))
}
