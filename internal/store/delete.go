package store

import (
	"context"

	"gorm.io/gorm"
)

// deleteBatch is how many rows one transaction of DeleteAcross deletes at most, so that it holds nobody up for long.
const deleteBatch = 1000

// DeleteAcross deletes rows of all organizations and returns how many, also after an error. The statement ends with a LIMIT whose parameter
// is added to args; it is run, each time in a transaction of its own, until it finds fewer rows. Several processes may delete at once.
func (db *DB) DeleteAcross(ctx context.Context, statement string, args ...any) (int64, error) {
	var total int64
	for {
		var n int64
		err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
			res := tx.Exec(statement, append(args[:len(args):len(args)], deleteBatch)...)
			n = res.RowsAffected
			return res.Error
		})
		if err != nil {
			return total, err
		}
		if total += n; n < deleteBatch {
			return total, nil
		}
	}
}
