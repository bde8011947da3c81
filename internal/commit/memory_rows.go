package commit

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// memoryPlan is what a shape does to the rows of a store in memory.
type memoryPlan struct {
	shape *shape
	// primary returns the place of each column of the primary key among the shape's keys; nil when rows are found in another way.
	primary []int
	// conds compare a column of the table with the shape's key of the same place.
	conds []memoryCond
	where []func(row []any) bool
	// sets are the columns of the table that the shape sets, in its order.
	sets []int
}

type memoryCond struct {
	column int
	holds  func(have, want any) bool
}

var (
	keyCondition = regexp.MustCompile(`^t\.(\w+) (=|<>|>|<|>=|<=) %s$`)
	nullOrNot    = regexp.MustCompile(`^t\.(\w+) IS (NOT )?NULL$`)
	isLiteral    = regexp.MustCompile(`^t\.(\w+) (=|<>) '([^']*)'$`)
	oneOf        = regexp.MustCompile(`^t\.(\w+) (NOT )?IN \(('[^']*'(?:, ?'[^']*')*)\)$`)
)

// planOf translates a shape. It panics at what it doesn't understand: then a simulation would not do what the databases do.
func planOf(s *shape, table, primary []string) *memoryPlan {
	p := &memoryPlan{shape: s}
	if s.op == insert {
		if !slices.Equal(listOf(s.all()), table) {
			panic("commit: two shapes insert into " + s.table)
		}
		return p
	}
	if s.op == duplicate {
		return p
	}
	column := func(name string) int {
		i := slices.Index(table, name)
		if i < 0 {
			panic(fmt.Sprintf("commit: table %s has no column %s", s.table, name))
		}
		return i
	}
	places := map[string]int{}
	for i, c := range s.keys {
		if c.cond == "" {
			places[c.name] = i
			p.conds = append(p.conds, memoryCond{column(c.name), comparison("=")})
			continue
		}
		m := keyCondition.FindStringSubmatch(c.cond)
		if m == nil {
			panic(fmt.Sprintf("commit: the simulation doesn't understand the condition %q of %s", c.cond, s.table))
		}
		p.conds = append(p.conds, memoryCond{column(m[1]), comparison(m[2])})
	}
	for _, name := range primary {
		i, ok := places[name]
		if !ok {
			p.primary = nil
			break
		}
		p.primary = append(p.primary, i)
	}
	if s.where != "" {
		for _, cond := range strings.Split(s.where, " AND ") {
			p.where = append(p.where, rowCondition(s, cond, column))
		}
	}
	for _, c := range s.set {
		p.sets = append(p.sets, column(c.name))
	}
	return p
}

// comparison is SQL's: nothing compares with NULL.
func comparison(operator string) func(have, want any) bool {
	return func(have, want any) bool {
		if have == nil || want == nil {
			return false
		}
		switch operator {
		case "=":
			return have == want
		case "<>":
			return have != want
		}
		a, b := have.(int64), want.(int64) //nolint:forcetypeassert // only numbers are compared, anything else must be seen
		switch operator {
		case ">":
			return a > b
		case "<":
			return a < b
		case ">=":
			return a >= b
		}
		return a <= b
	}
}

func rowCondition(s *shape, cond string, column func(string) int) func(row []any) bool {
	cond = strings.TrimSpace(cond)
	if m := nullOrNot.FindStringSubmatch(cond); m != nil {
		c, not := column(m[1]), m[2] != ""
		return func(row []any) bool { return (row[c] == nil) != not }
	}
	if m := isLiteral.FindStringSubmatch(cond); m != nil {
		c, holds, want := column(m[1]), comparison(m[2]), any(m[3])
		return func(row []any) bool { return holds(row[c], want) }
	}
	if m := oneOf.FindStringSubmatch(cond); m != nil {
		c, not, list := column(m[1]), m[2] != "", strings.Split(strings.ReplaceAll(m[3], ", ", ","), ",")
		return func(row []any) bool {
			v, ok := row[c].(string)
			return ok && slices.Contains(list, "'"+v+"'") != not
		}
	}
	panic(fmt.Sprintf("commit: the simulation doesn't understand the condition %q of %s", cond, s.table))
}

