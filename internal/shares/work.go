package shares

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
)

// WorkConfig is what Work needs; all of it is required, but Each.
type WorkConfig[K comparable, T any] struct {
	// Places is how many items this process works on at once, and Each how many of one key; 0 for any number of them.
	Places, Each int
	// Due returns items that are due, the most overdue first, but those of the keys in without.
	Due func(ctx context.Context, without []K) ([]T, error)
	// Key is whose place an item takes.
	Key func(item *T) K
	// Claim claims an item for this process, so that Due doesn't return it again. It reports false when somebody else was first.
	Claim func(ctx context.Context, item *T) (bool, error)
	// Do works on an item that was claimed. When it fails or panics, the item is due again by what Claim has done.
	Do func(ctx context.Context, item T) error
	// Failed hears of errors, those of Do with the key, but not of those that the end of the context may have caused.
	Failed func(error)
}

// Work does what is due in a queue that many keys share: each item in the background, on a place of its key. An item that hangs keeps
// nobody but its own key waiting.
type Work[K comparable, T any] struct {
	cfg     WorkConfig[K, T]
	places  Shares[K]
	wake    chan struct{}
	running sync.WaitGroup
}

// NewWork makes a Work, which does nothing until Run.
func NewWork[K comparable, T any](cfg WorkConfig[K, T]) *Work[K, T] {
	return &Work[K, T]{cfg: cfg, places: Shares[K]{Places: cfg.Places, Each: cfg.Each}, wake: make(chan struct{}, 1)}
}

// Wake reports that something may be due. It never waits.
func (w *Work[K, T]) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run looks for what is due whenever it is woken, at each of the ticks, and when a place is free again. It returns when ctx has ended and
// nothing runs any more.
func (w *Work[K, T]) Run(ctx context.Context, ticks <-chan time.Time) {
	defer w.running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-ticks:
		}
		_, err := w.beginAll(ctx)
		w.failed(ctx, err)
	}
}

// All does what is due, and returns when nothing is any more. It is for callers that have no Run. Its errors are those of Due and Claim.
func (w *Work[K, T]) All(ctx context.Context) error {
	for {
		begun, err := w.beginAll(ctx)
		w.running.Wait()
		if !begun || err != nil {
			return err
		}
	}
}

func (w *Work[K, T]) failed(ctx context.Context, err error) {
	if errors.Is(err, background.ErrPanic) || err != nil && ctx.Err() == nil {
		w.cfg.Failed(err)
	}
}

// beginAll begins all that is due and has a place. It reports whether it began anything.
func (w *Work[K, T]) beginAll(ctx context.Context) (begun bool, err error) {
	for {
		n, err := w.begin(ctx)
		begun = begun || n > 0
		if n == 0 || err != nil {
			return begun, err
		}
	}
}

// begin begins what one look finds.
func (w *Work[K, T]) begin(ctx context.Context) (n int, err error) {
	full, all := w.places.Full()
	if all || ctx.Err() != nil {
		return 0, ctx.Err()
	}
	list, err := w.cfg.Due(ctx, full)
	if err != nil {
		return 0, err
	}
	for _, item := range list {
		key := w.cfg.Key(&item)
		if !w.places.Try(key, 1) {
			continue
		}
		claimed, err := w.cfg.Claim(ctx, &item)
		if !claimed || err != nil {
			w.places.Leave(key, 1)
		}
		if err != nil {
			return n, err
		}
		if !claimed {
			continue
		}
		n++
		w.running.Go(func() {
			defer w.Wake() // when the place is free
			defer w.places.Leave(key, 1)
			if err := background.Contain(func() error { return w.cfg.Do(ctx, item) }); err != nil {
				w.failed(ctx, fmt.Errorf("for %v: %w", key, err))
			}
		})
	}
	return n, nil
}
