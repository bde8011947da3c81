package tools_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

const anyObject = `{"type":"object"}`

// fake is a tool with nothing but what a test gives it.
type fake struct {
	manifest tools.Manifest
	execute  func(ctx context.Context, call *tools.Call, arguments json.RawMessage) tools.Result
}

func (f fake) Manifest() tools.Manifest { return f.manifest }

func (f fake) Execute(ctx context.Context, call *tools.Call, arguments json.RawMessage) tools.Result {
	if f.execute == nil {
		return tools.Result{JSON: arguments}
	}
	return f.execute(ctx, call, arguments)
}

func tool(id, name, schema string) fake {
	return fake{manifest: tools.Manifest{
		ID: id, Name: name, DisplayName: "Display " + name, Description: "Does " + name, InputSchema: json.RawMessage(schema),
	}}
}

func capability(id string, with ...tools.Tool) tools.Capability {
	return tools.Capability{ID: id, Name: id, Description: "Is " + id, Risk: "LOW", Tools: with}
}

func TestNewRegistryRefuses(t *testing.T) {
	depends := func(c tools.Capability, on ...string) tools.Capability {
		c.DependsOn = on
		return c
	}
	configured := func(c tools.Capability, schema string) tools.Capability {
		c.ConfigSchema = json.RawMessage(schema)
		return c
	}
	cases := map[string]struct {
		caps []tools.Capability
		// want are parts of the error.
		want []string
	}{
		"no id":             {[]tools.Capability{capability("")}, []string{"id"}},
		"no risk":           {[]tools.Capability{{ID: "a", Name: "a", Description: "a"}}, []string{"a", "LOW, MEDIUM or HIGH"}},
		"same id":           {[]tools.Capability{capability("a"), capability("a")}, []string{"two capabilities have the id a"}},
		"same tool id":      {[]tools.Capability{capability("a", tool("x", "one", anyObject)), capability("b", tool("x", "two", anyObject))}, []string{"two tools have the id x", "one of capability a", "two of capability b"}},
		"same tool name":    {[]tools.Capability{capability("a", tool("x", "run", anyObject)), capability("b", tool("y", "run", anyObject))}, []string{"run", "x of capability a", "y of capability b"}},
		"same name, one":    {[]tools.Capability{capability("a", tool("x", "run", anyObject), tool("y", "run", anyObject))}, []string{"run", "x of", "y of"}},
		"no tool id":        {[]tools.Capability{capability("a", tool("", "run", anyObject))}, []string{"capability a", "no id"}},
		"bad tool name":     {[]tools.Capability{capability("a", tool("x", "run it", anyObject))}, []string{"x", `"run it"`}},
		"no display name":   {[]tools.Capability{capability("a", fake{manifest: tools.Manifest{ID: "x", Name: "x", Description: "x", InputSchema: json.RawMessage(anyObject)}})}, []string{"x", "display name"}},
		"schema no JSON":    {[]tools.Capability{capability("a", tool("x", "run", `{`))}, []string{"tool x", "not JSON"}},
		"schema no object":  {[]tools.Capability{capability("a", tool("x", "run", `{"type":"string"}`))}, []string{"tool x", "object"}},
		"schema invalid":    {[]tools.Capability{capability("a", tool("x", "run", `{"type":"object","properties":{"a":{"type":"strin"}}}`))}, []string{"tool x", "not valid"}},
		"schema of a file":  {[]tools.Capability{capability("a", tool("x", "run", `{"type":"object","$ref":"file:///etc/passwd"}`))}, []string{"tool x", "not allowed"}},
		"schema of the web": {[]tools.Capability{capability("a", tool("x", "run", `{"type":"object","$ref":"https://example.com/s.json"}`))}, []string{"tool x", "not allowed"}},
		"config schema":     {[]tools.Capability{configured(capability("a"), `[]`)}, []string{"settings of capability a"}},
		"unknown dependency": {
			[]tools.Capability{depends(capability("a"), "b")}, []string{"a depends on b", "unknown"},
		},
		"circle": {
			[]tools.Capability{depends(capability("a"), "b"), depends(capability("b"), "c"), depends(capability("c"), "b")},
			[]string{"b → c → b"},
		},
		"depends on itself": {[]tools.Capability{depends(capability("a"), "a")}, []string{"a → a"}},
		"always on but needs settings": {
			[]tools.Capability{func() tools.Capability {
				c := configured(capability("a"), `{"type":"object","required":["key"]}`)
				c.AlwaysOn = true
				return c
			}()},
			[]string{"always-on", "a", "key is required"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tools.NewRegistry(c.caps...)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error %q doesn't say %q", err, part)
				}
			}
		})
	}
}

