package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Hooks of what has happened already, a session's start and a turn's end, only advise. They run after the commit, as jobs in the database,
// so that no crash forgets them.

const (
	// jobsAtOnce is how many jobs a process works on at the most.
	jobsAtOnce = 8
	// jobLease is how long a job is left to who took it: longer than all its hooks may take.
	jobLease = 15 * time.Minute
	// jobPause is how long a job rests that could not be done.
	jobPause = 5 * time.Second
	// maxJobAttempts is how often a job is taken before it is given up: it may be what ends the processes.
	maxJobAttempts = 3
)

// WakeJobs tells this engine that hooks are to run. It never waits.
func (e *Engine) WakeJobs() {
	select {
	case e.jobs <- struct{}{}:
	default:
	}
}

// jobLoop runs hooks that are due, whenever it hears of some, and at least once per poll interval.
func (e *Engine) jobLoop(ctx context.Context) {
	places := make(chan struct{}, jobsAtOnce)
	poll := time.NewTicker(e.cfg.PollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.jobs:
		case <-poll.C:
		}
		for e.takeJobs(ctx, places) {
		}
	}
}

// takeJobs begins as many jobs as there are places for. It reports whether there may be more.
func (e *Engine) takeJobs(ctx context.Context, places chan struct{}) (more bool) {
	free := jobsAtOnce - len(places)
	if free == 0 || ctx.Err() != nil {
		return false
	}
	now := e.nowMillis()
	list, err := e.cfg.Queue.ClaimHookJobs(ctx, now, now+models.Millis(jobLease.Milliseconds()), free)
	if err != nil {
		if ctx.Err() == nil {
			e.cfg.Logger.Warn("hooks that are due can't be read; trying again", "error", err)
		}
		return false
	}
	for _, j := range list {
		places <- struct{}{}
		e.loops.Go(func() {
			defer func() {
				<-places
				e.WakeJobs()
			}()
			if err := e.runJob(ctx, j); err != nil {
				e.putOff(ctx, j, err)
			}
		})
	}
	return len(list) == free
}

// putOff gives a job back: at a shutdown to whoever is there, else to be tried again.
func (e *Engine) putOff(ctx context.Context, j models.HookJob, why error) {
	due := e.nowMillis()
	if ctx.Err() == nil {
		e.cfg.Logger.Warn("hooks could not run", "org", j.OrgID, "session", j.SessionID, "event", j.Event, "error", why)
		due += models.Millis(jobPause.Milliseconds())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	if err := e.cfg.Queue.PutOffHookJob(ctx, j, due); err != nil {
		e.cfg.Logger.Warn("hooks that could not run are tried again late", "job", j.ID, "error", err)
	}
}

// runJob runs the hooks of an event as the session has them now, and commits what they said.
func (e *Engine) runJob(ctx context.Context, j models.HookJob) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the hooks panicked: %v", v)
		}
	}()
	c := &endJob{job: j}
	if j.Attempt <= maxJobAttempts {
		out, err := e.hookJob(ctx, j)
		if err != nil {
			return err
		}
		c.runs = out.Runs
	}
	return e.cfg.Committer.Submit(ctx, c)
}

func (e *Engine) hookJob(ctx context.Context, j models.HookJob) (out hooks.Outcome, err error) {
	r := &turnRun{e: e, turn: models.Turn{OrgID: j.OrgID, SessionID: j.SessionID}}
	if j.TurnID != nil {
		r.turn.ID = *j.TurnID
	}
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

// endJob commits what the hooks of a job have said.
type endJob struct {
	job  models.HookJob
	runs []hooks.Ran
}

func (c *endJob) Needs() commit.Needs {
	return commit.Needs{Org: c.job.OrgID, Session: c.job.SessionID, Bytes: 512 * (1 + len(c.runs))}
}

func (c *endJob) Apply(tx *commit.Tx) error {
	if tx.Session == nil {
		return nil
	}
	ranEvents(tx, c.job.TurnID, "", c.runs)
	tx.EndHookJob(c.job.ID)
	return nil
}
