//go:build linux || darwin

package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes returns how much the disk of a directory still takes from this process.
func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("look for room in %s: %w", dir, err)
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // the block size is positive
}
