package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
)

const (
	sockets = 4000
	// further is how many subscriptions each socket gets after the first one.
	further         = 4
	sessionsWatched = 100
	// settle is how long a process is left alone before its memory is read.
	settle = 5 * time.Second
)

const mebibyte, kibibyte = 1 << 20, 1 << 10

// memory takes the idle part of P5.
func (b *bench) memory(ctx context.Context, kind string) (err error) {
	s, err := b.startSystem(ctx, kind, noFloor)
	if err != nil {
		return err
	}
	defer func() { err = s.end(ctx, err) }()
	sockets, quiet := sockets, settle
	if b.small {
		sockets, quiet = 200, time.Second
	}
	time.Sleep(quiet)
	idle, err := procs.RSS(s.product.PID())
	if err != nil {
		return err
	}
	s.add(report.Figure{
		ID: "P5", Name: "idle process", Unit: "MiB", Value: float64(idle) / mebibyte,
		Gate: report.AtMost(80), Target: report.AtMost(40),
		Note: fmt.Sprintf("resident, %d organizations just made", orgs),
	})

	watched, err := s.api.CreateSessions(ctx, sessionsWatched)
	if err != nil {
		return err
	}
	open := make([]*client.Socket, 0, sockets)
	lives := make([]chan struct{}, 0, sockets)
	ended := make(chan error, sockets*(1+further))
	defer func() {
		for _, socket := range open {
			socket.Close()
		}
	}()
	before, err := procs.RSS(s.product.PID())
	if err != nil {
		return err
	}
	for i := range sockets {
		session := watched[i%len(watched)]
		socket, err := client.Dial(ctx, session.API)
		if err != nil {
			return fmt.Errorf("socket %d: %w", i, err)
		}
		open = append(open, socket)
		listeners := map[string]client.Listener{}
		live := make(chan struct{}, 1+further)
		for n := range 1 + further {
			listeners[strconv.Itoa(n)] = &counter{live: live, ended: ended}
		}
		if err := socket.Subscribe(ctx, "0", client.SessionEvents, map[string]any{"id": session.ID, "after": 0}); err != nil {
			return err
		}
		go socket.Listen(listeners)
		if err := wait(ctx, live, ended); err != nil {
			return fmt.Errorf("socket %d: %w", i, err)
		}
		lives = append(lives, live)
	}
	time.Sleep(quiet)
	withSockets, err := procs.RSS(s.product.PID())
	if err != nil {
		return err
	}
	for i, socket := range open {
		for n := range further {
			session := watched[i%len(watched)]
			err := socket.Subscribe(ctx, strconv.Itoa(1+n), client.SessionEvents, map[string]any{"id": session.ID, "after": 0})
			if err == nil {
				err = wait(ctx, lives[i], ended)
			}
			if err != nil {
				return fmt.Errorf("subscription %d of socket %d: %w", 1+n, i, err)
			}
		}
	}
	time.Sleep(quiet)
	withAll, err := procs.RSS(s.product.PID())
	if err != nil {
		return err
	}
	s.add(report.Figure{
		ID: "P5", Name: "per socket with one subscription", Unit: "KiB",
		Value: float64(withSockets-before) / float64(sockets) / kibibyte,
		Gate:  report.AtMost(48), Target: report.AtMost(32), Note: fmt.Sprintf("of %d sockets, garbage included", sockets),
	})
	s.add(report.Figure{
		ID: "P5", Name: "per further subscription", Unit: "KiB",
		Value: float64(withAll-withSockets) / float64(sockets*further) / kibibyte,
		Gate:  report.AtMost(10), Target: report.AtMost(5), Note: fmt.Sprintf("of %d subscriptions", sockets*further),
	})
	return nil
}

func wait(ctx context.Context, live <-chan struct{}, ended <-chan error) error {
	select {
	case <-live:
		return nil
	case err := <-ended:
		return fmt.Errorf("a subscription ended: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(grace):
		return errors.New("a subscription did not begin")
	}
}

// counter tells when its replay is over, and when its stream ends.
type counter struct {
	live  chan<- struct{}
	ended chan<- error
}

// Event implements client.Listener.
func (c *counter) Event(e client.Event) {
	if e.Kind == "CAUGHT_UP" {
		c.live <- struct{}{}
	}
}

// Ended implements client.Listener.
func (c *counter) Ended(err error) {
	if err != nil {
		select {
		case c.ended <- err:
		default:
		}
	}
}
