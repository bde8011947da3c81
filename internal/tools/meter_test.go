package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// metered is a tool that declares meters, and measures.
func metered(name string, declares, measures tools.Meters) fake {
	f := tool("t."+name, name, anyObject)
	f.manifest.Meters = declares
	f.execute = func(context.Context, *tools.Call, json.RawMessage) tools.Result {
		return tools.Result{JSON: json.RawMessage(`{}`), Measures: measures}
	}
	return f
}

func many(n int) tools.Meters {
	m := tools.Meters{}
	for i := range n {
		m["unit_"+string(rune('a'+i))] = 1
	}
	return m
}

// wrongMeters are meters that can't be, with what is said of them.
var wrongMeters = map[string]tools.Meters{
	"usd is measured by the server":        {"usd": 1},
	"tokens is measured by the server":     {"tokens": 1},
	"credits is measured by the server":    {"credits": 1},
	"tool_calls is measured by the server": {"tool_calls": 1},
	"is not a currency":                    {"GPU seconds": 1},
	"can't use -0.000000001 of pages":      {"pages": -1},
	"can't use 9000000000.000000001 of":    {"pages": budget.MaxAmount + 1},
	"at most 16":                           many(17),
}

func TestMetersOfTools(t *testing.T) {
	for want, m := range wrongMeters {
		if _, err := tools.NewRegistry(capability("c", metered("x", m, nil))); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t.x") {
			t.Errorf("%v: got %v, want %q", m, err, want)
		}
	}
	declared := tools.Meters{"gpu_seconds": 30, "pages": 0}
	r := registry(t, capability("c", metered("x", declared, nil), metered("limit", many(16), nil), metered("most", tools.Meters{"pages": budget.MaxAmount}, nil)))
	declared["gpu_seconds"] = 1 // what was registered can't be changed
	set, err := r.Resolve(refs("c"))
	if err != nil {
		t.Fatal(err)
	}
	frozen, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "x", nil)
	want := tools.Meters{"gpu_seconds": 30, "pages": 0}
	if ended != nil || !maps.Equal(frozen.Meters, want) {
		t.Errorf("frozen are %v, %+v", frozen.Meters, ended)
	}
	// The journal keeps them as they were, whatever the catalogue says by then.
	stored, err := json.Marshal(frozen)
	if err != nil || !strings.Contains(string(stored), `"meters":{"gpu_seconds":30,"pages":0}`) {
		t.Errorf("stored is %s, %v", stored, err)
	}
	var back tools.Frozen
	if err := json.Unmarshal(stored, &back); err != nil || !maps.Equal(back.Meters, want) {
		t.Errorf("read back are %v, %v", back.Meters, err)
	}
	// Calls that were frozen before there were meters have none, and the same identity.
	if plain, err := json.Marshal(tools.Frozen{ToolID: "t.x"}); err != nil || strings.Contains(string(plain), "meters") {
		t.Errorf("without meters it is stored as %s", plain)
	}
	if manifest, err := json.Marshal([]any{tools.Manifest{ID: "t.x"}}); err != nil || strings.Contains(string(manifest), "Meters") {
		t.Errorf("a manifest without meters is hashed as %s", manifest)
	}
}

