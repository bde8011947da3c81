// Package books is what was used and spent: sums of usage, by the hour and for export (usage.go, usage_export.go), and whether the rows of budgets,
// the ledger, the journal, payments and what is held agree (reconcile.go, selfcheck.go).
package books

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// reconcileBudgets is how many budgets are looked at in one snapshot.
	reconcileBudgets = 50
	// reconcileRows is how many postings, turns or facts one statement reads.
	reconcileRows = 500
	// reconcileShown is how many wrong postings of a budget are told one by one.
	reconcileShown = 100
)

// Reconciler works out anew what the rows of budgets say, from what can't be changed: postings and facts, and what turns hold. What differs
// is a mistake of the server, or of somebody who has written into the database.
type Reconciler struct {
	db    *store.DB
	clock clock.Clock
}

// NewReconciler returns a Reconciler.
func NewReconciler(db *store.DB, clk clock.Clock) *Reconciler { return &Reconciler{db: db, clock: clk} }

// Difference is something that isn't what it should be.
type Difference struct {
	// Entry is the posting that is wrong; zero when it is the budget's own row.
	Entry models.LedgerID
	// Column names what is wrong: spent, credits, reserved, slots, kept, period_started_at or period_ends_at of a budget; of a posting any column.
	Column string
	// Stored is what the row says, and Computed what it should say.
	Stored, Computed string
	// Gap is by how much, where that can be told: it stays while both go on.
	Gap string
}

// String describes the difference to people.
func (d Difference) String() string {
	of := ""
	if !d.Entry.IsZero() {
		of = " of " + d.Entry.String()
	}
	return fmt.Sprintf("%s%s: stored %s, computed %s", d.Column, of, d.Stored, d.Computed)
}

// mendable reports whether the row of the budget can be set right. Postings can't: they are append-only. When a period began is told by them.
func (d Difference) mendable() bool { return d.Entry.IsZero() && d.Column != periodStarted }

const periodStarted = "period_started_at"

// Checked is what became of a budget's check.
type Checked struct {
	Org    models.OrgID
	Budget models.BudgetID
	// Postings are how many were read, and Overrun the part of the period's debits that had not been reserved.
	Postings int64
	Overrun  models.Amount
	// Differences are what is wrong; empty when all is well. Postings beyond the first hundred are only counted.
	Differences []Difference
	Omitted     int
	// Repaired is true when the row was set to what was computed.
	Repaired bool
}

// Count is how many differences there are.
func (c *Checked) Count() int { return len(c.Differences) + c.Omitted }

// Left is how many of them are still there, after a repair.
func (c *Checked) Left() int {
	if !c.Repaired {
		return c.Count()
	}
	left := c.Omitted
	for _, d := range c.Differences {
		if !d.mendable() {
			left++
		}
	}
	return left
}

func (c *Checked) mendable() bool {
	for _, d := range c.Differences {
		if d.mendable() {
			return true
		}
	}
	return false
}

// differs adds a difference of an amount, when it is one.
func (c *Checked) differs(entry models.LedgerID, column, currency string, stored, computed models.Amount) {
	if stored == computed {
		return
	}
	show := func(a models.Amount) string { return budget.Decimal(currency, a).String() }
	c.add(Difference{
		Entry: entry, Column: column, Stored: show(stored), Computed: show(computed),
		Gap: budget.Decimal(currency, stored).Sub(budget.Decimal(currency, computed)).String(),
	})
}

func (c *Checked) add(d Difference) {
	if !d.Entry.IsZero() && len(c.Differences) >= reconcileShown {
		c.Omitted++
		return
	}
	c.Differences = append(c.Differences, d)
}

