//go:build race

package runtime

// raced tells that the race detector is at work.
const raced = true
