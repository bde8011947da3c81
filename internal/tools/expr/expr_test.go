package expr_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools/expr"
)

func compiler(t testing.TB) *expr.Compiler {
	t.Helper()
	c, err := expr.New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bind(t testing.TB, v expr.Vars) expr.Input {
	t.Helper()
	in, err := expr.Bind(v)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func sample(t testing.TB) expr.Input {
	t.Helper()
	return bind(t, expr.Vars{
		Event: "pre_tool_use", Tool: "write_file", Message: "hi",
		Arguments: json.RawMessage(`{"path":"/workspace/a","n":1,"big":9007199254740993,"f":1.5,"list":[1,2],"none":null}`),
		Turn:      map[string]any{"id": "turn_1", "success": true},
	})
}

func TestConditions(t *testing.T) {
	c, in := compiler(t), sample(t)
	for source, want := range map[string]bool{
		`true`:                                              true,
		`tool == "write_file"`:                              true,
		`event == "post_tool_use"`:                          false,
		`arguments.n == 1`:                                  true,
		`arguments.n + 1 == 2`:                              true,
		`arguments.n > 0.5`:                                 true,
		`arguments.f > 1`:                                   true,
		`arguments.big == 9007199254740993`:                 true,
		`arguments.big == 9007199254740992`:                 false,
		`arguments.path.startsWith("/workspace/")`:          true,
		`arguments.path.matches("^/etc")`:                   false,
		`has(arguments.other)`:                              false,
		`has(arguments.none) && arguments.none == null`:     true,
		`arguments.list.exists(x, x == 2)`:                  true,
		`result == null && error == "" && message == "hi"`:  true,
		`turn.success && turn.id.startsWith("turn_")`:       true,
		`"id" in session || "id" in agent`:                  false,
		`has(arguments.other) && arguments.other.deep == 1`: false,
	} {
		p, err := c.Compile(source, expr.Condition)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := p.Condition(t.Context(), in); err != nil || got != want {
			t.Errorf("%s: got %v, %v", source, got, err)
		}
	}
}

func TestExpressionsThatCanNotBeCompiled(t *testing.T) {
	c := compiler(t)
	for source, want := range map[string]string{
		``:                                 "empty",
		" \n":                              "empty",
		`tool ==`:                          "line 1, column",
		"true &&\n  nothing":               "line 2, column 3",
		`1 + 1`:                            "true or false",
		`"x"`:                              "true or false",
		`{"decision": "block"}`:            "true or false",
		`now() > 1`:                        "undeclared",
		`random()`:                         "undeclared",
		`env("HOME") == ""`:                "undeclared",
		`arguments.path.matches("(")`:      "invalid matches argument",
		strings.Repeat("!", 5000) + "true": "4096",
		strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200): "recursion",
		`message.matches("((a{30}){30}){2}")`:                        "invalid matches argument",
	} {
		if _, err := c.Compile(source, expr.Condition); err == nil || !strings.Contains(strings.ToLower(err.Error()), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%.40q: got %v, want %q", source, err, want)
		}
	}
	if _, err := c.Compile(`[1]`, expr.Answer); err == nil {
		t.Error("a list is taken as an answer")
	}
}

func TestExpressionsThatFail(t *testing.T) {
	c, in := compiler(t), sample(t)
	for source, want := range map[string]string{
		`arguments.other == 1`:       "no such key",
		`arguments.n`:                "true or false",
		`arguments.path`:             "true or false",
		`arguments.path + 1 == 2`:    "no such overload",
		`1 / (arguments.n - 1) == 1`: "division by zero",
	} {
		p, err := c.Compile(source, expr.Condition)
		if err != nil {
			t.Errorf("%.60s: %v", source, err)
			continue
		}
		if _, err := p.Condition(t.Context(), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", source, err, want)
		}
	}
}

// A hundred million steps are not made: the limit of cost ends them, or on a slow machine that of time.
//
// Rules: H3.
func TestWorkIsBounded(t *testing.T) {
	loop := `true`
	for range 8 {
		loop = `[0,1,2,3,4,5,6,7,8,9].all(x, ` + loop + `)`
	}
	p, err := compiler(t).Compile(loop, expr.Condition)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Condition(t.Context(), sample(t)); err == nil || !strings.Contains(err.Error(), "cost limit") && !strings.Contains(err.Error(), "longer than 100 ms") {
		t.Errorf("got %v", err)
	}
}

func TestAnswers(t *testing.T) {
	c, in := compiler(t), sample(t)
	for source, want := range map[string]any{
		`tool == "x"`: false,
		`{"decision": "mutate", "patch": {"arguments": {"n": arguments.n + 1, "list": arguments.list, "x": null, "f": 1.5}}}`: map[string]any{
			"decision": "mutate", "patch": map[string]any{"arguments": map[string]any{"n": int64(2), "list": []any{int64(1), int64(2)}, "x": nil, "f": 1.5}},
		},
		`tool == "x" ? dyn(true) : dyn({"decision": "allow"})`: map[string]any{"decision": "allow"},
		`{}`:        map[string]any{},
		`arguments`: map[string]any{"path": "/workspace/a", "n": int64(1), "big": int64(9007199254740993), "f": 1.5, "list": []any{int64(1), int64(2)}, "none": nil},
	} {
		p, err := c.Compile(source, expr.Answer)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := p.Answer(t.Context(), in); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v", source, got, err)
		}
	}
	large := bind(t, expr.Vars{Arguments: json.RawMessage(`{"x":"` + strings.Repeat("x", 40<<10) + `"}`)})
	for source, want := range map[string]string{
		`dyn(1)`:                               "must return",
		`{"a": duration("1s")}`:                "string()",
		`{"a": b"x"}`:                          "string()",
		`{1: 2}`:                               "keys",
		`{"a": 1.0 / 0.0}`:                     "JSON can't represent",
		`{"a": arguments.x, "b": arguments.x}`: "more than 65536 bytes",
	} {
		p, err := c.Compile(source, expr.Answer)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if _, err := p.Answer(t.Context(), large); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
	}
}

func TestACancelledCallerIsNoFailureOfTheExpression(t *testing.T) {
	p, err := compiler(t).Compile(`true`, expr.Condition)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Condition(ctx, sample(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestProgramsAreKeptAndShared(t *testing.T) {
	c, in := compiler(t), sample(t)
	first, err := c.Compile(`arguments.n == 1`, expr.Condition)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p, err := c.Compile(`arguments.n == 1`, expr.Condition)
			if err != nil || p != first {
				t.Errorf("it was compiled again: %v", err)
				return
			}
			if ok, err := p.Condition(t.Context(), in); !ok || err != nil {
				t.Errorf("got %v, %v", ok, err)
			}
		})
	}
	wg.Wait()
	if other, err := c.Compile(`arguments.n == 1`, expr.Answer); err != nil || other == first {
		t.Errorf("kinds are mixed up: %v", err)
	}
}

func TestArgumentsMustBeJSON(t *testing.T) {
	for _, v := range []expr.Vars{{Arguments: json.RawMessage(`{`)}, {Result: json.RawMessage(`x`)}, {Arguments: json.RawMessage(`1e999`)}} {
		if _, err := expr.Bind(v); err == nil {
			t.Errorf("%+v is taken", v)
		}
	}
}
