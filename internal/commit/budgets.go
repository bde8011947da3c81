package commit

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

// budgetRows are the budgets that a batch has locked, as its commands have left them: sessions share them.
type budgetRows struct {
	rows map[models.BudgetID]models.Budget
	// read are the sessions whose budgets are among them.
	read map[key]bool
	// changed are those that have to be written.
	changed map[models.BudgetID]bool
	// slots are those of rolling windows, as they were read.
	slots map[slotKey]models.BudgetSlot
}

// slotKey names a slot of a budget.
type slotKey struct {
	budget models.BudgetID
	slot   int64
}

func newBudgetRows() *budgetRows {
	return &budgetRows{rows: map[models.BudgetID]models.Budget{}, read: map[key]bool{}, changed: map[models.BudgetID]bool{}, slots: map[slotKey]models.BudgetSlot{}}
}

// rolling returns the budgets that were locked whose windows are still to be read. From then on they have slots, or none.
func (r *budgetRows) rolling() (list []models.Budget) {
	for id, b := range r.rows {
		if budget.Rolls(&b) && b.Slots == nil {
			b.Slots = []models.BudgetSlot{}
			r.rows[id], list = b, append(list, b)
		}
	}
	return list
}

// addSlot takes in a slot of a budget that was locked; they come oldest first.
func (r *budgetRows) addSlot(row scanner) error {
	var k models.BudgetSlot
	err := putSlot.scan(row, &k)
	b := r.rows[k.BudgetID]
	b.Slots = append(b.Slots, k)
	r.rows[k.BudgetID], r.slots[slotKey{k.BudgetID, k.Slot}] = b, k
	return err
}

// keep takes over what a command has done to budgets of its organization.
func (r *budgetRows) keep(org models.OrgID, changed map[models.BudgetID]models.Budget) {
	for id, b := range changed {
		if b.OrgID == org {
			r.rows[id], r.changed[id] = b, true
		}
	}
}

// freed returns those that have changed and that turns may wait for, by their organizations.
func (r *budgetRows) freed() map[models.OrgID][]models.BudgetID {
	var orgs map[models.OrgID][]models.BudgetID
	for id := range r.changed {
		if b := r.rows[id]; b.Contended {
			if orgs == nil {
				orgs = map[models.OrgID][]models.BudgetID{}
			}
			orgs[b.OrgID] = append(orgs[b.OrgID], id)
		}
	}
	return orgs
}

