package procs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoCPULimits tells that this machine or container lets nobody limit the processor time of a group of processes.
var ErrNoCPULimits = errors.New("control groups of processor time can't be made here")

// cgroups is where Linux shows control groups.
const cgroups = "/sys/fs/cgroup"

// CPULimit is a control group whose processes together get no more than a share of one processor. The kernel stops them for the
// rest of a period in which they have used it up, as containers with a limit are.
type CPULimit struct{ dir string }

// cpuPeriod is the kernel's default, and that of container runtimes, in microseconds.
const cpuPeriod = 100_000

// NewCPULimit makes a group that gets so much of one processor, e.g. 0.3. The error wraps ErrNoCPULimits where groups can't be made.
// It must be removed when its processes have ended.
func NewCPULimit(name string, share float64) (*CPULimit, error) {
	return newCPULimit(cgroups, name, share)
}

func newCPULimit(root, name string, share float64) (_ *CPULimit, err error) {
	quota := strconv.Itoa(int(share * cpuPeriod))
	// Version 1 has a tree per resource; version 2 has one tree, whose root must hand the resource down.
	l := &CPULimit{dir: filepath.Join(root, "cpu", name)}
	settings := [][2]string{{"cpu.cfs_period_us", strconv.Itoa(cpuPeriod)}, {"cpu.cfs_quota_us", quota}}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		l.dir = filepath.Join(root, name)
		settings = [][2]string{{"cpu.max", fmt.Sprintf("%s %d", quota, cpuPeriod)}}
		if err := write(filepath.Join(root, "cgroup.subtree_control"), "+cpu"); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoCPULimits, err)
		}
	}
	if err := os.Mkdir(l.dir, 0o750); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCPULimits, err)
	}
	for _, s := range settings {
		if err := write(filepath.Join(l.dir, s[0]), s[1]); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoCPULimits, err), l.Remove())
		}
	}
	return l, nil
}

// Add puts a process with all its threads into the group.
func (l *CPULimit) Add(pid int) error {
	return write(filepath.Join(l.dir, "cgroup.procs"), strconv.Itoa(pid))
}

// Throttled counts the periods in which the group had used up its share.
func (l *CPULimit) Throttled() (int64, error) {
	file := filepath.Join(l.dir, "cpu.stat")
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, "nr_throttled "); found {
			return strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no nr_throttled", file)
}

// Remove removes the group. Its processes must have ended; the kernel may take a moment to know it.
func (l *CPULimit) Remove() error {
	const tries, pause = 50, 20 * time.Millisecond
	for n := 1; ; n++ {
		err := syscall.Rmdir(l.dir)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		case n == tries || !errors.Is(err, syscall.EBUSY):
			return fmt.Errorf("remove the control group %s: %w", l.dir, err)
		}
		time.Sleep(pause)
	}
}

// write writes to a file of the kernel, which is there already.
func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
