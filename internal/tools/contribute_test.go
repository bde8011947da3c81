package tools_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// contributing is a capability whose settings are its hooks' and gates' names, and what it mutes.
func contributing(id string, user bool) tools.Capability {
	c := capability(id)
	c.UserHooks = user
	c.ConfigSchema = json.RawMessage(anyObject)
	type settings struct {
		Hooks    []string `json:"hooks"`
		Gates    []string `json:"gates"`
		Disabled []string `json:"disabled"`
	}
	read := func(config json.RawMessage) (s settings, err error) {
		err = json.Unmarshal(config, &s)
		return s, err
	}
	c.Hooks = func(config json.RawMessage) ([]tools.HookSpec, error) {
		s, err := read(config)
		var specs []tools.HookSpec
		for _, name := range s.Hooks {
			specs = append(specs, tools.HookSpec{Name: name, Event: tools.HookPreToolUse, CEL: &tools.CELExecutor{Expression: "true"}})
		}
		return specs, err
	}
	c.Gates = func(config json.RawMessage) ([]tools.Gate, error) {
		s, err := read(config)
		var gates []tools.Gate
		for _, name := range s.Gates {
			gates = append(gates, tools.Gate{Name: name, Decide: decideRun})
		}
		return gates, err
	}
	c.Muted = func(config json.RawMessage) ([]string, error) {
		s, err := read(config)
		return s.Disabled, err
	}
	return c
}

