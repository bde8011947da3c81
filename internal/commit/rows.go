package commit

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// scanner is a row of either driver.
type scanner interface{ Scan(dest ...any) error }

// rawID is an id on its way to and from a database. PostgreSQL's driver takes it as it is, where it would turn the ids of
// models into text and back.
type rawID [16]byte

// UUIDValue implements pgtype.UUIDValuer.
func (r rawID) UUIDValue() (pgtype.UUID, error) { return pgtype.UUID{Bytes: r, Valid: true}, nil }

// ScanUUID implements pgtype.UUIDScanner.
func (r *rawID) ScanUUID(v pgtype.UUID) error {
	if !v.Valid {
		return errors.New("an id is missing")
	}
	*r = v.Bytes
	return nil
}

// Value implements driver.Valuer, for SQLite.
func (r rawID) Value() (driver.Value, error) { return r[:], nil }

// Scan implements sql.Scanner, for SQLite.
func (r *rawID) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b) != len(r) {
		return fmt.Errorf("scan %T into an id: want 16 bytes", src)
	}
	copy(r[:], b)
	return nil
}

func id[E models.Entity](v models.ID[E]) any {
	if v.IsZero() {
		return nil
	}
	return rawID(v)
}

func optID[E models.Entity](v *models.ID[E]) any {
	if v == nil {
		return nil
	}
	return id(*v)
}

// into is where an id that can't be NULL is read to.
func into[E models.Entity](v *models.ID[E]) *rawID { return (*rawID)(v) }

// document is where JSON is read to.
type document struct{ into any }

// Scan implements sql.Scanner.
func (d document) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case []byte:
		return json.Unmarshal(v, d.into) //nolint:wrapcheck // whoever reads the row says so
	case string:
		return json.Unmarshal([]byte(v), d.into) //nolint:wrapcheck // as above
	}
	return fmt.Errorf("scan %T into a document", src)
}

// field is a field of a model that is a column of its table.
type field struct {
	column

	index []int
}

// fieldsOf returns the fields of a model that are columns. Of GORM's tags, -, embedded, column and type:text hold here, too.
func fieldsOf(model reflect.Type) (list []field) {
	for i := range model.NumField() {
		f := model.Field(i)
		switch tag := f.Tag.Get("gorm"); {
		case tag == "-":
		case strings.Contains(tag, "embedded"):
			for _, inner := range fieldsOf(f.Type) {
				list = append(list, field{inner.column, append([]int{i}, inner.index...)})
			}
		case strings.HasPrefix(tag, "column:"):
			list = append(list, field{column{strings.TrimPrefix(tag, "column:"), columnType(f.Type), f.Tag.Get("cond")}, f.Index})
		case strings.Contains(tag, "type:text"):
			list = append(list, field{column{name: columnName(f.Name), typ: "text"}, f.Index})
		default:
			list = append(list, field{column{columnName(f.Name), columnType(f.Type), f.Tag.Get("cond")}, f.Index})
		}
	}
	return list
}

// columnName turns TurnID into turn_id.
func columnName(name string) string {
	var b strings.Builder
	for i, r := range name {
		startsWord := unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rune(name[i-1])) || i+1 < len(name) && unicode.IsLower(rune(name[i+1])))
		if startsWord {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// columnType returns the type of a column in PostgreSQL.
func columnType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Array:
		return "uuid"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "bigint"
	case isBytes(t) && t != reflect.TypeFor[models.JSON]():
		return "bytea"
	case t.Kind() != reflect.Struct && t.Kind() != reflect.Map && t.Kind() != reflect.Slice && t != reflect.TypeFor[any]():
		panic(fmt.Sprintf("no column type for %s", t))
	}
	return "json"
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// cell returns the value of a field in a type that both drivers take; an id that was never set is NULL.
func cell(v reflect.Value) any {
	p := v
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Array:
		if v.IsZero() {
			return nil
		}
		return v.Convert(reflect.TypeFor[rawID]()).Interface()
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case !isBytes(v.Type()):
		return string(jsonx.MustEncode(p.Interface()))
	case v.IsNil():
		return nil
	case v.Type() != reflect.TypeFor[models.JSON]():
		return v.Bytes()
	case v.Len() == 0:
		return nil
	}
	return string(v.Bytes())
}

// dest returns what the driver reads a field into.
func dest(v reflect.Value) any {
	p := v.Addr()
	if v.Kind() == reflect.Array {
		return p.Convert(reflect.TypeFor[*rawID]()).Interface()
	}
	to := p.Interface()
	if _, ok := to.(sql.Scanner); !ok && columnType(v.Type()) == "json" {
		return document{to}
	}
	return to
}

