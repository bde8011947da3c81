package books_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"gorm.io/gorm"
	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// spender is an organization that spends as the server does: by commands on its session, whose turn holds and settles, and by people who top up.
type spender struct {
	*reconcileWorld

	of testBooks

	committer *commit.Committer
	people    *manage.Service
	by        *auth.Principal
	policy    models.PaymentPolicyID
	turn      models.TurnID
	calls     int
	wait      *models.WaitID
	// told is what the last reconciliation has told.
	told string
}

func (w *reconcileWorld) spender(t *rapid.T) *spender {
	o := w.org()
	u := &spender{reconcileWorld: w, of: o, policy: models.NewID[models.PaymentPolicyEntity]()}
	u.committer = commit.New(commit.Config{DB: w.db, Clock: w.clock})
	t.Cleanup(u.committer.Stop)
	var err error
	if u.people, err = manage.New(manage.Config{DB: w.db, Committer: u.committer, Clock: w.clock}); err != nil {
		t.Fatal(err)
	}
	user := models.User{ID: models.NewID[models.UserEntity]()}
	user.EmailKey, user.Email = user.ID.String(), user.ID.String()
	u.by = &auth.Principal{OrgID: o.org, UserID: user.ID, Role: models.RoleAdmin, Permissions: auth.RolePermissions(models.RoleAdmin, false)}
	turn := o.turn()
	turn.Status, u.turn = models.TurnRunning, turn.ID
	w.create(&user, turn, &models.PaymentPolicy{
		OrgID: o.org, ID: u.policy, Name: "p", Capabilities: []string{}, Hosts: []string{}, Rail: models.RailWebhook, Secret: []byte{1}, MaxRequest: 1, MaxTurn: 1, MaxDay: 1, CreatedAt: w.now(), UpdatedAt: w.now(),
	})
	w.write(func(tx *gorm.DB) error {
		return store.OneRow(store.Of(tx.Model(&models.Session{}), o.org).Where("id = ?", o.session.ID).Update("current_turn_id", turn.ID))
	})
	for range rapid.IntRange(1, 4).Draw(t, "budgets") {
		b := drawnBudget(t, o, w.now())
		b.LimitAmount = budget.MaxAmount / 2
		if rapid.Bool().Draw(t, "of tools") {
			b.Currency = rapid.SampledFrom([]string{models.CurrencyToolCalls, "pages"}).Draw(t, "unit")
		}
		w.create(b)
	}
	return u
}

// command does something on the session of u.
type command struct {
	u        *spender
	payments []models.PaymentID
	apply    func(tx *commit.Tx) error
}

func (c *command) Needs() commit.Needs {
	return commit.Needs{Org: c.u.of.org, Session: c.u.of.session.ID, Budgets: true, Waits: true, Payments: c.payments, Bytes: 4096}
}

func (c *command) Apply(tx *commit.Tx) error { return c.apply(tx) }

func (u *spender) submit(apply func(tx *commit.Tx) error, payments ...models.PaymentID) {
	u.t.Helper()
	if err := u.committer.Submit(u.t.Context(), &command{u, payments, apply}); err != nil {
		u.t.Fatal(err)
	}
}

// granted is an amount of each budget that binds the session.
func granted(tx *commit.Tx, amount models.Amount) ([]models.Held, error) {
	list, err := hold.Binding(tx)
	held := make([]models.Held, len(list))
	for i := range list {
		held[i] = models.Held{Budget: list[i].ID, Amount: amount}
	}
	return held, err
}

