package events

import "time"

// Timers runs functions later. Tests have timers that they move by hand.
type Timers interface {
	// AfterFunc runs fn once, on a goroutine of its own, when d has passed. stop reports whether it kept fn from running.
	AfterFunc(d time.Duration, fn func()) (stop func() bool)
}

// SystemTimers are the machine's.
type SystemTimers struct{}

// AfterFunc implements Timers.
func (SystemTimers) AfterFunc(d time.Duration, fn func()) func() bool {
	return time.AfterFunc(d, fn).Stop
}

var _ Timers = SystemTimers{}
