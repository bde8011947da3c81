package runtime

import (
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

// record is what the checks are shown: the rows as they stand at one moment. Tests of the checks spoil it.
type record struct {
	sessions map[models.SessionID]models.Session
	turns    map[models.TurnID]models.Turn
	waits    map[models.WaitID]models.Wait
	// calls are those without a result.
	calls []models.Effect

	// The others are there when all is at rest.

	messages    []models.Message
	events      []models.Event
	effects     []models.Effect
	checkpoints []models.Checkpoint
	decisions   []models.ApprovalDecision
	metered     []models.JournalEntry
}

// told is what people were answered, or what was handed out to them.
type told struct {
	// cancelled are turns whose cancel was accepted, ended those for which it came too late, and asked are who has tried.
	cancelled, ended map[models.TurnID]bool
	asked            map[models.TurnID][]models.UserID
	// announced are waits of which a tool has the key.
	announced map[models.WaitID]bool
	// won are resolutions that were accepted, late are waits for which one came too late.
	won  map[models.WaitID]resolved
	late map[models.WaitID]bool
	// expired are waits without a failing turn of which the time was over when the sweep looked at them.
	expired map[models.WaitID]bool
	// decided are decisions that were accepted.
	decided []models.ApprovalDecision
}

// resolved is what somebody brought for a wait.
type resolved struct {
	state models.WaitState
	with  models.WaitResolution
}

func newTold() told {
	return told{
		cancelled: map[models.TurnID]bool{}, ended: map[models.TurnID]bool{}, asked: map[models.TurnID][]models.UserID{},
		announced: map[models.WaitID]bool{}, won: map[models.WaitID]resolved{}, late: map[models.WaitID]bool{}, expired: map[models.WaitID]bool{},
	}
}

// look takes a record; whole is for one of a history that is at rest.
func (w *simulation) look(whole bool) *record {
	r := &record{
		sessions: map[models.SessionID]models.Session{}, turns: map[models.TurnID]models.Turn{}, waits: map[models.WaitID]models.Wait{},
	}
	for _, s := range read[models.Session](w) {
		r.sessions[s.ID] = s
	}
	for _, t := range w.turns("TRUE") {
		r.turns[t.ID] = t
	}
	for _, wait := range read[models.Wait](w) {
		r.waits[wait.ID] = wait
	}
	r.calls = read[models.Effect](w, "kind = ? AND state <> ?", models.EffectTool, models.EffectSettled)
	if whole {
		r.messages, r.events, r.effects = read[models.Message](w), read[models.Event](w), read[models.Effect](w)
		r.checkpoints, r.decisions = read[models.Checkpoint](w), read[models.ApprovalDecision](w)
		r.metered = read[models.JournalEntry](w, "kind = ?", models.JournalToolCall)
	}
	if w.spoil != nil && !w.spoilt {
		w.spoilt = w.spoil(w, r)
	}
	return r
}

// of returns the rows of a session.
func of[T any](list []T, session models.SessionID, at func(*T) models.SessionID) []T {
	return slices.DeleteFunc(slices.Clone(list), func(row T) bool { return at(&row) != session })
}
