package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/internal/models"
)

// node is one process of the product, which is started again at the same address however often it ends.
type node struct {
	name string
	addr string // host:port
	env  []string
	// link is what its connections to the database go through; nil for none.
	link *link
	// away tells clients to go elsewhere: a load balancer knows that a node is down, or says so itself.
	away atomic.Bool

	mu      sync.Mutex
	process *procs.Process
	// runner is the id under which the node's runner is registered; zero when unknown.
	runner models.RunnerID
	output *output
}

func (n *node) url() string { return "http://" + n.addr }

// start starts the process and waits until it is ready.
func (n *node) start(ctx context.Context, program string) error {
	p, err := procs.Start(ctx, procs.Program{Path: program, Args: []string{"serve"}, Env: n.env, Errors: n.output})
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	n.mu.Lock()
	n.process = p
	n.mu.Unlock()
	n.away.Store(false)
	return nil
}

func (n *node) current() *procs.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

func (n *node) runnerID() models.RunnerID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runner
}

func (n *node) setRunner(id models.RunnerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runner = id
}

// alive reports whether the process has not ended.
func (n *node) alive() bool {
	p := n.current()
	if p == nil {
		return false
	}
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// vitals are what a process holds.
type vitals struct {
	goroutines, descriptors int
	heap                    int64 // bytes
}

// ask asks a process that is idle what it holds.
func (n *node) ask(ctx context.Context) (vitals, error) {
	var v vitals
	p := n.current()
	lines := n.output.follow("chaos vitals ")
	defer n.output.unfollow(lines)
	if err := p.Signal(syscall.SIGUSR1); err != nil {
		return v, err
	}
	select {
	case line := <-lines:
		if _, err := fmt.Sscanf(line, "chaos vitals goroutines=%d heap=%d", &v.goroutines, &v.heap); err != nil {
			return v, fmt.Errorf("%s: vitals %q: %w", n.name, line, err)
		}
	case <-time.After(patience):
		return v, fmt.Errorf("%s: it does not tell its vitals", n.name)
	case <-ctx.Done():
		return v, ctx.Err()
	}
	open, err := os.ReadDir("/proc/" + strconv.Itoa(p.PID()) + "/fd")
	if err != nil {
		return v, err
	}
	v.descriptors = len(open)
	return v, nil
}

// output reads what a node prints on standard error, over all its lives.
type output struct {
	copyTo io.Writer // nil for nowhere

	mu    sync.Mutex
	part  []byte
	waits map[chan string]string
	// ended are the tool calls that the node says to have ended, with the time at which that was read.
	ended []endedCall
	// dead has the times at which the node learned that others have declared its runner dead.
	dead []time.Time
	// notable are the last lines that are not only informative.
	notable []string
}

// endedCall is a tool that has done its work; the engine is about to commit the result.
type endedCall struct {
	key string
	at  time.Time
}

func newOutput(copyTo io.Writer) *output {
	return &output{waits: map[chan string]string{}, copyTo: copyTo}
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.copyTo != nil {
		_, _ = o.copyTo.Write(b)
	}
	o.part = append(o.part, b...)
	for {
		i := bytes.IndexByte(o.part, '\n')
		if i < 0 {
			return len(b), nil
		}
		o.line(string(o.part[:i]))
		o.part = append(o.part[:0], o.part[i+1:]...)
	}
}

const keptLines = 50

func (o *output) line(line string) {
	if key, found := strings.CutPrefix(line, "chaos ended "); found {
		o.ended = append(o.ended, endedCall{key, time.Now()})
		return
	}
	if strings.HasPrefix(line, "chaos ") {
		for wait, prefix := range o.waits {
			if strings.HasPrefix(line, prefix) {
				select {
				case wait <- line:
				default:
				}
			}
		}
		return
	}
	if strings.Contains(line, "declared dead by another one") {
		o.dead = append(o.dead, time.Now())
	}
	if !strings.Contains(line, "level=INFO") {
		o.notable = append(o.notable, line)
		if over := len(o.notable) - keptLines; over > 0 {
			o.notable = append(o.notable[:0], o.notable[over:]...)
		}
	}
}

// follow returns the next line with a prefix.
func (o *output) follow(prefix string) chan string {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait := make(chan string, 1)
	o.waits[wait] = prefix
	return wait
}

func (o *output) unfollow(wait chan string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waits, wait)
}

// endedSince returns the calls that have ended since a time.
func (o *output) endedSince(since time.Time) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var keys []string
	for _, e := range o.ended {
		if e.at.After(since) {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// declaredDead returns when the node learned that its runner was declared dead, since a time.
func (o *output) declaredDead(since time.Time) []time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []time.Time
	for _, at := range o.dead {
		if at.After(since) {
			list = append(list, at)
		}
	}
	return list
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.notable, "\n")
}

// readLines counts the lines of a file; one that doesn't exist has none.
func readLines(file string) (map[string]int, error) {
	lines := map[string]int{}
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return lines, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	for s.Scan() {
		lines[s.Text()]++
	}
	return lines, s.Err()
}
