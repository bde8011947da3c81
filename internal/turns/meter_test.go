package turns

import (
	"maps"
	"testing"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// TestWhatIsMetered has calls that wait, and one that runs, end in all ways. What has begun, here or with its client or the user, is
// metered once, in the commit that settles it; what people have refused, or nobody came to start, is not.
func TestWhatIsMetered(t *testing.T) {
	resolve := func(state models.WaitState) func(*scene, models.WaitID) error {
		return func(s *scene, id models.WaitID) error {
			return s.on(id, func(tx *commit.Tx, w models.Wait) error { return Resolve(tx, w, state, models.WaitResolution{}) })
		}
	}
	cancel := func(s *scene, _ models.WaitID) error {
		return s.try(func(tx *commit.Tx) error { return Cancel(tx, s.turn, models.Cancel{ByKind: models.ActorSystem}) })
	}
	fail := func(s *scene, _ models.WaitID) error {
		return s.try(func(tx *commit.Tx) error {
			return Fail(tx, "m", models.StopError, models.Failure{Code: "c", Message: "m"})
		})
	}
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name  string
			waits made
			ends  func(*scene, models.WaitID) error
			want  int
		}{
			{"a client's result", client(), resolve(models.WaitOK), 1},
			{"a client that is too late", client(), resolve(models.WaitTimeout), 1},
			{"a client whose turn is cancelled", client(), cancel, 1},
			{"an answer", question(), resolve(models.WaitOK), 1},
			{"a completion", outside(models.WaitCompletion), resolve(models.WaitOK), 1},
			{"a completion that nobody brings", outside(models.WaitCompletion), fail, 1},
			{"a denial", approval(1), resolve(models.WaitError), 0},
			{"an approval that nobody gives", approval(1), resolve(models.WaitTimeout), 0},
			{"an approval whose turn is cancelled", approval(1), cancel, 0},
			{"an approval whose turn fails", approval(1), fail, 0},
			{"an approved call that nobody came to run", approval(1), func(s *scene, id models.WaitID) error {
				if err := resolve(models.WaitOK)(s, id); err != nil {
					return err
				}
				return cancel(s, id)
			}, 0},
		} {
			s, waits := w.parked(t, c.waits)
			if got := s.metered(); len(got) != 0 {
				t.Errorf("%s: metered is %+v before it has ended", c.name, got)
			}
			for range 2 {
				// The second time it is too late, which is said or not.
				if err := c.ends(s, waits[0]); err == nil && s.effect(0).State != models.EffectSettled {
					t.Errorf("%s: the call is %s", c.name, s.effect(0).State)
				}
			}
			got := s.metered()
			if len(got) != c.want {
				t.Errorf("%s: %d facts, want %d", c.name, len(got), c.want)
				continue
			}
			for _, e := range got {
				if e.Tool != "tool" || *e.TurnID != s.turn || e.Estimated || e.Measures != nil || *e.HarnessID != w.harness {
					t.Errorf("%s: metered is %+v", c.name, e)
				}
			}
		}
	})
}

func (s *scene) metered() []models.JournalEntry {
	s.t.Helper()
	return rows[models.JournalEntry](s, "kind = ?", models.JournalToolCall)
}

// TestWhatACallTakes goes through what a tool has declared and measured, and what is taken to have come of it.
func TestWhatACallTakes(t *testing.T) {
	declared := tools.Meters{"gpu_seconds": 30, "pages": 5}
	now := models.Millis(1)
	for _, c := range []struct {
		name      string
		declared  tools.Meters
		effect    models.Effect
		measured  tools.Meters
		want      map[string]models.Amount
		estimated bool
	}{
		{"nothing declared", nil, models.Effect{}, nil, map[string]models.Amount{"tool_calls": 1}, false},
		{"all measured", declared, models.Effect{}, tools.Meters{"gpu_seconds": 7, "pages": 0},
			map[string]models.Amount{"tool_calls": 1, "gpu_seconds": 7, "pages": 0}, false},
		{"not measured", declared, models.Effect{}, nil, map[string]models.Amount{"tool_calls": 1, "gpu_seconds": 30, "pages": 5}, true},
		{"measured in part", declared, models.Effect{}, tools.Meters{"pages": 1},
			map[string]models.Amount{"tool_calls": 1, "gpu_seconds": 30, "pages": 1}, true},
		{"more than declared", declared, models.Effect{}, tools.Meters{"gpu_seconds": 31, "pages": 5, "seats": 1},
			map[string]models.Amount{"tool_calls": 1, "gpu_seconds": 31, "pages": 5, "seats": 1}, false},
		{"stopped while it ran", declared, models.Effect{State: models.EffectRunning}, nil,
			map[string]models.Amount{"tool_calls": 1, "gpu_seconds": 30, "pages": 5}, true},
		{"stopped between two attempts", declared, models.Effect{State: models.EffectClaimed, DueAt: &now}, nil,
			map[string]models.Amount{"tool_calls": 1, "gpu_seconds": 0, "pages": 0}, false},
	} {
		call := Call{Effect: c.effect, Record: Record{Frozen: tools.Frozen{Meters: c.declared}}}
		got, estimated := call.Measured(tools.Result{Measures: c.measured})
		if !maps.Equal(got, c.want) || estimated != c.estimated {
			t.Errorf("%s: took %v, estimated %v; want %v, %v", c.name, got, estimated, c.want, c.estimated)
		}
		if most := call.Meters(); most[models.CurrencyToolCalls] != 1 || len(most) != len(c.declared)+1 {
			t.Errorf("%s: at most it takes %v", c.name, most)
		}
	}
	if got := measures(map[string]models.Amount{"gpu_seconds": 1_500_000_000, "pages": 0}); string(got) != `{"gpu_seconds":"1.5","pages":"0"}` {
		t.Errorf("the journal keeps %s", got)
	}
}
