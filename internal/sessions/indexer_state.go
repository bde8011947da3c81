package sessions

import (
	"context"
	"fmt"
	"slices"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// lookedBack is in how many of the newest events of a session the latest call of a model is looked for.
const lookedBack = 32

// statesOf returns what is to be indexed of the sessions that events are of, without what depends on their messages.
func (x *Indexer) statesOf(ctx context.Context, org models.OrgID, page []models.Event) ([]models.IndexedSession, error) {
	var ids []models.SessionID
	for i := range page {
		if !slices.Contains(ids, page[i].SessionID) {
			ids = append(ids, page[i].SessionID)
		}
	}
	list, err := store.ByIDs[models.Session](x.db.Read(ctx, org), org, ids)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what
	}
	ended, err := store.ListOf(ctx, x.db, org, ids, store.Owned{
		Table: "turns", Columns: "session_id, status, started_at, finished_at, ended_sequence", Owner: ofSession,
		Where: "ended_sequence IS NOT NULL AND started_at IS NOT NULL AND finished_at IS NOT NULL", Order: "ended_sequence DESC", Limit: 1,
	}, ownerOfTurn)
	if err != nil {
		return nil, fmt.Errorf("read how turns ended: %w", err)
	}
	called, err := x.modelsOf(ctx, org, ids)
	if err != nil {
		return nil, err
	}
	states := make([]models.IndexedSession, len(list))
	for i := range list {
		s := &list[i]
		states[i] = models.IndexedSession{OrgID: org, SessionID: s.ID, Trial: s.Trial, ActiveAt: s.UpdatedAt, CostNanos: s.Usage.CostNanos, ModelID: called[s.ID]}
		for _, turn := range ended[s.ID] {
			states[i].Outcome, states[i].DurationMs = &turn.Status, int64(*turn.FinishedAt-*turn.StartedAt)
		}
	}
	return states, nil
}

// modelsOf returns the models that were called last in sessions, unless that is long ago.
func (x *Indexer) modelsOf(ctx context.Context, org models.OrgID, ids []models.SessionID) (map[models.SessionID]*models.ModelID, error) {
	recent, err := store.ListOf(ctx, x.db, org, ids, store.Owned{
		Table:   "(SELECT org_id, session_id, sequence, kind, CASE kind WHEN 'GENERATION_RECORDED' THEN data END AS data FROM events) recent",
		Columns: "session_id, sequence, kind, data", Owner: ofSession, Order: "sequence DESC", Limit: lookedBack,
	}, func(e *models.Event) models.SessionID { return e.SessionID })
	if err != nil {
		return nil, fmt.Errorf("read which models were called: %w", err)
	}
	called := map[models.SessionID]*models.ModelID{}
	for id, list := range recent {
		for i := range list {
			if list[i].Kind != models.EventGenerationRecorded {
				continue
			}
			payload, err := events.Decode(list[i].Kind, list[i].Data)
			if err != nil {
				return nil, fmt.Errorf("read which model %s called: %w", id, err)
			}
			if call, ok := payload.(events.GenerationRecorded); ok {
				called[id] = call.ModelID.Ptr()
			}
			break
		}
	}
	return called, nil
}
