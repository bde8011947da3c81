//go:build !race

package runtime

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// spoiled is a history that went well, of which something else is told to the checks: once, at the first moment at which there is
// something to spoil.
type spoiled struct {
	name string
	// want is what must be found.
	want string
	// spoil changes the record, and reports whether it did.
	spoil func(w *simulation, r *record) bool
}

// The checks are worth nothing if they can't fail: each finds what is wrong in the first record that it is shown wrong.
func TestSimulationChecksCanFail(t *testing.T) {
	tools, db := box(t, planted{}), newSimStore(t)
	for _, tc := range append(append(spoiledTurns(), spoiledWaits()...), append(spoiledCancels(), spoiledEnds()...)...) {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(500) {
				w := newSimulation(seed, db, tools, nil)
				w.spoil = tc.spoil
				problems := w.run()
				if !w.spoilt {
					continue
				}
				for _, p := range problems {
					if strings.Contains(p, tc.want) {
						return
					}
				}
				t.Fatalf("seed %d: found was %q", seed, problems)
			}
			t.Error("there was nothing to spoil")
		})
	}
}

// aTurn changes the first turn that there is of a kind.
func aTurn(is func(w *simulation, t *models.Turn) bool, change func(w *simulation, r *record, t *models.Turn)) func(*simulation, *record) bool {
	return func(w *simulation, r *record) bool {
		for id, t := range r.turns {
			if is(w, &t) {
				change(w, r, &t)
				r.turns[id] = t
				return true
			}
		}
		return false
	}
}

// aWait does the same with waits.
func aWait(is func(w *simulation, t *models.Turn, wait *models.Wait) bool, change func(w *simulation, r *record, wait *models.Wait)) func(*simulation, *record) bool {
	return func(w *simulation, r *record) bool {
		for id, wait := range r.waits {
			if t := r.turns[wait.TurnID]; is(w, &t, &wait) {
				r.waits[id] = wait
				change(w, r, &wait)
				if _, there := r.waits[id]; there {
					r.waits[id] = wait
				}
				return true
			}
		}
		return false
	}
}

func isParked(_ *simulation, t *models.Turn) bool { return t.Status == models.TurnWaiting }
func isHeld(_ *simulation, t *models.Turn) bool   { return t.RunnerID != nil }
func hasEnded(_ *simulation, t *models.Turn) bool { return t.FinishedAt != nil }

func spoiledTurns() []spoiled {
	runner := models.RunnerID{15: 1}
	return []spoiled{
		{"an epoch falls", "law 2: the epoch", aTurn(func(w *simulation, t *models.Turn) bool { return w.checks.epochs[t.ID] > 0 },
			func(_ *simulation, _ *record, t *models.Turn) { t.LeaseEpoch = 0 })},
		{"a turn ends twice", "law 5: turn", aTurn(func(w *simulation, t *models.Turn) bool { return w.checks.ended[t.ID] == models.TurnCompleted },
			func(_ *simulation, _ *record, t *models.Turn) { t.Status = models.TurnSealed })},
		{"a turn that has ended is held", "law 5: turn", aTurn(hasEnded, func(_ *simulation, _ *record, t *models.Turn) { t.RunnerID = &runner })},
		{"two turns are active", "are both at the head", aTurn(func(_ *simulation, t *models.Turn) bool {
			return t.Status == models.TurnQueued && t.ReadyAt == nil && t.RunnerID == nil
		}, func(_ *simulation, _ *record, t *models.Turn) { t.ReadyAt = t.QueuedAt.Ptr() })},
		{"a turn that is held can be claimed", "is held and waits to be claimed", aTurn(isHeld,
			func(_ *simulation, _ *record, t *models.Turn) { t.ReadyAt = t.QueuedAt.Ptr() })},
		{"a turn is nobody's", "law 6: the head of session", aTurn(isHeld, func(_ *simulation, _ *record, t *models.Turn) { t.RunnerID = nil })},
		{"a session forgets its turn", "law 6: the head of session", aTurn(isHeld, func(_ *simulation, r *record, t *models.Turn) {
			s := r.sessions[t.SessionID]
			s.CurrentTurnID = nil
			r.sessions[s.ID] = s
		})},
		{"a parked turn has a lease", "is parked with runner", aTurn(isParked, func(_ *simulation, _ *record, t *models.Turn) { t.RunnerID = &runner })},
		{"a parked turn can be claimed", "is parked with runner", aTurn(isParked, func(_ *simulation, _ *record, t *models.Turn) { t.ReadyAt = t.QueuedAt.Ptr() })},
		{"a parked turn waits for a runner to look", "is parked with runner", aTurn(isParked, func(_ *simulation, _ *record, t *models.Turn) { t.Attention = true })},
		{"a turn is parked with a call at work", "is parked with runner", aTurn(isParked, func(_ *simulation, _ *record, t *models.Turn) { t.WaitingCalls-- })},
		{"a session with a parked turn is active", "and its turn is parked", aTurn(isParked, func(_ *simulation, r *record, t *models.Turn) {
			s := r.sessions[t.SessionID]
			s.Status = models.SessionActive
			r.sessions[s.ID] = s
		})},
		{"a turn forgets a call", "by the journal it has", aTurn(func(_ *simulation, t *models.Turn) bool { return t.RunnerID != nil && t.PendingCalls > 0 },
			func(_ *simulation, _ *record, t *models.Turn) { t.PendingCalls-- })},
	}
}

