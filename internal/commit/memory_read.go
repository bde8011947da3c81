package commit

import (
	"context"
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/ostler-dev/ostler/internal/models"
)

// Is is a condition on a column.
type Is struct {
	Column string
	Value  any
}

// Read returns the rows of a model that meet all conditions, in the order in which they were inserted.
func Read[T any](m *Memory, conds ...Is) []T {
	sch := schemaOf[T](m)
	cond := where(sch.Table)
	for _, c := range conds {
		cond = cond.is(c.Column, c.Value)
	}
	m.rows.Begin()
	defer m.rows.Rollback()
	var list []T
	for _, r := range m.rows.Select(sch.Table, nil, cond.holds) {
		var row T
		readModel(sch, cond.column, r, reflect.ValueOf(&row).Elem())
		list = append(list, row)
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

func readModel(sch *schema.Schema, at func(column string) int, row []any, into reflect.Value) {
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

// Turns returns the turns that a condition holds for, in the order in which they were added.
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

// OpenWaits returns the waits that are open, in the order in which they were added.
func (m *Memory) OpenWaits() []models.Wait {
	m.rows.Begin()
	defer m.rows.Rollback()
	var list []models.Wait
	err := m.each("waits", nil, where("waits").is("state", models.WaitOpen).holds, func(r scanner) error {
		w, err := scanWait(r)
		list = append(list, w)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("commit: read the open waits: %v", err))
	}
	return list
}

// Session returns a session; nil when there is none.
func (m *Memory) Session(org models.OrgID, session models.SessionID) *models.Session {
	m.rows.Begin()
	defer m.rows.Rollback()
	l, err := m.loadSession(key{org, session}, false, nil)
	if err != nil {
		panic(fmt.Sprintf("commit: read session %s: %v", session, err))
	}
	return l.session
}

// ChangeTurns changes the turns that set reports true for, in one transaction, as the claim and the takeover do: all of them, or
// those that are named. It returns them as they are then.
func (m *Memory) ChangeTurns(set func(*models.Turn) bool, of ...models.Turn) ([]models.Turn, error) {
	m.rows.Begin()
	var all, list []*models.Turn
	var err error
	if len(of) == 0 {
		all, err = m.turns(nil, nil)
	}
	for _, t := range of {
		if err == nil {
			list, err = m.turns([]any{id(t.OrgID), id(t.ID)}, nil)
			all = append(all, list...)
		}
	}
	var changed []models.Turn
	for _, t := range all {
		if err == nil && set(t) {
			err = m.plans[tables.updateTurn].write(m.rows, turnUpdateRow(t))
			changed = append(changed, *t)
		}
	}
	if err != nil {
		m.rows.Rollback()
		return nil, err
	}
	if err := m.rows.Commit(); err != nil {
		return nil, err
	}
	return changed, nil
}

// SaveCheckpoint overwrites the checkpoint of a turn, as long as its lease holds.
func (m *Memory) SaveCheckpoint(c models.Checkpoint) error {
	m.rows.Begin()
	list, err := m.turns([]any{id(c.OrgID), id(c.TurnID)}, nil)
	if err == nil && len(list) == 1 && list[0].LeaseEpoch == c.Epoch && list[0].Status == models.TurnRunning {
		row := []any{c.OrgID, c.TurnID, list[0].SessionID, c.MessageID, c.Epoch, c.Attempt, c.Text, c.Thinking, c.ToolCall, doc(c.Usage), c.UpdatedAt}
		for i, v := range row {
			row[i] = cell(v)
		}
		err = m.rows.Insert("checkpoints", row, "UPDATE")
	}
	if err != nil {
		m.rows.Rollback()
		return err
	}
	return m.rows.Commit()
}

// Turn returns a turn; nil when there is none.
func (m *Memory) Turn(org models.OrgID, turn models.TurnID) *models.Turn {
	m.rows.Begin()
	defer m.rows.Rollback()
	list, err := m.turns([]any{id(org), id(turn)}, nil)
	if err != nil {
		panic(fmt.Sprintf("commit: read turn %s: %v", turn, err))
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
