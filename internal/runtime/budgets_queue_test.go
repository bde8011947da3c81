package runtime

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Turns that a budget has no room for end before their first call, one after the other, also when others are queued behind them.
func TestQueuedTurnsOfAUsedUpBudget(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		usd := w.budget("usd", 10_000_000)
		n := w.start(priced())
		s := w.newSession(n)
		g := n.puppet.add()
		n.puppet.on(replies(reply{heard: g, resp: took(700, 30, "done").resp}))
		sent := []models.TurnID{n.send(s, "go")}
		<-g.arrived
		for _, text := range []string{"two", "three", "four"} {
			sent = append(sent, n.deliver(sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text(text)}, Delivery: turns.Queue}))
		}
		w.changeBudget(usd, func(b *models.Budget) { b.LimitAmount = 731 })
		g.open()
		w.idle(s)
		for i, id := range sent {
			switch row := w.turn(id); {
			case i == 0 && row.Status != models.TurnCompleted:
				t.Errorf("the turn that had begun is %+v", row)
			case i > 0 && (row.Status != models.TurnSealed || *row.StopReason != models.StopBudget || row.ModelCalls != 0):
				t.Errorf("turn %d is %s: %+v", i+1, row.Status, row.Error)
			}
		}
	})
}
