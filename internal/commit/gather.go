package commit

import (
	"bytes"
	"cmp"
	"fmt"
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
	// later is true when it has to come after what the same table is written by before.
	later bool
}

// gather turns what a batch did to its sessions into rows: one step per shape, in the order in which they are made, and
// each key once. What is referred to goes first. All transactions write the tables in the same order, and the rows that
// sessions have in common, blobs, idempotency keys and feeds, in the order of their keys, so that no two can wait for each other.
// asked bounds the totals that organizations may have had before. It fails if a command left something that can't be encoded.
func gather(states []*state, asked map[models.OrgID]headroom, budgets *budgetRows, now models.Millis) (steps []step, err error) {
	defer func() {
		if r := recover(); r != nil {
			steps, err = nil, &unreadable{fmt.Errorf("encode the rows: %v", r)}
		}
	}()
	slices.SortFunc(states, func(a, b *state) int {
		return compareKeys(key{a.tx.org, a.tx.sessionID}, key{b.tx.org, b.tx.sessionID})
	})
	g := &gathering{states: states, headroom: asked}
	g.toolsets()
	g.blobs()
	g.sessions(now)
	g.turns()
	g.messages()
	g.effects()
	g.waits(now)
	g.files()
	g.budgets(budgets, now)
	g.payments()
	g.keys()
	g.events()
	return g.steps, nil
}

type gathering struct {
	states []*state
	// headroom is what organizations may have had before the batch.
	headroom map[models.OrgID]headroom
	steps    []step
}

// add makes a step of the rows that fn yields for each session, if there are any.
func (g *gathering) add(sh *shape, fn func(s *state, yield func(...any))) {
	var rows [][]any
	for _, s := range g.states {
		fn(s, func(row ...any) { rows = append(rows, row) })
	}
	if len(rows) > 0 {
		g.steps = append(g.steps, step{shape: sh, rows: rows})
	}
}

func (g *gathering) sessions(now models.Millis) {
	g.add(tables.insertSession, func(s *state, yield func(...any)) {
		if s.w.newSession {
			s.tx.Session.UpdatedAt = now
			yield(sessionInsertRow(s.tx.Session)...)
		}
	})
	g.add(tables.updateSession, func(s *state, yield func(...any)) {
		if !s.w.newSession && s.tx.Session != nil {
			s.tx.Session.UpdatedAt = now
			yield(sessionUpdateRow(s.tx.Session)...)
		}
	})
	g.add(tables.detailSession, func(s *state, yield func(...any)) {
		if s.w.details && !s.w.newSession {
			yield(sessionDetailRow(s.tx.Session)...)
		}
	})
	g.add(tables.dropTags, func(s *state, yield func(...any)) {
		if s.w.retag && !s.w.newSession {
			yield(id(s.tx.org), id(s.tx.sessionID))
		}
	})
	g.add(tables.insertTag, func(s *state, yield func(...any)) {
		for _, t := range s.w.tags {
			yield(id(s.tx.org), t, id(s.tx.sessionID))
		}
	})
	g.add(tables.dropWords, func(s *state, yield func(...any)) {
		if s.w.details && !s.w.newSession {
			yield(id(s.tx.org), id(s.tx.sessionID))
		}
	})
	g.add(tables.insertWord, func(s *state, yield func(...any)) {
		if s.w.details || s.w.newSession {
			for _, word := range s.tx.Session.Words() {
				yield(id(s.tx.org), word, id(s.tx.sessionID))
			}
		}
	})
}

// turns updates first: a turn must have ended before the next one of its session may run.
func (g *gathering) turns() {
	rows := func(isNew bool, row func(*models.Turn) []any) func(*state, func(...any)) {
		return func(s *state, yield func(...any)) {
			for tid, t := range s.turns {
				if s.isNew[tid] == isNew {
					yield(row(t)...)
				}
			}
		}
	}
	g.add(tables.updateTurn, rows(false, turnUpdateRow))
	g.add(tables.insertTurn, rows(true, turnInsertRow))
	if slices.ContainsFunc(g.states, (*state).replaced) {
		g.steps[len(g.steps)-1].later = true
	}
}

// replaced reports whether a turn has begun where another one has ended.
func (s *state) replaced() bool {
	begun := false
	for tid, t := range s.turns {
		begun = begun || s.isNew[tid] && t.Status != models.TurnQueued
	}
	return begun && len(s.turns) > len(s.isNew)
}

