package turns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// stateOf names where a turn stands, as docs/turn-states.md does.
func stateOf(t models.Turn) string {
	name := strings.ToLower(string(t.Status))
	switch {
	case t.Status == models.TurnQueued && t.ReadyAt != nil:
		name = "ready"
	case t.Status != models.TurnRunning:
	case t.RunnerID == nil:
		name = "resumed"
	case t.Phase == models.PhaseInput:
		name = "claimed"
	case t.Phase == models.PhaseReason:
		name = "reasoning"
	case t.PendingCalls > 0:
		name = "acting"
	default:
		name = "between"
	}
	if t.Cancel != nil && t.FinishedAt == nil {
		name += ", ending"
	}
	return name
}

// states bring a turn to where it stands, in the order of the table.
var states = []struct {
	name  string
	bring func(s *scene)
}{
	{"queued", func(s *scene) { s.turn = s.send() }},
	{"ready", func(*scene) {}},
	{"claimed", func(s *scene) { s.claimReady() }},
	{"reasoning", func(s *scene) { s.reasoning() }},
	{"acting", func(s *scene) { s.reasoning(); s.must(s.answer(made{})) }},
	{"waiting", func(s *scene) { s.reasoning(); s.must(s.answer(client())) }},
	{"resumed", func(s *scene) { s.resumed() }},
	{"between", func(s *scene) { s.resumed(); s.claimReady() }},
	{"completed", func(s *scene) { s.reasoning(); s.must(s.answer()) }},
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) claimReady() {
	s.do(func(tx *commit.Tx) error {
		tx.ClaimTurn(models.NewID[models.RunnerEntity]())
		return nil
	})
}

func (s *scene) reasoning() {
	s.claimReady()
	s.must(s.submit(&BeginTurn{s.runner()}))
}

func (s *scene) resumed() {
	s.reasoning()
	s.must(s.answer(client()))
	s.must(s.resolve())
}

func (s *scene) submit(c commit.Command) error { return s.c.Submit(context.Background(), c) }

// runner is who holds the turn, or has held it last.
func (s *scene) runner() Writer {
	row := s.row()
	lease := commit.LeaseOf(&row)
	if row.RunnerID == nil {
		lease.Epoch--
	}
	return Writer{
		Org: s.org, Session: s.session, Lease: lease,
		Config: StepConfig{Basis: Basis{Harness: s.harness}, MaxIterations: 5, Model: models.Model{Name: "m"}},
	}
}

// answer ends a reason step with calls, or with text when there are none.
func (s *scene) answer(calls ...made) error {
	c := &FinishReason{Writer: s.runner(), Uncounted: &Uncounted{Made: 1}, Response: llm.Response{FinishReason: llm.FinishStop}}
	if id := s.row().OutputMessageID; id != nil {
		c.Output = *id
	}
	second := 1
	for i, m := range calls {
		f := m.frozen(i)
		c.Calls = append(c.Calls, NewCall{ID: callID(i), Ordinal: i, Frozen: f, Timeout: &second})
		c.Response.Parts = append(c.Response.Parts, models.Part{
			Type: models.PartToolCall, ToolCallID: callID(i), ToolName: f.Name, Arguments: models.JSON(f.Arguments),
		})
	}
	if len(calls) == 0 {
		c.Response.Parts = []models.Part{{Type: models.PartText, Text: "Done."}}
	}
	return s.submit(c)
}

// waitID returns what the turn waits for, or has waited for; zero for nothing.
func (s *scene) waitID() (id models.WaitID) {
	for _, w := range rows[models.Wait](s, "turn_id = ?", s.turn) {
		id = w.ID
	}
	return id
}

func (s *scene) resolve() error {
	return s.submit(&ResolveWait{
		Org: s.org, Session: s.session, Wait: s.waitID(), State: models.WaitOK, Resolution: models.WaitResolution{Value: models.JSON(`1`)},
	})
}

func (s *scene) person() *auth.Principal {
	return &auth.Principal{OrgID: s.org, UserID: models.NewID[models.UserEntity](), Role: models.RoleMember}
}

func (s *scene) deliver(d Delivery) error {
	c := &SendMessage{
		By: s.person(), SessionID: s.session, Delivery: d, Content: []models.Part{{Type: models.PartText, Text: "more"}},
		MessageID: models.NewID[models.MessageEntity](), TurnID: models.NewID[models.TurnEntity](),
	}
	err := s.submit(c)
	if c.Again(err) {
		err = s.submit(c)
	}
	return err
}

