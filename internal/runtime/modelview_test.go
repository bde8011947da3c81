package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

// viewed is what one request said, or a view tells that it said.
func viewed(model, system string, tools []llm.Tool, messages []llm.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", model, system)
	for _, t := range tools {
		fmt.Fprintf(&b, "%s: %s %s\n", t.Name, t.Description, t.InputSchema)
	}
	for _, m := range messages {
		fmt.Fprintf(&b, "%s\n", m.Role)
		for _, p := range m.Parts {
			fmt.Fprintf(&b, "  %s %s %s %s %s %s\n", p.Type, p.Text, p.ToolCallID, p.Arguments, p.Result, p.Error)
		}
	}
	return b.String()
}

func (v *ModelView) viewed() string {
	var list []llm.Message
	for _, m := range v.Messages {
		list = append(list, m.Message)
	}
	return viewed(v.Model, models.Value(v.SystemPrompt), v.Tools, list)
}

func (w *world) view(turn models.TurnID, iteration ...int) *ModelView {
	w.t.Helper()
	var which *int
	if len(iteration) > 0 {
		which = &iteration[0]
	}
	v, err := NewModelViews(w.db, w.catalog).Of(w.t.Context(), w.org, turn, which)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// everyStep compares the views of all steps of turns, in the order in which they ran, with what the model was sent.
func (w *world) everyStep(n *node, turns ...models.TurnID) {
	w.t.Helper()
	requests := n.puppet.requests()
	for _, id := range turns {
		for i := range w.turn(id).Iteration {
			if len(requests) == 0 {
				w.t.Fatal("there were fewer requests than steps")
			}
			r := requests[0]
			requests = requests[1:]
			v := w.view(id, i+1)
			if v == nil || !v.Exact || v.Iteration != i+1 {
				w.t.Errorf("the view of step %d of turn %s is %+v", i+1, id, v)
				continue
			}
			if got, want := v.viewed(), viewed(r.Model, r.System, r.Tools, r.Messages); got != want {
				w.t.Errorf("step %d of turn %s is told as\n%s\nwant\n%s", i+1, id, got, want)
			}
		}
	}
	if len(requests) > 0 {
		w.t.Errorf("%d requests are in no view", len(requests))
	}
}

// A view of a step is what its model was sent: in turns with tools, with messages that joined in the middle, in forks, and where not all of
// the conversation fits. Whatever came later is not in it.
func TestModelViewsAreExact(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.puppet.on(answers(
			answer(llm.FinishToolCalls, textPart("looking"), callPart("", "once", `{"tag":"a"}`), callPart("", "once", `{"tag":"b"}`)),
			answer(llm.FinishToolCalls, callPart("", "nothing", `{}`)),
		))
		list := []models.TurnID{n.send(s, "with tools")}
		w.idle(s)
		g := n.speaks("half")
		list = append(list, n.send(s, "first"))
		<-g.arrived
		n.send(s, "steered")
		n.puppet.on(echoing)
		g.open()
		w.idle(s)
		if len(w.turns(s)) != 2 || w.turn(list[1]).Iteration != 2 {
			t.Fatalf("the message did not join the turn: %+v", w.turn(list[1]))
		}
		f := n.fork(s, list[0])
		list = append(list, n.send(f.ID, "in the fork"))
		w.idle(f.ID)
		tokens := 2_000
		if _, err := w.catalog.UpdateModel(t.Context(), w.by, w.echo, catalog.ModelChange{ContextWindowTokens: catalog.Give(&tokens)}); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			list = append(list, n.deliver(sessions.NewMessage{
				SessionID: s, ModelID: &w.echo, Delivery: turns.Queue, Content: []sessions.NewPart{sessions.Text(fmt.Sprint(i, strings.Repeat("x", 1_500)))},
			}))
			w.idle(s)
		}
		requests := n.puppet.requests()
		if last := requests[len(requests)-1]; !strings.HasSuffix(last.System, omittedNote) {
			t.Fatal("all of the conversation fits")
		}
		w.everyStep(n, list...)
		if v := w.view(list[0]); v.Iteration != 3 || v.viewed() != w.view(list[0], 3).viewed() {
			t.Errorf("without a step the view is that of step %d", v.Iteration)
		}
		for _, none := range []int{-1, 0, 4} {
			if v := w.view(list[0], none); v != nil {
				t.Errorf("there is a view of step %d: %+v", none, v)
			}
		}
		var ids []models.MessageID
		for _, m := range w.messages(s)[:3] {
			ids = append(ids, m.ID)
		}
		var told []models.MessageID
		for _, m := range w.view(list[0], 2).Messages {
			told = append(told, m.ID)
			if m.Tokens < 1 {
				t.Errorf("message %s takes %d tokens", m.ID, m.Tokens)
			}
		}
		if len(told) != 4 || !slices.Equal(told[:2], ids[:2]) {
			t.Errorf("the messages are %v, want to begin with %v", told, ids)
		}
	})
}

