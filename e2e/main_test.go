package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up. No test waits for it when all is well.
const patience = 30 * time.Second

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	code, err := build(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func build(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "ostler-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if binary = os.Getenv("OSTLER_E2E_BINARY"); binary != "" {
		return run(), nil // one that was built before, e.g. with the race detector
	}
	binary = filepath.Join(dir, "ostler")
	cmd := exec.Command("go", "build", "-o", binary, "../cmd/api")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return run(), nil
}
