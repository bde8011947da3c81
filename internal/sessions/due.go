package sessions

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// overdue returns up to limit open waits whose deadline is not after now, the most overdue first, past the one that comes before them;
// the zero one is the start. Only the ids and the deadline are filled in.
func overdue(ctx context.Context, db *store.DB, now models.Millis, after models.Wait, limit int) ([]models.Wait, error) {
	past := models.Value(after.Deadline)
	var list []models.Wait
	// The state is written out, not a parameter: the index is one of open waits only. The deadline stands alone in front, so that
	// reading begins at the place where the last page ended.
	err := db.QueryAcross(ctx, func(r store.Row) error {
		var row models.Wait
		var deadline int64
		if err := r.Scan(&row.OrgID, &row.SessionID, &row.ID, &deadline); err != nil {
			return err
		}
		row.Deadline = models.Millis(deadline).Ptr()
		list = append(list, row)
		return nil
	}, `SELECT org_id, session_id, id, deadline FROM waits WHERE state = 'OPEN' AND deadline IS NOT NULL
AND deadline >= ? AND deadline <= ? AND (deadline > ? OR id > ?) ORDER BY deadline, id LIMIT ?`,
		int64(past), int64(now), int64(past), after.ID[:], limit)
	if err != nil {
		return nil, fmt.Errorf("look for overdue waits: %w", err)
	}
	return list, nil
}

// unindexed returns up to limit organizations with events that are not indexed: new ones, or some that were there before the index.
func unindexed(ctx context.Context, db *store.DB, limit int) ([]models.OrgID, error) {
	var list []models.OrgID
	err := db.QueryAcross(ctx, func(r store.Row) error {
		var org models.OrgID
		if err := r.Scan(&org); err != nil {
			return err
		}
		list = append(list, org)
		return nil
	}, `SELECT f.org_id FROM org_feeds f LEFT JOIN word_feeds w ON w.org_id = f.org_id WHERE f.position > coalesce(w.position, 0) OR w.backfilled < w.backfill_through ORDER BY f.org_id LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("look for organizations with messages to index: %w", err)
	}
	return list, nil
}
