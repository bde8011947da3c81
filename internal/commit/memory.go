package commit

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/ostler-dev/ostler/internal/models"
)

// Rows is a store of rows in memory that stands for a database in simulations; package memtest, which only tests may import,
// has one. A row has its values in the order of the table's columns; all values are comparable.
type Rows interface {
	// Define adds a table with its primary key, Unique a constraint on the rows where a condition holds (all, when it is nil),
	// Refer a reference to the primary key of another table.
	Define(table string, columns, key []string)
	Unique(name, table string, columns []string, where func(row []any) bool)
	Refer(table string, columns []string, to string)
	// Begin starts a transaction, when no other one is open. After an error of Commit nothing was committed.
	Begin()
	Commit() error
	Rollback()
	// Select returns the rows with a primary key, or of the table when it is nil, for which where holds, in the order in which they
	// were inserted. They must not be changed.
	Select(table string, primary []any, where func(row []any) bool) [][]any
	// Insert adds a row; conflict is the shape's.
	Insert(table string, values []any, conflict string) error
	Update(table string, primary []any, where func(row []any) bool, set func(row []any)) (int, error)
	Delete(table string, primary []any, where func(row []any) bool) int
}

// Memory is a backend without a database, for simulations: the tables of the committer in Rows. It keeps what the databases
// promise – the conformance tests of this package run on it –, and does all of it in the same order each time.
type Memory struct {
	rows  Rows
	plans map[*shape]*memoryPlan
	// schemas remembers what GORM knows of the models.
	schemas sync.Map
}

// otherTables are those that no shape inserts into.
var otherTables = map[string]struct{ columns, key string }{
	"org_feeds": {"org_id position sessions queued_turns sessions_cap queued_turns_cap", "org_id"},
	"checkpoints": {
		"org_id turn_id session_id message_id epoch attempt text thinking tool_call usage updated_at", "org_id turn_id",
	},
	"session_lineage": {
		"org_id session_id through_sequence after_sequence ancestor_id", "org_id session_id through_sequence",
	},
	"payments": {"org_id id policy_id session_id turn_id wait_id idempotency_key capability tool host purpose amount paid status day lines reference " +
		"error attempts due_at created_at settled_at", "org_id id"},
	"runners": {"id host started_at beat lock_key", "id"},
	"budgets": {"org_id id subject subject_id customer_key currency limit_amount soft_limit period_kind period_unit period_seconds timezone " +
		"created_at disabled_at period_started_at period_ends_at spent credits reserved buckets warned_at soft_passed_at exhausted_at contended kept kept_for kept_until updated_at", "org_id id"},
}

// NewMemory makes the committer's tables in a store that has none yet.
func NewMemory(rows Rows) *Memory {
	m := &Memory{rows: rows, plans: map[*shape]*memoryPlan{}}
	defined := map[string][]string{}
	define := func(table string, columns, key []string) {
		defined[table] = columns
		rows.Define(table, columns, key)
	}
	for _, s := range allShapes() {
		if s.op == insert && defined[s.table] == nil {
			define(s.table, listOf(s.all()), listOf(s.keys))
		}
	}
	for _, name := range []string{"org_feeds", "checkpoints", "session_lineage", "runners", "budgets", "payments"} {
		if defined[name] == nil {
			define(name, strings.Fields(otherTables[name].columns), strings.Fields(otherTables[name].key))
		}
	}
	column := func(table, name string) int { return slices.Index(defined[table], name) }
	status := column("turns", "status")
	rows.Unique("turns_one_active", "turns", []string{"org_id", "session_id"}, func(row []any) bool {
		return row[status] == string(models.TurnRunning) || row[status] == string(models.TurnWaiting)
	})
	rows.Unique("messages_by_sequence", "messages", []string{"org_id", "session_id", "sequence"}, nil)
	rows.Unique("events_feed", "events", []string{"org_id", "feed_position"}, nil)
	rows.Unique("audit_entries_by_id", "audit_entries", []string{"org_id", "id"}, nil)
	rows.Unique("payments_once", "payments", []string{"org_id", "idempotency_key"}, nil)
	rows.Unique("waits_by_identity", "waits", []string{"org_id", "turn_id", "identity"}, nil)
	for _, table := range []string{"session_tags", "session_words", "turns", "messages", "events", "session_files", "session_todos", "waits", "hook_jobs", "session_lineage"} {
		rows.Refer(table, []string{"org_id", "session_id"}, "sessions")
	}
	rows.Refer("messages", []string{"org_id", "turn_id"}, "turns")
	rows.Refer("waits", []string{"org_id", "turn_id"}, "turns")
	rows.Refer("approval_decisions", []string{"org_id", "wait_id"}, "waits")
	rows.Refer("checkpoints", []string{"org_id", "turn_id"}, "turns")
	rows.Refer("session_lineage", []string{"org_id", "ancestor_id"}, "sessions")
	rows.Refer("session_files", []string{"org_id", "hash"}, "blobs")
	rows.Refer("ledger_entries", []string{"org_id", "budget_id"}, "budgets")
	rows.Refer("ledger_entries", []string{"org_id", "journal_id"}, "usage_journal")
	for _, s := range allShapes() {
		m.plans[s] = planOf(s, defined[s.table], keyColumnsOf(s.table))
	}
	return m
}