// do does one thing that costs or gives.
func (u *spender) do(t *rapid.T, what string) {
	amount := models.Amount(rapid.Int64Range(1, 1000).Draw(t, "amount"))
	switch what {
	case "hold", "keep":
		u.submit(func(tx *commit.Tx) error {
			held, err := granted(tx, amount)
			if err != nil {
				return err
			}
			if what == "hold" {
				return hold.Hold(tx, held, models.Reservation{})
			}
			if u.wait != nil || len(held) == 0 {
				return nil
			}
			needs := make([]models.BudgetNeed, len(held))
			for i, h := range held {
				needs[i] = models.BudgetNeed{Budget: h.Budget, Amount: amount}
			}
			list, err := hold.Binding(tx)
			if err != nil {
				return err
			}
			hold.Wait(tx, budget.Verdict{Kind: budget.Wait, Budget: &list[0], Need: amount, Needs: needs}, models.WaitID{})
			w := tx.OpenWaits()[0]
			u.wait = &w.ID
			_, err = hold.Keep(tx, w, tx.Now+hold.KeptFor, func(*models.Budget) models.Amount { return 0 })
			return err
		})
	case "call", "tool":
		u.submit(func(tx *commit.Tx) error {
			n := int64(amount)
			f := hold.ModelCall(u.turn, u.calls+1, models.JournalEntry{
				Model: "m", Usage: models.Usage{InputTokens: n, OutputTokens: n / 2, CacheReadTokens: n / 3, CostNanos: models.Nanos(3 * n)},
			})
			if what == "tool" {
				f.ID, f.Kind, f.Tool, f.Model, f.Usage, f.BeginsTurn = models.NewID[models.JournalEntity](), models.JournalToolCall, "t", "", models.Usage{}, false
				f.Measures = models.JSON(`{"pages":"` + budget.Decimal("pages", amount).String() + `"}`)
				f.Costs = func(currency string) models.Amount {
					return map[string]models.Amount{"pages": amount, models.CurrencyToolCalls: 1}[currency]
				}
				f.Share = func(_ string, held models.Amount) models.Amount { return held / 2 }
			}
			return hold.Meter(tx, f)
		})
		if what == "call" {
			u.calls++
		}
	case "release":
		u.submit(func(tx *commit.Tx) error { return tx.Release() })
	case "top up":
		var list []models.Budget
		if err := store.Of(u.db.Read(u.t.Context(), u.of.org), u.of.org).Order("id").Find(&list).Error; err != nil {
			t.Fatal(err)
		}
		b := rapid.SampledFrom(list).Draw(t, "budget")
		if _, err := u.people.TopUp(u.t.Context(), u.by, manage.TopUp{BudgetID: b.ID, Amount: decimal.New(int64(amount), -budget.Digits(b.Currency))}); err != nil {
			t.Fatal(err)
		}
	case "pay", "hold for a payment", "refuse":
		u.pay(amount, what)
	}
}

// pay asks for a payment, holds what it takes, and settles it unless it stays under way.
func (u *spender) pay(amount models.Amount, what string) {
	p := models.Payment{
		OrgID: u.of.org, ID: models.NewID[models.PaymentEntity](), PolicyID: u.policy, SessionID: u.of.session.ID, TurnID: u.turn, Amount: amount,
		Status: models.PaymentAsked, Day: int64(u.now()) / 86_400_000, DueAt: (u.now() + 1000).Ptr(), CreatedAt: u.now(),
	}
	p.IdempotencyKey = p.ID.String()
	u.create(&p)
	u.submit(func(tx *commit.Tx) error {
		tx.CountPayment(p.PolicyID, p.Day, amount)
		held, err := granted(tx, amount)
		if err != nil {
			return err
		}
		lines, err := hold.Lines(tx, held)
		if err != nil {
			return err
		}
		row, _ := tx.Payment(p.ID)
		row.Status, row.Lines = models.PaymentPending, jsonOf(u.t, lines)
		tx.SavePayment(row)
		return nil
	}, p.ID)
	if what == "hold for a payment" {
		return
	}
	u.submit(func(tx *commit.Tx) error {
		row, _ := tx.Payment(p.ID)
		f := hold.Fact{
			JournalEntry: models.JournalEntry{ID: models.JournalID(p.ID), Kind: models.JournalPayment, TurnID: &p.TurnID, Tool: "t", Usage: models.Usage{CostNanos: models.Nanos(amount)}},
			Share:        func(_ string, held models.Amount) models.Amount { return held },
			Costs:        func(string) models.Amount { return 0 },
		}
		row.Status, row.DueAt, row.SettledAt = models.PaymentRefused, nil, tx.Now.Ptr()
		if what == "pay" {
			f.Costs = func(currency string) models.Amount {
				cost, _ := budget.CostOf(currency, f.Usage)
				return cost
			}
			row.Status, row.Paid = models.PaymentPaid, &amount
		} else {
			tx.CountPayment(p.PolicyID, p.Day, -amount)
		}
		for _, l := range linesOf(u.t, row.Lines) {
			if err := hold.SettleLine(tx, &l, f, nil); err != nil {
				return err
			}
		}
		if what == "pay" {
			tx.Meter(f.JournalEntry, false)
		}
		tx.SavePayment(row)
		return nil
	}, p.ID)
}

