//go:build !linux && !darwin

package store

import "math"

// freeBytes can't be told here: a full disk is noticed by the writes that fail.
func freeBytes(string) (uint64, error) { return math.MaxUint64, nil }
