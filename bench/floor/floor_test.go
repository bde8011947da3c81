package main

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/turnshape"
)

// order checks the sequences that a subscriber gets.
type order struct {
	t      *testing.T
	last   int64
	deltas int
	turn   chan struct{}
}

func (o *order) Event(e client.Event) {
	if client.Ephemeral(e.Kind) {
		o.deltas++
	} else if o.last++; e.Sequence != o.last {
		o.t.Errorf("%s has sequence %d, expected %d", e.Kind, e.Sequence, o.last)
	}
	if e.Kind == "TURN_COMPLETED" {
		o.turn <- struct{}{}
	}
}

func (o *order) Ended(err error) {
	if err != nil {
		o.t.Error(err)
	}
}

func TestTurnsOfManySessionsAreGaplessAndDurable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "floor.db")
	log, err := openLog(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	committer := newCommitter(log, func(err error) { t.Error(err) })
	server := httptest.NewServer(newServer(committer, turnshape.Default, "").routes())
	defer server.Close()

	const sessions, turns = 5, 4
	listeners := make([]client.Listener, sessions)
	orders := make([]*order, sessions)
	for i := range orders {
		orders[i] = &order{t: t, turn: make(chan struct{}, 1)}
		listeners[i] = orders[i]
	}
	open, err := client.NewFloor(server.URL, "builtin").Open(ctx, listeners)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i, session := range open {
		group.Go(func() {
			for range turns {
				if err := session.Send(ctx, client.ToolTurn); err != nil {
					t.Error(err)
					return
				}
				<-orders[i].turn
			}
			session.Close()
		})
	}
	group.Wait()
	var gaps, events int
	db := log.(*sqliteLog).db
	query := `SELECT count(*), (SELECT count(*) FROM sessions s WHERE last_sequence <> (SELECT max(sequence) FROM events WHERE session_id = s.id)) FROM events`
	if err := db.QueryRowContext(ctx, query).Scan(&events, &gaps); err != nil {
		t.Fatal(err)
	}
	if want := sessions * turns * turnshape.Default.Tool.Events(); events != want || gaps != 0 {
		t.Errorf("%d events in the database, expected %d; %d sessions with gaps", events, want, gaps)
	}
	for _, o := range orders {
		if o.deltas < 2*turns {
			t.Errorf("%d deltas in %d turns", o.deltas, turns)
		}
	}
	committer.stop()
	if err := log.close(); err != nil {
		t.Error(err)
	}
}

func TestFillerHasItsSizeAndIsJSON(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{2, 8, 9, 500} {
		if got := filler(bytes); len(got) != bytes {
			t.Errorf("%d bytes: %q", bytes, got)
		}
	}
}
