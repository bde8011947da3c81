package commit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// ErrBudgets puts a command off to the next transaction, which locks the budgets that bind the session and those that its turn and its
// payments hold something of. A command returns it when Budgets or Budget report that they weren't read: most organizations have none. Where Budget has told
// so it is put off whatever the command returns.
var ErrBudgets = errors.New("the budgets of the session were not loaded")

// budgetRows are the budgets that a batch has locked, as its commands have left them: sessions share them.
type budgetRows struct {
	rows map[models.BudgetID]models.Budget
	// read are the sessions whose budgets are among them.
	read map[key]bool
	// changed are those that have to be written.
	changed map[models.BudgetID]bool
}

func newBudgetRows() *budgetRows {
	return &budgetRows{rows: map[models.BudgetID]models.Budget{}, read: map[key]bool{}, changed: map[models.BudgetID]bool{}}
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
// organization's. It is false when they weren't read; then the command returns ErrBudgets, or says in Needs that it needs them.
func (tx *Tx) Budgets() (list []models.Budget, known bool) {
	if !tx.Session.Budgeted {
		return nil, true
	}
	if !tx.shared.read[key{tx.org, tx.sessionID}] {
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
	tx.lacking = tx.lacking || !ok && !tx.shared.read[key{tx.org, tx.sessionID}]
	return b, ok
}

// SaveBudget changes what a budget that was locked has spent, holds, and where it stands in its period.
func (tx *Tx) SaveBudget(b models.Budget) {
	if tx.budgets == nil {
		tx.budgets = map[models.BudgetID]models.Budget{}
	}
	b.UpdatedAt = tx.Now
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
			return ErrBudgets
		}
		budget.Release(&b, &line, line.Amount)
		tx.SaveBudget(b)
	}
	tx.Turn.Reservation = nil
	return nil
}

// metered is a fact with what it adds to the sums.
type metered struct {
	models.JournalEntry

	sums models.UsageSums
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
	tx.w.journal = append(tx.w.journal, metered{e, sums})
}

// Post adds a posting to the ledger; its budget must be saved with it.
func (tx *Tx) Post(p models.LedgerEntry) {
	p.OrgID, p.ID, p.SessionID, p.CreatedAt = tx.org, models.PostingID(p.JournalID, p.BudgetID), &tx.sessionID, tx.Now
	tx.w.postings = append(tx.w.postings, p)
}

// budgets writes what was metered, what was posted of it, and the budgets as the last command left them.
func (g *gathering) budgets(budgets *budgetRows, now models.Millis) {
	g.add(tables.insertJournal, func(s *state, yield func(...any)) {
		for _, m := range s.w.journal {
			yield(journalRow(m.JournalEntry)...)
		}
	})
	g.usage(now)
	g.add(tables.insertPosting, func(s *state, yield func(...any)) {
		for _, p := range s.w.postings {
			yield(postingRow(p)...)
		}
	})
	changed := slices.Collect(maps.Keys(budgets.changed))
	slices.SortFunc(changed, func(a, b models.BudgetID) int { return bytes.Compare(a[:], b[:]) })
	addRows(g, tables.updateBudget, changed, func(id models.BudgetID) []any { return budgetUpdateRow(budgets.rows[id]) })
}

// usageKey is a row of sums: of an hour, or of a session's hour.
type usageKey struct {
	org            models.OrgID
	hour           models.Millis
	session        models.SessionID
	model          models.ModelID
	agent          models.AgentID
	user           models.UserID
	customer, tool string
}

func compareUsageKeys(a, b usageKey) int {
	return cmp.Or(bytes.Compare(a.org[:], b.org[:]), cmp.Compare(a.hour, b.hour), bytes.Compare(a.session[:], b.session[:]),
		bytes.Compare(a.model[:], b.model[:]), bytes.Compare(a.agent[:], b.agent[:]), bytes.Compare(a.user[:], b.user[:]),
		cmp.Compare(a.customer, b.customer), cmp.Compare(a.tool, b.tool))
}

