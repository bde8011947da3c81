package report

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine is what a run was taken on.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
}

func (m Machine) String() string {
	return fmt.Sprintf("%d × %s, %s, Linux %s, %s", m.Cores, m.CPU, m.Memory, m.Kernel, m.Go)
}

// ThisMachine describes the machine that runs this program.
func ThisMachine() Machine {
	return Machine{
		CPU:    field("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Memory: field("/proc/meminfo", "MemTotal"),
		Kernel: firstLine("/proc/sys/kernel/osrelease"),
		Go:     runtime.Version(),
	}
}

// Commit names the checked-out commit, with "-dirty" when the tree differs from it.
func Commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output() //nolint:noctx // at once
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func field(file, name string) string {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return "unknown"
}

func firstLine(file string) string {
	data, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
