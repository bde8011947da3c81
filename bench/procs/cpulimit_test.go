package procs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// kernel makes a directory that looks as the kernel's does, where the files of a group are there as soon as it is made.
func kernel(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWhereGroupsCanNotBeMadeThatIsSaid(t *testing.T) {
	t.Parallel()
	for name, root := range map[string]string{
		"nothing there":                   kernel(t),
		"version 1 without its files":     kernel(t, "cpu/cpu.shares"),
		"version 2 that hands nothing on": kernel(t, "cgroup.controllers"),
		"version 2 without its files":     kernel(t, "cgroup.controllers", "cgroup.subtree_control"),
	} {
		if _, err := newCPULimit(root, "g", 0.3); !errors.Is(err, ErrNoCPULimits) {
			t.Errorf("%s: %v", name, err)
		}
		for _, dir := range []string{"g", "cpu/g"} {
			if _, err := os.Stat(filepath.Join(root, dir)); err == nil {
				t.Errorf("%s: %s was left behind", name, dir)
			}
		}
	}
}

func TestTheClockOfAProcessRuns(t *testing.T) {
	t.Parallel()
	before, err := CPUTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var after int64
	for n := 0; after <= int64(before); n++ { // ends because this loop is work
		now, err := CPUTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		after = int64(now)
	}
	read, err := ReadBytes(os.Getpid())
	if err != nil || read <= 0 {
		t.Errorf("%d bytes read: %v", read, err)
	}
	if _, err := CPUTime(1 << 22); err == nil {
		t.Error("a process above the highest possible id has a clock")
	}
}