func TestMetersOfCapabilities(t *testing.T) {
	c := capability("c", metered("x", tools.Meters{"gpu_seconds": 30, "pages": 5}, nil), metered("y", nil, nil))
	c.ConfigSchema = json.RawMessage(anyObject)
	c.Meters = func(config json.RawMessage) (all map[string]tools.Meters, err error) {
		return all, json.Unmarshal(config, &all)
	}
	c.ClientTools = func(json.RawMessage) ([]models.ClientTool, error) {
		return []models.ClientTool{{Name: "theirs", Description: "A tool.", InputSchema: models.JSON(anyObject)}}, nil
	}
	r := registry(t, c, capability("d", metered("z", nil, nil)))
	resolve := func(config string) (tools.Toolset, error) {
		return r.Resolve([]models.CapabilityRef{{ID: "d"}, {ID: "c", Config: models.JSON(config)}})
	}
	set, err := resolve(`{"x":{"pages":7},"y":{"seats":1},"theirs":{"seats":2}}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]tools.Meters{
		"x": {"gpu_seconds": 30, "pages": 7}, "y": {"seats": 1}, "theirs": {"seats": 2}, "z": nil,
	} {
		frozen, ended := tools.Prepare(t.Context(), set, &tools.Call{}, name, nil)
		if m, _ := set.ByName(name); ended != nil || !maps.Equal(frozen.Meters, want) || !maps.Equal(m.Meters, want) {
			t.Errorf("%s takes %v, by its manifest %v; want %v", name, frozen.Meters, m.Meters, want)
		}
	}
	// The settings of one agent are none of another's business.
	plain, err := resolve(`{}`)
	if m, _ := plain.ByName("x"); err != nil || m.Meters["pages"] != 5 {
		t.Errorf("without settings x takes %v, %v", m.Meters, err)
	}
	for config, want := range map[string]string{
		`{"x":{"usd":1}}`:   "tool x: usd is measured by the server",
		`{"z":{"pages":1}}`: "no tool z",
		`{"w":{"pages":1}}`: "no tool w",
		`{"x":1}`:           "unmarshal",
	} {
		_, err := resolve(config)
		if failed, ok := errors.AsType[*tools.ContributionError](err); !ok || failed.What != "meters" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}
}

func TestMeasures(t *testing.T) {
	run := func(f fake, toolID string, meters tools.Meters) tools.Result {
		r := registry(t, capability("c", f))
		return tools.Run(t.Context(), r, &tools.Call{}, tools.Frozen{ToolID: toolID, Arguments: json.RawMessage(`{}`), Meters: meters})
	}
	took := tools.Meters{"gpu_seconds": 3}
	if r := run(metered("x", nil, took), "t.x", nil); r.Failed() || !maps.Equal(r.Measures, took) || r.Measures == nil {
		t.Errorf("a result: %+v", r)
	}
	for name, was := range map[string]tools.Result{
		"a failure": tools.Fail("no"), "an internal failure": {Internal: errors.New("broken")}, "what is no JSON": {JSON: json.RawMessage(`{`)},
	} {
		f := metered("x", nil, nil)
		f.execute = func(context.Context, *tools.Call, json.RawMessage) tools.Result {
			was.Measures = took
			return was
		}
		if r := run(f, "t.x", nil); !r.Failed() || !maps.Equal(r.Measures, took) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for want, m := range wrongMeters {
		r := run(metered("x", nil, m), "t.x", nil)
		if r.Internal == nil || !strings.Contains(r.Internal.Error(), want) || r.Measures != nil || r.JSON != nil || strings.Contains(r.ToolError, want) {
			t.Errorf("%v: %+v, want %q", m, r, want)
		}
	}
	// A tool that is gone has taken nothing, whatever it would have.
	if r := run(metered("x", nil, nil), "t.gone", tools.Meters{"pages": 5}); !r.Failed() || r.Measures["pages"] != 0 || len(r.Measures) != 1 {
		t.Errorf("a tool that is gone: %+v", r)
	}
}

func TestSectionsOfSettings(t *testing.T) {
	c := capability("c")
	c.Prompt, c.ConfigSchema = "Always.", json.RawMessage(anyObject)
	c.Section = func(config json.RawMessage) (string, error) {
		var s struct {
			Say   string `json:"say"`
			Wrong bool   `json:"wrong"`
		}
		err := json.Unmarshal(config, &s)
		if s.Wrong {
			return "", fault.New(fault.Invalid, "It is wrong.").At("wrong")
		}
		return s.Say, err
	}
	bare := c
	bare.ID, bare.Prompt = "bare", ""
	r := registry(t, c, bare)
	for _, tc := range []struct{ id, config, want string }{
		{"c", `{}`, "Always."}, {"c", `{"say":"And this."}`, "Always.\n\nAnd this."}, {"bare", `{"say":"Only this."}`, "Only this."}, {"bare", `{}`, ""},
	} {
		set, err := r.Resolve([]models.CapabilityRef{{ID: tc.id, Config: models.JSON(tc.config)}})
		got := ""
		for _, s := range set.Sections() {
			got += s.CapabilityID + ": " + s.Text
		}
		if want := tc.id + ": " + tc.want; err != nil || got != want && (tc.want != "" || got != "") {
			t.Errorf("%s of %s: got %q, %v", tc.config, tc.id, got, err)
		}
	}
	_, err := r.Resolve([]models.CapabilityRef{{ID: "c", Config: models.JSON(`{"wrong":true}`)}})
	if f := fault.As(err); f == nil || strings.Join(f.Path, ".") != "capabilities.0.config.wrong" {
		t.Errorf("wrong settings: %v", err)
	}
}
