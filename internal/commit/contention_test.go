package commit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Two processes send to the same sessions, write the same blobs in different orders, and answer the same requests, while
// connections are killed: everything that was acknowledged is there once, and the logs have no gaps.
//
// Rules: L3.
func TestTwoProcessesOnOneDatabase(t *testing.T) {
	w := onPostgres(t)
	var sessions []models.SessionID
	for range 4 {
		sessions = append(sessions, w.session())
	}
	// What one process publishes of a session, another may publish before it; only the database is compared.
	nodes := []*Committer{w.committer(nil), w.committer(nil)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	sent := map[models.SessionID]map[models.MessageID]bool{}
	answers := map[string]models.MessageID{}
	for worker := range 16 {
		wg.Go(func() {
			for i := range 25 {
				s, m := sessions[rand.IntN(len(sessions))], newMessage()
				c := w.send(s, m)
				key := ""
				switch i % 5 {
				case 1:
					key = fmt.Sprint("key ", i)
					c = w.answered(s, key, m, never)
				case 2:
					c = w.withBlobs(c)
				case 3:
					if worker == 0 {
						w.kill()
					}
				}
				if err := nodes[(worker+i)%2].Submit(context.Background(), c); err != nil {
					t.Errorf("worker %d, command %d: %v", worker, i, err)
					continue
				}
				mu.Lock()
				if key != "" {
					if was, ok := answers[key]; ok && was != m.id {
						t.Errorf("request %q has two answers", key)
					}
					answers[key] = m.id
				} else {
					if sent[s] == nil {
						sent[s] = map[models.MessageID]bool{}
					}
					sent[s][m.id] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	answered := map[models.MessageID]bool{}
	for _, id := range answers {
		answered[id] = true
	}
	for _, s := range sessions {
		w.kinds(s)
		var messages int
		for _, m := range rows[models.Message](w, s, "sequence") {
			messages++
			if !sent[s][m.ID] && !answered[m.ID] {
				t.Errorf("nobody has sent message %s", m.ID)
			}
			delete(sent[s], m.ID)
			delete(answered, m.ID)
		}
		if len(sent[s]) > 0 {
			t.Errorf("session %s has lost %d messages", s, len(sent[s]))
		}
		if turns := len(rows[models.Turn](w, s, "id")); turns != min(messages, 1) {
			t.Errorf("session %s has %d turns", s, turns)
		}
	}
	if len(answered) > 0 {
		t.Errorf("%d answered requests are lost", len(answered))
	}
}

// withBlobs lets a command write files whose contents all sessions share, in an order of its own.
func (w *world) withBlobs(c *cmd) *cmd {
	send := c.apply
	order, content := rand.Perm(20), byte(rand.IntN(3))
	c.apply = func(tx *Tx) error {
		for _, i := range order {
			hash := []byte{content, byte(i)}
			tx.PutFile(models.SessionFile{Path: fmt.Sprintf("/f%d", i), Size: 1, Hash: hash}, &models.Blob{Hash: hash, Size: 1, Content: []byte("x")})
		}
		return send(tx)
	}
	for i := range order {
		c.file(FileNeed{Path: fmt.Sprintf("/f%d", i)})
	}
	return c
}

// kill ends the connection of some transaction.
func (w *world) kill() {
	_, err := storetest.Exec(context.Background(), w.db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL LIMIT 1`)
	if err != nil {
		w.t.Logf("kill a connection: %v", err)
	}
}
