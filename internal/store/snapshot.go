package store

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// Snapshot runs fn in one transaction that only reads rows of one organization, and sees all of them as they were when it began, however
// many statements it takes. It locks nothing and holds nobody up.
func (db *DB) Snapshot(ctx context.Context, org models.OrgID, fn func(tx *gorm.DB) error) error {
	opts := &sql.TxOptions{ReadOnly: true} // a transaction of SQLite sees nothing else
	if db.Dialect == Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	return db.read.WithContext(withOrg(ctx, org)).Transaction(fn, opts)
}
