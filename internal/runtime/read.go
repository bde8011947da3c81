package runtime

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
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
	// setup is the hash of what the session brings; nil for nothing.
	setup []byte
	// budgeted is true when the organization has budgets.
	budgeted bool
	// files is true when the session has files, empty ones aside.
	files bool
	// fresh is true when nothing had happened in the session when it was read.
	fresh bool
}

// readSession reads what a step must know of the session. Afterwards each commit tells it.
func (r *turnRun) readSession(ctx context.Context) error {
	if r.session != nil {
		return nil
	}
	s, err := r.e.rows.session(ctx, r.turn.OrgID, r.turn.SessionID)
	if err == nil {
		r.session = s
	}
	return err
}

// database is the rows of the engine in the database.
type database struct {
	db       *store.DB
	lineages *events.Lineages
}

var _ rows = database{}

func (d database) ping(ctx context.Context) error { return d.db.Ping(ctx) }

func (d database) session(ctx context.Context, org models.OrgID, id models.SessionID) (*sessionInfo, error) {
	var s sessionInfo
	var locale *string
	err := d.db.QueryRow(ctx, org, "SELECT harness_id, agent_id, model_id, locale, base_sequence, client_tools, "+
		budget.AnySQL("sessions")+", file_bytes > 0, last_sequence = 1 FROM sessions WHERE org_id = ? AND id = ?", org[:], id[:]).
		Scan(&s.harness, &s.agent, &s.model, &locale, &s.base, &s.setup, &s.budgeted, &s.files, &s.fresh)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &catalog.DependencyError{Dependency: "session", ID: id.String(), State: models.LifecycleDeleted}
	}
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	s.locale = models.Value(locale)
	return &s, nil
}

// readCheckpoint reads the checkpoint of the present step's output; nil when there is none.
func (r *turnRun) readCheckpoint(ctx context.Context) (*models.Checkpoint, error) {
	var c *models.Checkpoint
	err := r.persist(ctx, "read the checkpoint", func() (err error) {
		c, err = r.e.rows.checkpoint(ctx, r.turn.OrgID, r.turn.ID)
		return err
	})
	if err != nil || c == nil || r.turn.OutputMessageID == nil || c.MessageID != *r.turn.OutputMessageID {
		return nil, err
	}
	return c, nil
}

func (d database) checkpoint(ctx context.Context, org models.OrgID, turn models.TurnID) (*models.Checkpoint, error) {
	return store.First[models.Checkpoint](store.Of(d.db.Read(ctx, org), org).Where("turn_id = ?", turn))
}

func (d database) turnAt(ctx context.Context, org models.OrgID, session models.SessionID, position int64) (turn models.TurnID, err error) {
	err = d.db.QueryRow(ctx, org, "SELECT turn_id FROM messages WHERE org_id = ? AND session_id = ? AND position = ? AND ordinal = 0 AND role = ?",
		org[:], session[:], position, string(models.MessageAgent)).Scan(&turn)
	if errors.Is(err, sql.ErrNoRows) {
		return turn, nil
	}
	return turn, err
}

func (d database) effect(ctx context.Context, org models.OrgID, turn models.TurnID, key string) (*models.Effect, error) {
	return store.First[models.Effect](store.Of(d.db.Read(ctx, org), org).Where("scope_id = ? AND replay_key = ?", turn, key))
}

func (d database) wait(ctx context.Context, org models.OrgID, id models.WaitID) (*models.Wait, error) {
	return store.First[models.Wait](store.Of(d.db.Read(ctx, org), org).Where("id = ?", id))
}

// openCalls returns the calls of a turn that have no result, in the model's order.
func (r *turnRun) openCalls(ctx context.Context) (calls []turns.Call, err error) {
	var list []models.Effect
	err = r.persist(ctx, "read the open calls", func() (err error) {
		list, err = r.e.rows.openCalls(ctx, r.turn.OrgID, r.turn.ID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the open calls of turn %s: %w", r.turn.ID, err)
	}
	for _, e := range list {
		o, err := turns.ReadCall(e)
		if err != nil {
			return nil, err
		}
		if o.Record.Started == "" {
			// People have changed what it does.
			o.Record.Started, o.Record.Ended = r.narrate(o.Record.Frozen)
		}
		calls = append(calls, o)
	}
	return calls, nil
}

func (d database) openCalls(ctx context.Context, org models.OrgID, turn models.TurnID) (list []models.Effect, err error) {
	err = store.Of(d.db.Read(ctx, org), org).
		Where("scope_id = ? AND kind = ? AND state <> ?", turn, models.EffectTool, models.EffectSettled).
		Order("ordinal").Find(&list).Error
	return list, err
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
	if err := e.rows.saveCheckpoint(ctx, c); err != nil {
		e.cfg.Logger.Warn("a checkpoint could not be saved", "turn", c.TurnID, "error", err)
	}
}

// saveCheckpoint implements rows. The checkpoint must have a Usage.
func (d database) saveCheckpoint(ctx context.Context, c models.Checkpoint) error {
	statement := checkpointSQLite
	if d.db.Dialect == store.Postgres {
		statement = checkpointPostgres
	}
	_, err := d.db.Exec(ctx, c.OrgID, statement, c.MessageID[:], c.Epoch, c.Attempt, c.Text, c.Thinking, c.ToolCall, string(c.Usage),
		int64(c.UpdatedAt), c.OrgID[:], c.TurnID[:], c.Epoch)
	if err != nil {
		return fmt.Errorf("save the checkpoint of turn %s: %w", c.TurnID, err)
	}
	return nil
}
