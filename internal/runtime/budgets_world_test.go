package runtime

import (
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	budgetrows "github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/budget/waiting"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// budget makes a budget of the organization.
func (w *world) budget(currency string, limit models.Amount, change ...func(*models.Budget)) models.BudgetID {
	w.t.Helper()
	now := models.MillisOf(w.clock.Now())
	subject := models.SubjectID(w.org)
	b := models.Budget{
		OrgID: w.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: currency,
		LimitAmount: limit, CreatedAt: now, UpdatedAt: now,
	}
	for _, c := range change {
		c(&b)
	}
	budget.Begin(&b, now)
	err := w.db.Write(w.t.Context(), w.org, func(tx *gorm.DB) error { return tx.Create(&b).Error })
	if err != nil {
		w.t.Fatal(err)
	}
	return b.ID
}

// changeBudget changes a budget as the service does: under its lock, in its present period.
func (w *world) changeBudget(id models.BudgetID, change func(*models.Budget)) {
	w.t.Helper()
	err := w.db.Write(w.t.Context(), w.org, func(tx *gorm.DB) error {
		b, err := budgetrows.Locked(tx, w.org, id)
		if err != nil {
			return err
		}
		now := models.MillisOf(w.clock.Now())
		budget.Roll(&b, now)
		change(&b)
		budget.Reopen(&b, now)
		return errors.Join(budgetrows.SaveSlots(tx, &b), store.Of(tx, w.org).Model(&models.Budget{}).Where("id = ?", id).Select(
			"LimitAmount", "SoftLimit", "DisabledAt", "PeriodStartedAt", "PeriodEndsAt", "Spent", "Credits", "Reserved", "WarnedAt", "SoftPassedAt", "ExhaustedAt").
			Updates(&b).Error)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// budgetRow returns a budget as it is kept.
func (w *world) budgetRow(id models.BudgetID) models.Budget {
	w.t.Helper()
	var b models.Budget
	if err := store.Of(w.db.Read(w.t.Context(), w.org), w.org).Where("id = ?", id).First(&b).Error; err != nil {
		w.t.Fatal(err)
	}
	return b
}

// looksAfterParked has a node let turns go on that wait for budgets.
func (n *node) looksAfterParked() *waiting.Waker { return n.looksAfterParkedAt(nil) }

// looksAfterParkedAt is looksAfterParked that looks at all when it is told to.
func (n *node) looksAfterParkedAt(ticks <-chan time.Time) *waiting.Waker {
	p := waiting.New(waiting.Config{
		DB: n.w.db, Committer: n.committer, Clock: n.w.clock, Logger: n.engine.cfg.Logger, Ticks: ticks,
	})
	if err := p.Start(n.w.t.Context()); err != nil {
		n.w.t.Fatal(err)
	}
	n.parked.Store(p)
	n.w.t.Cleanup(p.Stop)
	return p
}

// booked checks that what the journal and the ledger say is what the sessions and the budgets say, when nothing is at work.
func (w *world) booked(s *models.Session) {
	w.t.Helper()
	q := func() *gorm.DB { return store.Of(w.db.ReadAcross(w.t.Context()), w.org) }
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var facts []models.JournalEntry
	must(q().Where("session_id = ? AND kind = ?", s.ID, models.JournalModelCall).Find(&facts).Error)
	var usage models.Usage
	for _, f := range facts {
		usage = usage.Add(f.Usage)
	}
	if usage != s.Usage {
		w.t.Errorf("the session's usage is %+v, the journal has %+v", s.Usage, usage)
	}
	var sums struct{ Input, Output, Cost, Calls, Turns int64 }
	must(q().Model(&models.SessionUsageHour{}).Where("session_id = ? AND tool = ''", s.ID).Select("coalesce(sum(input_tokens), 0) AS input, coalesce(sum(output_tokens), 0) AS output, " +
		"coalesce(sum(cost_nanos), 0) AS cost, coalesce(sum(model_calls), 0) AS calls, coalesce(sum(turns), 0) AS turns").Scan(&sums).Error)
	if sums.Input != usage.InputTokens || sums.Output != usage.OutputTokens || sums.Cost != int64(usage.CostNanos) || sums.Calls != int64(len(facts)) {
		w.t.Errorf("the sums are %+v, the journal has %+v in %d calls", sums, usage, len(facts))
	}
	for _, t := range w.turns(s.ID) {
		if t.Reservation != nil {
			w.t.Errorf("turn %s holds %+v at rest", t.ID, t.Reservation)
		}
	}
	if w.unposted {
		return
	}
	var active int64
	must(q().Model(&models.Turn{}).Where("finished_at IS NULL").Count(&active).Error)
	if active > 0 {
		return
	}
	var budgets []models.Budget
	must(q().Find(&budgets).Error)
	for _, b := range budgets {
		var posted, credits models.Amount
		var list []models.LedgerEntry
		must(q().Where("budget_id = ? AND period_started_at = ?", b.ID, b.PeriodStartedAt).Find(&list).Error)
		for _, p := range list {
			if p.Amount > 0 {
				posted += p.Amount
			} else {
				credits -= p.Amount
			}
		}
		if (b.PeriodKind == nil || *b.PeriodKind != models.PeriodRolling) && posted != b.Spent || credits != b.Credits {
			w.t.Errorf("the ledger has %d and %d, budget %s has spent %d and %d", posted, credits, b.ID, b.Spent, b.Credits)
		}
		if held := w.held(b.ID, b.PeriodStartedAt); held != b.Reserved {
			w.t.Errorf("turns hold %d of budget %s, its row says %d", held, b.ID, b.Reserved)
		}
	}
}

// held is what turns hold of a budget in one of its periods.
func (w *world) held(id models.BudgetID, period models.Millis) (sum models.Amount) {
	w.t.Helper()
	var list []models.Turn
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Where("reservation IS NOT NULL").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	for _, t := range list {
		for _, line := range t.Reservation.Lines {
			if line.Budget == id && line.Period == period {
				sum += line.Amount
			}
		}
	}
	return sum
}

// execute changes rows by hand.
func (w *world) execute(statement string, args ...any) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), w.org, func(tx *gorm.DB) error { return tx.Exec(statement, args...).Error }); err != nil {
		w.t.Fatal(err)
	}
}

// topUp adds to a budget, as the service does.
func (w *world) topUp(id models.BudgetID, amount models.Amount) {
	w.t.Helper()
	fact := models.JournalEntry{
		OrgID: w.org, ID: models.NewID[models.JournalEntity](), Kind: models.JournalTopUp, OccurredAt: models.MillisOf(w.clock.Now()),
	}
	b := w.budgetRow(id)
	budget.Roll(&b, fact.OccurredAt)
	posting := models.LedgerEntry{
		OrgID: w.org, ID: models.PostingID(fact.ID, id), BudgetID: id, JournalID: fact.ID, Source: fact.Kind, Amount: -amount,
		PeriodStartedAt: b.PeriodStartedAt, CreatedAt: fact.OccurredAt,
	}
	err := w.db.Write(w.t.Context(), w.org, func(tx *gorm.DB) error {
		if err := tx.Create(&fact).Error; err != nil {
			return err
		}
		return tx.Create(&posting).Error
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.changeBudget(id, func(b *models.Budget) { budget.Credit(b, amount, fact.OccurredAt) })
}
