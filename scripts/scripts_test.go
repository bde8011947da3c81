// Package scripts tests what the scripts beside it promise.
package scripts

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Nothing is lost between the tiers: the Go tests of every file are in both, and all others in the thorough one.
func TestEveryTestIsInATier(t *testing.T) {
	t.Parallel()
	files := tests(t)
	for _, read := range []string{"go-test", "../Makefile"} { // what is opened here is what `go test` remembers the result by
		if _, err := os.ReadFile(read); err != nil {
			t.Fatal(err)
		}
	}
	for _, tier := range []string{"short", "thorough"} {
		out, err := exec.Command("./go-test", "--list", tier).Output()
		if err != nil {
			t.Fatal(err)
		}
		listed := strings.Fields(string(out))
		for _, file := range files {
			if !slices.Contains(listed, file) {
				t.Errorf("scripts/go-test %s doesn't run the tests in %s", tier, file)
			}
		}
	}
	for target, wants := range map[string][]string{
		"test":             {"go-test ", "check-format", "check-generated", "check-schema", "lint", "web-test", "e2e-smoke"},
		"test-thorough":    {"go-test-thorough ", "check-format", "check-generated", "check-schema", "lint", "web-test", "e2e ", "histories", "simulations", "fuzz"},
		"go-test":          {"scripts/go-test short"},
		"go-test-thorough": {"scripts/go-test thorough"},
		"web-test":         {"npm run lint", "npm run typecheck", "npm run test", "npm run size"},
		"e2e-smoke":        {"npm run e2e -- --grep @smoke\n"},
		"e2e":              {"npm run e2e --\n"},
		"fuzz":             {"scripts/fuzz "},
		"histories":        {"-run Histor ./internal/commit ./internal/sessions"},
	} {
		cmd := exec.Command("make", "--dry-run", "--always-make", target)
		cmd.Dir, cmd.Env = "..", slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") })
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make --dry-run %s: %v\n%s", target, err, out)
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("make %s has no %q:\n%s", target, want, out)
			}
		}
	}
}

// What isn't built with the race detector is run without it: go-test chooses such tests by their names.
func TestTestsWithoutTheRaceDetectorAreRun(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
	found := 0
	for _, file := range tests(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "//go:build !race\n") {
			continue
		}
		for _, name := range names.FindAllStringSubmatch(string(text), -1) {
			found++
			if !strings.HasPrefix(name[1], "TestSimulation") || !strings.HasSuffix(filepath.Dir(file), "internal/runtime") {
				t.Errorf("no tier runs %s in %s: call it TestSimulation…, in internal/runtime, or change scripts/go-test", name[1], file)
			}
		}
	}
	if found == 0 {
		t.Error("there are no such tests")
	}
}

// The first tier opens the browser for one test of each of these pages; the thorough one has them all.
func TestSmokeTestsOfTheDashboard(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sign-in", "session", "waits", "budgets"} {
		spec, err := os.ReadFile("../web/e2e/" + name + ".spec.ts")
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(spec), `tag: "@smoke"`); n != 1 {
			t.Errorf("%s.spec.ts has %d tests with the tag @smoke, want 1", name, n)
		}
	}
}

var isTest = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*\(\w+ \*testing\.T\)|Fuzz|Example)`)

// tests returns the files with tests, whatever they are built for.
func tests(t *testing.T) (files []string) {
	t.Helper()
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && path != top && (name == "node_modules" || name == "testdata" || name[0] == '.' || name[0] == '_'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if isTest.Match(text) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("only %d files with tests were found", len(files))
	}
	return files
}
