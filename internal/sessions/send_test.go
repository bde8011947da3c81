package sessions

import (
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

func TestSendIsChecked(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create().ID
		foreign, err := e.svc.Create(t.Context(), e.theirs, NewSession{})
		if err != nil {
			t.Fatal(err)
		}
		unknown := models.NewID[models.ModelEntity]()
		for _, c := range []struct {
			name string
			in   NewMessage
			code fault.Code
			path string
		}{
			{"nothing", NewMessage{SessionID: s}, fault.Invalid, "input.content"},
			{"an empty part", NewMessage{SessionID: s, Content: []NewPart{Text("a"), Text("")}}, fault.Invalid, "input.content.1.text"},
			{"a NUL", NewMessage{SessionID: s, Content: []NewPart{Text("a\x00b")}}, fault.Invalid, "input.content.0.text"},
			{"invalid UTF-8", NewMessage{SessionID: s, Content: []NewPart{Text("a\xff")}}, fault.Invalid, "input.content.0.text"},
			{"too long", NewMessage{SessionID: s, Content: []NewPart{Text(strings.Repeat("x", MaxMessageBytes+1))}}, fault.Invalid, "input.content.0.text"},
			{"too many bytes", NewMessage{SessionID: s, Content: []NewPart{Text(strings.Repeat("é", MaxMessageBytes/2)), Text("x")}}, fault.Invalid, "input.content"},
			{"no tokens", NewMessage{SessionID: s, Content: []NewPart{Text("a")}, MaxTokens: ptr(0)}, fault.Invalid, "input.maxTokens"},
			{"an empty key", NewMessage{SessionID: s, Content: []NewPart{Text("a")}, IdempotencyKey: ptr("")}, fault.Invalid, "input.idempotencyKey"},
			{"a key with a NUL", NewMessage{SessionID: s, Content: []NewPart{Text("a")}, IdempotencyKey: ptr("\x00")}, fault.Invalid, "input.idempotencyKey"},
			{"an unknown session", NewMessage{SessionID: models.NewID[models.SessionEntity](), Content: []NewPart{Text("a")}}, fault.NotFound, "input.sessionId"},
			{"the session of others", NewMessage{SessionID: foreign.ID, Content: []NewPart{Text("a")}}, fault.NotFound, "input.sessionId"},
			{"the session of others, with a model", NewMessage{SessionID: foreign.ID, Content: []NewPart{Text("a")}, ModelID: &unknown}, fault.NotFound, "input.sessionId"},
			{"an unknown model", NewMessage{SessionID: s, Content: []NewPart{Text("a")}, ModelID: &unknown}, fault.NotFound, "input.modelId"},
		} {
			t.Run(c.name, func(t *testing.T) {
				_, _, err := e.svc.Send(t.Context(), e.by, c.in)
				wantFault(t, err, c.code, c.path)
			})
		}
		if got := e.kinds(s); got != "SESSION_STARTED" {
			t.Errorf("refused messages have left %s", got)
		}
	})
}

