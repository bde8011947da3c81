package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
)

// metered returns the facts about tool calls of a session.
func (w *world) metered(s models.SessionID) (list []models.JournalEntry) {
	w.t.Helper()
	err := store.Of(w.db.ReadAcross(context.Background()), w.org).Where("session_id = ? AND kind = ?", s, models.JournalToolCall).
		Order("occurred_at, id").Find(&list).Error
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// wantMetered checks that the journal has so many calls of each tool, all of a turn, and that both sums agree with it.
func (w *world) wantMetered(s models.SessionID, turn models.TurnID, want map[string]int) {
	w.t.Helper()
	got := map[string]int{}
	for _, e := range w.metered(s) {
		got[e.Tool]++
		if e.TurnID == nil || *e.TurnID != turn || e.UserID != nil || e.HarnessID == nil || e.DurationMs < 0 {
			w.t.Errorf("metered is %+v", e)
		}
	}
	var hours []models.SessionUsageHour
	if err := store.Of(w.db.ReadAcross(context.Background()), w.org).Where("session_id = ? AND tool_calls > 0", s).Find(&hours).Error; err != nil {
		w.t.Fatal(err)
	}
	sums := map[string]int{}
	for _, h := range hours {
		sums[h.Tool] += int(h.ToolCalls)
	}
	if !maps.Equal(got, want) || !maps.Equal(sums, want) {
		w.t.Errorf("the journal has calls %v, its sums have %v; want %v", got, sums, want)
	}
}

// TestToolCallsAreMetered has calls end in all ways: what has begun is metered once, with what it took, and what was refused is not.
func TestToolCallsAreMetered(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		w.probe.on("fails", func(context.Context, *tools.Call) tools.Result { return tools.Fail("no") })
		w.probe.on("measured", func(context.Context, *tools.Call) tools.Result {
			r := tools.Success(map[string]string{})
			r.Measures = tools.Meters{"gpu_seconds": 1_500_000_000}
			return r
		})
		w.probe.on("wrong", func(context.Context, *tools.Call) tools.Result {
			return tools.Result{JSON: []byte(`{}`), Measures: tools.Meters{"usd": 1}}
		})
		n.puppet.on(answers(answer(llm.FinishToolCalls,
			callPart("", "look", `{"tag":"plain"}`), callPart("", "look", `{"tag":"fails"}`), callPart("", "look", `{"tag":"measured"}`),
			callPart("", "look", `{"tag":"wrong"}`), callPart("", "look", `{"tag":1}`), callPart("", "nothing", `{}`))))
		n.send(s, "go")
		turn := the[events.TurnCompleted](t, w.idle(s))
		if turn.ToolCalls != 6 {
			t.Errorf("the turn has %d calls", turn.ToolCalls)
		}
		list := w.metered(s)
		w.wantMetered(s, *list[0].TurnID, map[string]int{"look": 4})
		measured := 0
		for _, e := range list {
			if e.Estimated {
				t.Errorf("a call without meters is estimated: %+v", e)
			}
			if len(e.Measures) > 0 {
				measured++
				if string(e.Measures) != `{"gpu_seconds":"1.5"}` {
					t.Errorf("measured is %s", e.Measures)
				}
			}
		}
		if measured != 1 {
			t.Errorf("%d calls have measures", measured)
		}
		shown := resultsShown(n)
		if !strings.HasPrefix(shown[3].Error, "internal_error: ") {
			t.Errorf("a result with measures that can't be is shown as %+v", shown[3])
		}
	})
}

// reporting tells the same of all sessions, and remembers whom it was asked about.
type reporting struct {
	report tools.BudgetReport
	err    error
	org    models.OrgID
	asked  models.SessionID
}

func (r *reporting) CheckBudget(_ context.Context, org models.OrgID, session models.SessionID) (tools.BudgetReport, error) {
	r.org, r.asked = org, session
	return r.report, r.err
}

// TestToolsAskForBudgets has a tool ask how its session stands: the engine knows which one that is, the tool can't choose.
func TestToolsAskForBudgets(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		broken := errors.New("broken")
		for _, c := range []struct {
			name    string
			budgets BudgetChecker
			status  string
			err     error
		}{
			{"nobody knows", nil, "", tools.ErrBudgetUnavailable},
			{"it is told", &reporting{report: tools.BudgetReport{Status: "warning"}}, "warning", nil},
			{"they can't be read", &reporting{err: broken}, "", broken},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := w.within(t)
				w.probe.reset()
				n := w.start(func(cfg *Config) { cfg.Budgets = c.budgets })
				s := w.newSession(n)
				var got tools.BudgetReport
				var err error
				w.probe.on("asks", func(ctx context.Context, call *tools.Call) tools.Result {
					got, err = call.Budget(ctx)
					return tools.Success(map[string]string{})
				})
				n.puppet.on(answers(answer(llm.FinishToolCalls, callPart("", "look", `{"tag":"asks"}`))))
				n.send(s, "go")
				w.idle(s)
				if w.probe.ran("asks") != 1 || got.Status != c.status || !errors.Is(err, c.err) {
					t.Errorf("the tool was told %+v, %v", got, err)
				}
				if r, ok := c.budgets.(*reporting); ok && (r.org != w.org || r.asked != s) {
					t.Errorf("it was asked about %s of %s", r.asked, r.org)
				}
				n.stop()
			})
		}
	})
}

