package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// checks replaces what /readyz asks.
func (b *bench) checks(list ...ReadinessCheck) {
	b.server.ready = newReadiness(b.clock, b.server.log, list)
}

func (b *bench) readyz(status int, body string) {
	b.Helper()
	if a := b.do(http.MethodGet, "/readyz", ""); a.status != status || a.body != body {
		b.Errorf("readyz: got %d %q, want %d %q", a.status, a.body, status, body)
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var broken atomic.Bool
	var asked atomic.Int64
	b.checks(
		ReadinessCheck{"bus", func(context.Context) error { return nil }},
		ReadinessCheck{"database", func(context.Context) error {
			asked.Add(1)
			if broken.Load() {
				return errors.New("secret host is down")
			}
			return nil
		}},
	)
	b.readyz(200, "ready\n")
	// Whoever asks again and again makes no load.
	broken.Store(true)
	for range 20 {
		b.readyz(200, "ready\n")
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("20 more requests within the answer's age asked the database %d times", n)
	}
	b.clock.Advance(readinessAge)
	b.readyz(503, "database: not ready\n")
	broken.Store(false)
	b.clock.Advance(readinessAge)
	b.readyz(200, "ready\n")
}

func TestReadinessIsAskedOnceByMany(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var asked atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	b.checks(ReadinessCheck{"database", func(context.Context) error {
		if asked.Add(1) == 1 {
			close(begun)
		}
		<-release
		return nil
	}})
	first, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := b.server.ready.ask(first)
		left <- err
	}()
	<-begun
	// Who has asked first leaves; the others get the answer of the same round all the same.
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	answers := make(chan string)
	for range 10 {
		go func() {
			answer, err := b.server.ready.ask(context.WithoutCancel(first))
			if err != nil {
				answer = err.Error()
			}
			answers <- answer
		}()
	}
	close(release)
	for range 10 {
		if answer := <-answers; answer != "" {
			t.Errorf("not ready: %s", answer)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the database was asked %d times", n)
	}
}

// A check that hangs makes the answer neither late for ever nor hang once more for each who asks.
func TestReadinessOfWhatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var asked atomic.Int64
	release, back := make(chan struct{}), make(chan struct{})
	b.checks(ReadinessCheck{"database", func(context.Context) error {
		asked.Add(1)
		<-release
		close(back)
		return nil
	}}, ReadinessCheck{"bus", func(context.Context) error { return nil }})
	b.readyz(503, "database: not ready\n")
	b.clock.Advance(time.Minute)
	b.readyz(503, "database: not ready\n")
	if n := asked.Load(); n != 1 {
		t.Errorf("a check that hangs was begun %d times", n)
	}
	close(release)
	<-back
}

func TestReadinessWhenStopping(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.draining.Store(true)
	b.readyz(503, "stopping\n")
}
