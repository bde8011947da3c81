package background

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Job runs a function periodically. A run that fails or panics is logged, and the function runs again at its next time.
type Job struct {
	Loops

	log      *slog.Logger
	name     string
	interval time.Duration
	run      func(ctx context.Context) error

	atStart bool
	last    time.Duration
	wake    <-chan struct{}
	ticks   <-chan time.Time
}

// Option changes when a Job runs.
type Option func(*Job)

// AtStart makes a Job also run as soon as it is started.
func AtStart() Option { return func(j *Job) { j.atStart = true } }

// AtStop makes a Job run once more when it is stopped, for d at most. A run that is under way is not cancelled by the stop.
func AtStop(d time.Duration) Option { return func(j *Job) { j.last = d } }

// OnWake makes a Job also run after each signal.
func OnWake(c <-chan struct{}) Option { return func(j *Job) { j.wake = c } }

// Ticks makes a Job run at these ticks instead of by its interval; nil changes nothing. It is for tests.
func Ticks(c <-chan time.Time) Option { return func(j *Job) { j.ticks = c } }

// Every returns a Job that calls run once per interval, one call at a time: a call that takes longer delays the next one. name is for the log.
func Every(log *slog.Logger, name string, interval time.Duration, run func(ctx context.Context) error, options ...Option) *Job {
	j := &Job{log: log, name: name, interval: interval, run: run}
	for _, o := range options {
		o(j)
	}
	return j
}

// Start begins the Job, which runs until Stop: ctx only provides values.
func (j *Job) Start(ctx context.Context) error { return j.Loops.Start(ctx, j.loop) }

func (j *Job) loop(ctx context.Context) {
	work := ctx
	if j.last > 0 {
		work = context.WithoutCancel(ctx)
		defer func() {
			last, cancel := context.WithTimeout(work, j.last)
			defer cancel()
			j.once(last, "the last run of a background job failed")
		}()
	}
	const again = "a background job failed; it runs again at its next time"
	if j.atStart {
		j.once(work, again)
	}
	ticks := j.ticks
	if ticks == nil {
		t := time.NewTicker(j.interval)
		defer t.Stop()
		ticks = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		case <-j.wake:
		}
		j.once(work, again)
	}
}

// once runs the function. failed is what to log when it fails; what a stop has cut short has not failed.
func (j *Job) once(ctx context.Context, failed string) {
	err, level := Contain(func() error { return j.run(ctx) }), slog.LevelWarn
	switch {
	case errors.Is(err, ErrPanic):
		level = slog.LevelError
	case err == nil || errors.Is(ctx.Err(), context.Canceled):
		return
	}
	j.log.Log(ctx, level, failed, "job", j.name, "error", err)
}
