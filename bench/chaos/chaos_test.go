package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// builtProgram is the program under test, built once.
var builtProgram string

func TestMain(m *testing.M) {
	code, err := build(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func build(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "ostler-chaos-build-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	builtProgram = filepath.Join(dir, "ostler")
	cmd := exec.Command("go", "build", "-C", "../..", "-tags", "chaos", "-o", builtProgram, "./cmd/api")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return run(), nil
}

// TestShort runs each fault program for some seconds on each database that it is for. Figures that have a gate must hold it; times
// are only shown.
//
// Rules: L5, L8.
func TestShort(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"R1", "R3", "R4", "R6", "R9", "R10"} {
		for _, kind := range []string{sqlite, postgres} {
			s := newSuite(&options{
				program: builtProgram, programs: []string{id}, databases: []string{kind}, dir: t.TempDir(), seed: 1,
				postgres: os.Getenv("OSTLER_TEST_POSTGRES_URL"),
			})
			s.shorten()
			if !s.says(id, kind) {
				continue
			}
			t.Run(id+" "+kind, func(t *testing.T) {
				t.Parallel()
				s.tell = t.Output()
				var out bytes.Buffer
				missed, err := s.runAll(t.Context(), &out)
				t.Log(out.String())
				if err != nil {
					t.Fatal(err)
				}
				if missed > 0 {
					t.Errorf("%d figures miss their gate", missed)
				}
				for _, f := range s.run.Figures {
					if f.Name == "stale results tried" && f.Value == 0 {
						t.Error("nothing stale was tried: the run shows nothing")
					}
				}
			})
		}
	}
}

// TestNothingBroken holds that a run in which nothing was broken is a failure.
func TestNothingBroken(t *testing.T) {
	t.Parallel()
	s := newSuite(&options{program: builtProgram, programs: []string{"R1"}, databases: []string{sqlite}, dir: t.TempDir(), seed: 1, tell: t.Output()})
	s.shorten()
	s.kills = 0
	if _, err := s.runAll(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no fault") {
		t.Errorf("a run without a fault gives %v", err)
	}
}