// kind is a shape whose rows are made from values of a type.
type kind[T any] struct{ *shape }

// describe makes a shape out of the fields of a type. Without columns it has all of them.
func describe[T any](s shape, key, columns string) kind[T] {
	model := reflect.TypeFor[T]()
	if model.Kind() == reflect.Pointer {
		model = model.Elem()
	}
	all := fieldsOf(model)
	take := func(name string) {
		for _, f := range all {
			if f.name == name {
				s.fields = append(s.fields, f)
				return
			}
		}
		panic(fmt.Sprintf("%s has no field for the column %s of %s", model, name, s.table))
	}
	for name := range strings.FieldsSeq(key) {
		take(name)
	}
	keys := len(s.fields)
	switch {
	case s.op == insert && columns == "":
		for _, f := range all {
			if !strings.Contains(" "+key+" ", " "+f.name+" ") {
				take(f.name)
			}
		}
	case s.op != duplicate:
		for name := range strings.FieldsSeq(columns) {
			take(name)
		}
	}
	for _, f := range s.fields {
		s.all = append(s.all, f.column)
	}
	s.keys, s.set = s.all[:keys:keys], s.all[keys:]
	if s.op == duplicate {
		for name := range strings.FieldsSeq(columns) {
			s.set = append(s.set, column{name: name})
		}
	}
	return kind[T]{&s}
}

// row returns the values of the columns.
func (s *shape) row(v reflect.Value) []any {
	row := make([]any, len(s.fields), len(s.fields)+1) // with room for the place of an event
	for i, f := range s.fields {
		row[i] = cell(v.FieldByIndex(f.index))
		if row[i] == nil && s.conflict == "ADD" { // whose keys have no NULL
			row[i] = rawID{}
		}
	}
	return row
}

// scan reads the columns, and what follows them.
func (k kind[T]) scan(r scanner, to *T, more ...any) error {
	v := reflect.Indirect(reflect.ValueOf(to).Elem())
	list := make([]any, len(k.fields), len(k.fields)+len(more))
	for i, f := range k.fields {
		list[i] = dest(v.FieldByIndex(f.index))
	}
	if err := r.Scan(append(list, more...)...); err != nil {
		return fmt.Errorf("read a row of %s: %w", k.table, err)
	}
	return nil
}

// put adds a row to what is written.
func (k kind[T]) put(w *writes, row T) {
	l, ok := w.list(k.shape).(*rowsOf[T])
	if !ok {
		l = &rowsOf[T]{}
		l.rows = l.first[:0]
		if w.lists == nil {
			w.lists = make([]written, 0, 8) // most commits write to fewer tables
		}
		w.lists = append(w.lists, written{k.shape, l})
	}
	l.rows = append(l.rows, row)
}

// of returns the rows.
func (k kind[T]) of(w *writes) []T {
	if l, ok := w.list(k.shape).(*rowsOf[T]); ok {
		return l.rows
	}
	return nil
}

// keep drops the rows that fn refuses.
func (k kind[T]) keep(w *writes, fn func(*T) bool) {
	if l, ok := w.list(k.shape).(*rowsOf[T]); ok {
		l.keepRows(fn)
	}
}

// rowList is a list of rows of one shape.
type rowList interface {
	len() int
	at(i int) reflect.Value
	add(others rowList)
	keep(fn func(reflect.Value) bool)
}

type rowsOf[T any] struct {
	rows []T
	// first has room for the first row: mostly there is one.
	first [1]T
}

func (l *rowsOf[T]) len() int { return len(l.rows) }

func (l *rowsOf[T]) at(i int) reflect.Value {
	return reflect.Indirect(reflect.ValueOf(&l.rows[i]).Elem())
}

func (l *rowsOf[T]) add(others rowList) {
	if o, ok := others.(*rowsOf[T]); ok {
		l.rows = append(l.rows, o.rows...)
	}
}

func (l *rowsOf[T]) keep(fn func(reflect.Value) bool) {
	l.keepRows(func(row *T) bool { return fn(reflect.ValueOf(row).Elem()) })
}

func (l *rowsOf[T]) keepRows(fn func(*T) bool) {
	kept := l.rows[:0]
	for i := range l.rows {
		if fn(&l.rows[i]) {
			kept = append(kept, l.rows[i])
		}
	}
	l.rows = kept
}
