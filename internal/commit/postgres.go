package commit

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// postgresBackend needs two round trips per batch: one that begins, locks and reads, one that writes and commits.
type postgresBackend struct {
	pool *pgxpool.Pool
	// feed inserts events that are in feeds.
	feed string
	// number numbers the shapes.
	number map[*shape]int
	// pooled is true when connections come without their settings.
	pooled atomic.Bool
	// spare are buffers for what is written.
	spare sync.Pool

	mu sync.Mutex
	// statements are those that write rows of one or several shapes, by the set of their numbers.
	statements map[uint64]string
}

func newPostgresBackend(pool *pgxpool.Pool) *postgresBackend {
	if len(inOrder) > 64 {
		panic("a set of shapes is kept in 64 bits: see statement")
	}
	b := &postgresBackend{pool: pool, number: map[*shape]int{}, statements: map[uint64]string{}, feed: postgresFeed()}
	for i, s := range inOrder {
		b.number[s] = i
	}
	return b
}

const (
	// plansFor is how long a connection keeps its plans. Those of the first seconds of a database know tables of a few rows.
	plansFor = 10 * time.Second
	// rollbackTimeout bounds what nobody waits for.
	rollbackTimeout = time.Second
	// maxSpare is how large a buffer may be that is kept.
	maxSpare = 1 << 20
)

// setLocally are store.CommitOptions for one transaction, where a pooler between here and the server has not passed them on.
var setLocally = func() string {
	var list []string
	for _, o := range store.CommitOptions {
		name, value, _ := strings.Cut(o, "=")
		list = append(list, "set_config('"+name+"', '"+value+"', true)")
	}
	return "SELECT " + strings.Join(list, ", ")
}()

// The lock modes leave readers of foreign keys alone. Sessions are locked in the order of their keys, and before their turns;
// claims and takeovers lock turns alone. Where a session, or its turn, is held by others, it is skipped, so that the others of
// the batch go on; only a batch with a single session waits. A key that is found by way of another row is in a LATERAL, so that
// rows are found one by one: see store.CommitOptions.
const (
	// theTransaction is the number of the transaction, by which one learns what became of it, and whether it has its settings.
	theTransaction = `pg_current_xact_id()::text, current_setting('plan_cache_mode') = 'force_generic_plan'`
	eachSession    = ` FROM unnest($1::uuid[], $2::uuid[]) AS k(org_id, id) `
	theSession     = ` FROM sessions s WHERE s.org_id = k.org_id AND s.id = k.id `
	// current is the turn at the head of each session's line.
	current = eachSession + `CROSS JOIN LATERAL
(SELECT s.current_turn_id` + theSession + `OFFSET 0) s `
	readInbox = `SELECT k.org_id, k.id, m.id, m.sequence, m.author_kind, m.author_id` + current + `CROSS JOIN LATERAL
(SELECT m.id, m.sequence, m.author_kind, m.author_id FROM messages m WHERE m.org_id = k.org_id AND m.turn_id = s.current_turn_id AND m.position IS NULL OFFSET 0) m
ORDER BY m.sequence`
	keyRow    = `i.org_id, i.operation, i.key, i.input_hash, i.result, i.expires_at`
	readKnown = `SELECT ` + keyRow + ` FROM unnest($1::uuid[], $2::text[], $3::text[]) AS k(org_id, operation, key) CROSS JOIN LATERAL
(SELECT ` + keyRow + ` FROM idempotency_keys i
WHERE i.org_id = k.org_id AND i.operation = k.operation AND i.key = k.key OFFSET 0) i`
	existing = `SELECT s.org_id, s.id` + eachSession + `CROSS JOIN LATERAL (SELECT s.org_id, s.id` + theSession + `OFFSET 0) s`
)

