package background_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
)

// A job is one line: this is all that adding one takes.
func TestAJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged logText
		log := slog.New(slog.NewTextHandler(&logged, nil))
		var runs atomic.Int32
		stop, err := background.Start(t.Context(), background.Every(log, "fixture", time.Minute, func(context.Context) error {
			switch runs.Add(1) {
			case 1:
				return errors.New("no luck")
			case 2:
				panic("no sense")
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		want := func(n int32, text string) {
			t.Helper()
			time.Sleep(time.Minute) //nolint:forbidigo // the time of a synctest bubble
			synctest.Wait()
			if got := logged.take(); runs.Load() != n || !strings.Contains(got, text) {
				t.Errorf("after %d runs, want %d, the log is\n%s", runs.Load(), n, got)
			}
		}
		want(1, "job=fixture error=\"no luck\"")
		want(2, "level=ERROR msg=\"a background job failed; it runs again at its next time\" job=fixture error=\"panic: no sense")
		want(3, "")
		stop()
		stop()
		want(3, "")
	})
}

// logText is what was logged since it was looked at.
type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.buf.Reset()
	return l.buf.String()
}

func TestStopWaits(t *testing.T) {
	t.Parallel()
	ticks, begun, ended := make(chan time.Time), make(chan struct{}), false
	j := background.Every(slog.New(slog.DiscardHandler), "slow", time.Hour, func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		ended = true
		return ctx.Err()
	}, background.Ticks(ticks))
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Start(t.Context()); err == nil {
		t.Error("it could be started twice")
	}
	ticks <- time.Time{}
	<-begun
	var stops sync.WaitGroup
	for range 2 {
		stops.Go(func() {
			j.Stop()
			if !ended {
				t.Error("Stop has returned while the job ran")
			}
		})
	}
	stops.Wait()
}

func TestAtStartAtStopAndOnWake(t *testing.T) {
	t.Parallel()
	wake, ran := make(chan struct{}), make(chan bool, 9)
	start, end := context.WithCancel(t.Context())
	j := background.Every(slog.New(slog.DiscardHandler), "x", time.Hour, func(ctx context.Context) error {
		_, bounded := ctx.Deadline()
		ran <- bounded
		return nil
	}, background.AtStart(), background.AtStop(time.Hour), background.OnWake(wake))
	if err := j.Start(start); err != nil {
		t.Fatal(err)
	}
	end() // which ends the start alone
	<-ran
	wake <- struct{}{}
	<-ran
	j.Stop()
	if bounded := <-ran; !bounded {
		t.Error("the last run has no end")
	}
	j.Stop()
	if len(ran) > 0 {
		t.Error("it runs on")
	}
}

// What the last run didn't do is said, also when it was for want of time. What a stop cuts short is no failure.
func TestTheLastRunFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run     func(ctx context.Context) error
		options []background.Option
		want    string
	}{
		"for want of time": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, []background.Option{background.AtStop(time.Minute)}, "level=WARN msg=\"the last run of a background job failed\" job=fixture error=\"context deadline exceeded\""},
		"by a panic": {func(context.Context) error { panic("no sense") }, []background.Option{background.AtStop(time.Minute)},
			"level=ERROR msg=\"the last run of a background job failed\" job=fixture error=\"panic: no sense"},
		"a stop": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, []background.Option{background.AtStart()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var logged logText
				j := background.Every(slog.New(slog.NewTextHandler(&logged, nil)), "fixture", time.Hour, c.run, c.options...)
				if err := j.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				j.Stop()
				if got := logged.take(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
					t.Errorf("logged %s", got)
				}
			})
		})
	}
}

// noted is a service that notes what happens to it.
type noted struct {
	background.Loops

	name string
	fail error
	log  *[]string
}

func (n *noted) Start(context.Context) error {
	*n.log = append(*n.log, "start "+n.name)
	return n.fail
}

func (n *noted) Stop() {
	n.Loops.Stop() // never started
	*n.log = append(*n.log, "stop "+n.name)
}

func TestServicesStopInReverse(t *testing.T) {
	t.Parallel()
	var log []string
	a, b, c := &noted{name: "a", log: &log}, &noted{name: "b", log: &log}, &noted{name: "c", log: &log}
	stop, err := background.Start(t.Context(), a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	c.fail = errors.New("c is broken")
	if _, err := background.Start(t.Context(), a, b, c); !errors.Is(err, c.fail) {
		t.Errorf("got %v", err)
	}
	want := "start a, start b, start c, stop c, stop b, stop a, start a, start b, start c, stop b, stop a"
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
