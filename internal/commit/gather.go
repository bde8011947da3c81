package commit

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

// step is rows of one shape.
type step struct {
	shape *shape
	rows  [][]any
	// feeds are those that rows of events are in, in the order of their organizations, and places where each row goes.
	feeds  []feedShare
	places []place
	// later is true when it must come after the steps before it that write the same table.
	later bool
}

// gather turns what a batch did to its sessions into rows: a step for each shape, in their order. asked bounds the totals that
// organizations may have had before. It fails if a command left something that can't be encoded.
func gather(states []*state, asked map[models.OrgID]headroom, budgets *budgetRows, now models.Millis) (steps []step, err error) {
	defer func() {
		if r := recover(); r != nil {
			steps, err = nil, &unreadable{fmt.Errorf("encode the rows: %v", r)}
		}
	}()
	slices.SortFunc(states, func(a, b *state) int {
		return compareKeys(key{a.tx.org, a.tx.sessionID}, key{b.tx.org, b.tx.sessionID})
	})
	all := make([]*writes, len(states), len(states)+1)
	replaced := false
	for i, s := range states {
		s.settle(now)
		all[i], replaced = &s.w, replaced || s.replaced()
	}
	all = append(all, budgets.writes())
	for _, sh := range inOrder {
		switch sh {
		case insertEvent.shape:
			steps = append(steps, gatherEvents(states, asked)...)
			continue
		case insertEntry.shape:
			continue // behind the ends of their chains: see link
		}
		var rows [][]any
		for _, w := range all {
			if list := w.list(sh); list != nil {
				rows = sh.appendRows(rows, list)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if sh.shared {
			rows = sh.combine(rows)
		}
		steps = append(steps, step{shape: sh, rows: rows, later: sh == insertTurn.shape && replaced})
	}
	return steps, nil
}

// appendRows appends the rows of a list.
func (s *shape) appendRows(to [][]any, list rowList) [][]any {
	for i := range list.len() {
		v, again := list.at(i), false
		for j := i + 1; s.last && j < list.len() && !again; j++ {
			again = s.sameKeys(v, list.at(j))
		}
		if !again {
			to = append(to, s.row(v))
		}
	}
	return to
}

// sameKeys reports whether two values stand for the same row.
func (s *shape) sameKeys(a, b reflect.Value) bool {
	for _, f := range s.fields[:len(s.keys)] {
		if !a.FieldByIndex(f.index).Equal(b.FieldByIndex(f.index)) {
			return false
		}
	}
	return true
}

// combine sorts rows by their keys. Those with the same ones are added up, or are the same.
func (s *shape) combine(list [][]any) [][]any {
	order := func(a, b []any) (c int) {
		for i := 0; i < len(s.keys) && c == 0; i++ {
			c = compareCells(a[i], b[i])
		}
		return c
	}
	slices.SortStableFunc(list, order)
	one := list[:1]
	for _, row := range list[1:] {
		first := one[len(one)-1]
		if order(first, row) != 0 {
			one = append(one, row)
			continue
		}
		for i := len(s.keys); s.conflict == "ADD" && i < len(row); i++ {
			first[i] = first[i].(int64) + row[i].(int64) //nolint:forcetypeassert // a sum of anything else is a mistake that must be seen
		}
	}
	return one
}

func compareCells(a, b any) int {
	switch a := a.(type) {
	case rawID:
		b, _ := b.(rawID)
		return bytes.Compare(a[:], b[:])
	case []byte:
		b, _ := b.([]byte)
		return bytes.Compare(a, b)
	case string:
		b, _ := b.(string)
		return cmp.Compare(a, b)
	case int64:
		b, _ := b.(int64)
		return cmp.Compare(a, b)
	}
	panic(fmt.Sprintf("a key of type %T", a))
}

// settle makes the rows that follow from what the commands have done to the session together.
func (s *state) settle(now models.Millis) {
	s.settleSession(now)
	for tid, t := range s.turns {
		if s.isNew[tid] {
			insertTurn.put(&s.w, t)
		} else {
			updateTurn.put(&s.w, t)
		}
	}
	s.settleInbox()
	for _, sh := range inOrder {
		if sh.into != nil {
			sh.fold(&s.w)
		}
	}
	exists := func(f *models.SessionFile) bool { _, ok := s.tx.files[f.Path]; return ok }
	putFile.keep(&s.w, exists)
	deleteFile.keep(&s.w, func(f *models.SessionFile) bool { return !exists(f) })
}

func (s *state) settleSession(now models.Millis) {
	row, org, session := s.tx.Session, s.tx.org, s.tx.sessionID
	if row == nil {
		return
	}
	row.UpdatedAt = now
	if s.w.newSession {
		insertSession.put(&s.w, row)
	} else {
		updateSession.put(&s.w, row)
		if s.w.details {
			detailSession.put(&s.w, row)
			dropWords.put(&s.w, word{OrgID: org, SessionID: session})
		}
		if s.w.retag {
			dropTags.put(&s.w, label{OrgID: org, SessionID: session})
		}
	}
	if s.w.newSession || s.w.details {
		for _, w := range row.Words() {
			insertWord.put(&s.w, word{org, w, session})
		}
	}
}

// settleInbox puts messages of this batch where they have come to in it.
func (s *state) settleInbox() {
	messages := insertMessage.of(&s.w)
	for i := range messages {
		if c := s.consumption(&messages[i]); c != nil {
			messages[i].Position = new(c.Position)
		}
	}
	// When all messages of a turn are of this batch, there are no others to consume.
	consumeInbox.keep(&s.w, func(c *consume) bool {
		return !s.isNew[c.TurnID] || slices.ContainsFunc(moveInbox.of(&s.w), func(m move) bool { return m.TurnID == c.TurnID }) ||
			slices.ContainsFunc(returnInbox.of(&s.w), func(r returned) bool { return r.TurnID == c.TurnID })
	})
	// A turn that is interrupted twice in a batch moves messages to two others, to each those that came before it.
	after, moves := map[models.TurnID]int64{}, moveInbox.of(&s.w)
	for i := range moves {
		m := &moves[i]
		m.After, after[m.EndedID] = after[m.EndedID], m.Through
	}
}

// consumption returns what brought a message of this batch into the conversation; nil when it still waits, or never did.
func (s *state) consumption(m *models.Message) *consume {
	if m.Position != nil {
		return nil
	}
	list := consumeInbox.of(&s.w)
	for i := range list {
		if c := &list[i]; c.TurnID == m.TurnID && m.Sequence > c.After && m.Sequence <= c.Through {
			return c
		}
	}
	return nil
}

// replaced reports whether a turn has begun where another one has ended.
func (s *state) replaced() bool {
	begun := false
	for tid, t := range s.turns {
		begun = begun || s.isNew[tid] && t.Status != models.TurnQueued
	}
	return begun && len(s.turns) > len(s.isNew)
}

// fold makes changes of rows that are new in the new rows.
func (s *shape) fold(w *writes) {
	changes, added := w.list(s), w.list(s.into)
	if changes == nil || added == nil {
		return
	}
	changes.keep(func(change reflect.Value) bool {
		for i := range added.len() {
			row := added.at(i)
			if !s.sameKeys(row, change) {
				continue
			}
			for _, f := range s.fields[len(s.keys):] {
				row.FieldByIndex(f.index).Set(change.FieldByIndex(f.index))
			}
			return false
		}
		return true
	})
}