// usage adds what was metered up, each row once and in the order of the keys, which sessions have in common.
func (g *gathering) usage(now models.Millis) {
	hour := now - now%models.Millis(time.Hour.Milliseconds())
	all, ofSessions := map[usageKey]models.UsageSums{}, map[usageKey]models.UsageSums{}
	for _, s := range g.states {
		for _, m := range s.w.journal {
			k := usageKey{org: m.OrgID, hour: hour, tool: m.Tool}
			if m.ModelID != nil {
				k.model = *m.ModelID
			}
			if m.AgentID != nil {
				k.agent = *m.AgentID
			}
			if m.UserID != nil {
				k.user = *m.UserID
			}
			if m.CustomerKey != nil {
				k.customer = *m.CustomerKey
			}
			session := k
			session.session = s.tx.sessionID
			all[k], ofSessions[session] = plusSums(all[k], m.sums), plusSums(ofSessions[session], m.sums)
		}
	}
	addRows(g, tables.addUsage, slices.SortedFunc(maps.Keys(all), compareUsageKeys), func(k usageKey) []any {
		return append([]any{rawID(k.org), int64(k.hour), rawID(k.model), rawID(k.agent), rawID(k.user), k.customer, k.tool}, sumsRow(all[k])...)
	})
	addRows(g, tables.addSessionUsage, slices.SortedFunc(maps.Keys(ofSessions), compareUsageKeys), func(k usageKey) []any {
		return append([]any{rawID(k.org), int64(k.hour), rawID(k.session), rawID(k.model), rawID(k.agent), rawID(k.user), k.customer, k.tool}, sumsRow(ofSessions[k])...)
	})
}

func plusSums(a, b models.UsageSums) models.UsageSums {
	return models.UsageSums{
		InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens,
		CacheReadTokens: a.CacheReadTokens + b.CacheReadTokens, CacheWriteTokens: a.CacheWriteTokens + b.CacheWriteTokens,
		ReasoningTokens: a.ReasoningTokens + b.ReasoningTokens, CostNanos: a.CostNanos + b.CostNanos,
		UnpricedCalls: a.UnpricedCalls + b.UnpricedCalls, ModelCalls: a.ModelCalls + b.ModelCalls, ToolCalls: a.ToolCalls + b.ToolCalls,
		Turns: a.Turns + b.Turns,
	}
}

func sumsRow(s models.UsageSums) []any {
	return []any{
		s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens, s.ReasoningTokens, int64(s.CostNanos), s.UnpricedCalls,
		s.ModelCalls, s.ToolCalls, s.Turns,
	}
}

func journalRow(e models.JournalEntry) []any {
	row := []any{
		id(e.OrgID), id(e.ID), string(e.Kind), int64(e.OccurredAt), optID(e.SessionID), optID(e.TurnID), optID(e.UserID), optID(e.AgentID),
		optID(e.HarnessID), optText(e.CustomerKey), optID(e.ModelID), e.Model, e.Tool,
	}
	return append(append(row, usageRow(e.Usage)...), e.ProviderCost, e.Estimated, e.DurationMs, doc(e.Measures))
}

func postingRow(p models.LedgerEntry) []any {
	return []any{
		id(p.OrgID), id(p.ID), id(p.BudgetID), id(p.JournalID), string(p.Source), int64(p.Amount), int64(p.Overrun), optID(p.SessionID),
		optID(p.TurnID), optText(p.Description), int64(p.PeriodStartedAt), int64(p.CreatedAt),
	}
}

func budgetUpdateRow(b models.Budget) []any {
	return []any{
		id(b.OrgID), id(b.ID), int64(b.PeriodStartedAt), optInt(b.PeriodEndsAt), int64(b.Spent), int64(b.Credits), int64(b.Reserved),
		doc(b.Buckets), optInt(b.WarnedAt), optInt(b.SoftPassedAt), optInt(b.ExhaustedAt), b.Contended, int64(b.Kept), optID(b.KeptFor), optInt(b.KeptUntil),
		int64(b.UpdatedAt),
	}
}

const budgetColumns = "b.org_id, b.id, b.subject, b.subject_id, b.customer_key, b.currency, b.limit_amount, b.soft_limit, b.period_kind, b.period_unit, " +
	"b.period_seconds, b.timezone, b.created_at, b.disabled_at, b.period_started_at, b.period_ends_at, b.spent, b.credits, b.reserved, " +
	"b.buckets, b.warned_at, b.soft_passed_at, b.exhausted_at, b.contended, b.kept, b.kept_for, b.kept_until, b.updated_at"

// lockedColumns are budgetColumns and what the organization says of models without a price.
const lockedColumns = budgetColumns + ", (SELECT o.allow_unpriced FROM orgs o WHERE o.id = b.org_id) AS allow_unpriced"

