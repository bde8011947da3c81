package main

import (
	"io/fs"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// tuneCollector sets what GOGC and GOMEMLIMIT leave open. The heap may grow to three times of what is live before it is collected: what is
// live is small, and collecting it at twice was a tenth of the processor's time under load. In a container with a memory limit the
// collector works harder when nine tenths of it are in use, so that garbage gets nobody killed.
func tuneCollector(getenv func(string) string, system fs.FS) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if limit, ok := containerMemory(system); ok && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// containerMemory returns the least memory limit of the control groups (version 2) that this process is in; false when there is none.
func containerMemory(system fs.FS) (limit int64, ok bool) {
	groups, err := fs.ReadFile(system, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(groups)) {
		group, found := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for found {
			// A container sees its own group as the root, so the root is looked at, too.
			text, err := fs.ReadFile(system, path.Join("sys/fs/cgroup", group, "memory.max"))
			n, notNumber := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && notNumber == nil && (!ok || n < limit) { // "max" stands for no limit
				limit, ok = n, true
			}
			found = group != ""
			group = strings.TrimPrefix(path.Dir("/"+group), "/")
		}
	}
	return limit, ok
}