// write does what the shape says with one row.
func (p *memoryPlan) write(rows Rows, row []any) error {
	values := make([]any, len(row))
	for i, v := range row {
		values[i] = cell(v)
	}
	if p.shape.op == insert {
		return rows.Insert(p.shape.table, values, p.shape.conflict)
	}
	if p.shape.op == duplicate {
		return duplicateRows(rows, p.shape, values)
	}
	var primary []any
	for _, i := range p.primary {
		primary = append(primary, values[i])
	}
	holds := func(row []any) bool {
		for i, c := range p.conds {
			if !c.holds(row[c.column], values[i]) {
				return false
			}
		}
		for _, cond := range p.where {
			if !cond(row) {
				return false
			}
		}
		return true
	}
	if p.shape.op == remove {
		rows.Delete(p.shape.table, primary, holds)
		return nil
	}
	_, err := rows.Update(p.shape.table, primary, holds, func(row []any) {
		for i, c := range p.sets {
			row[c] = values[len(p.conds)+i]
		}
	})
	return err
}

// memoryWhere is a condition on a row: all of the columns have the values.
type memoryWhere struct {
	table  string
	column func(name string) int
	conds  []struct {
		column int
		want   any
	}
}

func where(table string) memoryWhere {
	var names []string
	for _, s := range allShapes() {
		if s.op == insert && s.table == table {
			names = listOf(s.all())
		}
	}
	if names == nil {
		names = strings.Fields(otherTables[table].columns)
	}
	return memoryWhere{table: table, column: func(name string) int {
		i := slices.Index(names, name)
		if i < 0 {
			panic(fmt.Sprintf("commit: table %s has no column %s", table, name))
		}
		return i
	}}
}

func (w memoryWhere) is(column string, v any) memoryWhere {
	w.conds = append(slices.Clip(w.conds), struct {
		column int
		want   any
	}{w.column(column), cell(v)})
	return w
}

func (w memoryWhere) holds(row []any) bool {
	for _, c := range w.conds {
		if row[c.column] != c.want {
			return false
		}
	}
	return true
}

// blobCell is a value of bytes, in a form that can be compared.
type blobCell string

// cell returns a value as it is kept: nil, rawID, int64, string, bool or blobCell.
func cell(v any) any {
	switch v := v.(type) {
	case nil, rawID, int64, string, bool, blobCell:
		return v
	case []byte:
		if v == nil {
			return nil
		}
		return blobCell(v)
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer:
		if r.IsNil() {
			return nil
		}
		return cell(r.Elem().Interface())
	case reflect.Array: // an id
		if r.IsZero() {
			return nil
		}
		return r.Convert(reflect.TypeFor[rawID]()).Interface()
	case reflect.Int, reflect.Int64:
		return r.Int()
	case reflect.String:
		return r.String()
	case reflect.Bool:
		return r.Bool()
	}
	panic(fmt.Sprintf("commit: a row in memory can't hold %T", v))
}

// memoryRow is a row, for those who read rows of databases.
type memoryRow []any

var _ scanner = memoryRow(nil)

// Scan copies the values, as the drivers do.
func (r memoryRow) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return fmt.Errorf("scan a row of %d values into %d", len(r), len(dest))
	}
	for i, d := range dest {
		if err := scanCell(d, r[i]); err != nil {
			return fmt.Errorf("scan value %d: %w", i, err)
		}
	}
	return nil
}

func scanCell(dest, v any) error {
	switch d := dest.(type) {
	case *rawID:
		got, ok := v.(rawID)
		if !ok {
			return fmt.Errorf("scan %T into an id", v)
		}
		*d = got
		return nil
	case *int64:
		if n, ok := v.(int64); ok {
			*d = n
			return nil
		}
	case *string:
		if s, ok := v.(string); ok {
			*d = s
			return nil
		}
	case sql.Scanner:
		return d.Scan(driverValue(v))
	}
	to := reflect.ValueOf(dest).Elem()
	switch {
	case v == nil:
		switch to.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Interface:
			to.SetZero()
			return nil
		}
	case to.Kind() == reflect.Pointer:
		p := reflect.New(to.Type().Elem())
		to.Set(p)
		return scanCell(p.Interface(), v)
	default:
		switch v := v.(type) {
		case int64:
			if to.CanInt() {
				to.SetInt(v)
				return nil
			}
		case string:
			switch {
			case to.Kind() == reflect.String:
				to.SetString(v)
				return nil
			case to.Kind() == reflect.Slice:
				to.SetBytes([]byte(v))
				return nil
			}
		case bool:
			if to.Kind() == reflect.Bool {
				to.SetBool(v)
				return nil
			}
		case blobCell:
			if to.Kind() == reflect.Slice {
				to.SetBytes([]byte(v))
				return nil
			}
		}
	}
	return fmt.Errorf("scan %T into %T", v, dest)
}

// driverValue returns a value as a driver hands it out.
func driverValue(v any) driver.Value {
	switch v := v.(type) {
	case rawID:
		return v[:]
	case blobCell:
		return []byte(v)
	}
	return v
}
