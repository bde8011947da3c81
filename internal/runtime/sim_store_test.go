package runtime

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

// simQueue is the queue of turns on the store in memory: what crossorg.Queue does with SQL. A test compares the two.
type simQueue struct {
	memory  *commit.Memory
	runners *[]models.Runner
	planted *planted
}

var _ Queue = simQueue{}

func (q simQueue) listed(id models.RunnerID) bool {
	return slices.ContainsFunc(*q.runners, func(r models.Runner) bool { return r.ID == id })
}

func (q simQueue) Claim(_ context.Context, runner models.RunnerID, n int) ([]models.Turn, error) {
	if !q.listed(runner) {
		return nil, nil
	}
	ready := q.memory.Turns(func(t *models.Turn) bool { return t.ReadyAt != nil })
	if q.planted.heldClaims && len(ready) == 0 {
		return q.memory.Turns(func(t *models.Turn) bool { return t.RunnerID != nil && *t.RunnerID != runner }), nil
	}
	if len(ready) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(ready, func(a, b models.Turn) int { return cmp.Compare(*a.ReadyAt, *b.ReadyAt) })
	return q.memory.ChangeTurns(func(t *models.Turn) bool {
		t.ReadyAt, t.RunnerID, t.Status = nil, &runner, models.TurnRunning
		t.LeaseEpoch++
		return true
	}, ready[:min(n, len(ready))]...)
}

func (q simQueue) Held(_ context.Context, runner models.RunnerID) ([]models.Turn, error) {
	return q.memory.Turns(func(t *models.Turn) bool { return t.RunnerID != nil && *t.RunnerID == runner }), nil
}

func (q simQueue) Release(_ context.Context, t models.Turn) error { return q.letGo(t, 0) }

func (q simQueue) Retry(_ context.Context, t models.Turn) error { return q.letGo(t, 1) }

func (q simQueue) letGo(back models.Turn, takes int) error {
	_, err := q.back(back.QueuedAt, takes, 0, func(t *models.Turn) bool {
		return t.LeaseEpoch == back.LeaseEpoch && t.Status == models.TurnRunning
	}, back)
	return err
}

// back puts turns back into the queue.
func (q simQueue) back(at models.Millis, takes, recoveries int, holds func(*models.Turn) bool, of ...models.Turn) (int64, error) {
	list, err := q.memory.ChangeTurns(func(t *models.Turn) bool {
		if !holds(t) {
			return false
		}
		t.ReadyAt, t.RunnerID = &at, nil
		if !q.planted.keptEpochs {
			t.LeaseEpoch++
		}
		t.Takeovers += takes
		t.Recoveries += recoveries
		return true
	}, of...)
	return int64(len(list)), err
}

func (q simQueue) Register(_ context.Context, r models.Runner) error {
	if q.listed(r.ID) {
		return errors.New("the runner is on the list")
	}
	*q.runners = append(*q.runners, r)
	return nil
}

func (q simQueue) Beat(_ context.Context, id models.RunnerID) (bool, error) {
	for i := range *q.runners {
		if r := &(*q.runners)[i]; r.ID == id {
			r.Beat++
			return true, nil
		}
	}
	return false, nil
}

func (q simQueue) Runners(context.Context) ([]models.Runner, error) {
	return slices.Clone(*q.runners), nil
}

// unlist is the first of the two statements of a takeover.
func (q simQueue) unlist(id models.RunnerID) {
	*q.runners = slices.DeleteFunc(slices.Clone(*q.runners), func(r models.Runner) bool { return r.ID == id })
}

func heldBy(id models.RunnerID) func(*models.Turn) bool {
	return func(t *models.Turn) bool { return t.RunnerID != nil && *t.RunnerID == id }
}

func (q simQueue) TakeOver(_ context.Context, dead models.RunnerID, now models.Millis) (int64, error) {
	q.unlist(dead)
	return q.back(now, 1, 1, heldBy(dead))
}

func (q simQueue) TakeOverOrphans(_ context.Context, now models.Millis) (int64, error) {
	return q.back(now, 1, 1, func(t *models.Turn) bool { return t.RunnerID != nil && !q.listed(*t.RunnerID) })
}

func (q simQueue) ReleaseAll(_ context.Context, now models.Millis) error {
	_, err := q.back(now, 1, 1, func(t *models.Turn) bool { return t.RunnerID != nil })
	if err == nil {
		*q.runners = nil
	}
	return err
}

func (q simQueue) Remove(_ context.Context, id models.RunnerID, now models.Millis) error {
	_, err := q.back(now, 0, 0, heldBy(id))
	if err == nil {
		q.unlist(id)
	}
	return err
}

// simRows is what the engine reads of the store in memory.
type simRows struct {
	memory  *commit.Memory
	planted *planted
}

var _ rows = simRows{}

func (simRows) ping(context.Context) error { return nil }

func (s simRows) session(_ context.Context, org models.OrgID, id models.SessionID) (*sessionInfo, error) {
	row := s.memory.Session(org, id)
	if row == nil {
		return nil, &catalog.DependencyError{Dependency: "session", ID: id.String(), State: models.LifecycleDeleted}
	}
	return &sessionInfo{harness: row.HarnessID, agent: row.AgentID, model: row.ModelID, locale: optional(row.Locale)}, nil
}

func (s simRows) messages(
	_ context.Context, _ models.OrgID, session models.SessionID, after int64, _ int,
) ([]models.Message, bool, error) {
	list := commit.Read[models.Message](s.memory, commit.Is{Column: "session_id", Value: session})
	list = slices.DeleteFunc(list, func(m models.Message) bool { return m.Position == nil || *m.Position <= after })
	slices.SortFunc(list, func(a, b models.Message) int {
		return cmp.Or(cmp.Compare(*a.Position, *b.Position), cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Sequence, b.Sequence))
	})
	return list, false, nil
}

func (s simRows) openCalls(_ context.Context, _ models.OrgID, turn models.TurnID) ([]models.Effect, error) {
	list := commit.Read[models.Effect](s.memory, commit.Is{Column: "scope_id", Value: turn}, commit.Is{Column: "kind", Value: models.EffectTool})
	list = slices.DeleteFunc(list, func(e models.Effect) bool { return e.State == models.EffectSettled })
	slices.SortFunc(list, func(a, b models.Effect) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	if s.planted.forgottenCalls && len(list) > 1 {
		list = list[1:]
	}
	return list, nil
}

func (s simRows) saveCheckpoint(_ context.Context, c models.Checkpoint) error {
	return s.memory.SaveCheckpoint(c)
}
