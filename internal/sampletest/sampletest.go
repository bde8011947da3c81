// Package sampletest says how much of a long test is run. There are two tiers, and each test is in both: `go test -short`, which
// `make test` uses, tries a seeded sample of what `go test`, which `make test-thorough` uses, tries whole. What is sampled is logged in
// lines that begin with "sample:"; tools/testsum repeats them at the end.
package sampletest

import (
	"os"
	"strconv"
	"testing"
)

// Number returns how many of something a test tries: all, or fewer with -short.
func Number(t testing.TB, what string, fewer, all int) int {
	t.Helper()
	if !testing.Short() {
		return all
	}
	t.Logf("sample: %d of %d %s", fewer, all, what)
	return fewer
}

// Part returns which of so many numbered things a test tries: all of them, or with -short so many in a row, which the seed chooses.
func Part(t testing.TB, what string, fewer, all uint64) (first, n uint64) {
	t.Helper()
	if !testing.Short() {
		return 0, all
	}
	first = Seed(t) * fewer % (all - fewer + 1)
	t.Logf("sample: %d of %d %s, from number %d; seed %d", fewer, all, what, first, Seed(t))
	return first, fewer
}

// Half returns one half of a list for one of two databases and the other half for the other one: with -short each row is tried on one of
// them. Without, the whole.
func Half[T any](t testing.TB, what string, even bool, list []T) []T {
	t.Helper()
	if !testing.Short() {
		return list
	}
	var half []T
	for i, row := range list {
		if ((uint64(i)+Seed(t))%2 == 0) == even {
			half = append(half, row)
		}
	}
	t.Logf("sample: %d of %d %s; seed %d", len(half), len(list), what, Seed(t))
	return half
}

// Seed chooses the sample. OSTLER_SAMPLE_SEED sets it; the Makefile counts commits, so that a commit is always tested alike, and
// those that follow try the other rows.
func Seed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("OSTLER_SAMPLE_SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("OSTLER_SAMPLE_SEED is %q: want a whole number", text)
	}
	return seed
}
