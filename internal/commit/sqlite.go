package commit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	sqlite "modernc.org/sqlite"

	"github.com/ostler-dev/ostler/internal/models"
)

// sqliteBackend writes a few rows at a time with prepared statements: there is no round trip to save, and no other writer to wait for.
type sqliteBackend struct {
	db *sql.DB
	mu sync.Mutex
	// prepared statements by their text; nil for those that were met within a transaction, which holds the only
	// connection, and are prepared after it.
	prepared map[string]*sql.Stmt
	// statements of each shape by the number of rows.
	statements map[*shape]map[int]string
}

func newSQLiteBackend(db *sql.DB) *sqliteBackend {
	b := &sqliteBackend{db: db, prepared: map[string]*sql.Stmt{}, statements: map[*shape]map[int]string{}}
	for _, s := range inOrder {
		b.statements[s] = map[int]string{1: sqliteSQL(s, 1)}
		for _, n := range rowsPerInsert {
			if s.op == insert {
				b.statements[s][n] = sqliteSQL(s, n)
			}
		}
	}
	return b
}

// rowsPerInsert are the sizes of inserts, so that few statements are prepared.
var rowsPerInsert = []int{8, 4, 2, 1}

type sqliteTx struct {
	b       *sqliteBackend
	tx      *sql.Tx
	found   map[key]*loaded
	missing map[key]bool
	keys    map[orgKey]models.IdempotencyKey
	locked  *budgetRows
}

func (b *sqliteBackend) begin(ctx context.Context, need batchNeed) (batchTx, error) {
	// A file has no network that could swallow an answer; and the driver would watch the context with a goroutine for each
	// statement.
	ctx = context.WithoutCancel(ctx)
	if err := b.prepareMet(ctx); err != nil {
		return nil, err
	}
	t, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	tx := &sqliteTx{b: b, tx: t, found: make(map[key]*loaded, len(need.keys)), missing: map[key]bool{}, keys: map[orgKey]models.IdempotencyKey{}, locked: newBudgetRows()}
	if err := tx.load(ctx, need); err != nil {
		tx.rollback()
		return nil, err
	}
	return tx, nil
}

var sqliteTurn = "SELECT " + TurnColumns("") + " FROM turns WHERE org_id = ? AND id = ?"

var sqliteNext = "SELECT " + TurnColumns("") + ` FROM turns WHERE org_id = ? AND session_id = ? AND status = 'QUEUED'
AND ready_at IS NULL ORDER BY queue_position LIMIT 1`

func (tx *sqliteTx) load(ctx context.Context, need batchNeed) error {
	for _, k := range need.keys {
		l, err := tx.loadSession(ctx, k, need.of[k])
		if err != nil {
			return err
		}
		if l == nil {
			tx.missing[k] = true
			continue
		}
		if err := tx.loadMore(ctx, k, need.of[k], l); err != nil {
			return err
		}
		tx.found[k] = l
	}
	if err := tx.loadBudgets(ctx, need); err != nil {
		return err
	}
	for _, k := range need.known {
		row := models.IdempotencyKey{OrgID: k.org, Operation: k.Operation, Key: k.Key}
		err := tx.one(ctx, "SELECT input_hash, result, expires_at FROM idempotency_keys WHERE org_id = ? AND operation = ? AND key = ?",
			id(k.org), k.Operation, k.Key).Scan(&row.InputHash, &row.Result, &row.ExpiresAt)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return own(err)
		}
		tx.keys[k] = row
	}
	return nil
}

