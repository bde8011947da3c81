package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/shares"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Hooks of what has happened already, a session's start and a turn's end, only advise. They run after the commit, as jobs in the database,
// so that no crash forgets them.

const (
	// jobsAtOnce is how many jobs a process works on at most, and orgJobs how many of one organization: receivers that hang keep nobody
	// else's hooks waiting.
	jobsAtOnce = 32
	orgJobs    = 8
	// jobLease is how long a job is left to who claimed it. It is renewed while the hooks run.
	jobLease = time.Minute
	// jobPause is how long a job rests that could not be done.
	jobPause = 5 * time.Second
	// maxJobAttempts is how often a job is claimed before it is given up: it may be what ends the processes.
	maxJobAttempts = 3
)

// errJobLost ends hooks whose job another process has claimed.
var errJobLost = errors.New("another process has claimed the job")

// hookJobs are the jobs of an engine.
type hookJobs struct {
	*shares.Work[models.OrgID, models.HookJob]

	mu sync.Mutex
	// running are the jobs at work, with what ends them.
	running map[models.HookJobID]*runningJob
}

type runningJob struct {
	models.HookJob

	end context.CancelCauseFunc
}

func (e *Engine) newHookJobs() *hookJobs {
	until := func() models.Millis { return e.nowMillis() + models.Millis(jobLease.Milliseconds()) }
	return &hookJobs{running: map[models.HookJobID]*runningJob{}, Work: shares.NewWork(shares.WorkConfig[models.OrgID, models.HookJob]{
		Places: jobsAtOnce, Each: orgJobs,
		Due: func(ctx context.Context, without []models.OrgID) ([]models.HookJob, error) {
			return e.cfg.Queue.DueHookJobs(ctx, e.nowMillis(), without, jobsAtOnce)
		},
		Key: func(j *models.HookJob) models.OrgID { return j.OrgID },
		Claim: func(ctx context.Context, j *models.HookJob) (bool, error) {
			return e.cfg.Queue.ClaimHookJob(ctx, j, until())
		},
		Do:     e.doJob,
		Failed: func(err error) { e.cfg.Logger.Warn("hooks that are due could not be run; trying again", "error", err) },
	})}
}

// WakeJobs tells this engine that hooks are to run. It never waits.
func (e *Engine) WakeJobs() { e.jobs.Wake() }

// jobLoop runs hooks that are due, whenever it hears of some, and at least once per poll interval.
func (e *Engine) jobLoop(ctx context.Context) {
	poll := time.NewTicker(e.cfg.PollInterval)
	defer poll.Stop()
	e.jobs.Run(ctx, poll.C)
}

// doJob runs the hooks of a job that was claimed, as long as its lease is renewed.
func (e *Engine) doJob(ctx context.Context, j models.HookJob) error {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	e.jobs.mu.Lock()
	e.jobs.running[j.ID] = &runningJob{j, end}
	e.jobs.mu.Unlock()
	err := background.Contain(func() error { return e.runJob(running, j) })
	e.jobs.mu.Lock()
	delete(e.jobs.running, j.ID)
	e.jobs.mu.Unlock()
	if err == nil || errors.Is(context.Cause(running), errJobLost) {
		return nil
	}
	return e.deferJob(ctx, j, err)
}

// renewJobs renews the leases of the jobs at work that are half over, and ends those that were lost.
func (e *Engine) renewJobs(ctx context.Context) {
	now := e.nowMillis()
	var due []*runningJob
	e.jobs.mu.Lock()
	for _, j := range e.jobs.running {
		if j.DueAt-now < models.Millis(jobLease.Milliseconds()/2) {
			due = append(due, j)
		}
	}
	e.jobs.mu.Unlock()
	for _, j := range due {
		until := now + models.Millis(jobLease.Milliseconds())
		held, err := e.cfg.Queue.DeferHookJob(ctx, j.HookJob, until)
		switch {
		case err != nil:
			e.cfg.Logger.Warn("the lease of hooks that run can't be renewed; trying again", "job", j.ID, "error", err)
		case held:
			j.DueAt = until
		default:
			j.end(errJobLost)
		}
	}
}

// deferJob releases a job that failed: at a shutdown to whoever is there, else to be tried again.
func (e *Engine) deferJob(ctx context.Context, j models.HookJob, why error) error {
	due := e.nowMillis()
	if ctx.Err() == nil {
		due += models.Millis(jobPause.Milliseconds())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	_, err := e.cfg.Queue.DeferHookJob(ctx, j, due)
	return fmt.Errorf("run the hooks of %s in %s: %w", j.Event, j.SessionID, errors.Join(why, err))
}

// runJob runs the hooks of an event as the session has them now, and commits what they said.
func (e *Engine) runJob(ctx context.Context, j models.HookJob) error {
	c := &turns.EndJob{Job: j}
	if j.Attempt <= maxJobAttempts {
		out, err := e.hookJob(ctx, j)
		if err != nil {
			return err
		}
		c.Runs = out.Runs
	}
	return e.cfg.Committer.Submit(ctx, c)
}

func (e *Engine) hookJob(ctx context.Context, j models.HookJob) (out hooks.Outcome, err error) {
	r := &turnRun{e: e, turn: models.Turn{OrgID: j.OrgID, SessionID: j.SessionID, ID: models.Value(j.TurnID)}}
	if err := r.readSession(ctx); err != nil {
		return out, ignoreGone(err)
	}
	if r.step, err = r.resolveOnce(ctx); err != nil {
		return out, ignoreGone(err)
	}
	ev := r.event(tools.HookEvent(j.Event), j.ID.String())
	ev.TurnID = j.TurnID
	var payload struct {
		Success    bool              `json:"success"`
		StopReason models.StopReason `json:"stopReason"`
	}
	if err := json.Unmarshal(j.Payload, &payload); err != nil {
		return out, fmt.Errorf("read hook job %s: %w", j.ID, err)
	}
	ev.Success, ev.StopReason = payload.Success, payload.StopReason
	return r.runHooks(ctx, ev)
}

// ignoreGone makes nothing of what is gone: without its configuration a session has no hooks.
func ignoreGone(err error) error {
	var gone *catalog.DependencyError
	var model *catalog.ModelError
	if errors.As(err, &gone) || errors.As(err, &model) {
		return nil
	}
	return err
}