func isOpen(_ *simulation, _ *models.Turn, wait *models.Wait) bool {
	return wait.State == models.WaitOpen
}

func isWaitedFor(_ *simulation, _ *models.Turn, wait *models.Wait) bool {
	return wait.State == models.WaitOpen && turns.ReadRequest(*wait).Parked
}

// wasSeen are waits that the checks have seen in their end.
func wasSeen(w *simulation, _ *models.Turn, wait *models.Wait) bool {
	return w.checks.waits[wait.ID].State == models.WaitOK
}

func reopen(_ *simulation, _ *record, wait *models.Wait) {
	wait.State, wait.ResolvedAt, wait.Resolution = models.WaitOpen, nil, nil
}

// end ends a wait in good order, as far as its own row is concerned.
func end(state models.WaitState) func(*simulation, *record, *models.Wait) {
	return func(_ *simulation, _ *record, wait *models.Wait) {
		wait.State, wait.ResolvedAt, wait.Resolution = state, wait.CreatedAt.Ptr(), models.JSON(`{}`)
	}
}

func spoiledWaits() []spoiled {
	return []spoiled{
		{"a wait of a turn that has ended is open", "is open", aWait(func(w *simulation, t *models.Turn, wait *models.Wait) bool {
			_, seen := w.checks.waits[wait.ID]
			return !seen && t.FinishedAt != nil
		}, reopen)},
		{"an announced wait of a turn that has ended is open", "is open", aWait(func(_ *simulation, t *models.Turn, wait *models.Wait) bool {
			return t.FinishedAt != nil && t.Announced && !turns.ReadRequest(*wait).Parked
		}, reopen)},
		{"a wait ends after its turn", "ms after its turn", aWait(func(w *simulation, t *models.Turn, wait *models.Wait) bool {
			return t.FinishedAt != nil && wait.State == models.WaitCancelled
		}, func(_ *simulation, r *record, wait *models.Wait) {
			wait.ResolvedAt = (*r.turns[wait.TurnID].FinishedAt + 1).Ptr()
		})},
		{"a wait ends twice", "has ended as OK, and is ERROR", aWait(wasSeen, func(_ *simulation, _ *record, wait *models.Wait) { wait.State = models.WaitError })},
		{"a wait ends twice in the same way", "has ended as OK, and is OK", aWait(wasSeen,
			func(_ *simulation, _ *record, wait *models.Wait) { wait.ResolvedAt = (*wait.ResolvedAt + 1).Ptr() })},
		{"a wait brings something else the second time", "has ended as OK, and is OK", aWait(wasSeen,
			func(_ *simulation, _ *record, wait *models.Wait) {
				wait.Resolution = models.JSON(`{"value":"another"}`)
			})},
		{"a wait that has ended is open again", "has ended as OK, and is OPEN", aWait(wasSeen, reopen)},
		{"a wait is gone", "is gone", aWait(isOpen, func(w *simulation, r *record, wait *models.Wait) {
			w.checks.waits[wait.ID] = *wait
			delete(r.waits, wait.ID)
		})},
		{"an announced wait was never made", "has the key of wait", func(w *simulation, r *record) bool {
			for id := range w.told.announced {
				delete(r.waits, id)
				return true
			}
			return false
		}},
		{"a wait ends without a time", "with an end false", aWait(isOpen, func(_ *simulation, _ *record, wait *models.Wait) {
			wait.State, wait.Resolution = models.WaitCancelled, models.JSON(`{}`)
		})},
		{"a wait ends without a resolution", `and a resolution ""`, aWait(isOpen, func(_ *simulation, _ *record, wait *models.Wait) {
			wait.State, wait.ResolvedAt = models.WaitCancelled, wait.CreatedAt.Ptr()
		})},
		{"a turn doesn't know what it has announced", "doesn't know that it has announced", aWait(func(_ *simulation, t *models.Turn, wait *models.Wait) bool {
			return t.FinishedAt == nil && wait.State == models.WaitOpen && !turns.ReadRequest(*wait).Parked
		}, func(_ *simulation, r *record, wait *models.Wait) {
			t := r.turns[wait.TurnID]
			t.Announced = false
			r.turns[t.ID] = t
		})},
		{"a turn is parked on what is resolved", "waits for 0 things that are open", aWait(func(w *simulation, t *models.Turn, wait *models.Wait) bool {
			return isParked(w, t) && isWaitedFor(w, t, wait)
		}, end(models.WaitOK))},
		{"a call at work waits for what is resolved", "waits for 0 things that are open", aWait(func(w *simulation, t *models.Turn, wait *models.Wait) bool {
			return isHeld(w, t) && isWaitedFor(w, t, wait)
		}, end(models.WaitError))},
		{"a call waits for two things", "waits for 2 things that are open", aWait(isWaitedFor, func(_ *simulation, r *record, wait *models.Wait) {
			other := *wait
			other.ID[15]++
			r.waits[other.ID] = other
		})},
		{"nobody waits for a wait", "which does not wait", aWait(isWaitedFor, func(_ *simulation, r *record, wait *models.Wait) {
			for i := range r.calls {
				if e := &r.calls[i]; e.ScopeID == models.ExecutionID(wait.TurnID) && e.ReplayKey == turns.CallKey(*wait.ToolCallID) {
					e.State = models.EffectRunning
				}
			}
		})},
		{"the second resolution wins", "was resolved as", aWait(func(w *simulation, _ *models.Turn, wait *models.Wait) bool {
			_, won := w.told.won[wait.ID]
			_, seen := w.checks.waits[wait.ID]
			return won && !seen
		}, func(_ *simulation, _ *record, wait *models.Wait) { wait.Resolution = models.JSON(`{"value":{"n":9}}`) })},
		{"who was told of a resolution is too early", "though somebody was too late", aWait(isOpen,
			func(w *simulation, _ *record, wait *models.Wait) { w.told.late[wait.ID] = true })},
		{"a deadline is not enforced", "or its time was over: true", aWait(func(w *simulation, _ *models.Turn, wait *models.Wait) bool {
			return w.told.expired[wait.ID]
		}, reopen)},
		{"a deadline is enforced too early", "its deadline is", aWait(func(_ *simulation, _ *models.Turn, wait *models.Wait) bool {
			return wait.State == models.WaitTimeout
		}, func(_ *simulation, _ *record, wait *models.Wait) { wait.ResolvedAt = (*wait.Deadline - 1).Ptr() })},
		{"the time is over of what has no deadline", "its deadline is 0", aWait(func(_ *simulation, _ *models.Turn, wait *models.Wait) bool {
			return wait.State == models.WaitTimeout
		}, func(_ *simulation, _ *record, wait *models.Wait) { wait.Deadline = nil })},
		{"a turn outlives the deadline that was to end it", "which was to fail", aWait(func(_ *simulation, _ *models.Turn, wait *models.Wait) bool {
			return wait.State == models.WaitTimeout && turns.ReadRequest(*wait).FailTurn
		}, func(_ *simulation, r *record, wait *models.Wait) {
			t := r.turns[wait.TurnID]
			t.Error = nil
			r.turns[t.ID] = t
		})},
	}
}