func (tx *sqliteTx) loadSession(ctx context.Context, k key, need *need) (*loaded, error) {
	s, err := scanSession(tx.one(ctx, "SELECT "+readSession+" FROM sessions s WHERE s.org_id = ? AND s.id = ?", id(k.org), id(k.session)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, own(err)
	}
	l := &loaded{session: s, inboxRead: need.Ends}
	if s.CurrentTurnID != nil {
		l.turn, err = ScanTurn(tx.one(ctx, sqliteTurn, id(k.org), optID(s.CurrentTurnID)))
		if errors.Is(err, sql.ErrNoRows) {
			return l, missingTurn(k)
		}
		if err != nil {
			return l, own(err)
		}
	}
	if need.Ends && s.QueuedTurns > 0 {
		// A missing one is the ending command's to complain of.
		l.next, err = ScanTurn(tx.one(ctx, sqliteNext, id(k.org), id(k.session)))
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return l, own(err)
		}
	}
	if need.Ends && l.turn != nil && s.InputSequence > l.turn.ConsumedThrough {
		err = tx.each(ctx, func(r scanner) error {
			var w waiting
			var by author
			err := r.Scan(&w.id, &w.sequence, &by.kind, &by.id)
			w.author = by.actor()
			l.inbox = append(l.inbox, w)
			return err
		}, "SELECT id, sequence, author_kind, author_id FROM messages WHERE org_id = ? AND turn_id = ? AND position IS NULL ORDER BY sequence", id(k.org), id(l.turn.ID))
		if err != nil {
			return l, err
		}
	}
	for _, f := range need.Files {
		q := "SELECT " + fileColumns + " FROM session_files f " +
			"WHERE org_id = ? AND session_id = ? AND "
		args := []any{id(k.org), id(k.session), f.Path}
		if f.Subtree {
			above, below := f.bounds()
			q += "(path = ? OR path > ? AND path < ?)"
			args = append(args, above, below)
		} else {
			q += "path = ?"
		}
		err := tx.each(ctx, func(r scanner) error {
			entry, err := scanFile(r)
			l.addFile(entry)
			return err
		}, q, args...)
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

func (tx *sqliteTx) sessions() (map[key]*loaded, map[key]bool) { return tx.found, tx.missing }

func (tx *sqliteTx) known() map[orgKey]models.IdempotencyKey { return tx.keys }

func (tx *sqliteTx) budgets() *budgetRows { return tx.locked }

func (tx *sqliteTx) ticket() string { return "" }

func (tx *sqliteTx) write(ctx context.Context, steps []step, entries []models.AuditEntry, beforeCommit func() error) error {
	err := tx.writeAll(context.WithoutCancel(ctx), steps)
	if err == nil && len(entries) > 0 {
		err = tx.chain(context.WithoutCancel(ctx), entries)
	}
	if err == nil {
		err = beforeCommit()
	}
	if err != nil {
		tx.rollback()
		return err
	}
	if err := tx.tx.Commit(); err != nil {
		// Whether the last page reached the disk isn't known; the file tells. The driver has rolled back what could be.
		return &unknownOutcome{err: err}
	}
	return nil
}

func (tx *sqliteTx) writeAll(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if err := tx.raiseFeeds(ctx, s); err != nil {
			return err
		}
		for rows := s.rows; len(rows) > 0; {
			n := rowsAtOnce(s.shape, len(rows))
			args := rows[0]
			switch {
			case n > 1:
				args = slices.Concat(rows[:n]...)
			case s.shape.op == update:
				// The keys stand behind what is set.
				args = slices.Concat(rows[0][len(s.shape.keys):], rows[0][:len(s.shape.keys)])
			}
			if err := tx.exec(ctx, tx.b.statements[s.shape][n], args...); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return nil
}

// chain writes audit entries behind the ends of their chains, which the transaction holds as it holds everything.
func (tx *sqliteTx) chain(ctx context.Context, entries []models.AuditEntry) error {
	if err := tx.writeAll(ctx, []step{beginChains(entries)}); err != nil {
		return err
	}
	heads := chainsOf(entries)
	for i, head := range heads {
		var err error
		if heads[i], err = scanHead(tx.one(ctx, "SELECT org_id, position, hash FROM audit_heads WHERE org_id = ?", id(head.OrgID))); err != nil {
			return own(err)
		}
	}
	return tx.writeAll(ctx, link(heads, entries))
}

// rowsAtOnce returns the size of the next statement.
func rowsAtOnce(s *shape, left int) int {
	for _, n := range rowsPerInsert {
		if s.op == insert && n <= left {
			return n
		}
	}
	return 1
}

func (tx *sqliteTx) rollback() { _ = tx.tx.Rollback() }

// committed needs no ticket: the one writing connection has nothing in progress when it answers.
func (b *sqliteBackend) committed(ctx context.Context, _ string, marker *models.Event) (bool, error) {
	if marker == nil {
		return false, nil
	}
	var found bool
	err := b.db.QueryRowContext(ctx,
		"SELECT EXISTS (SELECT 1 FROM events WHERE org_id = ? AND session_id = ? AND sequence = ? AND id = ?)",
		id(marker.OrgID), id(marker.SessionID), marker.Sequence, id(marker.ID)).Scan(&found)
	return found, err
}

func (b *sqliteBackend) position(ctx context.Context, e *models.Event) (position *int64, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT feed_position FROM events WHERE org_id = ? AND session_id = ? AND sequence = ?",
		id(e.OrgID), id(e.SessionID), e.Sequence).Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return position, err
}

// prepareMet prepares the statements that the last transaction met for the first time.
func (b *sqliteBackend) prepareMet(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for text, s := range b.prepared {
		if s != nil {
			continue
		}
		s, err := b.db.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		b.prepared[text] = s
	}
	return nil
}

func (b *sqliteBackend) statement(ctx context.Context, tx *sql.Tx, text string) (*sql.Stmt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.prepared[text]; s != nil {
		return tx.StmtContext(ctx, s), nil
	}
	b.prepared[text] = nil
	return tx.PrepareContext(ctx, text)
}

func (tx *sqliteTx) exec(ctx context.Context, text string, args ...any) error {
	s, err := tx.b.statement(ctx, tx.tx, text)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx, args...)
	return err
}

func (tx *sqliteTx) one(ctx context.Context, text string, args ...any) scanner {
	s, err := tx.b.statement(ctx, tx.tx, text)
	if err != nil {
		return failedRow{err}
	}
	return s.QueryRowContext(ctx, args...)
}

// own marks what isn't the database's error: a row that this program can't read.
func own(err error) error {
	var lite *sqlite.Error
	if errors.As(err, &lite) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return &unreadable{err}
}

type failedRow struct{ err error }

func (f failedRow) Scan(...any) error { return f.err }

func (tx *sqliteTx) each(ctx context.Context, fn func(scanner) error, text string, args ...any) error {
	s, err := tx.b.statement(ctx, tx.tx, text)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return own(err)
		}
	}
	return rows.Err()
}