// add takes in a row of lockedColumns.
func (r *budgetRows) add(row scanner) error {
	var b models.Budget
	err := row.Scan(into(&b.OrgID), into(&b.ID), &b.Subject, &b.SubjectID, &b.CustomerKey, &b.Currency, &b.LimitAmount, &b.SoftLimit, &b.PeriodKind,
		&b.PeriodUnit, &b.PeriodSeconds, &b.Timezone, &b.CreatedAt, &b.DisabledAt, &b.PeriodStartedAt, &b.PeriodEndsAt, &b.Spent, &b.Credits,
		&b.Reserved, &b.Buckets, &b.WarnedAt, &b.SoftPassedAt, &b.ExhaustedAt, &b.Contended, &b.Kept, &b.KeptFor, &b.KeptUntil, &b.UpdatedAt, &b.AllowUnpriced)
	if err != nil {
		return fmt.Errorf("read a budget: %w", err)
	}
	r.rows[b.ID] = b
	return nil
}

// lockBudgets locks the budgets that bind sessions, and those that their turns and payments hold something of, in the order of their ids.
var lockBudgets = `WITH s AS (SELECT s.* ` + eachSession + `CROSS JOIN LATERAL (SELECT ` + budget.SessionColumns + `, s.current_turn_id` + theSession + `OFFSET 0) s),
wanted AS (` + budget.BindingSQL(false) + `
UNION SELECT s.org_id, h.id FROM s CROSS JOIN LATERAL (SELECT substr(l.value->>'budget', 6)::uuid AS id FROM turns t
CROSS JOIN LATERAL json_array_elements(CASE json_typeof(t.reservation->'lines') WHEN 'array' THEN t.reservation->'lines' END) l WHERE t.org_id = s.org_id AND t.id = s.current_turn_id AND t.reservation IS NOT NULL OFFSET 0) h
UNION SELECT s.org_id, h.id FROM s CROSS JOIN LATERAL (SELECT substr(l.value->>'budget', 6)::uuid AS id FROM payments p
CROSS JOIN LATERAL json_array_elements(CASE json_typeof(p.lines) WHEN 'array' THEN p.lines END) l WHERE p.org_id = s.org_id AND p.session_id = s.id AND p.due_at IS NOT NULL OFFSET 0) h)
SELECT ` + lockedColumns + ` FROM (SELECT org_id, id FROM wanted ORDER BY org_id, id) w CROSS JOIN LATERAL
(SELECT ` + budgetColumns + ` FROM budgets b WHERE b.org_id = w.org_id AND b.id = w.id FOR NO KEY UPDATE) b`

func (tx *postgresTx) queueBudgets(batch *pgx.Batch, need batchNeed) {
	var keys []key
	for _, k := range need.keys {
		if need.more[k].budgets {
			keys = append(keys, k)
			tx.locked.read[k] = true
		}
	}
	if len(keys) > 0 {
		batch.Queue(lockBudgets, sessionArrays(keys)...).Query(eachRow(func(r pgx.Rows) error { return tx.locked.add(r) }))
	}
}

// sqliteBudgets reads what lockBudgets locks, for a list of the ids of organizations and sessions.
var sqliteBudgets = `WITH k AS MATERIALIZED (SELECT unhex(value->>0) AS org_id, unhex(value->>1) AS id FROM json_each(?)),
s AS MATERIALIZED (SELECT ` + budget.SessionColumns + `, s.current_turn_id FROM k CROSS JOIN sessions s WHERE s.org_id = k.org_id AND s.id = k.id),
wanted AS (` + budget.BindingSQL(true) + `
UNION SELECT t.org_id, unhex(substr(l.value->>'budget', 6)) FROM s CROSS JOIN turns t CROSS JOIN json_each(t.reservation, '$.lines') l
WHERE t.org_id = s.org_id AND t.id = s.current_turn_id
UNION SELECT p.org_id, unhex(substr(l.value->>'budget', 6)) FROM s CROSS JOIN payments p CROSS JOIN json_each(p.lines) l
WHERE p.org_id = s.org_id AND p.session_id = s.id AND p.due_at IS NOT NULL)
SELECT ` + lockedColumns + ` FROM wanted CROSS JOIN budgets b WHERE b.org_id = wanted.org_id AND b.id = wanted.id`

func (tx *sqliteTx) loadBudgets(ctx context.Context, need batchNeed) error {
	var keys [][2]string
	for _, k := range need.keys {
		if _, ok := tx.found[k]; ok && need.more[k].budgets {
			tx.locked.read[k] = true
			keys = append(keys, [2]string{hex.EncodeToString(k.org[:]), hex.EncodeToString(k.session[:])})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return tx.each(ctx, tx.locked.add, sqliteBudgets, string(jsonx.MustEncode(keys)))
}
