package secrets

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// rewrapBatch bounds one transaction, so that nobody waits long for a row.
const rewrapBatch = 100

// sealedColumn is a column that holds sealed values, with what tells its rows apart.
type sealedColumn struct {
	table, column string
	// org is true when the key of the table begins with the organization.
	org bool
	// id is the other column of the key; place gives what the row is called where its value was sealed.
	id    string
	place func(id any) (string, error)
}

// sealedColumns are all columns that hold sealed values, but for master_keys. A test compares them with the places in the code.
var sealedColumns = []sealedColumn{
	{table: "signing_keys", column: "private_key", id: "id", place: asText},
	{table: "org_secrets", column: "sealed", org: true, id: "name", place: asText},
	{table: "providers", column: "credentials", org: true, id: "id", place: asID[models.ProviderEntity]},
	{table: "webhooks", column: "secret", org: true, id: "id", place: asID[models.WebhookEntity]},
	{table: "webhooks", column: "previous_secret", org: true, id: "id", place: asID[models.WebhookEntity]},
	{table: "payment_policies", column: "secret", org: true, id: "id", place: asID[models.PaymentPolicyEntity]},
	{table: "payment_policies", column: "previous_secret", org: true, id: "id", place: asID[models.PaymentPolicyEntity]},
}

func asText(id any) (string, error) {
	switch id := id.(type) {
	case string:
		return id, nil
	case []byte:
		return string(id), nil
	}
	return "", fmt.Errorf("the key of a row is a %T", id)
}

func asID[E models.Entity](id any) (string, error) {
	var typed models.ID[E]
	if err := typed.Scan(id); err != nil {
		return "", err
	}
	return typed.String(), nil
}

// Rewrap wraps the data keys of all sealed values by the current master key and calls after for each batch that was committed, with how
// many values it changed so far. It may be interrupted and run again, and runs beside servers. When everything is wrapped it removes the
// earlier master keys from those that the database needs: from then on they need not be configured. It returns how many values it changed.
func Rewrap(ctx context.Context, db *store.DB, keeper *Keeper, after func(changed int)) (int, error) {
	total := 0
	for {
		changed := 0
		for _, c := range sealedColumns {
			n, err := c.rewrap(ctx, db, keeper, func(n int) { after(total + changed + n) })
			changed += n
			if err != nil {
				return total + changed, fmt.Errorf("seal %s.%s again: %w", c.table, c.column, err)
			}
		}
		total += changed
		// A server that was started before the rotation may have sealed something meanwhile: only what was all new counts.
		if changed == 0 {
			break
		}
	}
	err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if err := store.LockTable(tx, "master_keys"); err != nil {
			return err
		}
		return tx.Where("id <> ?", keeper.KeyID()).Delete(&models.MasterKey{}).Error
	})
	if err != nil {
		return total, fmt.Errorf("remove the earlier master keys: %w", err)
	}
	return total, nil
}

// rewrap goes through a table in the order of its key.
func (c sealedColumn) rewrap(ctx context.Context, db *store.DB, keeper *Keeper, after func(int)) (int, error) {
	changed := 0
	var last []any
	for {
		var rows []map[string]any
		n := 0
		err := db.WriteAcross(ctx, func(tx *gorm.DB) error {
			rows, n = nil, 0
			if err := c.page(tx, last).Find(&rows).Error; err != nil {
				return fmt.Errorf("read a batch: %w", err)
			}
			for _, row := range rows {
				did, err := c.one(tx, keeper, row)
				if err != nil {
					return err
				}
				if did {
					n++
				}
			}
			return nil
		})
		if err != nil {
			return changed, err
		}
		if n > 0 {
			changed += n
			after(changed)
		}
		if len(rows) < rewrapBatch {
			return changed, nil
		}
		last = c.key(rows[len(rows)-1])
	}
}

func (c sealedColumn) columns() []string {
	if c.org {
		return []string{"org_id", c.id}
	}
	return []string{c.id}
}

func (c sealedColumn) key(row map[string]any) []any {
	values := make([]any, 0, 2)
	for _, name := range c.columns() {
		values = append(values, row[name])
	}
	return values
}

// page reads and holds a batch behind a key.
func (c sealedColumn) page(tx *gorm.DB, last []any) *gorm.DB {
	key := strings.Join(c.columns(), ", ")
	q := store.CrossOrg(tx).Table(c.table).Select(key + ", " + c.column).Where(c.column + " IS NOT NULL").
		Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Order(key).Limit(rewrapBatch)
	switch {
	case last == nil:
		return q
	case c.org:
		return q.Where("org_id >= ? AND (org_id > ? OR "+c.id+" > ?)", last[0], last[0], last[1])
	default:
		return q.Where(c.id+" > ?", last[0])
	}
}

func (c sealedColumn) one(tx *gorm.DB, keeper *Keeper, row map[string]any) (bool, error) {
	sealed, ok := row[c.column].([]byte)
	if !ok || len(sealed) == 0 {
		return false, nil
	}
	at := Place{Table: c.table, Column: c.column}
	var err error
	if at.Row, err = c.place(row[c.id]); err != nil {
		return false, err
	}
	if c.org {
		if err := at.Org.Scan(row["org_id"]); err != nil {
			return false, err
		}
	}
	wrapped, changed, err := keeper.Rewrap(sealed, at)
	if err != nil || !changed {
		return false, err
	}
	q := store.CrossOrg(tx).Table(c.table)
	for _, name := range c.columns() {
		q = q.Where(name+" = ?", row[name])
	}
	return true, store.OneRow(q.Update(c.column, wrapped))
}
