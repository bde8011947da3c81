package runtime

import (
	"context"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// attentionPatience bounds one look at what happened to an execution: the next one comes soon.
const attentionPatience = 5 * time.Second

// Attend tells the runner of an execution, here or elsewhere, that it was cancelled, or that something that it waited for was
// resolved. It never waits. Losing it costs time: each runner looks by itself.
func (e *Engine) Attend(runner models.RunnerID, x models.Execution) {
	if runner == e.runnerID() {
		e.scheduling.spawn(func() { e.attend(x) })
		return
	}
	if err := e.cfg.Bus.Publish(events.RunnerSubject(runner), []byte(x.String())); err != nil {
		e.cfg.Logger.Debug("a runner could not be notified about what it runs", "runner", runner, "execution", x, "error", err)
	}
}

// ear hears of this runner's executions, under whatever id it has.
type ear struct {
	e      *Engine
	runner models.RunnerID
	cancel func()
}

// listen follows the runner's id.
func (l *ear) listen() {
	id := l.e.runnerID()
	if l.cancel != nil && id == l.runner {
		return
	}
	l.stop()
	cancel, err := l.e.cfg.Bus.Subscribe(events.RunnerSubject(id), func(data []byte) {
		if x, err := models.ParseExecution(string(data)); err == nil {
			l.e.scheduling.spawn(func() { l.e.attend(x) })
		}
	})
	if err != nil {
		l.e.cfg.Logger.Warn("can't subscribe to cancels; they are found by polling", "error", err)
		return
	}
	l.runner, l.cancel = id, cancel
}

func (l *ear) stop() {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// attend looks what has happened to an execution that is at work here: a cancel ends its step, anything else is up to the step.
func (e *Engine) attend(x models.Execution) {
	e.mu.Lock()
	s := e.running[x]
	e.mu.Unlock()
	if s == nil {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), attentionPatience)
	defer done()
	cancelled, err := e.cfg.Queue.Cancelled(ctx, s.runner, x)
	switch {
	case err != nil:
		e.cfg.Logger.Warn("an execution could not be checked for a cancel", "execution", x, "error", err)
	case cancelled:
		s.interrupt(turns.ErrCancelled)
	default:
		select {
		case s.attention <- struct{}{}:
		default:
		}
	}
}

// attendAll looks at all executions of this runner that somebody has marked: what was lost on the way here is found so.
func (e *Engine) attendAll(ctx context.Context) {
	marked, err := e.cfg.Queue.Marked(ctx, e.runnerID())
	if err != nil {
		if ctx.Err() == nil {
			e.cfg.Logger.Warn("cancel requests can't be read", "error", err)
		}
		return
	}
	for _, x := range marked {
		e.attend(x)
	}
}
