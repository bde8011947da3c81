package runtime

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
)

// simQueue is the queue of turns on the store in memory: what queue.Queue does with SQL. A test compares the two.
type simQueue struct {
	memory  *commit.Memory
	runners *[]models.Runner
	planted *planted
}

var _ Queue = simQueue{}

var errNoHooks = errors.New("the simulation has no hooks")

func (q simQueue) listed(id models.RunnerID) bool {
	return slices.ContainsFunc(*q.runners, func(r models.Runner) bool { return r.ID == id })
}

// Claim has no circle to go around: the simulation has one organization.
func (q simQueue) Claim(_ context.Context, ask queue.Ask) (queue.Claimed, error) {
	got := queue.Claimed{Next: ask.From}
	if !q.listed(ask.Runner) {
		return got, nil
	}
	ready := q.memory.Turns(func(t *models.Turn) bool { return t.ReadyAt != nil })
	if q.planted.heldClaims && len(ready) == 0 {
		got.Turns = q.memory.Turns(func(t *models.Turn) bool { return t.RunnerID != nil && *t.RunnerID != ask.Runner })
		return got, nil
	}
	n := ask.Turns
	if ask.PerOrg > 0 {
		n = min(n, ask.PerOrg)
	}
	for _, capacity := range ask.Capacities {
		n = min(n, capacity)
	}
	if n = min(n, len(ready)); n == 0 {
		return got, nil
	}
	slices.SortStableFunc(ready, func(a, b models.Turn) int { return cmp.Compare(*a.ReadyAt, *b.ReadyAt) })
	var err error
	got.Turns, err = q.memory.ChangeTurns(func(t *models.Turn) bool {
		t.ReadyAt, t.RunnerID, t.Status = nil, &ask.Runner, models.TurnRunning
		t.LeaseEpoch++
		return true
	}, ready[:n]...)
	got.More = n == ask.Turns
	return got, err
}

// Caps returns none.
func (simQueue) Caps(_ context.Context, usual int) (queue.Caps, error) {
	return queue.Caps{Usual: usual}, nil
}

func (q simQueue) Marked(_ context.Context, runner models.RunnerID) (ids []models.TurnID, err error) {
	for _, t := range q.memory.Turns(func(t *models.Turn) bool { return heldBy(runner)(t) && t.Attention }) {
		ids = append(ids, t.ID)
	}
	return ids, nil
}

func (q simQueue) Cancelled(_ context.Context, runner models.RunnerID, turn models.TurnID) (bool, error) {
	list := q.memory.Turns(func(t *models.Turn) bool { return heldBy(runner)(t) && t.ID == turn })
	return len(list) == 1 && list[0].Cancel != nil, nil
}

// Forgive does nothing: no database is away for so long.
func (simQueue) Forgive(time.Time) {}

func (simQueue) DueHookJobs(context.Context, models.Millis, []models.OrgID, int) ([]models.HookJob, error) {
	return nil, errNoHooks
}

func (simQueue) ClaimHookJob(context.Context, *models.HookJob, models.Millis) (bool, error) {
	return false, errNoHooks
}

func (simQueue) DeferHookJob(context.Context, models.HookJob, models.Millis) (bool, error) {
	return false, errNoHooks
}

func (q simQueue) Held(_ context.Context, runner models.RunnerID) ([]models.Turn, error) {
	return q.memory.Turns(func(t *models.Turn) bool { return t.RunnerID != nil && *t.RunnerID == runner }), nil
}

func (q simQueue) Release(_ context.Context, t models.Turn) error { return q.letGo(t, 0) }

func (q simQueue) Retry(_ context.Context, t models.Turn) error { return q.letGo(t, 1) }

func (q simQueue) letGo(back models.Turn, takes int) error {
	_, err := q.back(takes, 0, func(t *models.Turn) bool {
		return t.LeaseEpoch == back.LeaseEpoch && t.Status == models.TurnRunning
	}, back)
	return err
}

// back puts turns back into the queue.
func (q simQueue) back(takes, recoveries int, holds func(*models.Turn) bool, of ...models.Turn) (int64, error) {
	list, err := q.memory.ChangeTurns(func(t *models.Turn) bool {
		if !holds(t) {
			return false
		}
		t.ReadyAt, t.RunnerID = t.QueuedAt.Ptr(), nil
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

func (q simQueue) SetKey(_ context.Context, id models.RunnerID, key int64) error {
	for i := range *q.runners {
		if r := &(*q.runners)[i]; r.ID == id {
			r.LockKey = &key
		}
	}
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

func (q simQueue) TakeOver(_ context.Context, dead models.RunnerID) (int64, error) {
	q.unlist(dead)
	return q.back(1, 1, heldBy(dead))
}

func (q simQueue) TakeOverOrphans(_ context.Context) (int64, error) {
	return q.back(1, 1, func(t *models.Turn) bool { return t.RunnerID != nil && !q.listed(*t.RunnerID) })
}

func (q simQueue) ReleaseAll(_ context.Context) error {
	_, err := q.back(1, 1, func(t *models.Turn) bool { return t.RunnerID != nil })
	if err == nil {
		*q.runners = nil
	}
	return err
}

func (q simQueue) Remove(_ context.Context, id models.RunnerID) error {
	_, err := q.back(0, 0, heldBy(id))
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
	return &sessionInfo{harness: row.HarnessID, agent: row.AgentID, model: row.ModelID, locale: models.Value(row.Locale), clientTools: row.ClientTools, budgeted: row.Budgeted, fresh: row.LastSequence == 1}, nil
}

func (s simRows) messages(
	_ context.Context, _ models.OrgID, session models.SessionID, _, after int64, _ int,
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
	for i := range list {
		if s.planted.forgottenStarts && list[i].State == models.EffectRunning {
			list[i].State = models.EffectClaimed
		}
	}
	return list, nil
}

func (s simRows) turnAt(_ context.Context, _ models.OrgID, session models.SessionID, position int64) (turn models.TurnID, err error) {
	for _, m := range commit.Read[models.Message](s.memory, commit.Is{Column: "session_id", Value: session}) {
		if m.Position != nil && *m.Position == position && m.Ordinal == 0 && m.Role == models.MessageAgent {
			turn = m.TurnID
		}
	}
	return turn, nil
}

func (s simRows) effect(_ context.Context, org models.OrgID, turn models.TurnID, key string) (*models.Effect, error) {
	return one(commit.Read[models.Effect](s.memory, commit.Is{Column: "org_id", Value: org}, commit.Is{Column: "scope_id", Value: turn},
		commit.Is{Column: "replay_key", Value: key}))
}

func (s simRows) wait(_ context.Context, org models.OrgID, id models.WaitID) (*models.Wait, error) {
	return one(commit.Read[models.Wait](s.memory, commit.Is{Column: "org_id", Value: org}, commit.Is{Column: "id", Value: id}))
}

func (s simRows) checkpoint(_ context.Context, org models.OrgID, turn models.TurnID) (*models.Checkpoint, error) {
	return one(commit.Read[models.Checkpoint](s.memory, commit.Is{Column: "org_id", Value: org}, commit.Is{Column: "turn_id", Value: turn}))
}

func one[T any](list []T) (*T, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

func (s simRows) saveCheckpoint(_ context.Context, c models.Checkpoint) error {
	return s.memory.SaveCheckpoint(c)
}
