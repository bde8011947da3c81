package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime/ask"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

// How much a soak does. It is bounded by count, never by time.
const (
	soakSessions = 12
	soakMessages = 5
	soakKills    = 6
)

// soak is many sessions with random scripts on nodes that are killed at random moments.
type soak struct {
	*world
	mu    sync.Mutex
	rand  *rand.Rand
	nodes []*node
	// acknowledged are the turns that callers were told of, by message.
	acknowledged map[models.MessageID]models.TurnID
}

// Rules: L3, L5, L8.
func TestSoak(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				k := &soak{
					world: w.within(t), rand: rand.New(rand.NewPCG(seed, 2)), acknowledged: map[models.MessageID]models.TurnID{},
				}
				k.run()
			})
		}
	})
}

func (k *soak) draw(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rand.IntN(n)
}

func (k *soak) add() {
	n := k.start(func(c *Config) { c.Heartbeat = 20 * time.Millisecond })
	n.puppet.on(func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		// Providers recover while the others talk.
		k.clock.Advance(time.Second)
		if k.draw(3) == 0 {
			emit(llm.Delta{Text: strings.Repeat("x", ask.CheckpointBytes+1)})
		}
		return n.puppet.sim.Stream(ctx, req, emit)
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes = append(k.nodes, n)
}

func (k *soak) node() *node {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nodes[k.rand.IntN(len(k.nodes))]
}

// script makes a turn of random calls, failures and ends.
func (k *soak) script(tag string) string {
	var responses [][]part
	for step := range k.draw(4) {
		var chunks []part
		for call := range 1 + k.draw(4) {
			name := []string{"once", "again", "look", "ordered", "ordered_again", "nothing"}[k.draw(6)]
			chunks = append(chunks, callTool(name, fmt.Sprintf("%s/%d/%d", tag, step, call)))
		}
		if k.draw(4) == 0 {
			chunks = append(chunks, callWith("write_file", part{"path": fmt.Sprintf("f%d", k.draw(3)), "content": tag}))
		}
		responses = append(responses, chunks)
	}
	if k.draw(6) == 0 {
		responses = append(responses, says(text("half"), fails(503, "injected")))
	}
	return script(k.t, append(responses, says(text("end of "+tag)))...)
}

func (k *soak) run() {
	for range 2 {
		k.add()
	}
	var list []models.SessionID
	for range soakSessions {
		list = append(list, k.newSession(k.nodes[0]))
	}
	var all sync.WaitGroup
	for i, s := range list {
		all.Go(func() { k.talk(i, s) })
	}
	for range soakKills {
		k.kill()
	}
	all.Wait()
	for _, s := range list {
		k.idle(s)
	}
	k.oracles(list)
}

// talk is a caller who sends until an answer comes, and asks again under the same key when none did.
func (k *soak) talk(i int, s models.SessionID) {
	for j := range soakMessages {
		tag := fmt.Sprintf("%d/%d", i, j)
		key := s.String() + tag
		in := sessions.NewMessage{
			SessionID: s, Content: []sessions.NewPart{sessions.Text(k.script(tag))}, IdempotencyKey: &key,
			Delivery: []turns.Delivery{turns.Steer, turns.Queue}[k.draw(2)],
		}
		for {
			m, turn, err := k.node().sessions.Send(context.Background(), k.by, in)
			if err == nil {
				k.mu.Lock()
				k.acknowledged[m.ID] = turn.ID
				k.mu.Unlock()
				break
			}
			// Only a node that has just been killed refuses.
			if errors.Is(err, errFault) {
				k.t.Errorf("a message was refused: %v", err)
				return
			}
		}
	}
}

// kill takes a node from the others in the middle of whatever it does, and puts a new one in its place. It may find that it is dead
// only later, by what it still tries to write.
func (k *soak) kill() {
	k.add()
	k.mu.Lock()
	victim := k.nodes[0]
	k.nodes = k.nodes[1:]
	k.mu.Unlock()
	// Something happens between two kills.
	until := victim.commits.Load() + int64(3+k.draw(10))
	k.until("the others go on", func() bool { return victim.commits.Load() >= until || k.resting() })
	victim.die()
}

func (k *soak) resting() bool {
	var active int
	err := k.db.QueryRow(context.Background(), k.org, "SELECT count(*) FROM turns WHERE org_id = ? AND finished_at IS NULL", k.org[:]).Scan(&active)
	return err == nil && active == 0
}

// oracles are those of docs/reliability.md: O1, O2, O3 and O5; idle has looked at the log of each session.
func (k *soak) oracles(list []models.SessionID) {
	sent := 0
	for _, s := range list {
		ends := map[models.TurnID]int{}
		for _, e := range k.events(s) {
			switch e.Kind {
			case models.EventTurnCompleted, models.EventTurnFailed, models.EventTurnSealed:
				ends[*e.TurnID]++
			default:
			}
		}
		for _, m := range k.messages(s) {
			if m.Role != models.MessageUser {
				continue
			}
			sent++
			if _, told := k.acknowledged[m.ID]; !told {
				k.t.Errorf("message %s is there, and nobody was told", m.ID)
			}
			// A message may have moved on from a turn that failed before it was shown to the model.
			if ends[m.TurnID] != 1 {
				k.t.Errorf("the turn of message %s has %d ends", m.ID, ends[m.TurnID])
			}
		}
	}
	if want := soakSessions * soakMessages; sent != want || len(k.acknowledged) != want {
		k.t.Errorf("%d messages are there and %d were acknowledged, want %d", sent, len(k.acknowledged), want)
	}
	k.probe.mu.Lock()
	defer k.probe.mu.Unlock()
	for id, name := range k.atMostOnce(list) {
		if n := k.probe.runs[id]; n > 1 {
			k.t.Errorf("call %s of %s ran %d times", id, name, n)
		}
	}
}

// atMostOnce returns the calls of tools that must not be repeated.
func (k *soak) atMostOnce(list []models.SessionID) map[string]string {
	calls := map[string]string{}
	for _, s := range list {
		for _, c := range payloads[events.ToolStarted](k.t, k.events(s)) {
			if c.ToolName == "once" || c.ToolName == "ordered" {
				calls[c.ToolCallID] = c.ToolName
			}
		}
	}
	return calls
}

// TestPersist has a database that doesn't answer, for a while, or not this question.
func TestPersist(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		r := &turnRun{e: n.engine}
		tries := 0
		err := r.persist(t.Context(), "read", func() error {
			if tries++; tries < 3 {
				return errFault
			}
			return nil
		})
		if err != nil || tries != 3 {
			t.Errorf("after %d tries: %v", tries, err)
		}
		tries = 0
		err = r.persist(t.Context(), "read", func() error {
			tries++
			return errFault
		})
		if !errors.Is(err, errFault) || tries != maxReads {
			t.Errorf("what fails though the database answers is tried %d times: %v", tries, err)
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errShutdown)
		if err := r.persist(ended, "read", func() error { return errFault }); !errors.Is(err, errShutdown) {
			t.Errorf("after the shutdown: %v", err)
		}
	})
}
