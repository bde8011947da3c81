package store

import (
	"errors"
	"math"
	"testing"
)

func TestAFullDiskIsNotWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := leaves(dir, 1); err != nil {
		t.Errorf("one byte is free: %v", err)
	}
	if err := leaves(dir, math.MaxUint64); !errors.Is(err, ErrDiskFull) {
		t.Errorf("got %v, want ErrDiskFull", err)
	}
	if err := leaves(dir+"/none", 1); err == nil || errors.Is(err, ErrDiskFull) {
		t.Errorf("a directory that doesn't exist: got %v", err)
	}
}