func (g *gathering) messages() {
	g.add(tables.insertMessage, func(s *state, yield func(...any)) {
		for _, m := range s.w.messages {
			if c := s.consumption(m); c != nil {
				m.Position = &c.position
			}
			yield(messageRow(m)...)
		}
	})
	g.add(tables.editMessage, func(s *state, yield func(...any)) {
		for i, m := range s.w.edited {
			if !slices.ContainsFunc(s.w.edited[i+1:], func(later models.Message) bool { return later.ID == m.ID }) {
				yield(id(m.OrgID), id(m.ID), document(m.Content))
			}
		}
	})
	g.add(tables.rewriteMessage, func(s *state, yield func(...any)) {
		for _, m := range s.w.rewritten {
			yield(id(m.OrgID), id(m.ID), document(m.Content))
		}
	})
	// What comes back may be consumed in the same batch.
	g.add(tables.returnInbox, func(s *state, yield func(...any)) {
		for _, m := range s.w.moves {
			if !m.kept.IsZero() {
				yield(id(s.tx.org), id(m.turn), id(m.kept), id(m.to))
			}
		}
	})
	g.add(tables.consumeInbox, func(s *state, yield func(...any)) {
		for _, c := range s.w.consumes {
			if !s.onlyNew(c.turn) {
				yield(id(s.tx.org), id(c.turn), c.after, c.through, c.position)
			}
		}
	})
	g.add(tables.moveInbox, func(s *state, yield func(...any)) {
		// A turn that is interrupted twice in a batch moves messages to two others, to each those that came before it.
		after := map[models.TurnID]int64{}
		for _, m := range s.w.moves {
			if m.kept.IsZero() {
				yield(id(s.tx.org), id(m.turn), after[m.turn], m.through, id(m.to))
				after[m.turn] = m.through
			}
		}
	})
}

// consumption returns what brought a message of this batch into the conversation; nil when it still waits, or never did.
func (s *state) consumption(m models.Message) *consume {
	if m.Position != nil {
		return nil
	}
	for i := range s.w.consumes {
		if c := &s.w.consumes[i]; c.turn == m.TurnID && m.Sequence > c.after && m.Sequence <= c.through {
			return c
		}
	}
	return nil
}

// onlyNew reports whether all messages of a turn are of this batch.
func (s *state) onlyNew(turn models.TurnID) bool {
	return s.isNew[turn] && !slices.ContainsFunc(s.w.moves, func(m move) bool { return m.to == turn })
}

// effects writes each once: as the last command left it, into the new row if there is one.
func (g *gathering) effects() {
	type effectKey struct {
		scope  models.TurnID
		replay string
	}
	keyOf := func(e models.Effect) effectKey { return effectKey{e.ScopeID, e.ReplayKey} }
	last := func(s *state) map[effectKey]models.Effect {
		m := make(map[effectKey]models.Effect, len(s.w.effects))
		for _, e := range s.w.effects {
			m[keyOf(e)] = e
		}
		return m
	}
	g.add(tables.insertEffect, func(s *state, yield func(...any)) {
		saved := last(s)
		for _, e := range s.w.newEffects {
			if l, ok := saved[keyOf(e)]; ok {
				e.State, e.Outcome, e.Epoch, e.Attempt, e.StartedAt, e.SettledAt = l.State, l.Outcome, l.Epoch, l.Attempt, l.StartedAt, l.SettledAt
				e.DueAt = l.DueAt
			}
			yield(effectInsertRow(e)...)
		}
	})
	g.add(tables.putEffect, func(s *state, yield func(...any)) {
		for i, e := range s.w.putEffects {
			if !slices.ContainsFunc(s.w.putEffects[i+1:], func(later models.Effect) bool { return keyOf(later) == keyOf(e) }) {
				yield(effectInsertRow(e)...)
			}
		}
	})
	g.add(tables.amendEffect, func(s *state, yield func(...any)) {
		for i, e := range s.w.amended {
			if !slices.ContainsFunc(s.w.amended[i+1:], func(later models.Effect) bool { return keyOf(later) == keyOf(e) }) {
				yield(effectAmendRow(e)...)
			}
		}
	})
	g.add(tables.updateEffect, func(s *state, yield func(...any)) {
		saved := last(s)
		for _, e := range s.w.newEffects {
			delete(saved, keyOf(e))
		}
		for _, e := range s.w.effects {
			if l, ok := saved[keyOf(e)]; ok {
				delete(saved, keyOf(e))
				yield(effectUpdateRow(l)...)
			}
		}
	})
	g.add(tables.dropCheckpoint, func(s *state, yield func(...any)) {
		for _, turn := range s.w.checkpoints {
			yield(id(s.tx.org), id(turn))
		}
	})
}

// waits writes each once: as the last command left it, into the new row if there is one.
func (g *gathering) waits(now models.Millis) {
	isNew := func(s *state, w models.Wait) bool {
		return slices.ContainsFunc(s.w.newWaits, func(n models.Wait) bool { return n.ID == w.ID })
	}
	g.add(tables.insertWait, func(s *state, yield func(...any)) {
		for _, w := range s.w.newWaits {
			yield(waitInsertRow(s.tx.waits[w.ID])...)
		}
	})
	g.add(tables.updateWait, func(s *state, yield func(...any)) {
		for i, w := range s.w.waits {
			if !isNew(s, w) && !slices.ContainsFunc(s.w.waits[i+1:], func(later models.Wait) bool { return later.ID == w.ID }) {
				yield(waitUpdateRow(w)...)
			}
		}
	})
	g.add(tables.closeWaits, func(s *state, yield func(...any)) {
		for _, turn := range s.w.closedTurns {
			yield(id(s.tx.org), id(turn), string(models.WaitCancelled), document(models.WaitResolution{ErrorMessage: "The turn has ended."}), int64(now))
		}
	})
	g.add(tables.insertDecision, func(s *state, yield func(...any)) {
		for _, d := range s.w.decisions {
			yield(decisionRow(d)...)
		}
	})
	g.add(tables.insertJob, func(s *state, yield func(...any)) {
		for _, j := range s.w.newJobs {
			yield(jobRow(j)...)
		}
	})
	g.add(tables.dropJob, func(s *state, yield func(...any)) {
		for _, j := range s.w.endedJobs {
			yield(id(s.tx.org), id(j))
		}
	})
}