// Org checks all budgets of an organization, in the order of their ids, and shows each of them. It locks nothing: what is compared is read
// in one snapshot, in which postings, holds and the row of a budget change together.
func (r *Reconciler) Org(ctx context.Context, org models.OrgID, show func(Checked) error) error {
	var after models.BudgetID
	for {
		list, err := r.page(ctx, org, nil, func(q *gorm.DB) *gorm.DB {
			if !after.IsZero() {
				q = q.Where("id > ?", after)
			}
			return q.Limit(reconcileBudgets)
		})
		if err != nil {
			return err
		}
		for _, c := range list {
			if err := show(c); err != nil {
				return err
			}
		}
		if len(list) < reconcileBudgets {
			return nil
		}
		after = list[len(list)-1].Budget
	}
}

// some checks some budgets of an organization; those that don't exist are left out. What is known of old postings needn't be read again.
func (r *Reconciler) some(ctx context.Context, org models.OrgID, ids []models.BudgetID, known summed) ([]Checked, error) {
	var all []Checked
	for len(ids) > 0 {
		n := min(len(ids), reconcileBudgets)
		list, err := r.page(ctx, org, known, func(q *gorm.DB) *gorm.DB { return q.Where("id IN ?", ids[:n]) })
		if err != nil {
			return nil, err
		}
		all, ids = append(all, list...), ids[n:]
	}
	return all, nil
}

