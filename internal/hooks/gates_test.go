package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// gate is one whose verdict follows from the arguments' number n.
func gate(id string, decide func(n int) tools.Verdict) tools.Gate {
	return tools.Gate{ID: id, Decide: func(_ context.Context, call tools.GateCall) (tools.Verdict, error) {
		var args struct {
			N int `json:"n"`
		}
		err := json.Unmarshal(call.Arguments, &args)
		clear(call.Arguments) // what it is given is its own
		return decide(args.N), err
	}}
}

func number(n int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }

func asIs(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	return arguments, nil
}

func rule(t testing.TB, n int, gates ...tools.Gate) hooks.Ruling {
	t.Helper()
	r, err := hooks.Rule(t.Context(), gates, tools.GateCall{ToolName: "pay", Arguments: number(n)}, asIs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var question = tools.Ask{Quorum: 1, Role: models.RoleMember, AllowSelf: true, ExpiresInSeconds: 100, OnExpiry: tools.OnExpiryDeny}

func ask(id string, a tools.Ask) tools.Gate {
	return gate(id, func(int) tools.Verdict { return tools.Verdict{Kind: tools.VerdictAsk, Ask: a, Reason: "by " + id} })
}

// Rules: H8.
func TestGatesDecideTogether(t *testing.T) {
	pass := gate("pass", func(int) tools.Verdict { return tools.Verdict{} })
	no := gate("no", func(int) tools.Verdict { return tools.Verdict{Kind: tools.VerdictRefuse, Reason: "never"} })
	strict := question
	strict.Quorum, strict.Role, strict.AllowSelf, strict.ExpiresInSeconds, strict.OnExpiry = 2, models.RoleAdmin, false, 50, tools.OnExpiryFail

	if r := rule(t, 1); r.Kind != tools.VerdictRun || string(r.Arguments) != `{"n":1}` || r.Rewritten {
		t.Errorf("no gates: %+v", r)
	}
	if r := rule(t, 1, pass, pass); r.Kind != tools.VerdictRun {
		t.Errorf("all pass: %+v", r)
	}
	if r := rule(t, 1, pass, ask("a", question), no); r.Kind != tools.VerdictRefuse || r.GateID != "no" || r.Reason != "never" {
		t.Errorf("one refuses: %+v", r)
	}
	r := rule(t, 1, ask("a", question), pass, ask("b", strict))
	want := strict
	want.GateID = "a"
	if r.Kind != tools.VerdictAsk || r.GateID != "a" || r.Reason != "by a" || r.Ask != want {
		t.Errorf("two ask: %+v", r)
	}
}

// Hooks: "policy gates ... decide again when anything was rewritten; a chain that can't settle in 2 rounds is refused".
//
// Rules: H8.
func TestGatesDecideAgainAfterARewrite(t *testing.T) {
	limit := gate("limit", func(n int) tools.Verdict {
		if n > 10 {
			return tools.Verdict{Arguments: number(10)}
		}
		return tools.Verdict{}
	})
	big := gate("big", func(n int) tools.Verdict {
		if n > 10 {
			return tools.Verdict{Kind: tools.VerdictAsk, Ask: question}
		}
		return tools.Verdict{}
	})
	forbidden := gate("forbidden", func(n int) tools.Verdict {
		if n == 10 {
			return tools.Verdict{Kind: tools.VerdictRefuse, Reason: "not ten"}
		}
		return tools.Verdict{}
	})
	endless := gate("endless", func(n int) tools.Verdict { return tools.Verdict{Arguments: number(n + 1)} })
	if r := rule(t, 99, big, limit); r.Kind != tools.VerdictRun || string(r.Arguments) != `{"n":10}` || !r.Rewritten {
		t.Errorf("the first one must decide again about 10: %+v", r)
	}
	if r := rule(t, 99, forbidden, limit); r.Kind != tools.VerdictRefuse || r.GateID != "forbidden" {
		t.Errorf("a gate before the rewrite must see it: %+v", r)
	}
	if r := rule(t, 1, endless); r.Kind != tools.VerdictRefuse || !strings.Contains(r.Reason, "no decision") {
		t.Errorf("a chain that doesn't settle: %+v", r)
	}
	same := gate("same", func(n int) tools.Verdict {
		return tools.Verdict{Arguments: json.RawMessage(fmt.Sprintf(` { "n" : %d.0 } `, n))}
	})
	if r := rule(t, 1, same); r.Kind != tools.VerdictRun || r.Rewritten {
		t.Errorf("what means the same is no rewrite: %+v", r)
	}
}

// Rules: H8.
func TestGatesFailClosed(t *testing.T) {
	for name, g := range map[string]tools.Gate{
		"error":   {ID: "g", Decide: func(context.Context, tools.GateCall) (tools.Verdict, error) { return tools.Verdict{}, errors.New("x") }},
		"panic":   {ID: "g", Decide: func(context.Context, tools.GateCall) (tools.Verdict, error) { panic("x") }},
		"unknown": {ID: "g", Decide: func(context.Context, tools.GateCall) (tools.Verdict, error) { return tools.Verdict{Kind: 7}, nil }},
		"refused": {ID: "g", Decide: func(context.Context, tools.GateCall) (tools.Verdict, error) {
			return tools.Verdict{Kind: tools.VerdictRefuse}, nil
		}},
		"broken": {ID: "g", Decide: func(context.Context, tools.GateCall) (tools.Verdict, error) {
			return tools.Verdict{Arguments: json.RawMessage(`{`)}, nil
		}},
	} {
		recheck := func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			if !json.Valid(arguments) {
				return nil, errors.New("they are not JSON")
			}
			return arguments, nil
		}
		r, err := hooks.Rule(t.Context(), []tools.Gate{g}, tools.GateCall{Arguments: number(1)}, recheck)
		if err != nil || r.Kind != tools.VerdictRefuse || r.Reason == "" || r.GateID != "g" {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
		if hasErr := name == "error" || name == "panic"; (r.Err != nil) != hasErr {
			t.Errorf("%s: the log is told %v", name, r.Err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := hooks.Rule(ctx, []tools.Gate{ask("a", question)}, tools.GateCall{Arguments: number(1)}, asIs); !errors.Is(err, context.Canceled) || r.Kind != tools.VerdictRefuse {
		t.Errorf("cancelled: got %+v, %v", r, err)
	}
}

// Whatever the gates do: what runs, or is asked about, is what every gate has seen last, and let pass.
//
// Rules: H8.
func TestWhatRunsWasSeenByAllGates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Each gate has a table: what it says about each number from 0 to 4.
		verdicts := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]int{-1, -2, 0, 1, 2, 3, 4}), 5, 5), 0, 4).Draw(t, "gates")
		seen := make([]int, len(verdicts))
		var gates []tools.Gate
		for i, table := range verdicts {
			gates = append(gates, gate(fmt.Sprint("g", i), func(n int) tools.Verdict {
				seen[i] = n
				switch v := table[n]; v {
				case -1:
					return tools.Verdict{Kind: tools.VerdictRefuse, Reason: "no"}
				case -2:
					return tools.Verdict{Kind: tools.VerdictAsk, Ask: question}
				default:
					return tools.Verdict{Arguments: number(v)}
				}
			}))
		}
		start := rapid.IntRange(0, 4).Draw(t, "n")
		r, err := hooks.Rule(context.Background(), gates, tools.GateCall{Arguments: number(start)}, asIs)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == tools.VerdictRefuse {
			return
		}
		var last struct {
			N int `json:"n"`
		}
		if err := json.Unmarshal(r.Arguments, &last); err != nil {
			t.Fatal(err)
		}
		asked := false
		for i, table := range verdicts {
			v := table[last.N]
			if seen[i] != last.N || v == -1 || v >= 0 && v != last.N {
				t.Fatalf("%v from %d: gate %d saw %d, and %d runs", verdicts, start, i, seen[i], last.N)
			}
			asked = asked || v == -2
		}
		if asked != (r.Kind == tools.VerdictAsk) {
			t.Fatalf("%v from %d: the ruling is %v", verdicts, start, r.Kind)
		}
	})
}