var (
	theFile = ` CROSS JOIN LATERAL
(SELECT ` + fileColumns + ` FROM session_files f
WHERE f.org_id = k.org_id AND f.session_id = k.session_id `
	readFiles = `SELECT ` + fileColumns + ` FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS k(org_id, session_id, path)` +
		theFile + `AND f.path = k.path OFFSET 0) f`
	readSubtrees = `SELECT ` + fileColumns + ` FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS k(org_id, session_id, above, below)` +
		theFile + `AND f.path > k.above AND f.path < k.below OFFSET 0) f`
	lockSessions = `SELECT s.*, ` + theTransaction + eachSession + `CROSS JOIN LATERAL (SELECT ` + readSession + theSession +
		`FOR NO KEY UPDATE SKIP LOCKED) s`
	lockSession = `SELECT ` + readSession + `, ` + theTransaction + ` FROM sessions s WHERE s.org_id = $1 AND s.id = $2 FOR NO KEY UPDATE`
	lockTurns   = `SELECT ` + TurnColumns("t.") + current + `CROSS JOIN LATERAL (SELECT ` + TurnColumns("t.") + ` FROM turns t
WHERE t.org_id = k.org_id AND t.id = s.current_turn_id FOR NO KEY UPDATE SKIP LOCKED) t`
	lockTurn = `SELECT ` + TurnColumns("t.") + ` FROM turns t WHERE t.org_id = $1
AND t.id = (SELECT s.current_turn_id FROM sessions s WHERE s.org_id = $1 AND s.id = $2) FOR NO KEY UPDATE`
	readNext = `SELECT ` + TurnColumns("t.") + eachSession + `CROSS JOIN LATERAL (SELECT ` + TurnColumns("t.") + ` FROM turns t
WHERE t.org_id = k.org_id AND t.session_id = k.id AND t.status = 'QUEUED' AND t.ready_at IS NULL ORDER BY t.queue_position LIMIT 1) t`
)

type postgresTx struct {
	b    *postgresBackend
	conn *pgxpool.Conn
	xid  string
	// buf holds what is written.
	buf     []byte
	found   map[key]*loaded
	missing map[key]bool
	keys    map[orgKey]models.IdempotencyKey
	locked  *budgetRows
}

func (b *postgresBackend) begin(ctx context.Context, need batchNeed) (batchTx, error) {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx := &postgresTx{b: b, conn: conn, found: make(map[key]*loaded, len(need.keys)), missing: map[key]bool{}, keys: map[orgKey]models.IdempotencyKey{}, locked: newBudgetRows()}
	if err := tx.load(ctx, need); err != nil {
		tx.rollback()
		return nil, err
	}
	return tx, nil
}

func (tx *postgresTx) load(ctx context.Context, need batchNeed) error {
	var batch pgx.Batch
	if tx.plansAreOld() {
		batch.Queue("DISCARD PLANS")
	}
	batch.Queue("BEGIN")
	if tx.b.pooled.Load() {
		batch.Queue(setLocally)
	}
	for _, k := range need.keys {
		tx.found[k] = &loaded{}
	}
	tx.queueSessions(&batch, need)
	tx.queueBudgets(&batch, need)
	tx.queueEnds(&batch, need)
	tx.queueMore(&batch, need)
	tx.queueKnown(&batch, need)
	tx.queueFiles(&batch, need)
	if err := tx.conn.SendBatch(ctx, &batch).Close(); err != nil {
		return err
	}
	if err := tx.loadSlots(ctx); err != nil {
		return err
	}
	return tx.settle(ctx, need)
}

// plansAreOld reports, once in a while, that it is time to make new plans.
func (tx *postgresTx) plansAreOld() bool {
	const planned = "ostler:planned"
	data := tx.conn.Conn().PgConn().CustomData()
	since, ok := data[planned].(time.Time)
	if ok && time.Since(since) < plansFor {
		return false
	}
	data[planned] = time.Now()
	return ok
}

