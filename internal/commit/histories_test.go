package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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
	// reads gives the last sequence of a session.
	reads func(s models.SessionID) int64
}

func newHistorian(w *world) *historian {
	h := &historian{world: w, nodes: []submitter{w.c.Submit}}
	if w.db.Pool != nil {
		h.nodes = append(h.nodes, w.committer(nil).Submit)
	}
	h.reads = func(s models.SessionID) int64 { return w.readSession(s).LastSequence }
	return h
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

func (h *historian) appends(client int, s models.SessionID, seen *int64) {
	in := appendInput{Session: s, Events: 1 + rand.IntN(3), Want: -1}
	switch rand.IntN(4) {
	case 0:
		in.Read = true
		h.operation("append", client, in, func(submitter) any { return appendOutput{Sequence: h.reads(s)} })
		return
	case 1:
		in.Want = *seen
	}
	h.operation("append", client, in, func(submit submitter) any {
		var out appendOutput
		err := submit(context.Background(), h.command(s, func(tx *Tx) error {
			if in.Want >= 0 && tx.Session.LastSequence != in.Want {
				*seen = tx.Session.LastSequence
				return errRefused
			}
			for i := range in.Events {
				sequence := tx.Emit(nil, events.FileWritten{Path: "/f"})
				if i == 0 {
					out.Sequence = sequence
				}
				*seen = sequence
			}
			return nil
		}))
		out.Refused = h.told(err, errRefused)
		return out
	})
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

func (h *historian) request(client int, s models.SessionID, key string) {
	in := keyInput{Key: key, Input: strconv.Itoa(rand.IntN(8) / 7), Mine: models.NewID[models.EventEntity]().String()}
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

func (h *historian) ends(client int, s models.SessionID, turn models.TurnID) {
	in := endInput{turn, []models.TurnStatus{models.TurnCompleted, models.TurnSealed}[rand.IntN(2)]}
	h.operation("end", client, in, func(submit submitter) any {
		if in.How == models.TurnCompleted {
			return endOutput{h.told(submit(context.Background(), h.onlyEnd(s, &Lease{turn, 1})), ErrLeaseLost) != ""}
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
		working, turns = append(working, s), append(turns, l.Turn)
	}
	var clients sync.WaitGroup
	for client := range historytest.Clients {
		clients.Go(func() {
			seen := make([]int64, len(sessions))
			for i := range historyRepeats {
				at := rand.IntN(len(sessions))
				h.appends(client, sessions[at], &seen[at])
				h.request(client, working[rand.IntN(len(working))], fmt.Sprintf("key %d/%d", number, rand.IntN(10*historySessions)))
				// The race is when all begin to end it.
				end := (i * len(turns) / historyRepeats) % len(turns)
				h.ends(client, working[end], turns[end])
			}
		})
	}
	clients.Wait()
}

// wrong tells which histories no order explains, and forgets them all.
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
		n := 0
		for round := 0; n < historytest.Operations(t, 12_000); round++ {
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

// A checker that finds nothing in a committer with a bug is worth nothing.
//
// Rules: L3, L5, D9.
func TestTheCheckerFindsPlantedBugs(t *testing.T) {
	for _, tc := range []struct {
		name, kind string
		plant      func(h *historian)
	}{
		{"reads of what was", "append", func(h *historian) {
			now, last := h.reads, sync.Map{}
			h.reads = func(s models.SessionID) int64 {
				was, ok := last.Load(s)
				last.Store(s, now(s))
				if ok && rand.IntN(4) == 0 {
					return was.(int64)
				}
				return now(s)
			}
		}},
		{"decisions before the lock", "append", func(h *historian) {
			h.wrap(func(submit submitter, c *cmd) error {
				if c.needs.Idempotency != nil || c.needs.Ends {
					return submit(context.Background(), c)
				}
				// It decides on the session as it was read, and adds whatever it is by now.
				stale := h.readSession(c.needs.Session)
				return submit(context.Background(), h.command(c.needs.Session, func(tx *Tx) error {
					moved := tx.Session.LastSequence - stale.LastSequence
					tx.Session.LastSequence = stale.LastSequence
					if err := c.apply(tx); err != nil {
						tx.Session.LastSequence += moved
						return err
					}
					tx.Session.LastSequence += moved
					for i := range tx.w.events {
						tx.w.events[i].Sequence += moved
					}
					return nil
				}))
			})
		}},
		{"keys that are forgotten", "key", func(h *historian) {
			h.wrap(func(submit submitter, c *cmd) error {
				if key := c.needs.Idempotency; key != nil && rand.IntN(8) == 0 {
					apply := c.apply
					c.needs.Idempotency = nil
					c.apply = func(tx *Tx) error {
						c.needs.Idempotency = key
						err := apply(tx)
						tx.w.keys = nil
						return err
					}
				}
				return submit(context.Background(), c)
			})
		}},
		{"both ends win", "end", func(h *historian) {
			h.wrap(func(submit submitter, c *cmd) error {
				err := submit(context.Background(), c)
				if c.needs.Ends && errors.Is(err, ErrLeaseLost) && rand.IntN(8) == 0 {
					return nil
				}
				return err
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHistorian(newWorld(t, storetest.SQLite(t)))
			tc.plant(h)
			for round := range 20 {
				h.round(round)
				kinds, _ := h.wrong()
				for _, kind := range kinds {
					if kind == tc.kind {
						return
					}
				}
			}
			t.Error("nobody has noticed")
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