func spoiledCancels() []spoiled {
	asked := func(_ *simulation, t *models.Turn) bool { return t.Cancel != nil }
	open := func(_ *simulation, t *models.Turn) bool { return t.FinishedAt == nil && t.Cancel == nil }
	done := func(status models.TurnStatus) func(*simulation, *models.Turn) bool {
		return func(_ *simulation, t *models.Turn) bool { return t.Status == status }
	}
	stranger := models.ActorRef(models.UserID{15: 99}.String())
	return []spoiled{
		{"the second cancel wins", "was to end by the request", aTurn(func(w *simulation, t *models.Turn) bool {
			_, seen := w.checks.cancels[t.ID]
			return seen
		}, func(w *simulation, _ *record, t *models.Turn) {
			c := *t.Cancel
			c.ByID, t.Cancel = stranger, &c
		})},
		{"a cancel is forgotten", "was to end by the request", aTurn(func(w *simulation, t *models.Turn) bool {
			_, seen := w.checks.cancels[t.ID]
			return seen && t.FinishedAt == nil
		}, func(_ *simulation, _ *record, t *models.Turn) { t.Cancel = nil })},
		{"a cancel is accepted and lost", "was accepted, and nothing tells of it", aTurn(open,
			func(w *simulation, _ *record, t *models.Turn) { w.told.cancelled[t.ID] = true })},
		{"a cancel and the completion win", "for its end", aTurn(done(models.TurnCompleted),
			func(_ *simulation, _ *record, t *models.Turn) {
				t.Cancel = &models.Cancel{ByKind: models.ActorUser, ByID: stranger}
			})},
		{"a turn is cancelled by nobody", "for its end", aTurn(done(models.TurnCancelled), func(_ *simulation, _ *record, t *models.Turn) { t.Cancel = nil })},
		{"a cancel is somebody else's", "which nobody has made", aTurn(asked, func(_ *simulation, _ *record, t *models.Turn) {
			c := *t.Cancel
			c.ByID, t.Cancel = stranger, &c
		})},
		{"a cancel is refused without an end", "came too late, and the turn is", aTurn(open,
			func(w *simulation, _ *record, t *models.Turn) { w.told.ended[t.ID] = true })},
	}
}