// sample has an always-on capability and a small graph of others.
func sample(t *testing.T) *tools.Registry {
	t.Helper()
	define := func(id string, on ...string) tools.Capability {
		c := capability(id, tool(id+".t", id+"_tool", anyObject))
		c.DependsOn, c.Prompt = on, "Prompt of "+id+"."
		return c
	}
	base := define("base")
	base.AlwaysOn = true
	configured := define("configured")
	configured.ConfigSchema = json.RawMessage(`{"type":"object","properties":{"level":{"type":"integer","minimum":1}},"required":["level"],"additionalProperties":false}`)
	silent := define("silent")
	silent.Prompt = ""
	r, err := tools.NewRegistry(define("top", "middle", "leaf"), define("middle", "leaf"), define("leaf"), configured, base, silent, define("needs", "configured"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ids(refs []models.CapabilityRef) string {
	var all []string
	for _, r := range refs {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

func refs(names string) []models.CapabilityRef {
	var all []models.CapabilityRef
	for name := range strings.FieldsSeq(names) {
		all = append(all, models.CapabilityRef{ID: name})
	}
	return all
}

func TestCapabilitiesAreInOrder(t *testing.T) {
	r := sample(t)
	var got []string
	for _, c := range r.Capabilities() {
		got = append(got, c.ID)
	}
	if want := "leaf middle top configured base silent needs"; strings.Join(got, " ") != want {
		t.Errorf("the order is %v, want %s", got, want)
	}
	if c, ok := r.Capability("middle"); !ok || c.ID != "middle" {
		t.Errorf("Capability(middle) = %+v, %v", c, ok)
	}
	if _, ok := r.Capability("none"); ok {
		t.Error("there is a capability none")
	}
}

func TestResolve(t *testing.T) {
	r := sample(t)
	for in, want := range map[string]string{
		"":                     "base",
		"leaf":                 "base leaf",
		"top":                  "base leaf middle top",
		"silent top leaf":      "base silent leaf middle top",
		"middle leaf middle":   "base leaf middle",
		"leaf base":            "base leaf",
		"base":                 "base",
		"silent leaf silent":   "base silent leaf",
		"leaf top middle base": "base leaf middle top",
	} {
		set, err := r.Resolve(refs(in))
		if err != nil {
			t.Errorf("Resolve(%s): %v", in, err)
			continue
		}
		if got := ids(set.Refs()); got != want {
			t.Errorf("Resolve(%s) has %s, want %s", in, got, want)
		}
		var names, sections []string
		for m := range set.Manifests() {
			names = append(names, strings.TrimSuffix(m.Name, "_tool"))
			if got, ok := set.ByName(m.Name); !ok || got.ID != m.ID {
				t.Errorf("Resolve(%s): ByName(%s) = %+v, %v", in, m.Name, got, ok)
			}
		}
		for _, s := range set.Sections() {
			sections = append(sections, s.CapabilityID)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("Resolve(%s) has the tools of %s, want %s", in, got, want)
		}
		if got := strings.Join(sections, " "); got != strings.Join(strings.Fields(strings.ReplaceAll(want, "silent", "")), " ") {
			t.Errorf("Resolve(%s) has the sections of %s", in, got)
		}
		if _, ok := set.ByName("none"); ok {
			t.Errorf("Resolve(%s) has a tool none", in)
		}
	}
}

func TestResolveKeepsSettings(t *testing.T) {
	r := sample(t)
	set, err := r.Resolve([]models.CapabilityRef{
		{ID: "needs"},
		{ID: "configured", Config: models.JSON(`{"level":1}`)},
		{ID: "configured", Config: models.JSON(`{"level":2}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(set.Refs()); got != "base configured needs" {
		t.Errorf("it has %s", got)
	}
	if got := string(set.Refs()[1].Config); got != `{"level":2}` {
		t.Errorf("the settings are %s, want the last ones", got)
	}
}

func TestResolveRefuses(t *testing.T) {
	r := sample(t)
	ref := func(id, config string) models.CapabilityRef {
		return models.CapabilityRef{ID: id, Config: models.JSON(config)}
	}
	cases := map[string]struct {
		refs []models.CapabilityRef
		path string
		want []string
	}{
		"unknown":           {[]models.CapabilityRef{ref("leaf", ""), ref("none", "")}, "capabilities 1 id", []string{`"none"`, "Available are", "middle"}},
		"missing field":     {[]models.CapabilityRef{ref("configured", "")}, "capabilities 0 config level", []string{"configured", "level is required"}},
		"null":              {[]models.CapabilityRef{ref("configured", "null")}, "capabilities 0 config level", []string{"level is required"}},
		"out of range":      {[]models.CapabilityRef{ref("configured", `{"level":0}`)}, "capabilities 0 config level", []string{"configured", "level must be at least 1"}},
		"unknown field":     {[]models.CapabilityRef{ref("configured", `{"level":1,"colour":"red"}`)}, "capabilities 0 config colour", []string{"colour is not known"}},
		"not an object":     {[]models.CapabilityRef{ref("configured", `[]`)}, "capabilities 0 config", []string{"object"}},
		"not JSON":          {[]models.CapabilityRef{ref("configured", `{`)}, "capabilities 0 config", []string{"JSON"}},
		"NUL":               {[]models.CapabilityRef{ref("configured", `{"level":"\u0000"}`)}, "capabilities 0 config level", []string{"NUL"}},
		"none to set":       {[]models.CapabilityRef{ref("leaf", `{"a":1}`)}, "capabilities 0 config", []string{"leaf", "leave config out"}},
		"dependency's":      {[]models.CapabilityRef{ref("leaf", ""), ref("needs", "")}, "capabilities 1 id", []string{"configured", "level is required", "Attach it"}},
		"also a first, bad": {[]models.CapabilityRef{ref("configured", `{}`), ref("configured", `{"level":1}`)}, "capabilities 0 config level", []string{"configured"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := r.Resolve(c.refs)
			f := fault.As(err)
			if f == nil || f.Code != fault.Invalid {
				t.Fatalf("the error is %v, want INVALID", err)
			}
			if got := strings.Join(f.Path, " "); got != c.path {
				t.Errorf("the path is %q, want %q", got, c.path)
			}
			for _, part := range c.want {
				if !strings.Contains(f.Message, part) {
					t.Errorf("the message %q doesn't say %q", f.Message, part)
				}
			}
		})
	}
}

func TestValidateConfig(t *testing.T) {
	r := sample(t)
	for _, good := range []models.CapabilityRef{
		{ID: "leaf"}, {ID: "leaf", Config: models.JSON(`{}`)}, {ID: "configured", Config: models.JSON(`{"level":3.0}`)},
	} {
		if err := r.ValidateConfig(good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	if err := r.ValidateConfig(models.CapabilityRef{ID: "none"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("an unknown capability gives %v", err)
	}
}

func TestToolsetDoesNotChange(t *testing.T) {
	set, err := sample(t).Resolve(refs("top"))
	if err != nil {
		t.Fatal(err)
	}
	set.Refs()[0].ID = "changed"
	set.Sections()[0].Text = "changed"
	if s, r := set.Sections()[0].Text, set.Refs()[0].ID; s == "changed" || r == "changed" {
		t.Error("a caller changed it")
	}
	var none tools.Toolset
	if _, ok := none.ByName("x"); ok || slices.Collect(none.Manifests()) != nil || none.Sections() != nil || none.Refs() != nil {
		t.Error("the zero Toolset has something")
	}
}

// Whatever is attached: everything once, dependencies first, the same for the same input.
func TestResolveProperties(t *testing.T) {
	r := sample(t)
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.SampledFrom([]string{"top", "middle", "leaf", "silent", "base"})).Draw(t, "refs")
		set, err := r.Resolve(refs(strings.Join(in, " ")))
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]int{}
		for i, ref := range set.Refs() {
			if _, twice := at[ref.ID]; twice {
				t.Fatalf("%s is in it twice", ref.ID)
			}
			at[ref.ID] = i
			c, _ := r.Capability(ref.ID)
			for _, d := range c.DependsOn {
				if _, ok := at[d]; !ok {
					t.Fatalf("%s comes before %s, on which it depends", ref.ID, d)
				}
			}
		}
		for _, id := range append(in, "base") {
			if _, ok := at[id]; !ok {
				t.Fatalf("%s is missing", id)
			}
		}
		again, err := r.Resolve(set.Refs())
		if err != nil || ids(again.Refs()) != ids(set.Refs()) {
			t.Fatalf("resolved again it is %s, %v; want %s", ids(again.Refs()), err, ids(set.Refs()))
		}
	})
}

// Forms begin with the default settings, and pages show them.
func TestTheDefaultOfSettingsFollowsTheirSchema(t *testing.T) {
	of := func(value string) tools.Capability {
		c := capability("configured")
		c.ConfigSchema = json.RawMessage(`{"type":"object","properties":{"level":{"type":"integer"}},"default":` + value + `}`)
		return c
	}
	r, err := tools.NewRegistry(of(`{"level":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := r.Capability("configured"); string(c.DefaultConfig) != `{"level":2}` {
		t.Errorf("the default is %s", c.DefaultConfig)
	}
	if _, err := tools.NewRegistry(of(`{"level":"high"}`)); err == nil || !strings.Contains(err.Error(), "level must be of type integer") {
		t.Errorf("a default that breaks the schema: %v", err)
	}
}
