package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// Owned tells what is read of each of several owners in one statement. Each owner is a branch of its own, which reads no more of the index
// than its limit; partitions of one query would read all rows of all of them.
type Owned struct {
	Table string
	// Columns are those that are read; empty for all.
	Columns string
	// Owner is the column with the owner's id, Where a condition on the rows or empty, and Order that of each owner's rows.
	Owner, Where, Order string
	// Limit is how many rows of an owner are read, or counted, at most.
	Limit int
}

func (o Owned) from(columns string) string {
	of := columns + " FROM " + o.Table + " WHERE org_id = ? AND " + o.Owner + " = ?"
	if o.Where != "" {
		of += " AND " + o.Where
	}
	return of
}

// ListOf returns the first rows of several owners. It has an entry for every owner.
func ListOf[T any, E models.Entity](
	ctx context.Context, db *DB, org models.OrgID, owners []models.ID[E], o Owned, owner func(*T) models.ID[E],
) (map[models.ID[E]][]T, error) {
	found := make(map[models.ID[E]][]T, len(owners))
	if len(owners) == 0 {
		return found, nil
	}
	selected := "SELECT " + cmp.Or(o.Columns, "*")
	branch := selected + " FROM (SELECT " + o.from(cmp.Or(o.Columns, "*")) + " ORDER BY " + o.Order + " LIMIT ?) AS branch"
	args := make([]any, 0, 3*len(owners))
	for _, id := range owners {
		found[id] = nil
		args = append(args, org, id, o.Limit)
	}
	var rows []T
	query := selected + " FROM (" + Union(branch, len(owners)) + ") AS branches" + db.OrderOfUnion(" ORDER BY "+o.Order)
	if err := Rows(db.Read(ctx, org).Raw(query, args...), &rows); err != nil {
		return nil, fmt.Errorf("list the %s of %d owners: %w", o.Table, len(owners), err)
	}
	for i := range rows {
		id := owner(&rows[i])
		found[id] = append(found[id], rows[i])
	}
	return found, nil
}

// CountOf counts the rows of several owners, of each as far as the limit. It has an entry for every owner.
func CountOf[E models.Entity](ctx context.Context, db *DB, org models.OrgID, owners []models.ID[E], o Owned) (map[models.ID[E]]int, error) {
	found := make(map[models.ID[E]]int, len(owners))
	if len(owners) == 0 {
		return found, nil
	}
	// The place of an owner stands for its id, which needs no type of either database then.
	branch := "SELECT CAST(? AS INTEGER) AS place, count(*) AS n FROM (SELECT " + o.from("1") + " LIMIT ?) AS branch"
	args := make([]any, 0, 4*len(owners))
	for i, id := range owners {
		args = append(args, i, org, id, o.Limit)
	}
	var rows []struct{ Place, N int }
	if err := db.Read(ctx, org).Raw(Union(branch, len(owners)), args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("count the %s of %d owners: %w", o.Table, len(owners), err)
	}
	for _, row := range rows {
		found[owners[row.Place]] = row.N
	}
	return found, nil
}

// Union returns n times the same branch, as one statement.
func Union(branch string, n int) string {
	return strings.TrimSuffix(strings.Repeat(branch+"\nUNION ALL\n", n), "\nUNION ALL\n")
}
