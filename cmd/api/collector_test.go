package main

import (
	"testing"
	"testing/fstest"
)

// TestContainerMemory has the limits of a container, of its pod, and of a process that is in none.
func TestContainerMemory(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		name   string
		system fstest.MapFS
		want   int64
		ok     bool
	}{
		{"container", fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("536870912\n")}, 536870912, true},
		{"the pod's is less", fstest.MapFS{
			"proc/self/cgroup": file("0::/pod/container\n"), "sys/fs/cgroup/pod/memory.max": file("1000\n"),
			"sys/fs/cgroup/pod/container/memory.max": file("2000\n"),
		}, 1000, true},
		{"the pod has none", fstest.MapFS{
			"proc/self/cgroup": file("0::/pod/container\n"), "sys/fs/cgroup/pod/memory.max": file("max\n"),
			"sys/fs/cgroup/pod/container/memory.max": file("2000\n"),
		}, 2000, true},
		{"a name with dots", fstest.MapFS{"proc/self/cgroup": file("0::/../unit\n"), "sys/fs/cgroup/unit/memory.max": file("2000\n")}, 0, false},
		{"no limit", fstest.MapFS{"proc/self/cgroup": file("0::/user.slice\n"), "sys/fs/cgroup/user.slice/memory.max": file("max\n")}, 0, false},
		{"version 1", fstest.MapFS{"proc/self/cgroup": file("4:memory:/container\n0::/\n")}, 0, false},
		{"another system", fstest.MapFS{}, 0, false},
	} {
		if got, ok := containerMemory(c.system); got != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
