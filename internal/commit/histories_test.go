package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/ostler-dev/ostler/internal/commit/historytest"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Many clients use the committer at once, and note what they asked and were told. Then a checker looks for an order of their
// operations in which a plain model gives the same answers: each must seem to happen at one moment between its call and its
// answer. On PostgreSQL two committers work on the same sessions, as two processes would.

// submitter is how the clients reach the committer.
type submitter func(ctx context.Context, c Command) error

// historian makes histories.
type historian struct {
	*world

	nodes   []submitter
	history historytest.History
	// reads returns the last sequence of a session.
	reads func(s models.SessionID) int64
	// overtaking happens once, just before a command is submitted.
	overtaking func()
}

func newHistorian(w *world) *historian {
	h := &historian{world: w}
	h.nodes = append(h.nodes, h.through(w.c))
	if w.db.Pool != nil {
		h.nodes = append(h.nodes, h.through(w.committer(nil)))
	}
	h.reads = func(s models.SessionID) int64 { return w.readSession(s).LastSequence }
	return h
}

// through submits to a committer, after what overtakes the command.
func (h *historian) through(c *Committer) submitter {
	return func(ctx context.Context, cmd Command) error {
		if overtaking := h.overtaking; overtaking != nil {
			h.overtaking = nil
			overtaking()
		}
		return c.Submit(ctx, cmd)
	}
}

// operation notes what a client asks and is told.
func (h *historian) operation(kind string, client int, input any, do func(submit submitter) any) {
	h.history.Record(kind, client, input, func() any { return do(h.nodes[rand.IntN(len(h.nodes))]) })
}

// told is the answer to a command: how it failed in a way that is part of the model, or nothing. Anything else is a failure of the
// test.
func (h *historian) told(err error, allowed ...error) string {
	if err == nil {
		return ""
	}
	for _, a := range allowed {
		if errors.Is(err, a) {
			return a.Error()
		}
	}
	h.t.Errorf("submit: %v", err)
	return err.Error()
}

// The session's lock and its sequences.

type (
	// appendInput asks to add events: Want is the sequence that the session must be at, -1 for any. A read adds none.
	appendInput struct {
		Session models.SessionID
		Events  int
		Want    int64
		Read    bool
	}
	// appendOutput tells the first sequence of what was added, or what was read.
	appendOutput struct {
		Sequence int64
		Refused  string
	}
)

// appendModel: a session is a number, how many events it has.
var appendModel = porcupine.Model{
	Partition: historytest.PartitionBy(func(in appendInput) models.SessionID { return in.Session }),
	Init:      func() any { return int64(1) }, // SESSION_STARTED
	Step: func(state, input, output any) (bool, any) {
		last, in, out := state.(int64), input.(appendInput), output.(appendOutput)
		switch {
		case in.Read:
			return out.Sequence == last, last
		case in.Want >= 0 && in.Want != last:
			return out.Refused != "", last
		}
		return out.Refused == "" && out.Sequence == last+1, last + int64(in.Events)
	},
	DescribeOperation: historytest.Describe,
}

// appends adds events to a session or reads it, as chance will have it. seen is what the client knows of its sequence.
func (h *historian) appends(client int, s models.SessionID, seen *int64) {
	in := appendInput{Session: s, Events: 1 + rand.IntN(3), Want: -1}
	switch rand.IntN(4) {
	case 0:
		in.Read = true
	case 1:
		in.Want = *seen
	}
	*seen = h.append(client, in)
}

// append does one operation on a session, and returns the last sequence that it saw.
func (h *historian) append(client int, in appendInput) (seen int64) {
	h.operation("append", client, in, func(submit submitter) any {
		if in.Read {
			seen = h.reads(in.Session)
			return appendOutput{Sequence: seen}
		}
		var out appendOutput
		err := submit(context.Background(), h.command(in.Session, func(tx *Tx) error {
			seen = tx.Session.LastSequence
			if in.Want >= 0 && seen != in.Want {
				return errRefused
			}
			for i := range in.Events {
				seen = tx.Emit(nil, events.FileWritten{Path: "/f"})
				if i == 0 {
					out.Sequence = seen
				}
			}
			return nil
		}))
		out.Refused = h.told(err, errRefused)
		return out
	})
	return seen
}

// Idempotency keys.

type (
	keyInput struct {
		Key, Input string
		// Mine is what the answer is if the request is the first under its key.
		Mine string
	}
	keyOutput struct {
		Answer   string
		Mismatch bool
	}
	keyState struct{ input, answer string }
)