func (r *Reconciler) page(ctx context.Context, org models.OrgID, known summed, which func(*gorm.DB) *gorm.DB) (list []Checked, err error) {
	err = r.db.Snapshot(ctx, org, func(tx *gorm.DB) error {
		list = nil
		var budgets []models.Budget
		if err := which(store.Of(tx, org)).Order("id").Find(&budgets).Error; err != nil || len(budgets) == 0 {
			return err
		}
		if err := rows.Slots(tx, org, budgets); err != nil {
			return err
		}
		held, err := heldBudgets(tx, org)
		if err != nil {
			return err
		}
		for i := range budgets {
			c, _, err := r.compare(tx, &budgets[i], held[budgets[i].ID], known)
			if err == nil && c.Count() > 0 && known != nil {
				// It may be what is known that is wrong: a posting may have come that was dated long before.
				delete(known, BudgetKey{org, c.Budget})
				c, _, err = r.compare(tx, &budgets[i], held[budgets[i].ID], nil)
			}
			if err != nil {
				return err
			}
			list = append(list, c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reconcile the budgets of %s: %w", org, err)
	}
	return list, nil
}

// Repair checks a budget anew under its lock, sets its row to what was computed, and records it. When there is nothing to mend it changes
// nothing. The engine takes the lock for every posting and for everything that turns hold of the budget, so that what is read after it is
// all there is.
func (r *Reconciler) Repair(ctx context.Context, org models.OrgID, id models.BudgetID) (c Checked, err error) {
	err = r.db.Write(ctx, org, func(tx *gorm.DB) error {
		row, err := rows.Locked(tx, org, id)
		if err != nil {
			return err
		}
		held, err := heldBudgets(tx, org)
		if err != nil {
			return err
		}
		var right models.Budget
		if c, right, err = r.compare(tx, &row, held[id], nil); err != nil || !c.mendable() {
			return err
		}
		now := r.now(&row)
		err = store.OneRow(store.Of(tx.Model(&models.Budget{}), org).Where("id = ?", id).Updates(map[string]any{
			"spent": right.Spent, "credits": right.Credits, "reserved": right.Reserved,
			"period_started_at": right.PeriodStartedAt, "period_ends_at": right.PeriodEndsAt,
			"warned_at": right.WarnedAt, "soft_passed_at": right.SoftPassedAt, "exhausted_at": right.ExhaustedAt,
			"kept": right.Kept, "kept_for": right.KeptFor, "kept_until": right.KeptUntil, "updated_at": now,
		}))
		if err != nil {
			return err
		}
		if budget.Rolls(&right) {
			if err := rows.SaveSlots(tx, &right); err != nil {
				return err
			}
		}
		c.Repaired = true
		return audit.Record(ctx, tx, now, audit.Entry{
			Org: org, ActorKind: models.ActorSystem, Action: actionReconciled, Target: id.String(),
			Details: map[string]any{"before": shownRow(&row), "after": shownRow(&right)},
		})
	})
	if err != nil {
		return Checked{}, fmt.Errorf("repair %s: %w", id, err)
	}
	return c, nil
}

const (
	actionReconciled = "budget.reconciled"
	actionMismatch   = "budget.mismatch"
)

func shownRow(b *models.Budget) map[string]any {
	show := func(a models.Amount) string { return budget.Decimal(b.Currency, a).String() }
	m := map[string]any{
		"spent": show(b.Spent), "credits": show(b.Credits), "reserved": show(b.Reserved), "kept": show(b.Kept),
		"periodStartedAt": b.PeriodStartedAt, "periodEndsAt": b.PeriodEndsAt,
	}
	if len(b.Slots) > 0 {
		m["slots"] = shownSlots(b)
	}
	return m
}

// shownSlots tells what a window has, oldest first: the number of each slot, what was spent in it, and when last.
func shownSlots(b *models.Budget) string {
	var list []string
	for _, k := range b.Slots {
		list = append(list, fmt.Sprintf("%d: %s at %s", k.Slot, budget.Decimal(b.Currency, k.Spent), shownTime(&k.Newest)))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// now is the time that a budget's window is looked at: never before its last write, by whose clock it was rolled.
func (r *Reconciler) now(b *models.Budget) models.Millis {
	return max(clock.Millis(r.clock), b.UpdatedAt)
}

// compare returns what differs between a row and what the books say, and the row as it should be; held is what is held of it, by period. All must
// be read in one snapshot, or under the row's lock.
func (r *Reconciler) compare(tx *gorm.DB, row *models.Budget, held map[models.Millis]models.Amount, known summed) (Checked, models.Budget, error) {
	c := Checked{Org: row.OrgID, Budget: row.ID}
	now := r.now(row)
	books, err := readBooks(tx, row, now, known, &c)
	if err != nil {
		return c, *row, err
	}
	if later := slices.Max(append(slices.Collect(maps.Keys(held)), books.latest)); later > row.PeriodStartedAt {
		// The row has gone back to an earlier period, or what names the later one is wrong. That only people can tell, and all else follows from it.
		c.add(Difference{Column: periodStarted, Stored: shownTime(&row.PeriodStartedAt), Computed: shownTime(&later)})
		return c, *row, nil
	}
	stored, right := *row, *row
	if budget.Rolls(row) {
		// Both as of now: what has left the window since the last write is no difference. Rolling adds the slots up anew: by how much the row said
		// something else when it was written has to be kept.
		budget.Roll(&stored, row.UpdatedAt)
		off := row.Spent - stored.Spent
		budget.Roll(&stored, now)
		stored.Spent += off
	}
	right.Credits, right.Reserved = books.row.Credits, held[row.PeriodStartedAt]
	right.Spent, right.Slots = books.row.Spent, books.row.Slots
	c.differs(models.LedgerID{}, "spent", row.Currency, stored.Spent, right.Spent)
	if !slices.Equal(stored.Slots, right.Slots) {
		c.add(Difference{Column: "slots", Stored: shownSlots(&stored), Computed: shownSlots(&right)})
	}
	c.differs(models.LedgerID{}, "credits", row.Currency, stored.Credits, right.Credits)
	c.differs(models.LedgerID{}, "reserved", row.Currency, stored.Reserved, right.Reserved)
	if _, right.PeriodEndsAt = budget.PeriodAt(row, row.PeriodStartedAt); !models.Same(row.PeriodEndsAt, right.PeriodEndsAt) {
		c.add(Difference{Column: "period_ends_at", Stored: shownTime(row.PeriodEndsAt), Computed: shownTime(right.PeriodEndsAt)})
	}
	if ok, err := keptRightly(tx, row, now); err != nil {
		return c, *row, err
	} else if !ok {
		budget.Unkeep(&right)
		c.differs(models.LedgerID{}, "kept", row.Currency, row.Kept, right.Kept)
	}
	budget.Reopen(&right, now)
	return c, right, nil
}

func shownTime(at *models.Millis) string {
	if at == nil {
		return "none"
	}
	return at.Time().UTC().Format("2006-01-02T15:04:05.000Z")
}

// keptRightly reports whether what is kept of a budget is kept for a turn that waits for just that, and for no longer than turns are kept
// something for.
func keptRightly(tx *gorm.DB, b *models.Budget, now models.Millis) (bool, error) {
	if b.KeptFor == nil || b.DisabledAt != nil || b.KeptUntil != nil && *b.KeptUntil <= now {
		return true, nil // nobody is kept from anything
	}
	if b.KeptUntil == nil || *b.KeptUntil > b.UpdatedAt+hold.KeptFor+reconcileSkew {
		return false, nil
	}
	w, err := store.First[models.Wait](store.Of(tx, b.OrgID).Where("id = ? AND state = 'OPEN'", *b.KeptFor))
	if err != nil || w == nil {
		return false, err
	}
	need := hold.Awaited(*w)
	return need != nil && slices.Contains(need.Needs, models.BudgetNeed{Budget: b.ID, Amount: b.Kept}), nil
}

// heldBudgets adds up what the turns of an organization, and its payments under way, hold of each budget in each period.
func heldBudgets(tx *gorm.DB, org models.OrgID) (map[models.BudgetID]map[models.Millis]models.Amount, error) {
	held := map[models.BudgetID]map[models.Millis]models.Amount{}
	add := func(lines []models.Held) {
		for _, l := range lines {
			if held[l.Budget] == nil {
				held[l.Budget] = map[models.Millis]models.Amount{}
			}
			b := models.Budget{Reserved: held[l.Budget][l.Period]}
			budget.Hold(&b, l.Amount)
			held[l.Budget][l.Period] = b.Reserved
		}
	}
	if err := heldByPayments(tx, org, add); err != nil {
		return nil, err
	}
	var after models.TurnID
	for {
		q := store.Of(tx.Model(&models.Turn{}), org).Select("id", "reservation").Where("reservation IS NOT NULL")
		if !after.IsZero() {
			q = q.Where("id > ?", after)
		}
		var turns []models.Turn
		if err := q.Order("id").Limit(reconcileRows).Find(&turns).Error; err != nil {
			return nil, fmt.Errorf("read what turns hold: %w", err)
		}
		for _, t := range turns {
			if t.Reservation == nil {
				continue // the text null
			}
			add(t.Reservation.Lines)
		}
		if len(turns) < reconcileRows {
			return held, nil
		}
		after = turns[len(turns)-1].ID
	}
}

// heldByPayments tells what payments hold that are under way.
func heldByPayments(tx *gorm.DB, org models.OrgID, add func([]models.Held)) error {
	var after models.PaymentID
	for {
		q := store.Of(tx.Model(&models.Payment{}), org).Select("id", "lines").Where("due_at IS NOT NULL AND status = ?", models.PaymentPending)
		if !after.IsZero() {
			q = q.Where("id > ?", after)
		}
		var list []models.Payment
		if err := q.Order("id").Limit(reconcileRows).Find(&list).Error; err != nil {
			return fmt.Errorf("read what payments hold: %w", err)
		}
		for _, p := range list {
			var lines []models.Held
			if len(p.Lines) > 0 {
				if err := json.Unmarshal(p.Lines, &lines); err != nil {
					return fmt.Errorf("read what payment %s holds: %w", p.ID, err)
				}
			}
			add(lines)
		}
		if len(list) < reconcileRows {
			return nil
		}
		after = list[len(list)-1].ID
	}
}
