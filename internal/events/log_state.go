package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// stateQuery reads position, open output and checkpoint in one statement, so that they belong to one moment.
const stateQuery = `SELECT s.last_sequence, s.status, t.id, t.output_message_id, c.epoch, c.attempt, c.text, c.thinking
	FROM sessions s
	LEFT JOIN turns t ON t.org_id = s.org_id AND t.id = s.current_turn_id AND t.status = 'RUNNING' AND t.phase = 'REASON'
	LEFT JOIN checkpoints c ON c.org_id = t.org_id AND c.turn_id = t.id AND c.message_id = t.output_message_id WHERE s.org_id = ? AND s.id = ?`

// State returns what a stream begins with; false when the organization has no such session, or does not exist.
func (l *Log) State(ctx context.Context, key Key) (State, bool, error) {
	if key.Feed() {
		found, err := l.LastSequences(ctx, []Key{key})
		p, ok := found[key]
		return State{Position: p}, ok, err
	}
	var (
		st             State
		status         string
		epoch, attempt *int64
		text, thinking *string
	)
	err := l.db.QueryRow(ctx, key.Org, stateQuery, key.Org[:], key.Session[:]).
		Scan(&st.LastSequence, &status, &st.TurnID, &st.MessageID, &epoch, &attempt, &text, &thinking)
	if errors.Is(err, sql.ErrNoRows) {
		return State{}, false, nil
	}
	if err != nil {
		return State{}, false, fmt.Errorf("read the state of %s: %w", key.Session, err)
	}
	st.Active = models.SessionStatus(status) == models.SessionActive
	if text != nil {
		st.Checkpoint = &models.Checkpoint{
			OrgID: key.Org, SessionID: key.Session, TurnID: st.TurnID, MessageID: st.MessageID,
			Epoch: *epoch, Attempt: int(*attempt), Text: *text, Thinking: *thinking,
		}
	}
	return st, true, nil
}

// Checkpoint returns what the turn's model call had brought when that was last stored; nil for nothing.
func (l *Log) Checkpoint(ctx context.Context, org models.OrgID, turn models.TurnID) (*models.Checkpoint, error) {
	c := models.Checkpoint{OrgID: org, TurnID: turn}
	err := l.db.QueryRow(ctx, org, `SELECT message_id, epoch, attempt, text, thinking FROM checkpoints WHERE org_id = ? AND turn_id = ?`, org[:], turn[:]).
		Scan(&c.MessageID, &c.Epoch, &c.Attempt, &c.Text, &c.Thinking)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint of %s: %w", turn, err)
	}
	return &c, nil
}