// What can't be known any more is not claimed: after a change of what the session runs with the view tells so, with the messages as they
// were; and it is exact again when the change is taken back.
func TestModelViewsAfterAChange(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		n.puppet.on(echoing)
		prompt := "be brief"
		agent, err := w.catalog.CreateAgent(t.Context(), w.by, catalog.NewAgent{Name: "a", SystemPrompt: prompt, HarnessID: &w.harness})
		if err != nil {
			t.Fatal(err)
		}
		s, err := n.sessions.Create(t.Context(), w.by, sessions.NewSession{AgentID: &agent.ID})
		if err != nil {
			t.Fatal(err)
		}
		turn := n.send(s.ID, "one")
		w.idle(s.ID)
		before := w.view(turn)
		if !before.Exact || !strings.Contains(*before.SystemPrompt, prompt) {
			t.Fatalf("the view is %+v", before)
		}
		change := func(to string) {
			t.Helper()
			if _, err := w.catalog.UpdateAgent(t.Context(), w.by, agent.ID, catalog.Change{SystemPrompt: catalog.Give(&to)}); err != nil {
				t.Fatal(err)
			}
		}
		change("be long")
		n.send(s.ID, "two")
		w.idle(s.ID)
		v := w.view(turn)
		if v.Exact || !strings.Contains(*v.SystemPrompt, "be long") || len(v.Messages) != 1 || v.Messages[0].ID != before.Messages[0].ID {
			t.Errorf("after the change the view is %+v", v)
		}
		change(prompt)
		if v := w.view(turn); !v.Exact || v.viewed() != before.viewed() {
			t.Errorf("after the change back the view is %+v", v)
		}
		// Another model for the session changes nothing of what was.
		if _, err := n.sessions.Update(t.Context(), w.by, s.ID, sessions.Change{ModelID: catalog.Give(&w.echo)}); err != nil {
			t.Fatal(err)
		}
		if v := w.view(turn); !v.Exact || v.viewed() != before.viewed() {
			t.Errorf("with another model of the session the view is %+v", v)
		}
		if _, err := w.catalog.ArchiveAgent(t.Context(), w.by, agent.ID); err != nil {
			t.Fatal(err)
		}
		v = w.view(turn)
		if v.Exact || v.SystemPrompt != nil || len(v.Tools) > 0 || len(v.Messages) != 1 || v.Model != before.Model {
			t.Errorf("without the agent the view is %+v", v)
		}
	})
}

// A call that fails has recorded nothing of what it was shown; that is told, and not claimed to be exact. Nobody sees what another
// organization's models were sent.
func TestModelViewsOfFailuresAndOthers(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		n.puppet.on(answers(answer(llm.FinishToolCalls, callPart("", "once", `{"tag":"a"}`)), answer(llm.FinishStop)))
		first := n.send(s, "one")
		w.idle(s)
		g := n.speaks("half")
		turn := n.send(s, "two")
		<-g.arrived
		v := w.view(turn)
		if v == nil || v.Exact || v.Model != "sim-script" || len(v.Messages) == 0 || v.Messages[len(v.Messages)-1].Parts[0].Text != "two" {
			t.Errorf("while it is asked the view is %+v", v)
		}
		n.cancel(turn, "")
		w.idle(s)
		n.puppet.on(echoing)
		n.send(s, "three")
		w.idle(s)
		if v = w.view(turn); v.Exact || v.Messages[len(v.Messages)-1].Parts[0].Text != "two" {
			t.Errorf("of the call that was cut short the view is %+v", v)
		}
		if v := w.view(first); !v.Exact {
			t.Errorf("the view of the turn before is %+v", v)
		}
		if v, err := NewModelViews(w.db, w.catalog).Of(t.Context(), w.another().org, turn, nil); !fault.Is(err, fault.NotFound) {
			t.Errorf("another organization gets %+v, %v", v, err)
		}
	})
}
