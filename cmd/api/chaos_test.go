//go:build chaos

package main

import (
	"errors"
	"testing"
)

func TestFailpoints(t *testing.T) {
	t.Parallel()
	f, err := parseFailpoints("committed=error@1,begin=error@0.25,loaded=stall:1ns@1", 7)
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(f.At("committed"), errInjected) {
		t.Error("a certain failure did not come")
	}
	if f.At("written") != nil || f.At("loaded") != nil {
		t.Error("a point without a failure failed")
	}
	failed := 0
	for range 1000 {
		if f.At("begin") != nil {
			failed++
		}
	}
	if failed < 150 || failed > 350 {
		t.Errorf("%d of 1000 failed, want about 250", failed)
	}
	if f, err := parseFailpoints("", 1); f != nil || err != nil {
		t.Errorf("nothing gives %v, %v", f, err)
	}
	for _, bad := range []string{"committed", "committed=error", "committed=error@0", "committed=error@2", "commit=error@1", "begin=panic@1", "begin=stall@1", "begin=error@NaN"} {
		if _, err := parseFailpoints(bad, 1); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestExtrasNeedAFile(t *testing.T) {
	t.Parallel()
	if _, err := addExtras(from(), nil); err == nil {
		t.Error("a build for fault tests starts without a file of effects")
	}
	if _, err := addExtras(from(envFile, t.TempDir()+"/effects", envFailpoints, "begin=what@1"), nil); err == nil {
		t.Error("a wrong failpoint is taken")
	}
	x, err := addExtras(from(envFile, t.TempDir()+"/effects"), nil)
	if err != nil || len(x.capabilities) != 1 || x.faults != nil {
		t.Errorf("got %+v, %v", x, err)
	}
}
