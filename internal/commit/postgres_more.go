package commit

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/budget"
)

// What only few commands look at is read session by session, in the round trip that locks them.
const (
	theCurrent = `(SELECT s.current_turn_id FROM sessions s WHERE s.org_id = $1 AND s.id = $2)`
	readWaits  = ` FROM waits w WHERE w.org_id = $1 AND w.turn_id = ` + theCurrent + ` AND w.state = 'OPEN'`
	readWait   = ` FROM waits w WHERE w.org_id = $1 AND w.session_id = $2 AND w.id = $3`
	readEvents = `SELECT ` + loggedColumns + ` FROM events e WHERE e.org_id = $1 AND e.session_id = $2 AND e.sequence > $3::bigint
AND e.kind = ANY($4::text[]) ORDER BY e.sequence`
	// Who decided can't be removed, nor get another role, until the transaction ends.
	readVotes = ` FROM approval_decisions d
LEFT JOIN LATERAL (SELECT m.role FROM memberships m WHERE m.org_id = d.org_id AND m.user_id = d.actor_id FOR SHARE) m ON true
LEFT JOIN LATERAL (SELECT k.* FROM api_keys k WHERE k.org_id = d.org_id AND k.id = d.actor_id AND k.revoked_at IS NULL FOR SHARE) k ON true
WHERE d.org_id = $1 AND d.wait_id = $2 ORDER BY d.created_at, d.actor_id`
)

var (
	readPayment = "SELECT " + names("p.", allOfPayment.all) + " FROM payments p WHERE p.org_id = $1 AND p.id = $2 AND p.session_id = $3"
	readQueue   = `SELECT ` + TurnColumns("t.") + ` FROM turns t WHERE t.org_id = $1 AND t.session_id = $2 AND t.status = 'QUEUED'
AND t.ready_at IS NULL ORDER BY t.queue_position`
	readCalls = `SELECT ` + callColumns + ` FROM effects e WHERE e.org_id = $1 AND e.scope_id = ` + theCurrent +
		` AND e.kind = 'TOOL' AND e.state <> 'SETTLED'`
)

func (tx *postgresTx) queueMore(batch *pgx.Batch, need batchNeed) {
	for _, k := range need.keys {
		l, m := tx.found[k], need.of[k]
		if m.Queue {
			l.queueRead = true
			batch.Queue(readQueue, id(k.org), id(k.session)).Query(eachRow(func(r pgx.Rows) error {
				t, err := ScanTurn(r)
				l.queue = append(l.queue, t)
				return err
			}))
		}
		if m.Calls {
			batch.Queue(readCalls, id(k.org), id(k.session)).Query(eachRow(func(r pgx.Rows) error { return l.addCall(r) }))
		}
		if m.Waits {
			l.waitsRead = true
			batch.Queue("SELECT "+waitColumns+readWaits, id(k.org), id(k.session)).Query(eachRow(func(r pgx.Rows) error { return l.addWait(r) }))
		}
		if m.Events != nil {
			batch.Queue(readEvents, id(k.org), id(k.session), m.Events.After, kindNames(m.Events.Kinds)).Query(eachRow(func(r pgx.Rows) error {
				return l.addEvent(k, r)
			}))
		}
		for _, p := range m.Payments {
			batch.Queue(readPayment, id(k.org), id(p), id(k.session)).Query(eachRow(func(r pgx.Rows) error { return l.addPayment(r) }))
		}
		for _, w := range m.WaitIDs {
			batch.Queue("SELECT "+waitColumns+readWait, id(k.org), id(k.session), id(w)).Query(eachRow(func(r pgx.Rows) error { return l.addWait(r) }))
			batch.Queue("SELECT "+decisionColumns+readVotes, id(k.org), id(w)).Query(eachRow(func(r pgx.Rows) error { return l.addDecision(r) }))
		}
	}
}

// lockBudgets locks the budgets that bind sessions, and those that their turns and payments hold something of, in the order of their ids.
var lockBudgets = `WITH s AS (SELECT s.* ` + eachSession + `CROSS JOIN LATERAL (SELECT ` + budget.SessionColumns + `, s.current_turn_id` + theSession + `OFFSET 0) s),
wanted AS (` + budget.BindingSQL(false) + `
UNION SELECT s.org_id, h.id FROM s CROSS JOIN LATERAL (SELECT substr(l.value->>'budget', 6)::uuid AS id FROM turns t
CROSS JOIN LATERAL json_array_elements(CASE json_typeof(t.reservation->'lines') WHEN 'array' THEN t.reservation->'lines' END) l WHERE t.org_id = s.org_id AND t.id = s.current_turn_id AND t.reservation IS NOT NULL OFFSET 0) h
UNION SELECT s.org_id, h.id FROM s CROSS JOIN LATERAL (SELECT substr(l.value->>'budget', 6)::uuid AS id FROM payments p
CROSS JOIN LATERAL json_array_elements(CASE json_typeof(p.lines) WHEN 'array' THEN p.lines END) l WHERE p.org_id = s.org_id AND p.session_id = s.id AND p.due_at IS NOT NULL OFFSET 0) h)
SELECT ` + lockedColumns + ` FROM (SELECT org_id, id FROM wanted ORDER BY org_id, id) w CROSS JOIN LATERAL
(SELECT ` + names("b.", allOfBudget.all) + ` FROM budgets b WHERE b.org_id = w.org_id AND b.id = w.id FOR NO KEY UPDATE) b`

// readSlots reads the windows of budgets that are locked: in a round trip of its own, as whoever had the lock before may have changed them.
var readSlots = `SELECT ` + names("s.", putSlot.all) + ` FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS k(org_id, id, slot)
CROSS JOIN LATERAL (SELECT ` + names("s.", putSlot.all) + ` FROM budget_slots s WHERE s.org_id = k.org_id AND s.budget_id = k.id AND s.slot >= k.slot OFFSET 0) s
ORDER BY s.slot`

func (tx *postgresTx) loadSlots(ctx context.Context) error {
	list := tx.locked.rolling()
	if len(list) == 0 {
		return nil
	}
	orgs, ids, oldest := make([]any, len(list)), make([]any, len(list)), make([]int64, len(list))
	for i := range list {
		orgs[i], ids[i], oldest[i] = id(list[i].OrgID), id(list[i].ID), budget.OldestSlot(&list[i])
	}
	rows, err := tx.conn.Query(ctx, readSlots, orgs, ids, oldest)
	if err != nil {
		return err
	}
	return eachRow(func(r pgx.Rows) error { return tx.locked.addSlot(r) })(rows)
}

func (tx *postgresTx) queueBudgets(batch *pgx.Batch, need batchNeed) {
	var keys []key
	for _, k := range need.keys {
		if need.of[k].Budgets {
			keys = append(keys, k)
			tx.locked.read[k] = true
		}
	}
	if len(keys) > 0 {
		batch.Queue(lockBudgets, sessionArrays(keys)...).Query(eachRow(func(r pgx.Rows) error { return tx.locked.add(r) }))
	}
}
