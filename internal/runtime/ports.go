package runtime

import (
	"context"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/crossorg"
	"github.com/ostler-dev/ostler/internal/models"
)

// What an engine reaches for outside of itself. Simulations have their own of each, and run the engine's code on it.

// Committer commits commands; commit.Committer does.
type Committer interface {
	Submit(ctx context.Context, cmd commit.Command) error
}

// Queue is the queue of turns and the list of runners; crossorg.Queue has both in the database, and tells what each method does.
type Queue interface {
	TurnQueue
	RunnerList
}

// TurnQueue is where turns wait for a runner, and go back to.
type TurnQueue interface {
	Claim(ctx context.Context, runner models.RunnerID, n int) ([]models.Turn, error)
	Held(ctx context.Context, runner models.RunnerID) ([]models.Turn, error)
	Release(ctx context.Context, t models.Turn) error
	Retry(ctx context.Context, t models.Turn) error
	TakeOver(ctx context.Context, dead models.RunnerID, now models.Millis) (int64, error)
	TakeOverOrphans(ctx context.Context, now models.Millis) (int64, error)
	ReleaseAll(ctx context.Context, now models.Millis) error
}

// RunnerList is the runners that are alive, as far as anybody knows.
type RunnerList interface {
	Register(ctx context.Context, r models.Runner) error
	Beat(ctx context.Context, id models.RunnerID) (bool, error)
	Runners(ctx context.Context) ([]models.Runner, error)
	Remove(ctx context.Context, id models.RunnerID, now models.Millis) error
}

var (
	_ Committer = (*commit.Committer)(nil)
	_ Queue     = (*crossorg.Queue)(nil)
)

// rows is what an engine reads of the database by itself, and the checkpoints, which it writes there.
type rows interface {
	// ping reports whether the database answers.
	ping(ctx context.Context) error
	// session gives what a step must know of a session; the error is a *catalog.DependencyError when there is none.
	session(ctx context.Context, org models.OrgID, id models.SessionID) (*sessionInfo, error)
	// messages gives the newest messages of a conversation past a position, oldest first, up to about so many bytes. more tells
	// that there are older ones.
	messages(ctx context.Context, org models.OrgID, session models.SessionID, after int64, maxBytes int) (all []models.Message, more bool, err error)
	// openCalls gives the calls of a turn that have no result, in the model's order.
	openCalls(ctx context.Context, org models.OrgID, turn models.TurnID) ([]models.Effect, error)
	// saveCheckpoint overwrites a stream's checkpoint, as long as its lease holds.
	saveCheckpoint(ctx context.Context, c models.Checkpoint) error
}

// scheduling is how what runs at the same time is started, and waits for each other. Simulations run one thing at a time.
type scheduling struct {
	// spawn runs a function at the same time as its caller.
	spawn func(func())
	// await is called before the caller waits on channels for something that ready tells of.
	await func(ready func() bool)
}

func goroutines() scheduling {
	return scheduling{spawn: func(fn func()) { go fn() }, await: func(func() bool) {}}
}