// toolsets writes what sessions refer to, in the order of the keys, which they have in common.
func (g *gathering) toolsets() {
	var all []models.ClientToolset
	for _, s := range g.states {
		all = append(all, s.w.toolsets...)
	}
	order := func(a, b models.ClientToolset) int {
		return cmp.Or(bytes.Compare(a.OrgID[:], b.OrgID[:]), bytes.Compare(a.Hash, b.Hash))
	}
	slices.SortStableFunc(all, order)
	all = slices.CompactFunc(all, func(a, b models.ClientToolset) bool { return order(a, b) == 0 })
	addRows(g, tables.insertToolset, all, func(t models.ClientToolset) []any { return []any{id(t.OrgID), t.Hash, document(t.Tools)} })
}

// copied lets the database copy rows for forks; more are the values that follow the keys of the sessions.
func (g *gathering) copied(sh *shape, more func(copied) []any) {
	g.add(sh, func(s *state, yield func(...any)) {
		for _, c := range s.w.copies {
			yield(append([]any{id(s.tx.org), id(s.tx.sessionID), id(c.from)}, more(c)...)...)
		}
	})
}

// files writes each path and each plan once: as the last command left it.
func (g *gathering) files() {
	g.copied(tables.copyLineage, func(c copied) []any { return []any{c.through, c.base} })
	// What is copied is as it was before this batch: what others of it write comes after.
	g.copied(tables.copyFiles, func(copied) []any { return nil })
	g.copied(tables.copyTodos, func(c copied) []any { return []any{int64(c.todosBefore)} })
	g.add(tables.putFile, func(s *state, yield func(...any)) {
		written := map[string]bool{}
		for _, f := range slices.Backward(s.w.files) {
			if _, exists := s.tx.files[f.Path]; exists && !written[f.Path] {
				written[f.Path] = true
				yield(fileRow(f)...)
			}
		}
	})
	g.add(tables.deleteFile, func(s *state, yield func(...any)) {
		deleted := map[string]bool{}
		for _, f := range s.w.deletedFiles {
			if _, exists := s.tx.files[f.Path]; !exists && !deleted[f.Path] {
				deleted[f.Path] = true
				yield(id(f.OrgID), id(f.SessionID), f.Path)
			}
		}
	})
	g.add(tables.putTodos, func(s *state, yield func(...any)) {
		if n := len(s.w.todos); n > 0 {
			t := s.w.todos[n-1]
			yield(id(t.OrgID), id(t.SessionID), document(t.Items), int64(t.UpdatedAt))
		}
	})
}

func (g *gathering) blobs() {
	var all []models.Blob
	for _, s := range g.states {
		all = append(all, s.w.blobs...)
	}
	order := func(a, b models.Blob) int {
		return cmp.Or(bytes.Compare(a.OrgID[:], b.OrgID[:]), bytes.Compare(a.Hash, b.Hash))
	}
	slices.SortStableFunc(all, order)
	all = slices.CompactFunc(all, func(a, b models.Blob) bool { return order(a, b) == 0 })
	addRows(g, tables.insertBlob, all, func(b models.Blob) []any { return []any{id(b.OrgID), b.Hash, b.Size, b.Content} })
}

func (g *gathering) keys() {
	var stale, fresh []models.IdempotencyKey
	for _, s := range g.states {
		stale, fresh = append(stale, s.w.staleKeys...), append(fresh, s.w.keys...)
	}
	order := func(a, b models.IdempotencyKey) int {
		return cmp.Or(bytes.Compare(a.OrgID[:], b.OrgID[:]), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Key, b.Key))
	}
	slices.SortStableFunc(stale, order)
	slices.SortStableFunc(fresh, order)
	// The time is part of the condition: another process may have used the key again meanwhile.
	addRows(g, tables.dropKey, stale, func(k models.IdempotencyKey) []any {
		return []any{int64(k.ExpiresAt), id(k.OrgID), k.Operation, k.Key}
	})
	addRows(g, tables.insertKey, fresh, func(k models.IdempotencyKey) []any {
		return []any{id(k.OrgID), k.Operation, k.Key, k.InputHash, doc(k.Result), int64(k.ExpiresAt)}
	})
}

func addRows[T any](g *gathering, sh *shape, list []T, row func(T) []any) {
	if len(list) == 0 {
		return
	}
	rows := make([][]any, len(list))
	for i, v := range list {
		rows[i] = row(v)
	}
	g.steps = append(g.steps, step{shape: sh, rows: rows})
}
