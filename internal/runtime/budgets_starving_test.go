package runtime

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// hall has turns call tools that hold gpu_seconds, 30 each, until they are let go; they take nothing.
type hall struct {
	w     *world
	n     *node
	id    models.BudgetID
	ticks chan time.Time
	gates map[string]*gate
}

func (w *world) hall(limit models.Amount) *hall {
	h := &hall{w: w, id: w.budget("gpu_seconds", limit), n: w.start(), ticks: make(chan time.Time), gates: map[string]*gate{}}
	h.n.looksAfterParkedAt(h.ticks)
	return h
}

// send has a turn call so many tools at once.
func (h *hall) send(name string, calls int, options ...models.HarnessID) models.SessionID {
	g := h.n.faults.add()
	h.gates[name] = g
	var parts []part
	for i := range calls {
		tag := fmt.Sprint(name, i)
		h.w.probe.on(tag, func(context.Context, *tools.Call) tools.Result {
			g.hold()
			return tooks(0)
		})
		parts = append(parts, callTool("metered", tag))
	}
	harness := h.w.harness
	if len(options) > 0 {
		harness = options[0]
	}
	s := h.w.newSessionOn(h.n, harness)
	h.n.send(s, script(h.w.t, says(parts...), says(text("done"))))
	return s
}

// waitLong lets those that wait have waited for long, and looks at all.
func (h *hall) waitLong() {
	h.w.clock.Advance(6 * time.Second)
	h.ticks <- time.Time{}
}

// keptFor waits until room is kept for a session.
func (h *hall) keptFor(s models.SessionID) {
	h.w.t.Helper()
	wait := h.w.parked(s)[0].ID
	h.w.eventually("room is kept for it", func() bool {
		b := h.w.budgetRow(h.id)
		return b.KeptFor != nil && *b.KeptFor == wait
	})
}

// One that needs much comes to its turn behind many that need little: when it has waited long, those that come later leave it what it needs, until
// it goes on, or ends.
//
// Rules: P7.
func TestNobodyStarvesBehindThoseWhoNeedLess(t *testing.T) {
	for name, ends := range map[string]func(h *hall, large models.SessionID){
		"it goes on": func(h *hall, large models.SessionID) {
			for _, name := range []string{"first", "second"} {
				h.gates[name].open()
			}
			<-h.gates["large"].arrived
			if n := h.w.probe.ran("late0"); n != 0 {
				h.w.t.Errorf("one that came later has run %d times before it", n)
			}
			h.gates["large"].open()
		},
		"it is cancelled": func(h *hall, large models.SessionID) {
			h.n.cancel(*h.w.session(large).CurrentTurnID, "enough")
			<-h.gates["late"].arrived
			for _, name := range []string{"first", "second"} {
				h.gates[name].open()
			}
		},
		"nobody renews it": func(h *hall, large models.SessionID) {
			h.w.clock.Advance(keptAtMost)
			h.n.parked.Load().Wake(h.w.org, h.id)
			<-h.gates["late"].arrived
			for _, name := range []string{"first", "second", "large"} {
				h.gates[name].open()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				h := w.hall(90 * gpuSecond)
				first := h.send("first", 1)
				<-h.gates["first"].arrived
				large := h.send("large", 3)
				w.parked(large)
				// It has only begun to wait: who fits goes on.
				second := h.send("second", 1)
				<-h.gates["second"].arrived
				h.waitLong()
				h.keptFor(large)
				late := h.send("late", 1)
				w.parked(late)
				ends(h, large)
				h.gates["late"].open()
				for _, s := range []models.SessionID{first, second, large, late} {
					w.idle(s)
				}
				if b := w.budgetRow(h.id); b.Reserved != 0 || name != "nobody renews it" && b.KeptFor != nil {
					t.Errorf("at the end the budget is %+v", b)
				}
			})
		})
	}
}

// keptAtMost is longer than what is kept for a turn is kept.
const keptAtMost = time.Minute

// What turns hold that wait for people comes back nobody knows when. Nothing is kept for who needs that, too: others go on meanwhile, and room is
// kept for the next one that can get it.
//
// Rules: P7.
func TestNobodyStandsStillForThoseWhoWaitForPeople(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		h := w.hall(90 * gpuSecond)
		asking := h.send("asking", 1, w.harnessWith("asking", ref("approvals", `{"default":"always"}`)))
		approval := w.parked(asking)[0]
		if held := w.held(h.id, w.budgetRow(h.id).PeriodStartedAt); held != 30*gpuSecond {
			t.Fatalf("%d are held while people decide", held)
		}
		all := h.send("all", 3)
		w.parked(all)
		first := h.send("first", 1)
		<-h.gates["first"].arrived
		two := h.send("two", 2)
		w.parked(two)
		h.waitLong()
		h.keptFor(two)
		late := h.send("late", 1)
		w.parked(late)
		h.gates["first"].open()
		<-h.gates["two"].arrived
		h.gates["two"].open()
		h.gates["late"].open()
		for _, s := range []models.SessionID{first, two, late} {
			w.idle(s)
		}
		w.parked(all)
		if err := h.n.decide(approval, true, ""); err != nil {
			t.Fatal(err)
		}
		h.gates["asking"].open()
		h.gates["all"].open()
		w.idle(asking)
		w.idle(all)
	})
}