func registry(t testing.TB, caps ...tools.Capability) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(caps...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ref(id, config string) models.CapabilityRef {
	return models.CapabilityRef{ID: id, Config: models.JSON(config)}
}

func hookIDs(set tools.Toolset) string {
	var ids []string
	for _, h := range set.Hooks() {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

func gateIDs(set tools.Toolset) string {
	var ids []string
	for _, g := range set.Gates() {
		ids = append(ids, g.ID)
	}
	return strings.Join(ids, " ")
}

// Hooks: "Order: capability hooks, then user hooks"; "Ids are {capability}:{name}, by position when unnamed".
//
// Rules: H7, H13.
func TestHooksComeInOrderWithTheirIDs(t *testing.T) {
	on := contributing("on", false)
	on.AlwaysOn = true
	on.Hooks = func(json.RawMessage) ([]tools.HookSpec, error) {
		return []tools.HookSpec{{Event: tools.HookTurnEnd, CEL: &tools.CELExecutor{Expression: "true"}}}, nil
	}
	r := registry(t, contributing("mine", true), contributing("a", false), contributing("b", false), on)
	set, err := r.Resolve([]models.CapabilityRef{
		ref("mine", `{"hooks":["", "m"],"gates":["mg"]}`), ref("b", `{"hooks":["x","","y"],"gates":["",""]}`), ref("a", `{"hooks":["x"],"gates":["g"]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hookIDs(set), "on:0 b:x b:1 b:y a:x mine:0 mine:m"; got != want {
		t.Errorf("the hooks are %s, want %s", got, want)
	}
	if got, want := gateIDs(set), "mine:mg b:0 b:1 a:g"; got != want {
		t.Errorf("the gates are %s, want %s", got, want)
	}
	for _, h := range set.Hooks() {
		if h.OnError != tools.OnErrorWarn || h.Timeout != tools.DefaultHookTimeout {
			t.Errorf("%s has no defaults: %+v", h.ID, h)
		}
	}
}

// Hooks: "user_hooks.disabled mutes by id, never a policy gate".
//
// Rules: H13.
func TestMutingLeavesGates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}
		name := rapid.SampledFrom(names)
		chosen := func(label string) []string {
			return rapid.SliceOfNDistinct(name, 0, 3, rapid.ID[string]).Draw(t, label)
		}
		hooks, gates := chosen("hooks"), chosen("gates")
		var muted []string
		for _, n := range chosen("muted") {
			muted = append(muted, "cap:"+n)
		}
		b, _ := json.Marshal(map[string][]string{"hooks": hooks, "gates": gates})
		m, _ := json.Marshal(map[string][]string{"hooks": hooks, "disabled": muted})
		r, err := tools.NewRegistry(contributing("cap", false), contributing("user", true))
		if err != nil {
			t.Fatal(err)
		}
		set, err := r.Resolve([]models.CapabilityRef{ref("user", string(m)), ref("cap", string(b))})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, n := range hooks {
			if !slices.Contains(muted, "cap:"+n) {
				want = append(want, "cap:"+n)
			}
		}
		for _, n := range hooks {
			want = append(want, "user:"+n)
		}
		if got := hookIDs(set); got != strings.Join(want, " ") {
			t.Fatalf("the hooks are %s, want %v", got, want)
		}
		if n := len(set.Gates()); n != len(gates) {
			t.Fatalf("%d gates are left of %d", n, len(gates))
		}
	})
}

func TestContributionsThatCanNotBeReadAreRefusedWithTheirPath(t *testing.T) {
	bad := func(spec tools.HookSpec) tools.Capability {
		c := contributing("c", false)
		c.Hooks = func(json.RawMessage) ([]tools.HookSpec, error) {
			return []tools.HookSpec{{Event: tools.HookTurnEnd, CEL: &tools.CELExecutor{}}, spec}, nil
		}
		return c
	}
	cel := &tools.CELExecutor{Expression: "true"}
	pre := tools.HookPreToolUse
	cases := map[string]struct {
		c    tools.Capability
		path string
		want string
	}{
		"event":         {bad(tools.HookSpec{Event: "x", CEL: cel}), "hooks 1 event", "unknown"},
		"no executor":   {bad(tools.HookSpec{Event: pre}), "hooks 1", "either a webhook or a cel"},
		"two executors": {bad(tools.HookSpec{Event: pre, CEL: cel, Webhook: &tools.WebhookExecutor{URL: "https://a.example"}}), "hooks 1", "either"},
		"onError":       {bad(tools.HookSpec{Event: pre, CEL: cel, OnError: "panic"}), "hooks 1 onError", "allow, block or warn"},
		"onError block": {bad(tools.HookSpec{Event: tools.HookTurnEnd, CEL: cel, OnError: "block"}), "hooks 1 onError", "can't block"},
		"too fast":      {bad(tools.HookSpec{Event: pre, CEL: cel, Timeout: tools.MinHookTimeout - 1}), "hooks 1 timeoutMs", "100"},
		"too slow":      {bad(tools.HookSpec{Event: pre, CEL: cel, Timeout: tools.MaxHookTimeout + 1}), "hooks 1 timeoutMs", "30000"},
		"tools":         {bad(tools.HookSpec{Event: tools.HookTurnEnd, CEL: cel, Matcher: tools.HookMatcher{Tools: []string{"*"}}}), "hooks 1 matcher tools", "not about a tool"},
		"glob":          {bad(tools.HookSpec{Event: pre, CEL: cel, Matcher: tools.HookMatcher{Tools: []string{"a", "b*c"}}}), "hooks 1 matcher tools 1", "at the end"},
		"url":           {bad(tools.HookSpec{Event: pre, Webhook: &tools.WebhookExecutor{URL: "ftp://a.example"}}), "hooks 1 webhook url", "http"},
		"url user":      {bad(tools.HookSpec{Event: pre, Webhook: &tools.WebhookExecutor{URL: "https://u:p@a.example"}}), "hooks 1 webhook url", "user"},
		"name":          {bad(tools.HookSpec{Name: "1", Event: pre, CEL: cel}), "hooks 1 name", "can't be used"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := registry(t, c.c, capability("other")).Resolve(refs("other c"))
			f := fault.As(err)
			var contribution *tools.ContributionError
			if f == nil || !errors.As(err, &contribution) || contribution.CapabilityID != "c" || contribution.What != "hooks" || !contribution.Retryable() {
				t.Fatalf("got %v", err)
			}
			if got, want := strings.Join(f.Path, " "), "capabilities 1 config "+c.path; got != want {
				t.Errorf("the path is %s, want %s", got, want)
			}
			if !strings.Contains(f.Message, c.want) {
				t.Errorf("the message %q doesn't say %q", f.Message, c.want)
			}
		})
	}
}

// Rules: H12.
func TestContributionsThatFailAreNoFaultOfTheCaller(t *testing.T) {
	for name, fail := range map[string]func(json.RawMessage) ([]tools.Gate, error){
		"error": func(json.RawMessage) ([]tools.Gate, error) { return nil, errors.New("out of order") },
		"panic": func(json.RawMessage) ([]tools.Gate, error) { panic("out of order") },
		"empty": func(json.RawMessage) ([]tools.Gate, error) { return []tools.Gate{{Name: "out_of_order"}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := capability("c")
			c.Gates = fail
			_, err := registry(t, c).Resolve(refs("c"))
			var contribution *tools.ContributionError
			if !errors.As(err, &contribution) || fault.As(err) != nil || contribution.What != "gates" || !strings.Contains(err.Error(), "out") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNamesOfHooksDifferWithinACapability(t *testing.T) {
	_, err := registry(t, contributing("c", false)).Resolve([]models.CapabilityRef{ref("c", `{"hooks":["x","","x"]}`)})
	if f := fault.As(err); f == nil || strings.Join(f.Path, " ") != "capabilities 0 config hooks 2 name" {
		t.Errorf("got %v", err)
	}
}

func clientTool(name, schema string) models.ClientTool {
	return models.ClientTool{Name: name, Description: "Does " + name, InputSchema: models.JSON(schema)}
}

// Rules: W6.
func TestClientToolsAreOfferedAndChecked(t *testing.T) {
	c := capability("c", tool("c.run", "run", anyObject))
	c.ClientTools = func(json.RawMessage) ([]models.ClientTool, error) {
		return []models.ClientTool{clientTool("pick", anyObject)}, nil
	}
	r := registry(t, c)
	set, err := r.ResolveWith(refs("c"), []models.ClientTool{
		clientTool("confirm", `{"type":"object","properties":{"amount":{"type":"integer"}},"required":["amount"]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(set.ClientTools()); got != 2 {
		t.Fatalf("there are %d client tools, want 2", got)
	}
	frozen, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "confirm", json.RawMessage(`{"amount":3.0}`))
	if ended != nil || frozen.ToolID != "client.confirm" || !frozen.Hints.Client || frozen.DisplayName != "confirm" || string(frozen.Arguments) != `{"amount":3}` {
		t.Errorf("got %+v, %v", frozen, ended)
	}
	if _, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "confirm", json.RawMessage(`{"amount":"3"}`)); ended == nil || !strings.Contains(ended.ToolError, "invalid_arguments") || !strings.Contains(ended.ToolError, "amount") {
		t.Errorf("bad arguments: got %v", ended)
	}
	// The engine asks the client; nothing here may pretend to have run it.
	if res := tools.Run(t.Context(), r, &tools.Call{}, frozen); res.Internal == nil || !res.Failed() {
		t.Errorf("it was run: %+v", res)
	}
}

func TestTwoToolsOfOneNameAreRefusedNamingBoth(t *testing.T) {
	c := capability("c", tool("c.run", "run", anyObject))
	brings := capability("brings")
	brings.ClientTools = func(json.RawMessage) ([]models.ClientTool, error) {
		return []models.ClientTool{clientTool("pick", anyObject)}, nil
	}
	r := registry(t, c, brings)
	one := []models.ClientTool{clientTool("run", anyObject)}
	if _, err := r.ResolveWith(nil, one); err != nil {
		t.Errorf("a name that only an unattached tool has: %v", err)
	}
	for name, x := range map[string]struct {
		refs    string
		clients []models.ClientTool
		path    string
		want    []string
	}{
		"server and client": {"c", one, "clientTools 0 name", []string{"c.run of capability c", "client.run of the client"}},
		"two clients":       {"", []models.ClientTool{clientTool("x", anyObject), clientTool("x", anyObject)}, "clientTools 1 name", []string{"0 and 1"}},
		"capability":        {"brings", []models.ClientTool{clientTool("pick", anyObject)}, "clientTools 0 name", []string{"client.pick of capability brings", "of the client"}},
	} {
		_, err := r.ResolveWith(refs(x.refs), x.clients)
		f := fault.As(err)
		if f == nil || strings.Join(f.Path, " ") != x.path {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		for _, part := range x.want {
			if !strings.Contains(f.Message, part) {
				t.Errorf("%s: %q doesn't say %q", name, f.Message, part)
			}
		}
	}
}

// doubling is a schema of a few hundred bytes that takes 2^n steps to check a value against.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		next := strconv.Itoa(i + 1)
		b.WriteString(`"d` + strconv.Itoa(i) + `":{"allOf":[{"$ref":"#/$defs/d` + next + `"},{"$ref":"#/$defs/d` + next + `"}]},`)
	}
	b.WriteString(`"d` + strconv.Itoa(n) + `":{}}}`)
	return b.String()
}

func TestClientToolsHaveLimits(t *testing.T) {
	r := registry(t)
	with := func(change func(*models.ClientTool)) []models.ClientTool {
		c := clientTool("run", anyObject)
		change(&c)
		return []models.ClientTool{clientTool("first", anyObject), c}
	}
	seconds := func(n int) []models.ClientTool { return with(func(c *models.ClientTool) { c.TimeoutSeconds = &n }) }
	schema := func(s string) []models.ClientTool {
		return with(func(c *models.ClientTool) { c.InputSchema = models.JSON(s) })
	}
	many := make([]models.ClientTool, tools.MaxClientTools+1)
	for i := range many {
		many[i] = clientTool("t"+strconv.Itoa(i), anyObject)
	}
	for name, ok := range map[string][]models.ClientTool{
		"many":          many[:tools.MaxClientTools],
		"timeout":       seconds(1),
		"long":          seconds(tools.MaxClientTimeoutSeconds),
		"references":    schema(doubling(8)),
		"large":         schema(`{"type":"object"` + strings.Repeat(" ", tools.MaxClientSchemaBytes-len(anyObject)) + `}`),
		"description":   with(func(c *models.ClientTool) { c.Description = strings.Repeat("d", tools.MaxClientDescriptionBytes) }),
		"a property id": schema(`{"type":"object","properties":{"$id":{"type":"string"},"id":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{}}}`),
	} {
		if err := r.ValidateClientTools(ok); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, x := range map[string]struct {
		list []models.ClientTool
		path string
	}{
		"too many":        {many, ""},
		"name":            {with(func(c *models.ClientTool) { c.Name = "run it" }), "1 name"},
		"no name":         {with(func(c *models.ClientTool) { c.Name = "" }), "1 name"},
		"display name":    {with(func(c *models.ClientTool) { c.DisplayName = strings.Repeat("d", 201) }), "1 displayName"},
		"no description":  {with(func(c *models.ClientTool) { c.Description = " " }), "1 description"},
		"description":     {with(func(c *models.ClientTool) { c.Description = strings.Repeat("d", tools.MaxClientDescriptionBytes+1) }), "1 description"},
		"description NUL": {with(func(c *models.ClientTool) { c.Description = "a\x00" }), "1 description"},
		"timeout":         {seconds(0), "1 timeoutSeconds"},
		"long":            {seconds(tools.MaxClientTimeoutSeconds + 1), "1 timeoutSeconds"},
		"no schema":       {schema(``), "1 inputSchema"},
		"schema":          {schema(`{"type":"array"}`), "1 inputSchema"},
		"large":           {schema(`{"type":"object"` + strings.Repeat(" ", tools.MaxClientSchemaBytes) + `}`), "1 inputSchema"},
		"doubling":        {schema(doubling(40)), "1 inputSchema"},
		"recursive":       {schema(`{"type":"object","properties":{"a":{"$ref":"#"}}}`), "1 inputSchema"},
		"circle":          {schema(`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`), "1 inputSchema"},
		"anchor":          {schema(`{"type":"object","$ref":"#a","$defs":{"a":{"$anchor":"a"}}}`), "1 inputSchema"},
		"elsewhere":       {schema(`{"type":"object","$ref":"https://a.example/s.json"}`), "1 inputSchema"},
		"file":            {schema(`{"type":"object","$ref":"file:///etc/passwd"}`), "1 inputSchema"},
		"base":            {schema(`{"type":"object","properties":{"a":{"$id":"x","$ref":"#/$defs/a"}}}`), "1 inputSchema"},
		"dynamic":         {schema(`{"type":"object","$dynamicRef":"#a"}`), "1 inputSchema"},
		"nowhere":         {schema(`{"type":"object","$ref":"#/$defs/none"}`), "1 inputSchema"},
		"deep":            {schema(`{"type":"object","not":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200) + `}`), "1 inputSchema"},
	} {
		err := r.ValidateClientTools(x.list)
		if f := fault.As(err); f == nil || f.Code != fault.Invalid || strings.Join(f.Path, " ") != x.path {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCapabilitiesCanNotPretendToBeClients(t *testing.T) {
	hinted := tool("c.run", "run", anyObject)
	hinted.manifest.Hints.Client = true
	for _, c := range []tools.Capability{capability("c", tool("client.run", "run", anyObject)), capability("c", hinted)} {
		if _, err := tools.NewRegistry(c); err == nil || !strings.Contains(err.Error(), "client") {
			t.Errorf("got %v", err)
		}
	}
}
