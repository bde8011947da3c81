package limits

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// changedSince returns the organizations whose limits were set at a time or later. It is called by each process every other second, and so
// reads no more than what is new.
func changedSince(ctx context.Context, db *store.DB, since models.Millis) ([]models.OrgLoad, error) {
	var list []models.OrgLoad
	err := store.CrossOrg(db.ReadAcross(ctx)).Where("limits_changed_at > 0 AND limits_changed_at >= ?", since).Find(&list).Error
	if err != nil {
		return nil, fmt.Errorf("read the limits of organizations: %w", err)
	}
	return list, nil
}

// LockLoad returns the row of an organization's own limits, which it makes where there is none, and locks it until the transaction ends.
func LockLoad(tx *gorm.DB, org models.OrgID) (models.OrgLoad, error) {
	row := models.OrgLoad{OrgID: org, Weight: 1}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return row, fmt.Errorf("make the limits of %s: %w", org, err)
	}
	if err := store.Of(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org).Take(&row).Error; err != nil {
		return row, fmt.Errorf("lock the limits of %s: %w", org, err)
	}
	return row, nil
}

// addTaken adds to what was taken in a minute, in two of the columns. A process that is one minute behind the row takes from the row's minute.
// A row that is further ahead is from before the common clock was set back, and starts over.
const addTaken = `INSERT INTO org_rates AS r (org_id, %[1]s, %[2]s, %[3]s, %[4]s) VALUES ($1, $2, $3, 0, 0)
ON CONFLICT (org_id) DO UPDATE SET %[1]s = CASE WHEN r.%[1]s = excluded.%[1]s + 1 THEN r.%[1]s ELSE excluded.%[1]s END,
%[2]s = CASE WHEN r.%[1]s IN (excluded.%[1]s, excluded.%[1]s + 1) THEN r.%[2]s ELSE 0 END + excluded.%[2]s RETURNING %[2]s`

// takeFrom returns a function that takes up to n of what an organization may do in a minute for this process, and returns how many it got: all
// processes together get no more than limit. It is for PostgreSQL: with SQLite there is one process, which counts by itself. columns are those
// of the minute and of what was taken in it, then those that count something else.
func takeFrom(what string, columns ...any) func(ctx context.Context, db *store.DB, org models.OrgID, minute, n, limit int64) (int64, error) {
	add := fmt.Sprintf(addTaken, columns...)
	return func(ctx context.Context, db *store.DB, org models.OrgID, minute, n, limit int64) (int64, error) {
		var taken int64
		if err := db.Pool.QueryRow(ctx, add, org[:], minute, n).Scan(&taken); err != nil {
			return 0, fmt.Errorf("take %s of %s: %w", what, org, err)
		}
		return max(0, min(n, limit-(taken-n))), nil
	}
}

// leased is a number of sockets and subscriptions.
type leased struct{ Sockets, Subscriptions int64 }

const (
	// Whoever takes a lease waits for the others of its organization, and then sees theirs.
	lockLeases  = "SELECT pg_advisory_xact_lock(1819501427, hashtext(?::text))" // "lims"
	markNode    = "INSERT INTO api_nodes (id, seen_at) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen_at = greatest(api_nodes.seen_at, excluded.seen_at)"
	otherLeases = `SELECT coalesce(sum(l.sockets), 0)::bigint, coalesce(sum(l.subscriptions), 0)::bigint FROM org_leases l JOIN api_nodes n ON n.id = l.node_id
WHERE l.org_id = ? AND l.node_id <> ? AND n.seen_at > ?`
	putLease = `INSERT INTO org_leases (org_id, node_id, sockets, subscriptions) VALUES (?, ?, ?, ?)
ON CONFLICT (org_id, node_id) DO UPDATE SET sockets = excluded.sockets, subscriptions = excluded.subscriptions`
	dropLease = "DELETE FROM org_leases WHERE org_id = ? AND node_id = ?"
)

// setLease sets what a process has taken of an organization's sockets and subscriptions. decide is told what the other living processes have,
// those that were seen after a time, and says what this one is to have; nobody else takes any meanwhile. It is for PostgreSQL.
func setLease(ctx context.Context, db *store.DB, org models.OrgID, node models.APINodeID, now, alive models.Millis, decide func(others leased) leased) error {
	err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec(lockLeases, org.String()).Error; err != nil {
			return err //nolint:wrapcheck // below
		}
		if err := tx.Exec(markNode, node, now).Error; err != nil {
			return err //nolint:wrapcheck // below
		}
		var others leased
		if err := tx.Raw(otherLeases, org, node, alive).Row().Scan(&others.Sockets, &others.Subscriptions); err != nil {
			return err //nolint:wrapcheck // below
		}
		own := decide(others)
		if own == (leased{}) {
			return tx.Exec(dropLease, org, node).Error
		}
		return tx.Exec(putLease, org, node, own.Sockets, own.Subscriptions).Error
	})
	if err != nil {
		return fmt.Errorf("take sockets and subscriptions of %s: %w", org, err)
	}
	return nil
}

// seeNode lets the other processes see that this one lives, and removes those that were not seen for long with all that they had taken. It reports
// false when the process was not there, so that what it has taken has to be told anew.
func seeNode(ctx context.Context, db *store.DB, node models.APINodeID, now, forgotten models.Millis) (bool, error) {
	there := false
	err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
		res := tx.Model(&models.APINode{}).Where("id = ?", node).Update("seen_at", now)
		if res.Error != nil {
			return res.Error
		}
		if there = res.RowsAffected == 1; !there {
			if err := tx.Create(&models.APINode{ID: node, SeenAt: now}).Error; err != nil {
				return err
			}
		}
		return tx.Where("seen_at < ? AND id <> ?", forgotten, node).Delete(&models.APINode{}).Error
	})
	if err != nil {
		return false, fmt.Errorf("store that this process is alive: %w", err)
	}
	return there, nil
}

// dropNode removes a process that ends, with all that it has taken.
func dropNode(ctx context.Context, db *store.DB, node models.APINodeID) error {
	err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
		return tx.Where("id = ?", node).Delete(&models.APINode{}).Error
	})
	if err != nil {
		return fmt.Errorf("release the counts of this process: %w", err)
	}
	return nil
}
