package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/tools"
)

// What an engine reaches for outside of itself. Simulations have their own of each, and run the engine's code on it.

// Committer commits commands; commit.Committer does.
type Committer interface {
	Submit(ctx context.Context, cmd commit.Command) error
}

// BudgetChecker tells how sessions stand with the budgets that bind them; manage.Checker does.
type BudgetChecker interface {
	CheckBudget(ctx context.Context, org models.OrgID, session models.SessionID) (tools.BudgetReport, error)
}

// Meter hears how it goes. Its methods must not block. metrics.Metrics is one.
type Meter interface {
	ask.Meter
	// Waited hears of an execution that was claimed, after it was ready for so long, and how many of its organization run here.
	Waited(org models.OrgID, running int, wait time.Duration)
	// Stepped hears of a step that has ended, in one way or another.
	Stepped(phase models.Phase, took time.Duration)
	// Ended hears how long a turn took from its message to its end.
	Ended(took time.Duration)
}

// unmetered is the Meter of an engine that has none.
type unmetered struct{}

func (unmetered) Waited(models.OrgID, int, time.Duration)           {}
func (unmetered) Stepped(models.Phase, time.Duration)               {}
func (unmetered) Spoke(time.Duration)                               {}
func (unmetered) Ended(time.Duration)                               {}
func (unmetered) Called(models.ProviderKind, string, time.Duration) {}
func (unmetered) Answered(models.ProviderKind, time.Duration)       {}
func (unmetered) Panicked(string)                                   {}

// Outbound decides whether calls of tools that reach out of the server may be made now; limits.Limits does.
type Outbound interface {
	// ToolCall counts a call of an organization. It isn't ok when there is no room for it; then it tells how many seconds to wait.
	ToolCall(ctx context.Context, org models.OrgID) (retryAfter int, ok bool)
}

// Queue is the queue of executions and the list of runners; queue.Queue has both in the database, and tells what each method does.
type Queue interface {
	ExecutionQueue
	HeldExecutions
	HookJobs
	RunnerList
}

// ExecutionQueue is where executions wait for a runner, and go back to.
type ExecutionQueue interface {
	Claim(ctx context.Context, ask queue.Ask) (queue.Claimed, error)
	Caps(ctx context.Context, usual int) (queue.Caps, error)
	Release(ctx context.Context, h queue.Held) error
	Retry(ctx context.Context, h queue.Held) error
	TakeOver(ctx context.Context, dead models.RunnerID) (int64, error)
	TakeOverOrphans(ctx context.Context) (int64, error)
	ReleaseAll(ctx context.Context) error
	Forgive(until time.Time)
}

// HeldExecutions are those of a runner, as the database has them.
type HeldExecutions interface {
	Held(ctx context.Context, runner models.RunnerID) ([]queue.Held, error)
	Marked(ctx context.Context, runner models.RunnerID) ([]models.Execution, error)
	Cancelled(ctx context.Context, runner models.RunnerID, x models.Execution) (bool, error)
}

// HookJobs is where the hooks wait that run after what they are about has been committed.
type HookJobs interface {
	DueHookJobs(ctx context.Context, now models.Millis, without []models.OrgID, limit int) ([]models.HookJob, error)
	ClaimHookJob(ctx context.Context, j *models.HookJob, until models.Millis) (bool, error)
	DeferHookJob(ctx context.Context, j models.HookJob, due models.Millis) (bool, error)
}

// RunnerList is the runners that are alive, as far as anybody knows.
type RunnerList interface {
	Register(ctx context.Context, r models.Runner) error
	Beat(ctx context.Context, id models.RunnerID) (bool, error)
	SetKey(ctx context.Context, id models.RunnerID, key int64) error
	Runners(ctx context.Context) ([]models.Runner, error)
	Remove(ctx context.Context, id models.RunnerID) error
}

var (
	_ Committer = (*commit.Committer)(nil)
	_ Queue     = (*queue.Queue)(nil)
)

// rows is what an engine reads of the database by itself, and the checkpoints, which it writes there.
type rows interface {
	// ping reports whether the database answers.
	ping(ctx context.Context) error
	// session returns what a step must know of a session; the error is a *catalog.DependencyError when there is none.
	session(ctx context.Context, org models.OrgID, id models.SessionID) (*sessionInfo, error)
	// messages returns the newest messages of a conversation past a position, oldest first, up to about so many bytes. more tells
	// that there may be older ones. base is the session's BaseSequence.
	messages(ctx context.Context, org models.OrgID, session models.SessionID, base, after int64, maxBytes int) (all []models.Message, more bool, err error)
	// turnAt returns the turn of the agent's message at a position; zero when there is none.
	turnAt(ctx context.Context, org models.OrgID, session models.SessionID, position int64) (models.TurnID, error)
	// openCalls returns the calls of a turn that have no result, in the model's order.
	openCalls(ctx context.Context, org models.OrgID, turn models.TurnID) ([]models.Effect, error)
	// effect returns what the journal has under a key of a turn, and wait a wait; nil when there is none.
	effect(ctx context.Context, org models.OrgID, turn models.TurnID, key string) (*models.Effect, error)
	wait(ctx context.Context, org models.OrgID, id models.WaitID) (*models.Wait, error)
	// checkpoint returns the stream's checkpoint of a turn; nil when there is none.
	checkpoint(ctx context.Context, org models.OrgID, turn models.TurnID) (*models.Checkpoint, error)
	// saveCheckpoint overwrites a stream's checkpoint, as long as its lease holds.
	saveCheckpoint(ctx context.Context, c models.Checkpoint) error
}

// scheduling is how what runs at the same time is started, and waits for each other. Simulations run one thing at a time.
type scheduling struct {
	// spawn runs a function at the same time as its caller.
	spawn func(func())
	// await is called before the caller waits on channels for something that ready tells of.
	await func(ready func() bool)
	// moments returns what is ready after less than a commit takes.
	moments func() <-chan time.Time
}

func goroutines() scheduling {
	return scheduling{
		spawn:   func(fn func()) { go fn() },
		await:   func(func() bool) {},
		moments: func() <-chan time.Time { return time.After(300 * time.Microsecond) },
	}
}
