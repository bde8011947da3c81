package runtime

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// sessionInfo is what a step must know of its session.
type sessionInfo struct {
	harness models.HarnessID
	agent   *models.AgentID
	model   *models.ModelID
	locale  string
	// base is the sequence through which a fork's history is that of others; 0 for sessions that are no forks.
	base int64
	// clientTools is the hash of those that the session brings; nil for none.
	clientTools []byte
}

// readSession reads what a step must know of the session. Afterwards each commit tells it.
func (r *turnRun) readSession(ctx context.Context) error {
	if r.session != nil {
		return nil
	}
	var s sessionInfo
	var locale *string
	org, id := r.turn.OrgID, r.turn.SessionID
	err := r.e.cfg.DB.QueryRow(ctx, "SELECT harness_id, agent_id, model_id, locale, base_sequence, client_tools FROM sessions WHERE org_id = ? AND id = ?", org[:], id[:]).
		Scan(&s.harness, &s.agent, &s.model, &locale, &s.base, &s.clientTools)
	if errors.Is(err, sql.ErrNoRows) {
		return &catalog.DependencyError{Dependency: "session", ID: id.String(), State: models.LifecycleDeleted}
	}
	if err != nil {
		return fmt.Errorf("read session %s: %w", id, err)
	}
	s.locale = optional(locale)
	r.session = &s
	return nil
}

// readCheckpoint reads the checkpoint of the present step's output; nil when there is none.
func (r *turnRun) readCheckpoint(ctx context.Context) (*models.Checkpoint, error) {
	var list []models.Checkpoint
	err := r.persist(ctx, "read the checkpoint", func() error {
		list = nil
		return store.Of(r.e.cfg.DB.Read(ctx), r.turn.OrgID).Where("turn_id = ?", r.turn.ID).Find(&list).Error
	})
	if err != nil || len(list) == 0 || r.turn.OutputMessageID == nil || list[0].MessageID != *r.turn.OutputMessageID {
		return nil, err
	}
	return &list[0], nil
}

// openCalls gives the calls of a turn that have no result, in the model's order.
func (r *turnRun) openCalls(ctx context.Context) (calls []turns.Call, err error) {
	var list []models.Effect
	err = r.persist(ctx, "read the open calls", func() error {
		return store.Of(r.e.cfg.DB.Read(ctx), r.turn.OrgID).
			Where("scope_id = ? AND kind = ? AND state <> ?", r.turn.ID, models.EffectTool, models.EffectSettled).
			Order("ordinal").Find(&list).Error
	})
	if err != nil {
		return nil, fmt.Errorf("read the open calls of turn %s: %w", r.turn.ID, err)
	}
	for _, e := range list {
		o, err := turns.ReadCall(e)
		if err != nil {
			return nil, err
		}
		calls = append(calls, o)
	}
	return calls, nil
}

// Checkpoints are written by whoever holds the lease: a runner that has lost it must neither overwrite what its successor has
// saved, nor leave behind what nobody would ever remove.
const checkpointSQL = `INSERT INTO checkpoints (org_id, turn_id, session_id, message_id, epoch, attempt, text, thinking, tool_call, usage, updated_at)
SELECT org_id, id, session_id, %s FROM turns WHERE org_id = ? AND id = ? AND lease_epoch = ? AND status = 'RUNNING'
ON CONFLICT (org_id, turn_id) DO UPDATE SET message_id = excluded.message_id, epoch = excluded.epoch,
attempt = excluded.attempt, text = excluded.text, thinking = excluded.thinking, tool_call = excluded.tool_call, usage = excluded.usage,
updated_at = excluded.updated_at`

// PostgreSQL doesn't know what a bare parameter in a SELECT is; SQLite would change the value.
var (
	checkpointPostgres = fmt.Sprintf(checkpointSQL, "?::uuid, ?::bigint, ?::bigint, ?::text, ?::text, ?::boolean, ?::json, ?::bigint")
	checkpointSQLite   = fmt.Sprintf(checkpointSQL, "?, ?, ?, ?, ?, ?, ?, ?")
)

// trySaveCheckpoint saves a checkpoint as best it can: the next one comes soon, and losing all of them costs those who join late some
// text, until the end.
func (e *Engine) trySaveCheckpoint(c models.Checkpoint) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.saveCheckpoint(ctx, c); err != nil {
		e.cfg.Logger.Warn("a checkpoint could not be saved", "turn", c.TurnID, "error", err)
	}
}

// saveCheckpoint overwrites a stream's checkpoint, as long as its lease holds. It must have a Usage.
func (e *Engine) saveCheckpoint(ctx context.Context, c models.Checkpoint) error {
	statement := checkpointSQLite
	if e.cfg.DB.Dialect == store.Postgres {
		statement = checkpointPostgres
	}
	_, err := e.cfg.DB.Exec(ctx, statement, c.MessageID[:], c.Epoch, c.Attempt, c.Text, c.Thinking, c.ToolCall, string(c.Usage),
		int64(c.UpdatedAt), c.OrgID[:], c.TurnID[:], c.Epoch)
	if err != nil {
		return fmt.Errorf("save the checkpoint of turn %s: %w", c.TurnID, err)
	}
	return nil
}