// Budgets returns the budgets that bind the session, oldest first: its root session's, its agent's, its customer's, its owner's and its
// organization's. It is false when they weren't read; then the command returns ErrMore: most organizations have none.
func (tx *Tx) Budgets() (list []models.Budget, known bool) {
	if !tx.Session.Budgeted {
		return nil, true
	}
	if !tx.budgetsRead() {
		return nil, false
	}
	for id, b := range tx.shared.rows {
		if changed, ok := tx.budgets[id]; ok {
			b = changed
		}
		if budget.Binds(&b, tx.Session) {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b models.Budget) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return list, true
}

// Budget returns a budget that was locked; false when it wasn't.
func (tx *Tx) Budget(id models.BudgetID) (models.Budget, bool) {
	if b, ok := tx.budgets[id]; ok {
		return b, true
	}
	b, ok := tx.shared.rows[id]
	ok = ok && b.OrgID == tx.org
	if !ok {
		_ = tx.budgetsRead()
	}
	return b, ok
}

// budgetsRead reports whether the budgets that bind the session were locked, and those that its turn and its payments hold something of; when they
// were not, the next transaction does that.
func (tx *Tx) budgetsRead() bool {
	switch {
	case tx.rebound:
		_ = tx.lacks(lackBatch)
	case tx.shared.read[key{tx.org, tx.sessionID}]:
		return true
	default:
		_ = tx.lacks(lackBudgets)
	}
	return false
}

// SaveBudget changes what a budget that was locked has spent, holds, and where it stands in its period, which is that of now.
func (tx *Tx) SaveBudget(b models.Budget) {
	if tx.budgets == nil {
		tx.budgets = map[models.BudgetID]models.Budget{}
	}
	budget.Roll(&b, tx.Now)
	b.UpdatedAt = max(b.UpdatedAt, tx.Now) // what has left the window stays out of it when a clock is behind
	tx.budgets[b.ID] = b
}

// Release releases what the current turn still holds of budgets. Its error must be returned by the command.
func (tx *Tx) Release() error {
	held := tx.Turn.Reservation
	if held == nil {
		return nil
	}
	for _, line := range held.Lines {
		b, ok := tx.Budget(line.Budget)
		if !ok {
			return ErrMore
		}
		budget.Release(&b, &line, line.Amount)
		tx.SaveBudget(b)
	}
	tx.Turn.Reservation = nil
	return nil
}

// Meter adds a fact about the session to the journal, and to the sums of its hour. beginsTurn reports that it is the turn's first model call.
func (tx *Tx) Meter(e models.JournalEntry, beginsTurn bool) {
	e.OrgID, e.OccurredAt, e.SessionID = tx.org, tx.Now, &tx.sessionID
	e.UserID, e.AgentID, e.HarnessID, e.CustomerKey = tx.Session.OwnerID, tx.Session.AgentID, &tx.Session.HarnessID, tx.Session.CustomerKey
	u := e.Usage
	sums := models.UsageSums{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens,
		ReasoningTokens: u.ReasoningTokens, CostNanos: u.CostNanos,
	}
	switch e.Kind {
	case models.JournalModelCall:
		sums.ModelCalls = 1
		if u.Unpriced {
			sums.UnpricedCalls = 1
		}
	case models.JournalToolCall:
		sums.ToolCalls = 1
	case models.JournalTopUp, models.JournalAdjustment, models.JournalPayment:
	}
	if beginsTurn {
		sums.Turns = 1
	}
	insertFact.put(tx.w, e)
	hour := models.UsageHour{
		OrgID: tx.org, Hour: tx.Now - tx.Now%models.Millis(time.Hour.Milliseconds()), ModelID: models.Value(e.ModelID), AgentID: models.Value(e.AgentID),
		UserID: models.Value(e.UserID), CustomerKey: models.Value(e.CustomerKey), Tool: e.Tool, UsageSums: sums,
	}
	addUsage.put(tx.w, hour)
	addSessionUsage.put(tx.w, models.SessionUsageHour{
		OrgID: hour.OrgID, Hour: hour.Hour, SessionID: tx.sessionID, ModelID: hour.ModelID, AgentID: hour.AgentID, UserID: hour.UserID,
		CustomerKey: hour.CustomerKey, Tool: hour.Tool, UsageSums: sums,
	})
}

// Post adds a posting to the ledger; its budget must be saved with it.
func (tx *Tx) Post(p models.LedgerEntry) {
	p.OrgID, p.ID, p.SessionID, p.CreatedAt = tx.org, models.PostingID(p.JournalID, p.BudgetID), &tx.sessionID, tx.Now
	insertPosting.put(tx.w, p)
}

// writes are the budgets that have changed, in the order of their keys, and the slots that are not as they were read.
func (r *budgetRows) writes() *writes {
	w := &writes{}
	for _, id := range slices.SortedFunc(maps.Keys(r.changed), func(a, b models.BudgetID) int { return bytes.Compare(a[:], b[:]) }) {
		updateBudget.put(w, r.rows[id])
		for _, k := range r.rows[id].Slots {
			if r.slots[slotKey{id, k.Slot}] != k {
				putSlot.put(w, k)
			}
		}
	}
	return w
}

// allOfBudget are all columns of a budget.
var allOfBudget = describe[models.Budget](shape{table: "budgets"}, "org_id id", "")

// lockedColumns are those of a budget and what the organization says of models without a price.
var lockedColumns = names("b.", allOfBudget.all) + ", (SELECT o.allow_unpriced FROM orgs o WHERE o.id = b.org_id) AS allow_unpriced"

// add takes in a row of lockedColumns.
func (r *budgetRows) add(row scanner) error {
	var b models.Budget
	err := allOfBudget.scan(row, &b, &b.AllowUnpriced)
	r.rows[b.ID] = b
	return err
}
