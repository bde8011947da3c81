package commit

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

var (
	sqlitePayment = "SELECT " + names("p.", allOfPayment.all) + " FROM payments p WHERE p.org_id = ? AND p.id = ? AND p.session_id = ?"
	sqliteQueue   = "SELECT " + TurnColumns("") + ` FROM turns WHERE org_id = ? AND session_id = ? AND status = 'QUEUED'
AND ready_at IS NULL ORDER BY queue_position`
	sqliteCalls  = "SELECT " + callColumns + ` FROM effects e WHERE e.org_id = ? AND e.scope_id = ? AND e.kind = 'TOOL' AND e.state <> 'SETTLED'`
	sqliteWaits  = "SELECT " + waitColumns + ` FROM waits w WHERE w.org_id = ? AND w.turn_id = ? AND w.state = 'OPEN'`
	sqliteWait   = "SELECT " + waitColumns + ` FROM waits w WHERE w.org_id = ? AND w.id = ? AND w.session_id = ?`
	sqliteEvents = "SELECT " + loggedColumns + ` FROM events e WHERE e.org_id = ? AND e.session_id = ? AND e.sequence > ?
AND e.kind IN (SELECT value FROM json_each(?)) ORDER BY e.sequence`
	sqliteVotes = "SELECT " + decisionColumns + ` FROM approval_decisions d
LEFT JOIN memberships m ON m.org_id = d.org_id AND m.user_id = d.actor_id
LEFT JOIN api_keys k ON k.org_id = d.org_id AND k.id = d.actor_id AND k.revoked_at IS NULL WHERE d.org_id = ? AND d.wait_id = ? ORDER BY d.created_at, d.actor_id`
)

// loadMore reads what only few commands look at.
func (tx *sqliteTx) loadMore(ctx context.Context, k key, need *need, l *loaded) error {
	if need.Queue {
		l.queueRead = true
		err := tx.each(ctx, func(r scanner) error {
			t, err := ScanTurn(r)
			l.queue = append(l.queue, t)
			return err
		}, sqliteQueue, id(k.org), id(k.session))
		if err != nil {
			return err
		}
	}
	if l.turn != nil && need.Calls {
		err := tx.each(ctx, func(r scanner) error { return l.addCall(r) }, sqliteCalls, id(k.org), id(l.turn.ID))
		if err != nil {
			return err
		}
	}
	l.waitsRead = need.Waits
	if l.turn != nil && need.Waits {
		err := tx.each(ctx, func(r scanner) error { return l.addWait(r) }, sqliteWaits, id(k.org), id(l.turn.ID))
		if err != nil {
			return err
		}
	}
	if need.Events != nil {
		kinds, err := json.Marshal(need.Events.Kinds)
		if err != nil {
			return err
		}
		err = tx.each(ctx, func(r scanner) error { return l.addEvent(k, r) }, sqliteEvents, id(k.org), id(k.session), need.Events.After, string(kinds))
		if err != nil {
			return err
		}
	}
	for _, p := range need.Payments {
		if err := tx.each(ctx, l.addPayment, sqlitePayment, id(k.org), id(p), id(k.session)); err != nil {
			return err
		}
	}
	for _, w := range need.WaitIDs {
		err := tx.each(ctx, func(r scanner) error { return l.addWait(r) }, sqliteWait, id(k.org), id(w), id(k.session))
		if err != nil {
			return err
		}
		if err := tx.each(ctx, func(r scanner) error { return l.addDecision(r) }, sqliteVotes, id(k.org), id(w)); err != nil {
			return err
		}
	}
	return nil
}

func (l *loaded) addCall(r scanner) error {
	e, err := scanCall(r)
	if l.calls == nil {
		l.calls = map[string]models.Effect{}
	}
	l.calls[e.ReplayKey] = e
	return err
}

func (l *loaded) addWait(r scanner) error {
	w, err := scanWait(r)
	if l.waits == nil {
		l.waits = map[models.WaitID]models.Wait{}
	}
	l.waits[w.ID] = w
	return err
}

func (l *loaded) addDecision(r scanner) error {
	d, err := scanDecision(r)
	if l.decisions == nil {
		l.decisions = map[models.WaitID][]models.ApprovalDecision{}
	}
	l.decisions[d.WaitID] = append(l.decisions[d.WaitID], d)
	return err
}

func (l *loaded) addEvent(k key, r scanner) error {
	e, err := scanLogged(k, r)
	l.log = append(l.log, e)
	return err
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
		if _, ok := tx.found[k]; ok && need.of[k].Budgets {
			tx.locked.read[k] = true
			keys = append(keys, [2]string{hex.EncodeToString(k.org[:]), hex.EncodeToString(k.session[:])})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := tx.each(ctx, tx.locked.add, sqliteBudgets, string(jsonx.MustEncode(keys))); err != nil {
		return err
	}
	return tx.loadSlots(ctx)
}

var sqliteSlots = `SELECT ` + names("s.", putSlot.all) + ` FROM json_each(?) k CROSS JOIN budget_slots s
WHERE s.org_id = unhex(k.value->>0) AND s.budget_id = unhex(k.value->>1) AND s.slot >= k.value->>2 ORDER BY s.slot`

func (tx *sqliteTx) loadSlots(ctx context.Context) error {
	list := tx.locked.rolling()
	if len(list) == 0 {
		return nil
	}
	keys := make([][3]any, len(list))
	for i := range list {
		b := &list[i]
		keys[i] = [3]any{hex.EncodeToString(b.OrgID[:]), hex.EncodeToString(b.ID[:]), budget.OldestSlot(b)}
	}
	return tx.each(ctx, tx.locked.addSlot, sqliteSlots, string(jsonx.MustEncode(keys)))
}
