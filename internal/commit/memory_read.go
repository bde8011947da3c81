package commit

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/ostler-dev/ostler/internal/models"
)

// Read gives the rows of a model that a condition holds for, or all when it is nil, in the order in which they were inserted.
func Read[T any](m *Memory, holds func(*T) bool) []T {
	sch := schemaOf[T](m)
	m.rows.Begin()
	defer m.rows.Rollback()
	var list []T
	for _, r := range m.rows.Select(sch.Table, nil, nil) {
		var row T
		readModel(sch, r, reflect.ValueOf(&row).Elem())
		if holds == nil || holds(&row) {
			list = append(list, row)
		}
	}
	return list
}

func schemaOf[T any](m *Memory) *schema.Schema {
	var row T
	sch, err := schema.Parse(&row, &m.schemas, schema.NamingStrategy{})
	if err != nil {
		panic(fmt.Sprintf("commit: %T is no model: %v", row, err))
	}
	return sch
}

func readModel(sch *schema.Schema, row []any, into reflect.Value) {
	at := where(sch.Table).column
	for _, f := range sch.Fields {
		if f.DBName == "" {
			continue
		}
		v := f.NewValuePool.Get()
		if err := scanCell(v, row[at(f.DBName)]); err != nil {
			panic(fmt.Sprintf("commit: read %s of %s: %v", f.DBName, sch.Table, err))
		}
		if err := f.Set(context.Background(), into, v); err != nil {
			panic(fmt.Sprintf("commit: read %s of %s: %v", f.DBName, sch.Table, err))
		}
	}
}

// Turns gives the turns that a condition holds for, in the order in which they were added.
func (m *Memory) Turns(holds func(*models.Turn) bool) []models.Turn {
	m.rows.Begin()
	defer m.rows.Rollback()
	all, err := m.turns(nil, nil)
	if err != nil {
		panic(fmt.Sprintf("commit: read the turns: %v", err))
	}
	var list []models.Turn
	for _, t := range all {
		if holds(t) {
			list = append(list, *t)
		}
	}
	return list
}

// Session gives a session; nil when there is none.
func (m *Memory) Session(org models.OrgID, session models.SessionID) *models.Session {
	m.rows.Begin()
	defer m.rows.Rollback()
	l, err := m.loadSession(key{org, session}, false, nil)
	if err != nil {
		panic(fmt.Sprintf("commit: read session %s: %v", session, err))
	}
	return l.session
}

// ChangeTurns changes the turns that set reports true for, in one transaction, as the claim and the takeover do. It gives them as
// they are then.
func (m *Memory) ChangeTurns(set func(*models.Turn) bool) ([]models.Turn, error) {
	m.rows.Begin()
	all, err := m.turns(nil, nil)
	var list []models.Turn
	for _, t := range all {
		if err == nil && set(t) {
			err = m.plans[tables.updateTurn].write(m.rows, turnUpdateRow(t))
			list = append(list, *t)
		}
	}
	if err != nil {
		m.rows.Rollback()
		return nil, err
	}
	return list, m.rows.Commit()
}
