// Testsum reads the output of `go test -json` and prints what `go test` would have printed. At the end it prints the slowest packages,
// what was sampled, how each failure began, and one line that counts: "812 passed, 0 failed, 0 skipped". It exits with 1 when anything failed or was skipped, or
// when nothing ran; -allow-skips allows tests to be skipped. -summary FILE also writes the end to a file.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	summary := flag.String("summary", "", "a file for the summary")
	allowSkips := flag.Bool("allow-skips", false, "tests may be skipped")
	flag.Parse()
	r := newReport(os.Stdout)
	err := r.read(os.Stdin)
	end := r.summary()
	fmt.Fprint(r.out, end)
	err = errors.Join(err, r.out.Flush())
	if *summary != "" {
		err = errors.Join(err, os.WriteFile(*summary, []byte(end), 0o600))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
	}
	if err != nil || !r.good(*allowSkips) {
		os.Exit(1)
	}
}

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// test names a test; without a name it is the package.
type test struct{ pkg, name string }

// report is what became of the tests.
type report struct {
	out                     *bufio.Writer
	passed, failed, skipped int
	// broken says that a package failed, or didn't compile.
	broken bool
	// output is that of tests that have not ended.
	output map[test]*bytes.Buffer
	// samples are the lines in which tests said which part of their work they did.
	samples  []string
	packages []timed
	// failures are the first lines of what failed tests, and packages without any, said.
	failures []string
}

// timed is a package with the seconds that its tests took.
type timed struct {
	name    string
	seconds float64
}

func newReport(out io.Writer) *report {
	return &report{out: bufio.NewWriter(out), output: map[test]*bytes.Buffer{}}
}

// read reads all events, and prints what is worth it.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				_, _ = r.out.Write(line) // go itself has something to say
			} else {
				r.hear(e)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	for t := range r.output { // tests that never ended: a panic, or a timeout
		r.fail(t)
	}
	return nil
}

func (r *report) hear(e event) {
	t := test{e.Package, e.Test}
	switch {
	case e.Action == "output" && e.Test == "" && e.Output == "PASS\n": // as go test does with several packages
	case e.Action == "build-output" || e.Action == "output" && e.Test == "":
		_, _ = r.out.WriteString(e.Output)
		_ = r.out.Flush()
	case e.Action == "output":
		if _, sample, ok := strings.Cut(e.Output, " sample: "); ok {
			r.samples = append(r.samples, fmt.Sprintf("%s %s: %s", short(e.Package), e.Test, strings.TrimSpace(sample)))
		}
		if r.output[t] == nil {
			r.output[t] = new(bytes.Buffer)
		}
		r.output[t].WriteString(e.Output)
	case e.Action == "build-fail", e.Action == "fail" && e.Test == "":
		r.broken = true
		r.packages = append(r.packages, timed{e.Package, e.Elapsed})
	case e.Test == "":
		if e.Action == "pass" {
			r.packages = append(r.packages, timed{e.Package, e.Elapsed})
		}
	case e.Action == "pass":
		r.passed++
		delete(r.output, t)
	case e.Action == "skip":
		r.skipped++
		r.show(t)
	case e.Action == "fail":
		r.failed++
		r.fail(t)
	}
}

// failureLines is how much of a failure the summary repeats: enough for a message, and for the top of a stack.
const failureLines = 60

// fail prints what a test said, and keeps the beginning for the summary: a log of many packages is often cut before its end.
func (r *report) fail(t test) {
	said := ""
	if b := r.output[t]; b != nil {
		lines := strings.SplitAfterN(b.String(), "\n", failureLines+1)
		said = strings.Join(lines[:min(len(lines), failureLines)], "")
	}
	r.failures = append(r.failures, fmt.Sprintf("%s %s\n%s", short(t.pkg), t.name, said))
	r.show(t)
}

// show prints what a test said.
func (r *report) show(t test) {
	if b := r.output[t]; b != nil {
		_, _ = r.out.Write(b.Bytes())
		delete(r.output, t)
	}
	_ = r.out.Flush()
}

// slowest is how many packages are named at the end.
const slowest = 10

// summary returns the last lines.
func (r *report) summary() string {
	var b strings.Builder
	slices.SortStableFunc(r.packages, func(a, b timed) int { return int(1000*b.seconds) - int(1000*a.seconds) })
	if len(r.packages) > 0 {
		fmt.Fprintln(&b, "slowest packages:")
	}
	for _, p := range r.packages[:min(slowest, len(r.packages))] {
		fmt.Fprintf(&b, "%7.1f s  %s\n", p.seconds, short(p.name))
	}
	if len(r.samples) > 0 {
		fmt.Fprintln(&b, "sampled (make test-thorough runs all of it):")
	}
	for _, s := range r.samples {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	for _, f := range r.failures {
		fmt.Fprintf(&b, "FAILED: %s\n", strings.TrimRight(f, "\n"))
	}
	fmt.Fprintf(&b, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	return b.String()
}

// short is the name of a package without that of the module's host and owner.
func short(pkg string) string {
	if _, rest, ok := strings.Cut(pkg, "/ostler/"); ok {
		return rest
	}
	return pkg
}

func (r *report) good(allowSkips bool) bool {
	return r.failed == 0 && !r.broken && r.passed > 0 && (allowSkips || r.skipped == 0)
}