func (tx *postgresTx) queueSessions(batch *pgx.Batch, need batchNeed) {
	if len(need.keys) == 0 {
		batch.Queue("SELECT " + theTransaction).QueryRow(tx.identify)
		return
	}
	sessions, turns, args := lockSessions, lockTurns, sessionArrays(need.keys)
	if need.wait {
		sessions, turns, args = lockSession, lockTurn, []any{id(need.keys[0].org), id(need.keys[0].session)}
	}
	batch.Queue(sessions, args...).Query(eachRow(func(r pgx.Rows) error {
		var settled bool
		s, err := scanSession(r, &tx.xid, &settled)
		if err == nil {
			tx.found[key{s.OrgID, s.ID}].session = s
			tx.hasSettings(settled)
		}
		return err
	}))
	batch.Queue(turns, args...).Query(eachTurn(func(t *models.Turn) { tx.found[key{t.OrgID, t.SessionID}].turn = t }))
}

// identify reads theTransaction.
func (tx *postgresTx) identify(r pgx.Row) error {
	var settled bool
	err := r.Scan(&tx.xid, &settled)
	tx.hasSettings(settled)
	return err
}

func (tx *postgresTx) hasSettings(yes bool) {
	if !yes {
		tx.b.pooled.Store(true)
	}
}

func (tx *postgresTx) queueEnds(batch *pgx.Batch, need batchNeed) {
	var keys []key
	for _, k := range need.keys {
		if need.of[k].behind {
			keys = append(keys, k)
			tx.found[k].inboxRead = true
		}
	}
	if len(keys) == 0 {
		return
	}
	args := sessionArrays(keys)
	batch.Queue(readNext, args...).Query(eachTurn(func(t *models.Turn) { tx.found[key{t.OrgID, t.SessionID}].next = t }))
	batch.Queue(readInbox, args...).Query(eachRow(func(r pgx.Rows) error {
		var k key
		var w waiting
		var by author
		if err := r.Scan(into(&k.org), into(&k.session), into(&w.id), &w.sequence, &by.kind, &by.id); err != nil {
			return err
		}
		w.author = by.actor()
		tx.found[k].inbox = append(tx.found[k].inbox, w)
		return nil
	}))
}

func (tx *postgresTx) queueKnown(batch *pgx.Batch, need batchNeed) {
	if len(need.known) == 0 {
		return
	}
	var orgs []any
	var operations, keys []string
	for _, k := range need.known {
		orgs, operations, keys = append(orgs, id(k.org)), append(operations, k.Operation), append(keys, k.Key)
	}
	batch.Queue(readKnown, orgs, operations, keys).Query(eachRow(func(r pgx.Rows) error {
		var k models.IdempotencyKey
		if err := r.Scan(into(&k.OrgID), &k.Operation, &k.Key, &k.InputHash, &k.Result, &k.ExpiresAt); err != nil {
			return err
		}
		tx.keys[orgKey{k.OrgID, IdempotencyKey{k.Operation, k.Key}}] = k
		return nil
	}))
}

func (tx *postgresTx) queueFiles(batch *pgx.Batch, need batchNeed) {
	var exact, trees struct {
		orgs, sessions []any
		paths, below   []string
	}
	for _, k := range need.keys {
		for _, f := range need.of[k].Files {
			exact.orgs, exact.sessions, exact.paths = append(exact.orgs, id(k.org)), append(exact.sessions, id(k.session)), append(exact.paths, f.Path)
			if f.Subtree {
				above, below := f.bounds()
				trees.orgs, trees.sessions = append(trees.orgs, id(k.org)), append(trees.sessions, id(k.session))
				trees.paths, trees.below = append(trees.paths, above), append(trees.below, below)
			}
		}
	}
	if len(exact.orgs) == 0 {
		return
	}
	collect := eachRow(func(r pgx.Rows) error {
		f, err := scanFile(r)
		if err == nil {
			tx.found[key{f.OrgID, f.SessionID}].addFile(f)
		}
		return err
	})
	batch.Queue(readFiles, exact.orgs, exact.sessions, exact.paths).Query(collect)
	if len(trees.orgs) > 0 {
		batch.Queue(readSubtrees, trees.orgs, trees.sessions, trees.paths, trees.below).Query(collect)
	}
}