func jsonOf(t testing.TB, v any) models.JSON {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func linesOf(t testing.TB, doc models.JSON) (lines []models.Held) {
	t.Helper()
	if err := json.Unmarshal(doc, &lines); err != nil {
		t.Fatal(err)
	}
	return lines
}

// found returns the columns and tables that a reconciliation finds wrong.
func (u *spender) found() []string {
	u.t.Helper()
	var list []string
	u.told = ""
	err := u.Org(u.t.Context(), u.of.org, func(c books.Checked) error {
		for _, d := range c.Differences {
			list, u.told = append(list, d.Column), u.told+"\n"+d.String()
		}
		return nil
	})
	if err != nil {
		u.t.Fatal(err)
	}
	_, err = u.Usage(u.t.Context(), u.of.org, 0, func(d books.UsageDifference) error {
		list, u.told = append(list, d.Table+"."+d.Column), u.told+"\n"+d.String()
		return nil
	})
	if err != nil {
		u.t.Fatal(err)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// spoiling is one fact that is made wrong while all that it is compared with stays.
type spoiling struct {
	table, key string
	// set is what is changed of the row; empty to delete it.
	set string
	// finds are the columns of which one must be told to be wrong.
	finds []string
}

func (u *spender) lit(id [16]byte) string {
	if u.db.Dialect == store.SQLite {
		return fmt.Sprintf("x'%x'", id[:])
	}
	return fmt.Sprintf("'%x'", id[:])
}

func all[T any](u *spender, where string, args ...any) (list []T) {
	u.t.Helper()
	q := store.Of(u.db.Read(u.t.Context(), u.of.org), u.of.org)
	if where != "" {
		q = q.Where(where, args...)
	}
	if err := q.Find(&list).Error; err != nil {
		u.t.Fatal(err)
	}
	return list
}

// spoilings are all ways that there are to spoil this world, one of each kind.
func (u *spender) spoilings(t *rapid.T) map[string]spoiling {
	list := map[string]spoiling{}
	n := rapid.Int64Range(1, 1_000_000).Draw(t, "by")
	add := func(name, table, key, set string, finds ...string) { list[name] = spoiling{table, key, set, finds} }
	plus := func(column string) string { return fmt.Sprintf("%s = %s + %d", column, column, n) }
	other := u.lit(models.NewID[models.WaitEntity]())
	known := map[models.BudgetID]models.Budget{}
	budgets := all[models.Budget](u, "")
	if err := rows.Slots(u.db.Read(u.t.Context(), u.of.org), u.of.org, budgets); err != nil {
		u.t.Fatal(err)
	}
	for _, b := range budgets {
		known[b.ID] = b
		key := "id = " + u.lit(b.ID)
		for _, column := range []string{"spent", "credits", "reserved"} {
			add("a row's "+column, "budgets", key, plus(column), column)
		}
		if b.PeriodEndsAt != nil {
			add("when a period ends", "budgets", key, plus("period_ends_at"), "period_ends_at")
			add("whether a period ends", "budgets", key, "period_ends_at = NULL", "period_ends_at")
		} else {
			add("that a period doesn't end", "budgets", key, fmt.Sprintf("period_ends_at = %d", u.now()+models.Millis(n)), "period_ends_at")
		}
		if b.Spent > 0 && b.PeriodKind == nil || b.Credits > 0 || b.Reserved > 0 {
			add("when a period began: earlier", "budgets", key, "period_started_at = period_started_at - 1", "period_started_at")
			add("when a period began: later", "budgets", key, "period_started_at = period_started_at + 1", "spent", "credits", "reserved")
		}
		if b.KeptFor != nil && *b.KeptUntil > u.now() {
			add("how much is kept", "budgets", key, plus("kept"), "kept")
			add("for whom something is kept", "budgets", key, "kept_for = "+other, "kept")
			add("until when something is kept", "budgets", key, fmt.Sprintf("kept_until = kept_until + %d", 60_000+n), "kept")
			add("that nothing is kept for ever", "budgets", key, "kept_until = NULL", "kept")
			add("whom something is kept for", "waits", "id = "+u.lit(*b.KeptFor), "state = 'CANCELLED'", "kept")
		} else {
			add("that nothing is kept", "budgets", key, fmt.Sprintf("kept = %d, kept_for = %s, kept_until = %d", n, other, u.now()+60_000), "kept")
		}
		if len(b.Slots) > 0 && b.UpdatedAt == u.now() {
			k := b.Slots[len(b.Slots)-1]
			slot := fmt.Sprintf("budget_id = %s AND slot = %d", u.lit(b.ID), k.Slot)
			add("what was spent in a slot", "budget_slots", slot, plus("spent"), "slots")
			add("when something was spent in a slot", "budget_slots", slot, "newest = newest - 1", "slots")
			add("in which slot something was spent", "budget_slots", fmt.Sprintf("budget_id = %s AND newest = %d", u.lit(b.ID), k.Newest), "slot = slot + 1", "slots")
			add("that there is a slot", "budget_slots", slot, "", "slots")
		}
	}
	present := func(b models.BudgetID, period models.Millis) bool { return known[b].PeriodStartedAt == period }
	postings := all[models.LedgerEntry](u, "")
	for _, p := range postings {
		b := known[p.BudgetID]
		if !present(b.ID, p.PeriodStartedAt) || p.Amount == 0 {
			continue
		}
		rolls := b.PeriodKind != nil && *b.PeriodKind == models.PeriodRolling
		key := fmt.Sprintf("budget_id = %s AND journal_id = %s", u.lit(p.BudgetID), u.lit(p.JournalID))
		add("a posting's amount: "+string(p.Source), "ledger_entries", key, plus("amount"), "amount")
		add("a posting's id", "ledger_entries", key, "id = "+other, "id")
		add("a posting's source", "ledger_entries", key, "source = 'ADJUSTMENT'", "source")
		add("a posting's overrun: less than nothing", "ledger_entries", key, "overrun = -1", "overrun")
		add("a posting's overrun: more than there is", "ledger_entries", key, fmt.Sprintf("overrun = %d", max(p.Amount, 0)+1), "overrun")
		add("a posting's fact", "ledger_entries", "id = "+u.lit(p.ID), "journal_id = "+other, "journal_id")
		add("a posting's time", "ledger_entries", key, "created_at = created_at + 1", "created_at")
		add("a posting's session", "ledger_entries", key, "session_id = "+other, "session_id")
		add("a posting's turn", "ledger_entries", key, "turn_id = "+other, "turn_id")
		add("a posting's period: a later one", "ledger_entries", key, "period_started_at = period_started_at + 1", "period_started_at")
		for _, q := range postings {
			if q.BudgetID == p.BudgetID && q.JournalID != p.JournalID {
				add("which fact a posting is of", "ledger_entries", "id = "+u.lit(p.ID), "journal_id = "+u.lit(q.JournalID), "id")
			}
		}
		if !rolls || p.Amount < 0 {
			add("that there is a posting: "+string(p.Source), "ledger_entries", key, "", "spent", "credits")
			add("a posting's period: an earlier one", "ledger_entries", key, "period_started_at = period_started_at - 1", "spent", "credits")
			for id := range known {
				if id != p.BudgetID {
					add("a posting's budget", "ledger_entries", "id = "+u.lit(p.ID), "budget_id = "+u.lit(id), "spent", "credits")
				}
			}
		}
		fact := "id = " + u.lit(p.JournalID)
		switch {
		case p.Source == models.JournalTopUp:
			add("what was topped up", "usage_journal", fact, fmt.Sprintf(`measures = '{"currency":"%s","amount":"%d"}'`, b.Currency, n+1_000_000), "amount")
		case p.Source == models.JournalToolCall && b.Currency == "pages":
			add("what a tool measured", "usage_journal", fact, fmt.Sprintf(`measures = '{"pages":"%d"}'`, n), "amount")
		case p.Source == models.JournalModelCall && b.Currency == models.CurrencyTokens:
			add("what a model took", "usage_journal", fact, plus("input_tokens"), "amount")
		case p.Source == models.JournalPayment:
			add("what a payment cost", "usage_journal", fact, plus("cost_nanos"), "amount")
			add("what was paid", "payments", fact, plus("paid"), "payments.paid")
			add("that was paid", "payments", fact, "status = 'REFUSED'", "payments.paid")
		}
	}
	for _, f := range all[models.JournalEntry](u, "") {
		if f.Kind == models.JournalTopUp {
			continue
		}
		key := "id = " + u.lit(f.ID)
		for _, column := range []string{"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_nanos"} {
			add("a fact's "+column, "usage_journal", key, plus(column), "usage_hours."+column)
		}
		add("that there is a fact", "usage_journal", key, "", "usage_hours.tool_calls", "usage_hours.model_calls", "usage_hours.cost_nanos")
		for _, column := range []string{"user_id", "agent_id", "model_id"} {
			add("a fact's "+column, "usage_journal", key, column+" = "+other, "usage_hours.tool_calls", "usage_hours.model_calls", "usage_hours.cost_nanos")
		}
		add("a fact's session", "usage_journal", key, "session_id = "+other, "session_usage_hours.tool_calls", "session_usage_hours.model_calls", "session_usage_hours.cost_nanos")
		add("a fact's hour", "usage_journal", key, "occurred_at = occurred_at - 3600000", "usage_hours.tool_calls", "usage_hours.model_calls", "usage_hours.cost_nanos")
	}
	for _, h := range all[models.SessionUsageHour](u, "") {
		key := fmt.Sprintf("hour = %d AND tool = '%s'", h.Hour, h.Tool)
		for _, table := range []string{"usage_hours", "session_usage_hours"} {
			for _, column := range []string{
				"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_nanos", "unpriced_calls", "model_calls", "tool_calls", "turns",
			} {
				add("a sum of "+table+": "+column, table, key, plus(column), table+"."+column)
			}
			if h.Turns > 0 {
				add("fewer turns of "+table, table, key, "turns = turns - 1", table+".turns")
			}
			if h.ModelCalls+h.ToolCalls > 0 {
				add("that there is a sum of "+table, table, key, "", table+".model_calls", table+".tool_calls")
			}
		}
	}
	counts := func(l models.Held) bool { return l.Amount > 0 && present(l.Budget, l.Period) }
	for _, turn := range all[models.Turn](u, "reservation IS NOT NULL") {
		if slices.ContainsFunc(turn.Reservation.Lines, counts) {
			key := "id = " + u.lit(turn.ID)
			add("that a turn holds something", "turns", key, "reservation = NULL", "reserved")
			i := slices.IndexFunc(turn.Reservation.Lines, counts)
			turn.Reservation.Lines[i].Amount += models.Amount(n)
			add("how much a turn holds", "turns", key, fmt.Sprintf("reservation = '%s'", jsonOf(u.t, turn.Reservation)), "reserved")
			turn.Reservation.Lines[i].Amount -= models.Amount(n)
			turn.Reservation.Lines[i].Period--
			add("in which period a turn holds something", "turns", key, fmt.Sprintf("reservation = '%s'", jsonOf(u.t, turn.Reservation)), "reserved")
		}
	}
	for _, p := range all[models.Payment](u, "status = 'PENDING'") {
		lines := linesOf(u.t, p.Lines)
		if i := slices.IndexFunc(lines, counts); i >= 0 {
			key := "id = " + u.lit(p.ID)
			add("that a payment holds something", "payments", key, "status = 'REFUSED', due_at = NULL", "reserved")
			lines[i].Amount += models.Amount(n)
			add("how much a payment holds", "payments", key, fmt.Sprintf("lines = '%s'", jsonOf(u.t, lines)), "reserved")
		}
	}
	for _, d := range all[models.PaymentDay](u, "amount <> 0") {
		key := fmt.Sprintf("policy_id = %s AND day = %d", u.lit(d.PolicyID), d.Day)
		add("what was paid on a day", "payment_days", key, plus("amount"), "payment_days.amount")
		add("that there was a day", "payment_days", key, "", "payment_days.amount")
	}
	return list
}

// spoil makes a fact wrong, and returns what sets it right again.
func (u *spender) spoil(s spoiling) (restore func()) {
	u.t.Helper()
	exec := func(statement string) {
		u.t.Helper()
		if _, err := storetest.Exec(u.t.Context(), u.db, statement); err != nil {
			u.t.Fatalf("%s: %v", statement, err)
		}
	}
	whole := " WHERE org_id = " + u.lit(u.of.org)
	key := whole + " AND " + s.key
	exec("CREATE TABLE unspoilt AS SELECT * FROM " + s.table + key) //nolint:unqueryvet // whatever the columns are
	if s.set == "" {
		exec("DELETE FROM " + s.table + key)
		return func() {
			exec("INSERT INTO " + s.table + " SELECT * FROM unspoilt") //nolint:unqueryvet // the same
			exec("DROP TABLE unspoilt")
		}
	}
	exec("UPDATE " + s.table + " SET " + s.set + key)
	return func() {
		var columns []string
		for part := range strings.SplitSeq(s.set, ", ") {
			column, _, _ := strings.Cut(part, " = ")
			columns = append(columns, column+" = (SELECT "+column+" FROM unspoilt)")
		}
		exec("UPDATE " + s.table + " SET " + strings.Join(columns, ", ") + key)
		exec("DROP TABLE unspoilt")
	}
}

// Whatever a reconciliation compares is spoilt, one fact at a time, in worlds that the server's own code has made: each time it is found, and
// told by its name; before and after nothing is.
func TestEverySpoilingIsFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		w.unguard()
		met := map[string]bool{}
		rapid.Check(t, func(t *rapid.T) {
			u := w.spender(t)
			for range rapid.IntRange(1, 10).Draw(t, "steps") {
				w.advance(time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 999, 60_000, 1_800_000}).Draw(t, "pause")) * time.Millisecond)
				u.do(t, rapid.SampledFrom([]string{"hold", "call", "call", "tool", "release", "top up", "pay", "hold for a payment", "refuse", "keep"}).Draw(t, "what"))
			}
			if got := u.found(); len(got) > 0 {
				t.Fatalf("nothing is spoilt, and found are %v:%s", got, u.told)
			}
			kinds := u.spoilings(t)
			names := slices.Sorted(maps.Keys(kinds))
			for range 6 {
				name := rapid.SampledFrom(names).Draw(t, "spoiling")
				met[name] = true
				s := kinds[name]
				restore := u.spoil(s)
				got := u.found()
				restore()
				if !slices.ContainsFunc(s.finds, func(column string) bool { return slices.Contains(got, column) }) {
					t.Fatalf("%s (%s of %s where %s): found are %v, want one of %v", name, s.set, s.table, s.key, got, s.finds)
				}
			}
			if got := u.found(); len(got) > 0 {
				t.Fatalf("all is as it was, and found are %v:%s", got, u.told)
			}
		})
		t.Logf("%d kinds of spoiling were tried", len(met))
	})
}
