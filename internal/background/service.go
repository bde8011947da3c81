// Package background runs what goes on beside requests: services, which are started and stopped, and jobs, which run periodically.
package background

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Service runs from Start to Stop.
type Service interface {
	// Start begins the work and returns. Its context bounds the start alone, not the work.
	Start(ctx context.Context) error
	// Stop ends the work and waits until nothing of it runs. It may be called more than once, and without a Start.
	Stop()
}

// Start starts services in order and returns what stops them, the last one first. When one can't be started, those before it are stopped.
func Start(ctx context.Context, services ...Service) (stop func(), err error) {
	for i, s := range services {
		if err := s.Start(ctx); err != nil {
			stopAll(services[:i])
			return nil, err
		}
	}
	return func() { stopAll(services) }, nil
}

func stopAll(services []Service) {
	for _, s := range slices.Backward(services) {
		s.Stop()
	}
}

// Loops are the goroutines of a service. The zero value is ready for use.
type Loops struct {
	mu     sync.Mutex
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// Start runs each function in a goroutine of its own, with a context that ends at Stop and has the values of ctx. It fails when it was
// called before.
func (l *Loops) Start(ctx context.Context, loops ...func(ctx context.Context)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		return errors.New("a background service was started twice")
	}
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, loop := range loops {
		l.work.Go(func() { loop(ctx) })
	}
	return nil
}

// Stop ends the functions' context and waits until they have returned. It may be called more than once, and without a Start.
func (l *Loops) Stop() {
	l.mu.Lock()
	cancel := l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	l.work.Wait()
}

type loop struct {
	Loops

	run func(ctx context.Context)
}

func (l *loop) Start(ctx context.Context) error { return l.Loops.Start(ctx, l.run) }

// Loop returns a Service that runs a function until its context ends.
func Loop(run func(ctx context.Context)) Service { return &loop{run: run} }
