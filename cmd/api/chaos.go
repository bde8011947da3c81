//go:build chaos

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/ostler-dev/ostler/internal/tools"
)

// The environment of a build with the tag chaos.
const (
	// envFile names the file that the tools append to. Required: a run that records no effects shows nothing.
	envFile = "OSTLER_CHAOS_FILE"
	// envFailpoints is what goes wrong at the committer's points; see parseFailpoints.
	envFailpoints = "OSTLER_CHAOS_FAILPOINTS"
	// envSeed is the seed of the failpoints' dice. Defaults to 1.
	envSeed = "OSTLER_CHAOS_SEED"
)

// addExtras returns the tools whose effects are seen outside of the database, and the committer's failpoints. On SIGUSR1 the
// process tells on errors what it holds.
func addExtras(getenv func(string) string, errs io.Writer) (extras, error) {
	file := getenv(envFile)
	if file == "" {
		return extras{}, errors.New(envFile + " is not set: a build with the tag chaos needs a file for the effects of its tools")
	}
	seed := uint64(1)
	if v := getenv(envSeed); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			return extras{}, fmt.Errorf("%s: want a number, got %q", envSeed, v)
		}
	}
	points, err := parseFailpoints(getenv(envFailpoints), seed)
	if err != nil {
		return extras{}, fmt.Errorf("%s: %w", envFailpoints, err)
	}
	go tellVitals(errs)
	x := extras{capabilities: []tools.Capability{chaosCapability(file, errs)}}
	if points != nil {
		x.faults = points
	}
	return x, nil
}

// tellVitals prints, whenever it is asked by SIGUSR1, what of this process should come back after load: goroutines, and the bytes of
// the heap that a collection leaves.
func tellVitals(out io.Writer) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	for range asked {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_, _ = fmt.Fprintf(out, "chaos vitals goroutines=%d heap=%d\n", runtime.NumGoroutine(), m.HeapAlloc)
	}
}

func chaosCapability(file string, errs io.Writer) tools.Capability {
	return tools.Capability{
		ID: "chaos", Name: "Chaos", Risk: "LOW",
		Description: "Tools for fault tests, whose effects are lines in a file.",
		Tools: []tools.Tool{
			appendTool("append_once", tools.Hints{Destructive: true}, file, errs),
			appendTool("append_idempotent", tools.Hints{Idempotent: true}, file, errs),
		},
	}
}

type appendArgs struct {
	BeforeMs int `json:"before_ms,omitempty"`
	AfterMs  int `json:"after_ms,omitempty"`
}

// appendTool makes a tool that appends a line with the call's idempotency key, with a pause before and after. It does not
// look at its context: a process that was frozen must come up with its result as if nothing had happened.
func appendTool(name string, hints tools.Hints, file string, errs io.Writer) tools.Tool {
	return tools.Define(tools.Spec[appendArgs]{
		Manifest: tools.Manifest{
			ID: "chaos." + name, Name: name, DisplayName: name, Description: "Appends a line to a file.", Hints: hints,
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"before_ms": {"type": "integer", "minimum": 0, "maximum": 60000},
					"after_ms": {"type": "integer", "minimum": 0, "maximum": 60000}
				},
				"additionalProperties": false
			}`),
		},
		Execute: func(_ context.Context, call *tools.Call, args appendArgs) tools.Result {
			time.Sleep(time.Duration(args.BeforeMs) * time.Millisecond) //nolint:forbidigo // the tool's work
			if err := appendLine(file, call.IdempotencyKey); err != nil {
				return tools.Result{Internal: err}
			}
			time.Sleep(time.Duration(args.AfterMs) * time.Millisecond) //nolint:forbidigo // the tool's work
			// What follows is the engine's attempt to commit the result; whoever watches counts these lines.
			_, _ = fmt.Fprintf(errs, "chaos ended %s\n", call.IdempotencyKey)
			return tools.Success(map[string]bool{"appended": true})
		},
	})
}

// appendLine makes a line last. One write to a file that is opened for appending is not mixed with others.
func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // G304: the test's own file
	if err != nil {
		return fmt.Errorf("open the file of effects: %w", err)
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}