// transitions are what happens to turns. Those of runners that hold a turn have the states that their own commits have left it in: no
// runner asks for them in others.
var transitions = []struct {
	name string
	in   string
	do   func(s *scene) error
}{
	{"enqueue", "", func(s *scene) error { return s.deliver(Queue) }},
	{"steer", "", func(s *scene) error { return s.deliver(Steer) }},
	{"interrupt", "", func(s *scene) error { return s.deliver(Interrupt) }},
	{"edit", "", func(s *scene) error {
		return s.submit(&EditQueued{By: s.person(), Session: s.session, Turn: s.turn, Content: []models.Part{{Type: models.PartText, Text: "other"}}})
	}},
	{"reorder", "", func(s *scene) error { return s.submit(&MoveQueued{Org: s.org, Session: s.session, Turn: s.turn}) }},
	{"cancel", "", func(s *scene) error { return s.submit(&CancelTurn{By: s.person(), Session: s.session, Turn: s.turn}) }},
	{"resolve", "", (*scene).resolve},
	{"expire", "", func(s *scene) error {
		s.clock.Advance(time.Minute)
		return s.submit(&ExpireWait{Org: s.org, Session: s.session, Wait: s.waitID()})
	}},
	{"next", "queued", func(s *scene) error {
		first := rows[models.Turn](s, "id <> ?", s.turn)[0]
		return s.submit(&CancelTurn{By: s.person(), Session: s.session, Turn: first.ID})
	}},
	{"claim", "", func(s *scene) error {
		runner, q := models.Runner{ID: models.NewID[models.RunnerEntity]()}, queue.New(s.db, queue.Turns())
		if err := q.Register(context.Background(), runner); err != nil {
			return err
		}
		for {
			got, err := q.Claim(context.Background(), queue.Ask{Runner: runner.ID, Executions: queue.MaxClaim})
			if err != nil || len(got.Executions) == 0 {
				return err
			}
		}
	}},
	{"begin", "claimed", func(s *scene) error { return s.submit(&BeginTurn{s.runner()}) }},
	{"act", "reasoning", func(s *scene) error { return s.answer(made{}) }},
	{"park", "reasoning", func(s *scene) error { return s.answer(client()) }},
	{"complete", "reasoning", func(s *scene) error { return s.answer() }},
	{"recover", "reasoning", func(s *scene) error { return s.submit(&RecoverReason{Writer: s.runner()}) }},
	{"settle", "acting", func(s *scene) error {
		c := &SettleCalls{Writer: s.runner()}
		for _, e := range rows[models.Effect](s, "scope_id = ? AND kind = ?", s.turn, models.EffectTool) {
			call, err := ReadCall(e)
			if err != nil {
				return err
			}
			c.List = append(c.List, Settled{Call: call})
		}
		return s.submit(c)
	}},
	{"reason", "between", func(s *scene) error { return s.submit(&ResumeTurn{s.runner()}) }},
	{"stop", "claimed reasoning acting between", func(s *scene) error {
		if s.row().RunnerID != nil {
			s.must(s.submit(&CancelTurn{By: s.person(), Session: s.session, Turn: s.turn}))
		}
		return s.submit(&EndTurn{Writer: s.runner()})
	}},
	{"fail", "claimed reasoning acting between", func(s *scene) error {
		return s.submit(&EndTurn{Writer: s.runner(), Why: Failed{Stop: models.StopError, Failure: models.Failure{Code: "internal", Message: "No."}}})
	}},
	{"seal", "claimed reasoning acting between", func(s *scene) error {
		return s.submit(&EndTurn{Writer: s.runner(), Why: Stuck{Takeovers: 3}})
	}},
}

// refusal names an error as the table does.
func refusal(err error) string {
	switch f := fault.As(err); {
	case f != nil:
		return string(f.Code)
	case errors.Is(err, commit.ErrLeaseLost):
		return "lease lost"
	case errors.Is(err, ErrEnded):
		return "ended"
	case errors.Is(err, ErrResolved):
		return "resolved"
	}
	return err.Error()
}

// cell tells what a transition makes of a turn, and of turns that it adds.
func cell(s *scene, do func(*scene) error) string {
	before := map[models.TurnID]bool{}
	for _, row := range rows[models.Turn](s, "") {
		before[row.ID] = true
	}
	if err := do(s); err != nil {
		return "*" + refusal(err) + "*"
	}
	out := stateOf(s.row())
	for _, row := range rows[models.Turn](s, "") {
		if !before[row.ID] {
			out += " + " + stateOf(row)
		}
	}
	return out
}

// TestStatesOfTurns tries each transition in each state, and compares what becomes of the turn with the table and the diagram of
// docs/turn-states.md.
//
// Rules: L5, L6.
func TestStatesOfTurns(t *testing.T) {
	page, err := os.ReadFile("../../docs/turn-states.md")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Each(t, func(t *testing.T, db *store.DB) { statesOfTurns(t, newWorld(t, db), string(page)) })
}

// statesOfTurns is TestStatesOfTurns on one database: the claim and what is read for an end are not the same on both.
func statesOfTurns(t *testing.T, w *world, page string) {
	arrows := map[string]bool{}
	var head []string
	for _, state := range states {
		head = append(head, state.name)
	}
	lines := []string{"| | " + strings.Join(head, " | ") + " |"}
	for _, tr := range transitions {
		line := []string{tr.name}
		for _, state := range states {
			held := slices.Contains([]string{"claimed", "reasoning", "acting", "between"}, state.name)
			if tr.in == "queued" && state.name != "queued" || tr.in != "" && held && !slices.Contains(strings.Fields(tr.in), state.name) {
				line = append(line, "–")
				continue
			}
			s := w.newScene(t)
			state.bring(s)
			if at := stateOf(s.row()); at != state.name {
				t.Fatalf("a turn that should be %s is %s", state.name, at)
			}
			now := cell(s, tr.do)
			line = append(line, now)
			to, _, _ := strings.Cut(now, " +")
			if to != state.name && !strings.HasPrefix(to, "*") && !strings.Contains(to, ",") {
				arrows[fmt.Sprintf("%s --> %s: %s", state.name, to, tr.name)] = true
			}
		}
		lines = append(lines, "| "+strings.Join(line, " | ")+" |")
	}
	for _, line := range lines {
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("docs/turn-states.md doesn't have the row\n%s", line)
		}
	}
	drawn := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ *(\w+) --> (\w+): (.+)$`).FindAllStringSubmatch(page, -1) {
		for how := range strings.SplitSeq(m[3], ", ") {
			drawn[fmt.Sprintf("%s --> %s: %s", m[1], m[2], how)] = true
		}
	}
	if !maps.Equal(arrows, drawn) {
		t.Errorf("the diagram has\n%s\nand turns go\n%s", list(drawn), list(arrows))
	}
}

func list(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), "\n") }