// atEnd changes rows of a history that is at rest.
func atEnd(spoil func(w *simulation, r *record) bool) func(*simulation, *record) bool {
	return func(w *simulation, r *record) bool { return len(r.events) > 0 && spoil(w, r) }
}

// firstRow changes the first row of a list that there is of a kind; it leaves the row out when change is nil.
func firstRow[T any](list func(r *record) *[]T, is func(w *simulation, r *record, row *T) bool, change func(row *T)) func(*simulation, *record) bool {
	return atEnd(func(w *simulation, r *record) bool {
		rows := list(r)
		for i := range *rows {
			if !is(w, r, &(*rows)[i]) {
				continue
			}
			if change == nil {
				*rows = append((*rows)[:i:i], (*rows)[i+1:]...)
			} else {
				change(&(*rows)[i])
			}
			return true
		}
		return false
	})
}

func spoiledEnds() []spoiled {
	messages := func(r *record) *[]models.Message { return &r.messages }
	log := func(r *record) *[]models.Event { return &r.events }
	effects := func(r *record) *[]models.Effect { return &r.effects }
	decisions := func(r *record) *[]models.ApprovalDecision { return &r.decisions }
	received := func(w *simulation, _ *record, m *models.Message) bool {
		for _, sent := range w.messages {
			if sent.acked && sent.sent.MessageID == m.ID {
				return m.Position != nil
			}
		}
		return false
	}
	part := func(kind models.PartType) func(*simulation, *record, *models.Message) bool {
		return func(_ *simulation, _ *record, m *models.Message) bool {
			return len(m.Content) > 0 && m.Content[len(m.Content)-1].Type == kind
		}
	}
	event := func(kind models.EventKind) func(*simulation, *record, *models.Event) bool {
		return func(_ *simulation, _ *record, e *models.Event) bool { return e.Kind == kind }
	}
	session := func(change func(s *models.Session)) func(*simulation, *record) bool {
		return atEnd(func(w *simulation, r *record) bool {
			s := r.sessions[w.sessions[0]]
			change(&s)
			r.sessions[s.ID] = s
			return true
		})
	}
	turn := func(is func(*simulation, *models.Turn) bool, change func(w *simulation, r *record, t *models.Turn)) func(*simulation, *record) bool {
		return atEnd(aTurn(is, change))
	}
	return []spoiled{
		{"a call is not metered", "was metered 0 times", atEnd(func(_ *simulation, r *record) bool {
			had := len(r.metered)
			r.metered = nil
			return had > 0
		})},
		{"a call is metered twice", "was metered 2 times", atEnd(func(_ *simulation, r *record) bool {
			r.metered = append(r.metered, r.metered...)
			return len(r.metered) > 0
		})},
		{"a call is metered that there is not", "of a call that there is not", atEnd(func(_ *simulation, r *record) bool {
			r.metered = append(r.metered, models.JournalEntry{ID: models.NewID[models.JournalEntity]()})
			return true
		})},
		{"a message is stranded", "is stranded", firstRow(messages, received, func(m *models.Message) { m.Position = nil })},
		{"what a turn carried is stranded when it is taken back", "is stranded", atEnd(func(w *simulation, r *record) bool {
			for _, t := range r.turns {
				if t.Status != models.TurnCancelled || t.StartedAt != nil {
					continue
				}
				return firstRow(messages, received, func(m *models.Message) { m.TurnID, m.Position = t.ID, nil })(w, r)
			}
			return false
		})},
		{"a message is lost", "was acknowledged and is there 0 times", firstRow(messages, received, nil)},
		{"a message is there twice", "is there 2 times", atEnd(func(w *simulation, r *record) bool {
			for _, m := range r.messages {
				if received(w, r, &m) {
					r.messages = append(r.messages, m)
					return true
				}
			}
			return false
		})},
		{"a message is nobody's", "nobody has sent", firstRow(messages, received, func(m *models.Message) {
			m.Content = []models.Part{{Type: models.PartText, Text: "never sent"}}
		})},
		{"a message is in another session's turn", "which is none of its session", firstRow(messages, received, func(m *models.Message) { m.TurnID = models.TurnID{15: 1} })},
		{"a result is lost", "with 0 results", firstRow(messages, part(models.PartToolResult), nil)},
		{"a result comes twice", "with 2 results", firstRow(messages, part(models.PartToolResult), func(m *models.Message) {
			m.Content = append(m.Content[:len(m.Content):len(m.Content)], m.Content[len(m.Content)-1])
		})},
		{"an end is missing in the log", "the log of session", firstRow(log, event(models.EventReasonCompleted), nil)},
		{"an event is missing in the feed", "the feed is wrong", firstRow(log, event(models.EventTurnStarted), func(e *models.Event) { e.FeedPosition = nil })},
		{"the log tells of another end", "and its ends in the log are", firstRow(log, event(models.EventTurnCompleted), func(e *models.Event) { e.Kind = models.EventTurnFailed })},
		{"the last event was not published", "of which", session(func(s *models.Session) { s.LastSequence++ })},
		{"usage is lost", "usage", session(func(s *models.Session) { s.Usage.InputTokens++ })},
		{"a session at rest counts a queued turn", "queued", session(func(s *models.Session) { s.QueuedTurns++ })},
		{"a session at rest is active", "queued, ACTIVE", session(func(s *models.Session) { s.Status = models.SessionActive })},
		{"a turn has no reason for its end", "stop reason", turn(hasEnded, func(_ *simulation, _ *record, t *models.Turn) { t.StopReason = nil })},
		{"an accepted cancel ends as a completion", "was accepted, and it is COMPLETED", turn(func(_ *simulation, t *models.Turn) bool {
			return t.Status == models.TurnCompleted
		}, func(w *simulation, _ *record, t *models.Turn) { w.told.cancelled[t.ID] = true })},
		{"an effect is open", "an effect is open", firstRow(effects, func(*simulation, *record, *models.Effect) bool { return true },
			func(e *models.Effect) { e.State = models.EffectRunning })},
		{"a checkpoint is left", "checkpoints are left", atEnd(func(_ *simulation, r *record) bool {
			r.checkpoints = append(r.checkpoints, models.Checkpoint{})
			return true
		})},
		{"a decision is lost", "was accepted, and is there: false", atEnd(func(w *simulation, r *record) bool {
			if len(w.told.decided) == 0 {
				return false
			}
			kept := w.told.decided[0]
			return firstRow(decisions, func(_ *simulation, _ *record, d *models.ApprovalDecision) bool {
				return d.WaitID == kept.WaitID && d.ActorID == kept.ActorID
			}, nil)(w, r)
		})},
		{"a call is approved by too few", "approvals and", atEnd(aWait(func(_ *simulation, _ *models.Turn, wait *models.Wait) bool {
			return wait.Kind == models.WaitApproval && wait.State == models.WaitOK
		}, func(_ *simulation, r *record, wait *models.Wait) {
			firstRow(decisions, func(_ *simulation, _ *record, d *models.ApprovalDecision) bool { return d.WaitID == wait.ID }, nil)(nil, r)
		}))},
		{"a denial is overruled", "denials", firstRow(decisions, func(_ *simulation, r *record, d *models.ApprovalDecision) bool {
			return r.waits[d.WaitID].State == models.WaitOK
		}, func(d *models.ApprovalDecision) { d.Approve = false })},
	}
}