// settle puts together what was read. A session whose row, or whose turn's row, another process holds counts as skipped.
func (tx *postgresTx) settle(ctx context.Context, need batchNeed) error {
	var absent []key
	for _, k := range need.keys {
		l := tx.found[k]
		if l.session == nil {
			delete(tx.found, k)
			absent = append(absent, k)
			continue
		}
		if l.session.CurrentTurnID != nil && (l.turn == nil || l.turn.ID != *l.session.CurrentTurnID) {
			if need.wait {
				return missingTurn(k)
			}
			delete(tx.found, k)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	if tx.xid == "" { // no session told it
		if err := tx.identify(tx.conn.QueryRow(ctx, "SELECT "+theTransaction)); err != nil {
			return err
		}
	}
	for _, k := range absent {
		tx.missing[k] = true
	}
	if need.wait {
		return nil
	}
	rows, err := tx.conn.Query(ctx, existing, sessionArrays(absent)...)
	if err != nil {
		return err
	}
	return eachRow(func(r pgx.Rows) error {
		var k key
		err := r.Scan(into(&k.org), into(&k.session))
		delete(tx.missing, k)
		return err
	})(rows)
}

// eachRow hands rows to fn. What fn fails with is the program's fault, or the row's, and not the connection's.
func eachRow(fn func(r pgx.Rows) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := fn(rows); err != nil {
				return &unreadable{err}
			}
		}
		return rows.Err()
	}
}

func eachTurn(fn func(t *models.Turn)) func(pgx.Rows) error {
	return eachRow(func(r pgx.Rows) error {
		t, err := ScanTurn(r)
		if err == nil {
			fn(t)
		}
		return err
	})
}

func sessionArrays(keys []key) []any {
	orgs, ids := make([]any, len(keys)), make([]any, len(keys))
	for i, k := range keys {
		orgs[i], ids[i] = id(k.org), id(k.session)
	}
	return []any{orgs, ids}
}

func (tx *postgresTx) sessions() (map[key]*loaded, map[key]bool) { return tx.found, tx.missing }

func (tx *postgresTx) known() map[orgKey]models.IdempotencyKey { return tx.keys }

func (tx *postgresTx) budgets() *budgetRows { return tx.locked }

func (tx *postgresTx) ticket() string { return tx.xid }

// committed first makes sure that the transaction has come to an end: one whose client is gone may still be about to commit.
// What it has written then tells more than its state, which a server that took over from another may not know.
func (b *postgresBackend) committed(ctx context.Context, ticket string, marker *models.Event) (bool, error) {
	var state *string
	err := b.pool.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", ticket).Scan(&state)
	var refused *pgconn.PgError
	if err != nil && (!errors.As(err, &refused) || refused.Code != "22023") { // 22023: this server has never heard of it
		return false, err
	}
	if state != nil && *state == "in progress" {
		return false, errInProgress
	}
	if marker == nil {
		return state != nil && *state == "committed", nil
	}
	var found bool
	err = b.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM events WHERE org_id = $1 AND session_id = $2 AND sequence = $3 AND id = $4)",
		id(marker.OrgID), id(marker.SessionID), marker.Sequence, id(marker.ID)).Scan(&found)
	return found, err
}

func (b *postgresBackend) position(ctx context.Context, e *models.Event) (position *int64, err error) {
	err = b.pool.QueryRow(ctx, "SELECT feed_position FROM events WHERE org_id = $1 AND session_id = $2 AND sequence = $3",
		id(e.OrgID), id(e.SessionID), e.Sequence).Scan(&position)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return position, err
}

func (b *postgresBackend) totals(ctx context.Context, org models.OrgID) (t Totals, err error) {
	err = b.pool.QueryRow(ctx, selectTotals+"$1", id(org)).Scan(&t.Sessions, &t.QueuedTurns)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return t, err
}
