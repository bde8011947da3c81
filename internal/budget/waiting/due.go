package waiting

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// orgsWithWaiting returns organizations that have turns which wait for budgets, in the order of their ids, past one.
func orgsWithWaiting(ctx context.Context, db *store.DB, after models.OrgID, limit int) ([]models.OrgID, error) {
	index := ""
	if db.Pool == nil {
		index = "INDEXED BY waits_for_budgets"
	}
	// From one organization to the next by one look into the index each.
	const next = "(SELECT org_id FROM waits %[1]s WHERE kind = 'BUDGET' AND state = 'OPEN' AND org_id > %[2]s ORDER BY org_id, id LIMIT 1)"
	statement := "WITH RECURSIVE walk (org, n) AS (SELECT " + fmt.Sprintf(next, index, "?") + ", 1 UNION ALL SELECT " +
		fmt.Sprintf(next, index, "org") + ", n + 1 FROM walk WHERE org IS NOT NULL AND n < ?) SELECT org FROM walk WHERE org IS NOT NULL"
	var list []models.OrgID
	err := db.QueryAcross(ctx, func(r store.Row) error {
		var org models.OrgID
		err := r.Scan(&org)
		list = append(list, org)
		return err
	}, statement, after[:], limit)
	if err != nil {
		return nil, fmt.Errorf("look for turns that wait for budgets: %w", err)
	}
	return list, nil
}