// keyModel: the first request under a key decides what all others are told.
var keyModel = porcupine.Model{
	Partition: historytest.PartitionBy(func(in keyInput) string { return in.Key }),
	Init:      func() any { return keyState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(keyState), input.(keyInput), output.(keyOutput)
		switch {
		case s.answer == "":
			return !out.Mismatch && out.Answer == in.Mine, keyState{in.Input, in.Mine}
		case s.input != in.Input:
			return out.Mismatch, s
		}
		return !out.Mismatch && out.Answer == s.answer, s
	},
	DescribeOperation: historytest.Describe,
}

// request asks under a key.
func (h *historian) request(client int, s models.SessionID, key, input string) {
	in := keyInput{Key: key, Input: input, Mine: models.NewID[models.EventEntity]().String()}
	h.operation("key", client, in, func(submit submitter) any {
		var out keyOutput
		err := submit(context.Background(), h.keyed(s, in, &out))
		h.told(err)
		return out
	})
}

// keyed answers a request under a key.
func (h *historian) keyed(s models.SessionID, in keyInput, out *keyOutput) *cmd {
	c := h.command(s, nil).key(in.Key)
	c.apply = func(tx *Tx) error {
		*out = keyOutput{Answer: in.Mine}
		if tx.Known != nil {
			if !bytes.Equal(tx.Known.InputHash, []byte(in.Input)) {
				*out = keyOutput{Mismatch: true}
				return nil
			}
			return json.Unmarshal(tx.Known.Result, &out.Answer)
		}
		tx.Emit(nil, events.FileWritten{Path: "/" + in.Key})
		tx.Remember(*c.needs.Idempotency, []byte(in.Input), in.Mine, never)
		return nil
	}
	return c
}

// A turn and its two ends.

type (
	endInput struct {
		Turn models.TurnID
		// How is what the turn is to end by.
		How models.TurnStatus
	}
	endOutput struct{ Lost bool }
)

// endModel: the first end wins, and all others are told that they lost.
var endModel = porcupine.Model{
	Partition: historytest.PartitionBy(func(in endInput) models.TurnID { return in.Turn }),
	Init:      func() any { return false },
	Step: func(state, _, output any) (bool, any) {
		return output.(endOutput).Lost == state.(bool), true
	},
	DescribeOperation: historytest.Describe,
}

// ends lets a turn end as its runner would end it, or as others would.
func (h *historian) ends(client int, s models.SessionID, turn models.TurnID, how models.TurnStatus) {
	in := endInput{turn, how}
	h.operation("end", client, in, func(submit submitter) any {
		if in.How == models.TurnCompleted {
			return endOutput{h.told(submit(context.Background(), h.onlyEnd(s, &Lease{models.ExecutionOf(turn), 1})), ErrLeaseLost) != ""}
		}
		err := submit(context.Background(), h.command(s, func(tx *Tx) error {
			if tx.Turn == nil || tx.Turn.ID != turn {
				return errRefused
			}
			tx.ConsumeInbox()
			return tx.EndTurn(models.TurnSealed, models.StopNoProgress, events.TurnSealed{StopReason: models.StopNoProgress})
		}).ends())
		return endOutput{h.told(err, errRefused) != ""}
	})
}

// What a round is made of: so many clients, each so many operations of each kind.
const (
	historySessions = 6
	historyRepeats  = 40
)

// round lets the clients loose on new sessions, keys and turns.
func (h *historian) round(number int) {
	h.t.Helper()
	var sessions, working []models.SessionID
	var turns []models.TurnID
	for range historySessions {
		sessions = append(sessions, h.session())
		s, l := h.working()
		working, turns = append(working, s), append(turns, models.TurnID(l.ID))
	}
	var clients sync.WaitGroup
	for client := range historytest.Clients {
		clients.Go(func() {
			seen := make([]int64, len(sessions))
			for i := range historyRepeats {
				at := rand.IntN(len(sessions))
				h.appends(client, sessions[at], &seen[at])
				h.request(client, working[rand.IntN(len(working))], fmt.Sprintf("key %d/%d", number, rand.IntN(10*historySessions)), strconv.Itoa(rand.IntN(8)/7))
				// The race is when all begin to end it.
				end := (i * len(turns) / historyRepeats) % len(turns)
				h.ends(client, working[end], turns[end], []models.TurnStatus{models.TurnCompleted, models.TurnSealed}[rand.IntN(2)])
			}
		})
	}
	clients.Wait()
}

// wrong returns which histories no order explains, and forgets them all.
func (h *historian) wrong() (kinds []string, operations int) {
	return h.history.Wrong(map[string]porcupine.Model{"append": appendModel, "key": keyModel, "end": endModel})
}

