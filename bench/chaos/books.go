package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// books looks at the budgets of an organization as the database has them, from outside.
type books struct {
	a   *arena
	org models.OrgID

	mu      sync.Mutex
	samples int
	// most is how far a budget was above its limit at most, beyond what overruns account for; above is with them.
	most, above map[string]models.Amount
	wrong       []string
	looks       int
}

// looking is how often the books are looked at while the load runs.
const looking = 20 * time.Millisecond

// overLimit tells of each budget how far what was granted and spent is above what there is, with and without what was posted as overrun in the
// period. It is one statement, and so one moment.
const overLimit = `SELECT b.currency, b.spent + b.reserved - b.limit_amount - b.credits AS above,
	CASE WHEN b.spent + b.reserved > b.limit_amount + b.credits THEN (SELECT coalesce(sum(l.overrun), 0) FROM ledger_entries l
		WHERE l.org_id = b.org_id AND l.budget_id = b.id AND l.period_started_at = b.period_started_at) ELSE 0 END AS overrun
	FROM budgets b WHERE b.org_id = ?`

// watch looks until the context ends.
func (b *books) watch(ctx context.Context) {
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var rows []excess
		if err := b.a.query(ctx, &rows, overLimit, b.org); err != nil {
			if ctx.Err() == nil {
				b.failf("the budgets can't be read: %v", err)
			}
			continue
		}
		b.note(rows)
	}
}

// overPeriods tells of each period that a budget has had how far what was settled in it is above what there was, with and without overruns: also
// of what was settled after it had ended. The periods of a window are none.
const overPeriods = `SELECT b.currency, sum(l.amount) - b.limit_amount AS above, sum(l.overrun) AS overrun
	FROM budgets b JOIN ledger_entries l ON l.org_id = b.org_id AND l.budget_id = b.id
	WHERE b.org_id = ? AND (b.period_kind IS NULL OR b.period_kind <> 'ROLLING') GROUP BY b.id, b.currency, b.limit_amount, l.period_started_at`

// periods looks at all periods that there were. It is called when nobody is at work.
func (b *books) periods(ctx context.Context) error {
	var rows []excess
	if err := b.a.query(ctx, &rows, overPeriods, b.org); err != nil {
		return fmt.Errorf("read the periods of budgets: %w", err)
	}
	b.note(rows)
	return nil
}

// excess is how far a budget is above what there is, and how much of that was posted as an overrun.
type excess struct {
	Currency       string
	Above, Overrun models.Amount
}

func (b *books) note(rows []excess) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.samples++
	for _, r := range rows {
		b.above[r.Currency] = max(b.above[r.Currency], r.Above)
		b.most[r.Currency] = max(b.most[r.Currency], r.Above-r.Overrun)
	}
}

func (b *books) failf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// statement returns the query for what the rows of budgets say, and what their ledgers and the turns do, in one moment. The debits of a rolling
// budget count from the oldest slot on that was in its window when the row was written.
func statement(kind string) string {
	held, greatest := `SELECT unhex(substr(l.value->>'budget', 6)) AS id, l.value->>'period' AS period, sum(l.value->>'amount') AS amount
		FROM turns t, json_each(t.reservation, '$.lines') l WHERE t.reservation IS NOT NULL GROUP BY 1, 2`, "max"
	if kind == postgres {
		held = `SELECT substr(l->>'budget', 6)::uuid AS id, (l->>'period')::bigint AS period, sum((l->>'amount')::bigint)::bigint AS amount
			FROM turns t CROSS JOIN LATERAL json_array_elements(t.reservation->'lines') l WHERE t.reservation IS NOT NULL GROUP BY 1, 2`
		greatest = "greatest"
	}
	const oldest = `(SELECT min(s.slot) FROM budget_slots s WHERE s.org_id = b.org_id AND s.budget_id = b.id
		AND s.newest > b.updated_at - b.period_seconds * 1000)`
	sum := func(what, which string) string {
		return `(SELECT coalesce(sum(` + what + `), 0) FROM ledger_entries l WHERE l.org_id = b.org_id AND l.budget_id = b.id
			AND l.period_started_at = b.period_started_at AND ` + which + `)`
	}
	return `WITH held AS (` + held + `) SELECT b.currency, b.spent, b.credits, b.reserved, coalesce(h.amount, 0) AS held,
		` +
		sum("l.amount", `l.amount > 0 AND (b.period_kind IS NULL OR b.period_kind <> 'ROLLING'
			OR l.created_at >= `+oldest+` * `+greatest+`((b.period_seconds * 1000 + 59) / 60, 1))`) + ` AS debits,
		` + sum("-l.amount", "l.amount < 0") + ` AS topped
		FROM budgets b LEFT JOIN held h ON h.id = b.id AND h.period = b.period_started_at WHERE b.org_id = ?`
}

// check compares the rows of budgets with their ledgers and with what turns hold. atRest tells that no turn is at work.
func (b *books) check(ctx context.Context, when string, atRest bool) error {
	var rows []struct {
		Currency                                       string
		Spent, Credits, Reserved, Held, Debits, Topped models.Amount
	}
	if err := b.a.query(ctx, &rows, statement(b.a.kind), b.org); err != nil {
		return fmt.Errorf("check the budgets: %w", err)
	}
	for _, r := range rows {
		if r.Spent != r.Debits || r.Credits != r.Topped || r.Reserved != r.Held {
			b.failf("%s: the budget of %s has spent %d, credits %d, reserved %d; by the ledger these are %d and %d, and turns hold %d",
				when, r.Currency, r.Spent, r.Credits, r.Reserved, r.Debits, r.Topped, r.Held)
		}
		if atRest && r.Reserved != 0 {
			b.failf("%s: %d of %s are still held, and nobody is at work", when, r.Reserved, r.Currency)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	return nil
}
