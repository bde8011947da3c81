package procs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the kernel's unit of times in /proc, on every architecture that Go runs on.
const ticksPerSecond = 100

// CPU returns the processor time that a process and all its living descendants have used, and what their ended
// children had used.
func CPU(pid int) (time.Duration, error) {
	stats, err := readAll()
	if err != nil {
		return 0, err
	}
	if _, found := stats[pid]; !found {
		return 0, fmt.Errorf("process %d does not exist", pid)
	}
	var ticks int64
	for id := range stats {
		for at := id; at > 1; at = stats[at].parent {
			if at == pid {
				ticks += stats[id].ticks
				break
			}
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

type stat struct {
	parent int
	ticks  int64 // own, and of children that have ended and were waited for
}

func readAll() (map[int]stat, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	stats := make(map[int]stat, len(dirs))
	for _, name := range dirs {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it ended in the meantime
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return nil, err
		}
		// The program's name, in parentheses, may hold anything; after it come state, parent, …
		_, rest, _ := strings.Cut(string(data[bytes.LastIndexByte(data, ')'):]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			return nil, fmt.Errorf("%s has %d fields", name, len(fields))
		}
		var s stat
		if s.parent, err = strconv.Atoi(fields[1]); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			s.ticks += n
		}
		stats[pid] = s
	}
	return stats, nil
}

// RSS returns the resident memory of a process in bytes.
func RSS(pid int) (int64, error) {
	return readField(pid, "status", "VmRSS:", 1024)
}

// ReadBytes returns what a process has read: from files, whether or not they were cached, and from connections.
func ReadBytes(pid int) (int64, error) {
	return readField(pid, "io", "rchar:", 1)
}

// WrittenBytes returns what a process has sent to disks.
func WrittenBytes(pid int) (int64, error) {
	return readField(pid, "io", "write_bytes:", 1)
}

func readField(pid int, file, field string, unit int64) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("process %d does not exist", pid)
	} else if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, field); found {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n * unit, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/%s has no %s", pid, file, field)
}

// Children returns the processes that a process has started and that still live.
func Children(pid int) ([]int, error) {
	stats, err := readAll()
	if err != nil {
		return nil, err
	}
	var children []int
	for id, s := range stats {
		if s.parent == pid {
			children = append(children, id)
		}
	}
	return children, nil
}

// Parent returns the process that has started a process.
func Parent(pid int) (int, error) {
	stats, err := readAll()
	if err != nil {
		return 0, err
	}
	s, found := stats[pid]
	if !found {
		return 0, fmt.Errorf("process %d does not exist on this machine", pid)
	}
	return s.parent, nil
}

// Busy returns the processor time that was used on the whole machine since it started, or taken from it by its host.
func Busy() (time.Duration, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 9 {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var ticks int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}