// TestAnAgentChecksItsBudget has a scripted model look at budgets with the tool of the built-in harness, through all that lies between: the
// model is shown what is left, by the rows as they are then.
func TestAnAgentChecksItsBudget(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start(func(cfg *Config) { cfg.Budgets = manage.NewChecker(w.db, w.clock) })
		w.unposted = true
		s := w.newSession(n)
		play := script(t, says(callWith("check_budget", part{})), says(text("I know.")))
		n.send(s, play)
		w.idle(s)
		seconds, kind := int64(3600), models.PeriodFixed
		now := models.MillisOf(w.clock.Now())
		err := storetest.AsOwner(t, w.db).WriteAcross(t.Context(), func(tx *gorm.DB) error {
			of, whole := models.SubjectID(s), models.SubjectID(w.org)
			return tx.Create([]models.Budget{
				{
					OrgID: w.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectSession, SubjectID: &of, Currency: "pages",
					LimitAmount: 10_000_000_000, Spent: 9_000_000_000, CreatedAt: now, PeriodStartedAt: now,
					PeriodKind: &kind, PeriodSeconds: &seconds, PeriodEndsAt: (now + 3_600_000).Ptr(),
				},
				{
					OrgID: w.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &whole, Currency: "seats",
					LimitAmount: 4_000_000_000, Spent: 1_000_000_000, CreatedAt: now, PeriodStartedAt: now,
				},
			}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		n.send(s, play)
		w.idle(s)
		w.clock.Advance(time.Hour)
		n.send(s, play)
		log := w.idle(s)
		var got []string
		for _, r := range payloads[events.ToolCompleted](t, log) {
			got = append(got, string(r.Result))
			if r.Narration != "Checked the budget" {
				t.Errorf("people read %q", r.Narration)
			}
		}
		seats := `{"currency":"seats","limit":"4","balance":"3","soft_limit":null,"percent_remaining":75,"status":"active"}`
		want := []string{
			`{"status":"no_budgets","budgets":[],"hint":"No budget applies to this session."}`,
			`{"status":"warning","budgets":[{"currency":"pages","limit":"10","balance":"1","soft_limit":null,"percent_remaining":10,"status":"warning"},` +
				seats + `],"hint":"20% or less of the pages budget is left. Finish what matters most, or ask for a top-up before ` +
				`longer work. It resets at ` + (now + 3_600_000).Time().Format(budget.PeriodEndFormat) + `."}`,
			`{"status":"active","budgets":[{"currency":"pages","limit":"10","balance":"10","soft_limit":null,"percent_remaining":100,"status":"active"},` +
				seats + `],"hint":"More than 20% is left."}`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("the tool brought\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, text := range []string{s.String(), w.org.String()} {
			if strings.Contains(strings.Join(got, ""), text) {
				t.Errorf("it names %s", text)
			}
		}
		if len(w.metered(s)) != 3 {
			t.Errorf("%d calls are metered", len(w.metered(s)))
		}
	})
}

// TestAMeteredCallThatIsInterrupted has the process die while a tool runs that declares a meter: the call has taken the most that it may,
// once, and what the dead one has to say later counts no more. One that ends in good order has taken what it measured.
func TestAMeteredCallThatIsInterrupted(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first := w.newNode()
		s := w.newSession(first)
		if err := first.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		held := first.faults.add()
		took := func(context.Context, *tools.Call) tools.Result {
			return tools.Result{JSON: []byte(`{}`), Measures: tools.Meters{"gpu_seconds": 2_000_000_000}}
		}
		w.probe.on("held", func(ctx context.Context, call *tools.Call) tools.Result {
			held.hold()
			return took(ctx, call)
		})
		w.probe.on("ends", took)
		first.send(s, script(t, says(callTool("metered", "held")), says(callTool("metered", "ends")), says(text("done"))))
		select {
		case <-held.arrived:
		case <-time.After(patience):
			t.Fatal("the tool was never called")
		}
		first.die()
		w.start(func(cfg *Config) { cfg.Heartbeat = 20 * time.Millisecond })
		log := w.idle(s)
		held.open()
		first.stop()
		if done := payloads[events.ToolCompleted](t, log); len(done) != 2 || !strings.HasPrefix(done[0].Error, "interrupted: ") || !done[1].Success {
			t.Errorf("the calls ended as %+v", done)
		}
		var got []string
		for _, e := range w.metered(s) {
			got = append(got, fmt.Sprintf("%s %v", e.Measures, e.Estimated))
		}
		slices.Sort(got)
		if want := []string{`{"gpu_seconds":"2"} false`, `{"gpu_seconds":"30"} true`}; !slices.Equal(got, want) {
			t.Errorf("metered are %q, want %q", got, want)
		}
	})
}
