package commit

import "slices"

// duplicateRows does what the query of a shape does that inserts what it finds. It panics at one that it doesn't know: then a
// simulation would not do what the databases do.
func duplicateRows(rows Rows, s *shape, keys []any) error {
	// All of them copy something of one session to another one, in the table's first two columns.
	org, to, from := keys[0], keys[1], keys[2]
	found := rows.Select(s.table, nil, func(row []any) bool { return row[0] == org && row[1] == from })
	var list [][]any
	for _, old := range found {
		row := slices.Clone(old)
		row[1] = to
		list = append(list, row)
	}
	switch s {
	case tables.copyFiles:
	case tables.copyTodos:
		const updatedAt = 3
		list = slices.DeleteFunc(list, func(row []any) bool { return row[updatedAt].(int64) >= keys[3].(int64) }) //nolint:forcetypeassert // as they are written
	case tables.copyLineage:
		list = lineageOf(list, org, to, from, keys[3].(int64), keys[4].(int64)) //nolint:forcetypeassert // as above
	default:
		panic("commit: the simulation doesn't understand a query of " + s.table)
	}
	for _, row := range list {
		if err := rows.Insert(s.table, row, s.conflict); err != nil {
			return err
		}
	}
	return nil
}

// lineageOf returns the history of a fork: the pieces of the original's own, as far as the fork has them, and what the original has
// added.
func lineageOf(pieces [][]any, org, to, from any, through, base int64) [][]any {
	var list [][]any
	for _, row := range pieces {
		end, after := row[2].(int64), row[3].(int64) //nolint:forcetypeassert // as they are written
		if after < through {
			list = append(list, []any{org, to, min(end, through), after, row[4]})
		}
	}
	if through > base {
		list = append(list, []any{org, to, through, base, from})
	}
	return list
}
