package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestQuickStart runs docs/examples/first-turn as its README tells, in a copy of the directory.
func TestQuickStart(t *testing.T) { //nolint:tparallel // one after the other: both need the processors for themselves
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "first-turn")
	if err := os.CopyFS(dir, os.DirFS("../docs/examples/first-turn")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	eachDatabaseInTurn(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		run := exec.CommandContext(t.Context(), filepath.Join(dir, "run.sh"))
		run.Env = append(os.Environ(), "OSTLER_URL="+p.url, "OSTLER_EMAIL="+ownerEmail, "OSTLER_PASSWORD="+ownerPassword)
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("run.sh: %v\n%s", err, out)
		}
		text := string(out)
		says(t, text, "signed in as "+ownerEmail, "created agent_", "created sess_", "SESSION_STARTED", "write_file", "read_file",
			"OUTPUT_DELTA", "TURN_COMPLETED", "SESSION_IDLED")
		numbers := regexp.MustCompile(`(?m)^ *(\d+)   [A-Z]`).FindAllStringSubmatch(text, -1)
		for i, n := range numbers {
			if n[1] != strconv.Itoa(i+1) {
				t.Errorf("event %d has sequence %s", i+1, n[1])
			}
		}
		last := strconv.Itoa(len(numbers))
		if !strings.HasSuffix(strings.TrimSpace(text), "events 1 … "+last+", no gap") {
			t.Errorf("the script ends otherwise:\n%s", text)
		}
		t.Logf("\n%s", text)
	})
}
