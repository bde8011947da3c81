package procs

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the processor time that processes have used themselves, by the kernel's own clock of each: to the nanosecond,
// where /proc counts in hundredths of a second. It knows nothing of their children, ended or not: name those that count. A process
// that has ended is an error.
func CPUTime(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		// CPUCLOCK_SCHED of the whole process; see the kernel's posix-timers.h.
		const sched = 2
		var at unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|sched), &at); err != nil {
			return 0, fmt.Errorf("read the processor clock of process %d: %w", pid, err)
		}
		sum += time.Duration(at.Nano())
	}
	return sum, nil
}
