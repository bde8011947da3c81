package commit

import (
	"context"
	"encoding/json"

	"github.com/ostler-dev/ostler/internal/models"
)

var (
	sqliteQueue = "SELECT " + TurnColumns("") + ` FROM turns WHERE org_id = ? AND session_id = ? AND status = 'QUEUED'
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