// keyColumnsOf returns the primary key of a table.
func keyColumnsOf(table string) []string {
	for _, s := range allShapes() {
		if s.op == insert && s.table == table {
			return listOf(s.keys)
		}
	}
	return strings.Fields(otherTables[table].key)
}

func listOf(cs []column) []string {
	list := make([]string, len(cs))
	for i, c := range cs {
		list[i] = c.name
	}
	return list
}

type memoryTx struct {
	m       *Memory
	found   map[key]loaded
	missing map[key]bool
	keys    map[orgKey]models.IdempotencyKey
	locked  *budgetRows
}

func (m *Memory) begin(_ context.Context, need batchNeed) (batchTx, error) {
	m.rows.Begin()
	tx := &memoryTx{m: m, found: map[key]loaded{}, missing: map[key]bool{}, keys: map[orgKey]models.IdempotencyKey{}, locked: newBudgetRows()}
	if err := tx.load(need); err != nil {
		tx.rollback()
		return nil, err
	}
	return tx, nil
}

func (tx *memoryTx) load(need batchNeed) error {
	for _, k := range need.keys {
		_, ends := need.ends[k]
		l, err := tx.m.loadSession(k, ends, need.files[k])
		if err != nil {
			return err
		}
		if l.session == nil {
			tx.missing[k] = true
			continue
		}
		if err := tx.m.loadMore(k, need.more[k], &l); err != nil {
			return err
		}
		tx.found[k] = l
		if need.more[k].budgets {
			if err := tx.loadBudgets(k, l); err != nil {
				return err
			}
		}
	}
	for _, k := range need.known {
		row := models.IdempotencyKey{OrgID: k.org, Operation: k.Operation, Key: k.Key}
		for _, r := range tx.m.rows.Select("idempotency_keys", []any{id(k.org), k.Operation, k.Key}, nil) {
			if err := memoryRow(r[3:]).Scan(&row.InputHash, &row.Result, &row.ExpiresAt); err != nil {
				return &unreadable{err}
			}
			tx.keys[k] = row
		}
	}
	return nil
}

func (m *Memory) loadSession(k key, ends bool, files []FileNeed) (l loaded, err error) {
	found := m.rows.Select("sessions", []any{id(k.org), id(k.session)}, nil)
	if len(found) == 0 {
		return l, nil
	}
	budgeted := len(m.rows.Select("budgets", nil, where("budgets").is("org_id", k.org).holds)) > 0
	if l.session, err = scanSession(append(slices.Clip(memoryRow(found[0])), budgeted)); err != nil {
		return l, &unreadable{err}
	}
	l.inboxRead = ends
	if current := l.session.CurrentTurnID; current != nil {
		list, err := m.turns([]any{id(k.org), id(*current)}, nil)
		if err != nil {
			return l, &unreadable{err}
		}
		if len(list) == 0 {
			return l, missingTurn(k)
		}
		l.turn = list[0]
	}
	if ends && l.session.QueuedTurns > 0 {
		if l.next, err = m.next(k); err != nil {
			return l, &unreadable{err}
		}
	}
	if ends && l.turn != nil && l.session.InputSequence > l.turn.ConsumedThrough {
		if l.inbox, err = m.inbox(k, l.turn.ID); err != nil {
			return l, &unreadable{err}
		}
	}
	all := map[key]map[string]models.SessionFile{}
	for _, f := range files {
		above, below := f.bounds()
		of := where("session_files").is("org_id", k.org).is("session_id", k.session)
		for _, r := range m.rows.Select("session_files", nil, func(row []any) bool {
			path, _ := row[2].(string)
			return of.holds(row) && (path == f.Path || f.Subtree && path > above && path < below)
		}) {
			if err := collectFile(memoryRow(r), all); err != nil {
				return l, &unreadable{err}
			}
		}
	}
	l.files = all[k]
	return l, nil
}

