package main

import (
	"bytes"
	"strings"
	"testing"
)

// What must fail a run fails it, and the summary says what happened.
func TestReport(t *testing.T) {
	t.Parallel()
	const (
		passed = `{"Action":"run","Package":"m/ostler/a","Test":"TestA"}
{"Action":"output","Package":"m/ostler/a","Test":"TestA","Output":"    a_test.go:7: sample: 3 of 9 rows; seed 1\n"}
{"Action":"pass","Package":"m/ostler/a","Test":"TestA","Elapsed":1}
{"Action":"output","Package":"m/ostler/a","Output":"ok  \tm/ostler/a\t1.5s\n"}
{"Action":"pass","Package":"m/ostler/a","Elapsed":1.5}
`
		failed = `{"Action":"output","Package":"m/b","Test":"TestB","Output":"    b_test.go:7: wrong\n"}
{"Action":"fail","Package":"m/b","Test":"TestB"}
{"Action":"fail","Package":"m/b","Elapsed":0.1}
`
		raced = `{"Action":"output","Package":"m/b","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"m/b","Elapsed":0.1}
`
		panicked = `{"Action":"output","Package":"m/b","Test":"TestB","Output":"panic: broken\n"}
{"Action":"fail","Package":"m/b","Elapsed":0.1}
`
		unbuilt = `{"ImportPath":"m/b","Action":"build-output","Output":"b.go:7: undefined: x\n"}
{"ImportPath":"m/b","Action":"build-fail"}
`
		skipped = `{"Action":"output","Package":"m/b","Test":"TestB","Output":"    b_test.go:7: not today\n"}
{"Action":"skip","Package":"m/b","Test":"TestB"}
`
	)
	for _, tc := range []struct {
		name, in     string
		good, skips  bool
		wants, lacks []string
	}{
		{"all is well", passed, true, true, []string{"ok  \tm/ostler/a", "1.5 s  a\n", "a TestA: 3 of 9 rows; seed 1", "1 passed, 0 failed, 0 skipped"}, []string{"a_test.go"}},
		{"a test fails", passed + failed, false, false, []string{"b_test.go:7: wrong", "FAILED: m/b TestB\n    b_test.go:7: wrong", "1 passed, 1 failed, 0 skipped"}, nil},
		{"a data race outside of tests", passed + raced, false, false, []string{"DATA RACE"}, nil},
		{"a panic", passed + panicked, false, false, []string{"FAILED: m/b TestB\npanic: broken"}, nil},
		{"a package that doesn't compile", passed + unbuilt, false, false, []string{"undefined: x"}, nil},
		{"a skipped test", passed + skipped, false, true, []string{"not today", "1 passed, 0 failed, 1 skipped"}, nil},
		{"nothing", "", false, false, []string{"0 passed"}, nil},
		{"what go says itself", "go: cannot find main module\n", false, false, []string{"cannot find main module"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			r := newReport(&out)
			if err := r.read(strings.NewReader(tc.in)); err != nil {
				t.Fatal(err)
			}
			_ = r.out.Flush()
			text := out.String() + r.summary()
			if r.good(false) != tc.good || r.good(true) != (tc.good || tc.skips) {
				t.Errorf("good: %t, with skips %t", r.good(false), r.good(true))
			}
			for _, want := range tc.wants {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in %s", want, text)
				}
			}
			for _, not := range tc.lacks {
				if strings.Contains(text, not) {
					t.Errorf("%q is in %s", not, text)
				}
			}
		})
	}
}