// sqliteSQL writes a number of rows; more than one only with inserts.
func sqliteSQL(s *shape, rows int) string {
	mark := func(int) string { return "?" }
	switch s.op {
	case duplicate:
		return s.duplicateSQL(func(i int) string { return "?" + strconv.Itoa(i+1) })
	case update:
		return "UPDATE " + s.table + " AS t SET " + s.assignments(mark) + " WHERE " + s.condition(mark)
	case remove:
		return "DELETE FROM " + s.table + " AS t WHERE " + s.condition(mark)
	}
	values := strings.TrimSuffix(strings.Repeat("("+s.list(mark)+"), ", rows), ", ")
	return "INSERT INTO " + s.table + " (" + names("", s.all) + ") VALUES " + values + s.conflictSQL()
}

func (b *sqliteBackend) totals(ctx context.Context, org models.OrgID) (t Totals, err error) {
	rows, err := b.db.QueryContext(ctx, selectTotals+"?", id(org))
	if err != nil {
		return t, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&t.Sessions, &t.QueuedTurns); err != nil {
			return t, err
		}
	}
	return t, rows.Err()
}

var sqliteRaiseFeed = "INSERT INTO org_feeds (" + feedColumns + ") VALUES (?, ?, ?, ?, ?, ?) " +
	"ON CONFLICT (org_id) DO UPDATE SET position = position + excluded.position, " +
	"sessions = sessions + excluded.sessions, queued_turns = queued_turns + excluded.queued_turns, " +
	"sessions_cap = excluded.sessions_cap, queued_turns_cap = excluded.queued_turns_cap RETURNING position, sessions, queued_turns"

// raiseFeeds assigns the events of a step their positions.
func (tx *sqliteTx) raiseFeeds(ctx context.Context, s step) error {
	newest := make([]int64, len(s.feeds))
	for i, row := range s.feedRows() {
		f := s.feeds[i]
		if err := tx.one(ctx, sqliteRaiseFeed, row...).Scan(&newest[i], &f.told.Sessions, &f.told.QueuedTurns); err != nil {
			return own(err)
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
