package shares_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/shares"
)

// An item whose work panics or fails ends neither the process nor the others, and takes no place any longer.
func TestWorkThatPanics(t *testing.T) {
	due := []int{0, 1, 2, 3, 4}
	var done atomic.Int64
	failed := make(chan error, len(due))
	w := shares.NewWork(shares.WorkConfig[string, int]{
		Places: 8, Each: 2,
		Due: func(_ context.Context, without []string) ([]int, error) {
			if slices.Contains(without, "key") {
				return nil, nil
			}
			return slices.Clone(due), nil
		},
		Key: func(*int) string { return "key" },
		Claim: func(_ context.Context, item *int) (bool, error) {
			due = slices.DeleteFunc(due, func(other int) bool { return other == *item })
			return true, nil
		},
		Do: func(_ context.Context, item int) error {
			switch item {
			case 0:
				panic("no sense")
			case 1:
				return errors.New("no luck")
			}
			done.Add(1)
			return nil
		},
		Failed: func(err error) { failed <- err },
	})
	if err := w.All(t.Context()); err != nil || done.Load() != 3 || len(failed) != 2 {
		t.Fatalf("%d were done and %d failed, %v", done.Load(), len(failed), err)
	}
	close(failed)
	for err := range failed {
		if errors.Is(err, background.ErrPanic) != strings.Contains(err.Error(), "no sense") {
			t.Errorf("heard of %v", err)
		}
	}
}