// TestHistoriesAreLinearizable has many clients add events, repeat requests under keys and end turns, while transactions fail: what each
// was told fits one order of all they did. Sequences follow each other, the first request under a key answers for all, and of several
// ends of a turn one wins.
//
// Rules: L2, L3, L5, D9, D10.
func TestHistoriesAreLinearizable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		var faults historytest.Faults
		w.faults.set(faults.At)
		h := newHistorian(w)
		n, want := 0, historytest.Operations(t, 12_000)
		for round := 0; n < want; round++ {
			h.round(round)
			kinds, operations := h.wrong()
			n += operations
			if len(kinds) > 0 {
				t.Fatalf("round %d: no order of the operations explains what clients were told of: %v\n%s", round, kinds, h.history.Odd())
			}
		}
		w.faults.set(nil)
		if faults.Injected() == 0 {
			t.Error("nothing went wrong, so that nothing was tried")
		}
		t.Logf("%d operations, %d failures of transactions", n, faults.Injected())
	})
}

// A checker that finds nothing in a committer with a bug is worth nothing. Each bug has a schedule that shows it, and the checker finds
// nothing wrong in the same schedule without the bug.
//
// Rules: L3, L5, D9.
func TestTheCheckerFindsPlantedBugs(t *testing.T) {
	for _, tc := range []struct {
		name, kind string
		plant      func(h *historian)
		schedule   func(h *historian)
	}{
		{"reads of what was", "append", func(h *historian) {
			now, last := h.reads, map[models.SessionID]int64{}
			h.reads = func(s models.SessionID) int64 {
				was, ok := last[s]
				last[s] = now(s)
				if ok {
					return was
				}
				return last[s]
			}
		}, func(h *historian) {
			s := h.session()
			h.append(0, appendInput{Session: s, Read: true})
			h.append(1, appendInput{Session: s, Events: 2, Want: -1})
			h.append(0, appendInput{Session: s, Read: true})
		}},
		{"decisions before the lock", "append", func(h *historian) {
			h.wrap(func(submit submitter, c *cmd) error {
				// It decides on the session as it was read, and adds whatever it is by now.
				stale := h.readSession(c.needs.Session)
				return submit(context.Background(), h.command(c.needs.Session, func(tx *Tx) error {
					moved := tx.Session.LastSequence - stale.LastSequence
					tx.Session.LastSequence = stale.LastSequence
					err := c.apply(tx)
					tx.Session.LastSequence += moved
					list := insertEvent.of(tx.w)
					for i := range list {
						list[i].Sequence += moved
					}
					return err
				}))
			})
		}, func(h *historian) {
			s := h.session()
			seen := h.append(0, appendInput{Session: s, Events: 1, Want: -1})
			h.overtaking = func() { h.append(1, appendInput{Session: s, Events: 1, Want: -1}) }
			h.append(0, appendInput{Session: s, Events: 1, Want: seen})
		}},
		{"keys that are forgotten", "key", func(h *historian) {
			h.wrap(func(submit submitter, c *cmd) error {
				key, apply := c.needs.Idempotency, c.apply
				c.needs.Idempotency = nil
				c.apply = func(tx *Tx) error {
					c.needs.Idempotency = key
					err := apply(tx)
					insertKey.keep(tx.w, none)
					return err
				}
				return submit(context.Background(), c)
			})
		}, func(h *historian) {
			s := h.session()
			h.request(0, s, "key", "0")
			h.request(1, s, "key", "0")
		}},
		{"both ends win", "end", func(h *historian) {
			h.wrap(func(submit submitter, c *cmd) error {
				err := submit(context.Background(), c)
				if errors.Is(err, ErrLeaseLost) {
					return nil
				}
				return err
			})
		}, func(h *historian) {
			s, l := h.working()
			h.ends(0, s, models.TurnID(l.ID), models.TurnSealed)
			h.ends(1, s, models.TurnID(l.ID), models.TurnCompleted)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t))
			right := newHistorian(w)
			tc.schedule(right)
			if kinds, operations := right.wrong(); len(kinds) > 0 || operations < 2 {
				t.Errorf("without the bug, %d operations are explained but for %v\n%s", operations, kinds, right.history.Odd())
			}
			h := newHistorian(w)
			tc.plant(h)
			tc.schedule(h)
			if kinds, _ := h.wrong(); !slices.Equal(kinds, []string{tc.kind}) {
				t.Errorf("the bug is in %q, and was found in %q", tc.kind, kinds)
			}
		})
	}
}

// wrap puts something between the clients and the committer.
func (h *historian) wrap(around func(submit submitter, c *cmd) error) {
	for i, submit := range h.nodes {
		h.nodes[i] = func(_ context.Context, c Command) error {
			return around(submit, c.(*cmd))
		}
	}
}
