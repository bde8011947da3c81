//go:build chaos

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// errInjected is the failure of a failpoint. To the committer it is a connection that broke.
var errInjected = errors.New("a failpoint")

// failpoints is a commit.Faults that throws dice.
type failpoints struct {
	mu   sync.Mutex
	dice *rand.Rand
	at   map[string][]failpoint
}

type failpoint struct {
	action string // error, kill or stall
	stall  time.Duration
	chance float64
}

// At implements commit.Faults.
func (f *failpoints) At(point string) error {
	for _, p := range f.at[point] {
		if !f.hit(p.chance) {
			continue
		}
		switch p.action {
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it has arrived
		case "stall":
			time.Sleep(p.stall) //nolint:forbidigo // what was asked for
		default:
			return errInjected
		}
	}
	return nil
}

func (f *failpoints) hit(chance float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dice.Float64() < chance
}

// parseFailpoints reads POINT=ACTION@CHANCE,… where ACTION is error, kill or stall:DURATION, e.g.
// committed=error@0.01,written=stall:50ms@0.001. It returns nil for an empty text.
func parseFailpoints(v string, seed uint64) (*failpoints, error) {
	if v == "" {
		return nil, nil
	}
	points := []string{"begin", "loaded", "written", "committed"}
	f := &failpoints{dice: rand.New(rand.NewPCG(seed, seed)), at: map[string][]failpoint{}} //nolint:gosec // G404: dice, no secrets
	for part := range strings.SplitSeq(v, ",") {
		name, what, _ := strings.Cut(part, "=")
		action, chance, _ := strings.Cut(what, "@")
		var p failpoint
		var err error
		if p.chance, err = strconv.ParseFloat(chance, 64); err != nil || !(p.chance > 0 && p.chance <= 1) {
			return nil, fmt.Errorf("%q: want POINT=ACTION@CHANCE with a chance above 0, at most 1", part)
		}
		if !slices.Contains(points, name) {
			return nil, fmt.Errorf("%q: the points are %v", part, points)
		}
		kind, stall, _ := strings.Cut(action, ":")
		p.action = kind
		switch kind {
		case "error", "kill":
		case "stall":
			if p.stall, err = time.ParseDuration(stall); err != nil {
				return nil, fmt.Errorf("%q: want stall:DURATION", part)
			}
		default:
			return nil, fmt.Errorf("%q: the actions are error, kill and stall:DURATION", part)
		}
		f.at[name] = append(f.at[name], p)
	}
	return f, nil
}