// Rules: D9, D10.
func TestSendIsRepeatable(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s, other := e.create().ID, e.create().ID
		in := NewMessage{SessionID: s, Content: []NewPart{Text("a")}, IdempotencyKey: ptr("k")}
		m, turn, err := e.svc.Send(t.Context(), e.by, in)
		if err != nil {
			t.Fatal(err)
		}
		// Many at once, as a client does that lost its connection.
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				again, sameTurn, err := e.svc.Send(t.Context(), e.by, in)
				if err != nil || again.ID != m.ID || sameTurn.ID != turn.ID || again.Content[0].Text != "a" || again.Sequence != m.Sequence {
					t.Errorf("repeated, it gives %+v, %+v, %v", again, sameTurn, err)
				}
			})
		}
		all.Wait()
		if got := e.kinds(s); got != "SESSION_STARTED,MESSAGE_RECEIVED" {
			t.Errorf("the events are %s", got)
		}
		for name, change := range map[string]func(m *NewMessage){
			"other text": func(m *NewMessage) { m.Content = []NewPart{Text("b")} }, "other session": func(m *NewMessage) { m.SessionID = other },
			"other delivery": func(m *NewMessage) { m.Delivery = turns.Queue }, "other limit": func(m *NewMessage) { m.MaxTokens = ptr(7) },
		} {
			changed := in
			change(&changed)
			_, _, err := e.svc.Send(t.Context(), e.by, changed)
			if !fault.Is(err, fault.IdempotencyMismatch) {
				t.Errorf("%s under the same key gives %v", name, err)
			}
		}
		// Keys are the organization's own.
		theirs, err := e.svc.Create(t.Context(), e.theirs, NewSession{IdempotencyKey: ptr("k")})
		if err != nil {
			t.Fatal(err)
		}
		if m, _, err := e.svc.Send(t.Context(), e.theirs, NewMessage{SessionID: theirs.ID, Content: []NewPart{Text("a")}, IdempotencyKey: ptr("k")}); err != nil || m.SessionID != theirs.ID {
			t.Errorf("another organization's key gives %+v, %v", m, err)
		}
		// After a day a key is new, whether or not somebody has swept.
		e.clock.Advance(24*time.Hour + time.Second)
		late, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: []NewPart{Text("b")}, IdempotencyKey: ptr("k")})
		if err != nil || late.ID == m.ID {
			t.Errorf("a day later the key gives %+v, %v", late, err)
		}
	})
}

// TestFirstSendsAtOnce has the same request come many times before it was ever answered.
//
// Rules: D9.
func TestFirstSendsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create().ID
		var all sync.WaitGroup
		var mu sync.Mutex
		messages, turns := map[models.MessageID]bool{}, map[models.TurnID]bool{}
		for range 20 {
			all.Go(func() {
				m, turn, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: []NewPart{Text("a")}, IdempotencyKey: ptr("k")})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				messages[m.ID], turns[turn.ID] = true, true
			})
		}
		all.Wait()
		if len(messages) != 1 || len(turns) != 1 {
			t.Errorf("one request made %d messages and %d turns", len(messages), len(turns))
		}
	})
}

// TestDeliveries shows which turn a message gets while nothing runs: the first makes a turn that is ready, those that steer join it,
// those that queue make their own.
//
// Rules: D2, D6.
func TestDeliveries(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create().ID
		send := func(text string, d turns.Delivery) *models.Turn {
			t.Helper()
			_, turn, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: []NewPart{Text(text)}, Delivery: d, MaxTokens: ptr(9)})
			if err != nil {
				t.Fatal(err)
			}
			return turn
		}
		first := send("a", turns.Queue)
		if first.Status != models.TurnQueued || first.ReadyAt == nil || *first.MaxTokens != 9 {
			t.Errorf("the first turn is %+v", first)
		}
		if joined := send("b", turns.Steer); joined.ID != first.ID {
			t.Errorf("a message that steers has turn %s", joined.ID)
		}
		second, third := send("c", turns.Queue), send("d", turns.Queue)
		if second.ReadyAt != nil || second.ID == first.ID || third.ID == second.ID {
			t.Errorf("queued are %+v and %+v", second, third)
		}
		queued, err := e.svc.QueuedTurns(t.Context(), e.by.OrgID, s)
		if err != nil || len(queued) != 2 || queued[0].ID != second.ID || queued[1].ID != third.ID {
			t.Errorf("queued are %+v, %v", queued, err)
		}
		want := "SESSION_STARTED,MESSAGE_RECEIVED,MESSAGE_RECEIVED,MESSAGE_RECEIVED,TURN_QUEUED,MESSAGE_RECEIVED,TURN_QUEUED"
		if got := e.kinds(s); got != want {
			t.Errorf("the events are %s, want %s", got, want)
		}
		// The line is bounded.
		err = e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return store.Of(tx, e.by.OrgID).Model(&models.Session{}).Where("id = ?", s).Update("queued_turns", turns.MaxQueuedTurns).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: []NewPart{Text("e")}, Delivery: turns.Queue})
		wantFault(t, err, fault.LimitReached, "")
		if joined := send("f", turns.Steer); joined.ID != first.ID {
			t.Error("a full line keeps messages from steering")
		}
	})
}
