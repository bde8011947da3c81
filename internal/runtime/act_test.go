package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// resultsShown returns what the model was shown of the tools, by the last request.
func resultsShown(n *node) []models.Part {
	requests := n.puppet.requests()
	var all []models.Part
	for _, m := range requests[len(requests)-1].Messages {
		for _, p := range m.Parts {
			if p.Type == models.PartToolResult {
				all = append(all, p)
			}
		}
	}
	return all
}

// TestParallelCalls has calls end in the reverse of their order: each settles when it ends, and the model sees them in its own.
//
// Rules: L1, P15, P16, P17, J5.
func TestParallelCalls(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		const calls = 5
		n := w.start()
		s := w.newSession(n)
		ended := make([]chan struct{}, calls+1)
		for i := range ended {
			ended[i] = make(chan struct{})
		}
		close(ended[calls])
		var chunks []part
		for i := range calls {
			tag := fmt.Sprintf("p%d", i)
			chunks = append(chunks, callTool("once", tag))
			w.probe.on(tag, func(ctx context.Context, call *tools.Call) tools.Result {
				<-ended[i+1]
				if _, err := call.Files.Write(ctx, "/workspace/"+tag, []byte(tag), nil); err != nil {
					return tools.Result{Internal: err}
				}
				// The next one ends when this one is settled.
				go func() {
					defer close(ended[i])
					w.until("settled", func() bool {
						return count(w.events(s), models.EventToolCompleted) == calls-i
					})
				}()
				return tools.Success(tag)
			})
		}
		n.commits.Store(0)
		n.send(s, script(t, chunks, says(text("done"))))
		log := w.idle(s)
		<-ended[0]
		if got := n.commits.Load(); got != 3+calls {
			t.Errorf("it took %d commits, want one per step and one per result, %d", got, 3+calls)
		}
		var order, shown, asked []string
		for _, c := range payloads[events.ToolCompleted](t, log) {
			order = append(order, string(c.Result))
		}
		for _, p := range resultsShown(n) {
			shown = append(shown, string(p.Result))
		}
		for i := range calls {
			asked = append(asked, fmt.Sprintf("%q", fmt.Sprintf("p%d", i)))
		}
		if !slices.Equal(shown, asked) {
			t.Errorf("the model was shown %v", shown)
		}
		slices.Reverse(asked)
		if !slices.Equal(order, asked) {
			t.Errorf("they were settled as %v", order)
		}
		// What a call has written is there when its result is, in the same commit.
		for i, e := range log {
			if e.Kind == models.EventToolCompleted && log[i-1].Kind != models.EventFileWritten {
				t.Errorf("before %d there is %s", e.Sequence, log[i-1].Kind)
			}
		}
		if got := w.session(s).FileBytes; got != 2*calls {
			t.Errorf("the files have %d bytes", got)
		}
	})
}

// crowd notes how many calls run at once, and in which order they begin.
type crowd struct {
	mu        sync.Mutex
	now, most int
	began     []string
	byTag     map[string]bool
	clash     bool
	gather    int
	full      chan struct{}
}

func (c *crowd) tool(tag, class string) func(context.Context, *tools.Call) tools.Result {
	return func(context.Context, *tools.Call) tools.Result {
		c.mu.Lock()
		c.now++
		c.most = max(c.most, c.now)
		c.began = append(c.began, tag)
		if class != "" {
			c.clash = c.clash || c.byTag[class]
			c.byTag[class] = true
		}
		if c.now == c.gather {
			close(c.full)
			c.gather = 0
		}
		c.mu.Unlock()
		if class == "" {
			<-c.full
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
		delete(c.byTag, class)
		return tools.Success(tag)
	}
}

// Rules: P3.
func TestAtMostSixteenAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		// The first ones stay until all that can run at once are there: were it less, nothing would go on.
		c := &crowd{byTag: map[string]bool{}, gather: turns.MaxRunning, full: make(chan struct{})}
		var chunks []part
		for i := range 40 {
			tag := fmt.Sprintf("m%d", i)
			chunks = append(chunks, callTool("once", tag))
			w.probe.on(tag, c.tool(tag, ""))
		}
		n.send(s, script(t, chunks, says(text("done"))))
		w.idle(s)
		if c.most != turns.MaxRunning {
			t.Errorf("%d calls ran at once", c.most)
		}
		if got := len(resultsShown(n)); got != 40 {
			t.Errorf("the model was shown %d results", got)
		}
	})
}

// What ends together is committed together: with the start of those that had to wait for a place.
//
// Rules: P3.
func TestCallsThatEndTogetherSettleInOneCommit(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode()
		n.engine.scheduling.moments = func() <-chan time.Time { return nil }
		if err := n.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := w.newSession(n)
		commits := func(chunks ...part) int64 {
			before := n.commits.Load()
			n.send(s, script(t, chunks, says(text("done"))))
			w.idle(s)
			return n.commits.Load() - before
		}
		var batch []part
		for i := range 2 * turns.MaxRunning {
			batch = append(batch, callTool("once", fmt.Sprintf("together%d", i)))
		}
		one, all := commits(callTool("once", "alone")), commits(batch...)
		if all != one+1 {
			t.Errorf("a step of one call takes %d commits, one of %d calls %d", one, len(batch), all)
		}
	})
}

// Rules: P14.
func TestConcurrencyClasses(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		c := &crowd{byTag: map[string]bool{}, full: make(chan struct{})}
		close(c.full)
		var chunks []part
		var want []string
		for i := range 20 {
			tag := fmt.Sprintf("c%d", i)
			name := []string{"ordered", "once", "ordered_again"}[i%3]
			class := ""
			if name != "once" {
				class = "probe"
				want = append(want, tag)
			}
			chunks = append(chunks, callTool(name, tag))
			w.probe.on(tag, c.tool(tag, class))
		}
		n.send(s, script(t, chunks, says(text("done"))))
		w.idle(s)
		var order []string
		for _, tag := range c.began {
			if slices.Contains(want, tag) {
				order = append(order, tag)
			}
		}
		if c.clash || !slices.Equal(order, want) {
			t.Errorf("the calls of one class ran as %v, at once: %v", order, c.clash)
		}
	})
}

// Rules: P3, P13, P14.
func TestFirstWave(t *testing.T) {
	make1 := func(classes ...string) []turns.NewCall {
		var list []turns.NewCall
		for _, c := range classes {
			one := turns.NewCall{}
			if c == "refused" {
				one.Refused = &tools.Result{}
			} else {
				one.Frozen.Hints.ConcurrencyClass = c
			}
			list = append(list, one)
		}
		return list
	}
	for _, c := range []struct {
		classes string
		want    string
	}{
		{"a", "1"}, {"a a", "10"}, {"a b a", "110"}, {" ", "11"}, {"a ", "11"}, {"refused a", "01"},
		{strings.Repeat(" ", 17), strings.Repeat("1", 16) + "00"},
	} {
		got := ""
		for _, w := range turns.FirstWave(make1(strings.Split(c.classes, " ")...)) {
			got += map[bool]string{true: "1", false: "0"}[w]
		}
		if got != c.want {
			t.Errorf("of %q run %s, want %s", c.classes, got, c.want)
		}
	}
}