// turns returns turns by their key, or of the table when it is nil, in the order in which they were added.
func (m *Memory) turns(primary []any, cond func(row []any) bool) ([]*models.Turn, error) {
	var list []*models.Turn
	for _, r := range m.rows.Select("turns", primary, cond) {
		t, err := ScanTurn(memoryRow(r))
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// next returns the turn behind the head of a session's line; nil when there is none.
func (m *Memory) next(k key) (*models.Turn, error) {
	list, err := m.queue(k)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// queue returns the turns behind the head of a session's line, in order.
func (m *Memory) queue(k key) ([]*models.Turn, error) {
	queued := where("turns").is("org_id", k.org).is("session_id", k.session).is("status", models.TurnQueued).is("ready_at", nil)
	list, err := m.turns(nil, queued.holds)
	slices.SortStableFunc(list, func(a, b *models.Turn) int { return cmp.Compare(a.QueuePosition, b.QueuePosition) })
	return list, err
}

// loadMore reads what only few commands look at.
func (m *Memory) loadMore(k key, need moreNeed, l *loaded) (err error) {
	if need.queue {
		l.queueRead = true
		if l.queue, err = m.queue(k); err != nil {
			return &unreadable{err}
		}
	}
	l.waitsRead = need.waits
	if need.events != nil {
		of := where("events").is("org_id", k.org).is("session_id", k.session)
		sequence, kind := of.column("sequence"), of.column("kind")
		var at []int
		for _, name := range strings.Split(strings.ReplaceAll(loggedColumns, "e.", ""), ", ") {
			at = append(at, of.column(name))
		}
		found := m.rows.Select("events", nil, func(row []any) bool {
			return of.holds(row) && row[sequence].(int64) > need.events.After && slices.Contains(need.events.Kinds, models.EventKind(row[kind].(string))) //nolint:forcetypeassert // as they are written
		})
		slices.SortFunc(found, func(a, b []any) int { return cmp.Compare(a[sequence].(int64), b[sequence].(int64)) }) //nolint:forcetypeassert // as above
		for _, r := range found {
			var some memoryRow
			for _, i := range at {
				some = append(some, r[i])
			}
			if err := l.addEvent(k, some); err != nil {
				return &unreadable{err}
			}
		}
	}
	if l.turn != nil && need.calls {
		open := where("effects").is("org_id", k.org).is("scope_id", l.turn.ID).is("kind", models.EffectTool)
		state := open.column("state")
		err = m.each("effects", nil, func(row []any) bool { return open.holds(row) && row[state] != string(models.EffectSettled) }, l.addCall)
		if err != nil {
			return err
		}
	}
	if l.turn != nil && need.waits {
		open := where("waits").is("org_id", k.org).is("turn_id", l.turn.ID).is("state", models.WaitOpen)
		if err = m.each("waits", nil, open.holds, l.addWait); err != nil {
			return err
		}
	}
	for _, p := range need.payments {
		if err = m.each("payments", []any{id(k.org), id(p)}, where("payments").is("session_id", k.session).holds, l.addPayment); err != nil {
			return err
		}
	}
	for _, w := range need.waitIDs {
		if err = m.each("waits", []any{id(k.org), id(w)}, where("waits").is("session_id", k.session).holds, l.addWait); err != nil {
			return err
		}
		// Those of one wait are few, and in the order in which they were made.
		if err = m.each("approval_decisions", nil, where("approval_decisions").is("org_id", k.org).is("wait_id", w).holds, l.addDecision); err != nil {
			return err
		}
	}
	return nil
}

func (m *Memory) each(table string, primary []any, holds func(row []any) bool, add func(scanner) error) error {
	for _, r := range m.rows.Select(table, primary, holds) {
		if err := add(memoryRow(r)); err != nil {
			return &unreadable{err}
		}
	}
	return nil
}

func (m *Memory) inbox(k key, turn models.TurnID) ([]waiting, error) {
	var list []waiting
	of := where("messages").is("org_id", k.org).is("turn_id", turn).is("position", nil)
	for _, r := range m.rows.Select("messages", nil, of.holds) {
		var w waiting
		var by author
		row := memoryRow{r[of.column("id")], r[of.column("sequence")], r[of.column("author_kind")], r[of.column("author_id")]}
		if err := row.Scan(&w.id, &w.sequence, &by.kind, &by.id); err != nil {
			return nil, err
		}
		w.author = by.actor()
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b waiting) int { return cmp.Compare(a.sequence, b.sequence) })
	return list, nil
}

func (tx *memoryTx) sessions() (map[key]loaded, map[key]bool) { return tx.found, tx.missing }

func (tx *memoryTx) known() map[orgKey]models.IdempotencyKey { return tx.keys }

func (tx *memoryTx) budgets() *budgetRows { return tx.locked }

func (tx *memoryTx) ticket() string { return "" }

func (tx *memoryTx) write(_ context.Context, steps []step, entries []models.AuditEntry, beforeCommit func() error) error {
	err := tx.writeAll(steps)
	if err == nil && len(entries) > 0 {
		err = tx.chain(entries)
	}
	if err == nil {
		err = beforeCommit()
	}
	if err != nil {
		tx.rollback()
		return err
	}
	if err := tx.m.rows.Commit(); err != nil {
		return &unknownOutcome{err: err}
	}
	return nil
}

func (tx *memoryTx) writeAll(steps []step) error {
	for _, s := range steps {
		if err := tx.raiseFeeds(s); err != nil {
			return err
		}
		plan := tx.m.plans[s.shape]
		for _, row := range s.rows {
			if err := plan.write(tx.m.rows, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// chain writes audit entries behind the ends of their chains.
func (tx *memoryTx) chain(entries []models.AuditEntry) error {
	if err := tx.writeAll([]step{beginChains(entries)}); err != nil {
		return err
	}
	heads := chainsOf(entries)
	for i, head := range heads {
		for _, r := range tx.m.rows.Select("audit_heads", []any{id(head.OrgID)}, nil) {
			var err error
			if heads[i], err = scanHead(memoryRow(r)); err != nil {
				return &unreadable{err}
			}
		}
	}
	return tx.writeAll(link(heads, entries))
}

// raiseFeeds assigns the events of a step their positions.
func (tx *memoryTx) raiseFeeds(s step) error {
	newest := make([]int64, len(s.feeds))
	for i, f := range s.feeds {
		var err error
		if newest[i], err = raiseFeed(tx.m.rows, f); err != nil {
			return err
		}
		f.assign(newest[i])
	}
	for i, p := range s.places {
		if p.feed > 0 {
			s.rows[i][len(s.rows[i])-1] = newest[p.feed-1] - p.later
		}
	}
	return nil
}

func (tx *memoryTx) rollback() { tx.m.rows.Rollback() }

func (m *Memory) committed(_ context.Context, _ string, marker *models.Event) (bool, error) {
	if marker == nil {
		return false, nil
	}
	m.rows.Begin()
	defer m.rows.Rollback()
	found := m.rows.Select("events", []any{id(marker.OrgID), id(marker.SessionID), marker.Sequence}, where("events").is("id", marker.ID).holds)
	return len(found) == 1, nil
}

func (m *Memory) position(_ context.Context, e *models.Event) (position *int64, err error) {
	m.rows.Begin()
	defer m.rows.Rollback()
	for _, r := range m.rows.Select("events", []any{id(e.OrgID), id(e.SessionID), e.Sequence}, nil) {
		err = memoryRow(r[len(r)-1:]).Scan(&position)
	}
	return position, err
}
