package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// query asks the database, across organizations, as only this program may.
func (a *arena) query(ctx context.Context, into any, query string, args ...any) error {
	return store.CrossOrg(a.db.ReadAcross(ctx)).Raw(query, args...).Scan(into).Error
}

// runners returns the ids of the registered runners, newest last.
func (a *arena) runners(ctx context.Context) ([]models.RunnerID, error) {
	var rows []struct{ ID models.RunnerID }
	if err := a.query(ctx, &rows, `SELECT id FROM runners ORDER BY started_at, id`); err != nil {
		return nil, fmt.Errorf("list the runners: %w", err)
	}
	ids := make([]models.RunnerID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids, nil
}

// identify finds the runner of a node whose process has just started: it is the newest.
func (a *arena) identify(ctx context.Context, n *node) error {
	ids, err := a.runners(ctx)
	if err != nil {
		return err
	}
	n.setRunner(models.RunnerID{})
	for _, id := range slices.Backward(ids) {
		if !slices.ContainsFunc(a.nodes, func(other *node) bool { return other.runnerID() == id }) {
			n.setRunner(id)
			return nil
		}
	}
	return nil
}

// reidentify finds the runners of nodes that were declared dead and are registered anew: a node runs the turns itself whose messages
// it has acknowledged.
func (a *arena) reidentify(ctx context.Context) {
	ids, err := a.runners(ctx)
	if err != nil {
		return
	}
	unknown := map[models.RunnerID]bool{}
	for _, id := range ids {
		unknown[id] = true
	}
	var lost []*node
	for _, n := range a.nodes {
		if !unknown[n.runnerID()] {
			lost = append(lost, n)
		}
		delete(unknown, n.runnerID())
	}
	if len(lost) == 0 || len(unknown) == 0 {
		return
	}
	var turns []struct {
		ID       models.TurnID
		RunnerID models.RunnerID
	}
	if err := a.query(ctx, &turns, `SELECT id, runner_id FROM turns WHERE runner_id IS NOT NULL AND lease_epoch = 1`); err != nil {
		return
	}
	a.journal.mu.Lock()
	defer a.journal.mu.Unlock()
	for _, t := range turns {
		if n := a.journal.at[t.ID.String()]; n != nil && unknown[t.RunnerID] && slices.Contains(lost, n) {
			n.setRunner(t.RunnerID)
		}
	}
}

// heldTurn is a turn that a runner works on.
type heldTurn struct {
	SessionID models.SessionID
	ID        models.TurnID
	// Running is how many tool calls of it run.
	Running int
}

// held returns the turns that a node works on. Nothing is known of a runner that was registered anew since its node started.
func (a *arena) held(ctx context.Context, n *node) ([]heldTurn, error) {
	id := n.runnerID()
	if id.IsZero() {
		return nil, nil
	}
	var rows []heldTurn
	err := a.query(ctx, &rows, `SELECT t.session_id, t.id,
		(SELECT count(*) FROM effects e WHERE e.org_id = t.org_id AND e.scope_id = t.id AND e.kind = ? AND e.state = ?) AS running
		FROM turns t WHERE t.runner_id = ?`, string(models.EffectTool), string(models.EffectRunning), id)
	if err != nil {
		return nil, fmt.Errorf("list the turns of %s: %w", n.name, err)
	}
	return rows, nil
}

// rest waits until no turn is at work. What is left after that long is told by the oracles.
func (a *arena) rest(ctx context.Context) {
	for until := time.Now().Add(patience / 2); time.Now().Before(until) && ctx.Err() == nil; wait(ctx, 50*time.Millisecond) {
		var active int64
		err := a.query(ctx, &active, `SELECT count(*) FROM turns WHERE status IN ('QUEUED', 'RUNNING', 'WAITING') OR runner_id IS NOT NULL`)
		if err == nil && active == 0 {
			return
		}
	}
}

// logOf reads the whole log of a session.
func (a *arena) logOf(ctx context.Context, org, session string) ([]models.Event, error) {
	orgID, err := models.ParseID[models.OrgEntity](org)
	if err != nil {
		return nil, err
	}
	sessionID, err := models.ParseID[models.SessionEntity](session)
	if err != nil {
		return nil, err
	}
	const page = 500
	log, reader := []models.Event(nil), events.NewLog(a.db)
	for {
		after := int64(0)
		if len(log) > 0 {
			after = log[len(log)-1].Sequence
		}
		more, err := reader.Read(ctx, orgID, sessionID, after, events.Limit{Events: page, Bytes: 1 << 20})
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", session, err)
		}
		log = append(log, more...)
		if len(more) == 0 {
			return log, nil
		}
	}
}

// leftovers counts what must not be there when nobody works.
func (a *arena) leftovers(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	for what, query := range map[string]string{
		"turns that have not ended":          `SELECT count(*) FROM turns WHERE status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED', 'SEALED')`,
		"turns that a runner holds":          `SELECT count(*) FROM turns WHERE runner_id IS NOT NULL`,
		"turns that wait to be claimed":      `SELECT count(*) FROM turns WHERE ready_at IS NOT NULL`,
		"sessions that are not at rest":      `SELECT count(*) FROM sessions WHERE status NOT IN ('STARTED', 'IDLE')`,
		"sessions that have a current turn":  `SELECT count(*) FROM sessions WHERE current_turn_id IS NOT NULL`,
		"sessions with a queue":              `SELECT count(*) FROM sessions WHERE queued_turns <> 0`,
		"effects without an outcome":         `SELECT count(*) FROM effects WHERE state <> 'SETTLED'`,
		"messages that no turn has taken up": `SELECT count(*) FROM messages WHERE position IS NULL`,
		"turns of no acknowledged message":   fmt.Sprintf(`SELECT count(*) - %d FROM turns`, a.journal.acknowledged()),
	} {
		var n int64
		if err := a.query(ctx, &n, query); err != nil {
			return nil, fmt.Errorf("count %s: %w", what, err)
		}
		counts[what] = n
	}
	return counts, nil
}

func (j *journal) acknowledged() int {
	n := 0
	for _, c := range j.sessions {
		for _, m := range c.messages {
			if m.turn != "" {
				n++
			}
		}
	}
	return n
}
