package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/approvals"
	"github.com/ostler-dev/ostler/internal/tools/expr"
)

func registry(t testing.TB) *tools.Registry {
	t.Helper()
	expressions, err := expr.New()
	if err != nil {
		t.Fatal(err)
	}
	r, err := tools.NewRegistry(approvals.Capability(expressions))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resolve(t testing.TB, config string) (tools.Toolset, error) {
	t.Helper()
	return registry(t).Resolve([]models.CapabilityRef{{ID: approvals.ID, Config: models.JSON(config)}})
}

func gate(t testing.TB, config string) tools.Gate {
	t.Helper()
	set, err := resolve(t, config)
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	gates := set.Gates()
	if len(gates) != 1 || gates[0].ID != "approvals:policy" {
		t.Fatalf("the gates are %+v", gates)
	}
	return gates[0]
}

func call(tool, arguments string) tools.GateCall {
	return tools.GateCall{ToolName: tool, Arguments: json.RawMessage(arguments)}
}

func verdict(t testing.TB, g tools.Gate, c tools.GateCall) tools.Verdict {
	t.Helper()
	v, err := g.Decide(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheExampleOfTheBrief(t *testing.T) {
	g := gate(t, `{"rules":[{"tools":["*"],"approve":"always"}],"allowSelf":true}`)
	v := verdict(t, g, call("write_file", `{}`))
	want := tools.Ask{Quorum: 1, Role: models.RoleMember, AllowSelf: true, ExpiresInSeconds: 86400, OnExpiry: "deny"}
	if v.Kind != tools.VerdictAsk || v.Ask != want || v.Reason != "Rule 1 of the approval policy requires it, for *." {
		t.Errorf("got %+v", v)
	}
}

// Approvals: "policy per tool (never | always | by rule)"; the first matching rule wins.
//
// Rules: W9.
func TestTheFirstMatchingRuleDecides(t *testing.T) {
	g := gate(t, `{
		"rules": [
			{"tools": ["read_*|list_files"], "approve": "never"},
			{"tools": ["pay"], "when": "arguments.amount <= 10", "approve": "never"},
			{"tools": ["pay"], "when": "arguments.amount > 1000", "approve": "always", "quorum": 3, "role": "OWNER", "allowSelf": false, "expiresInSeconds": 60, "onExpiry": "fail"},
			{"tools": ["pay", "send_*"], "approve": "always", "role": "ADMIN"},
			{"tools": ["pay"], "approve": "never"}
		],
		"quorum": 2, "allowSelf": true, "expiresInSeconds": 3600, "default": "never"
	}`)
	for _, c := range []struct {
		tool, arguments string
		want            *tools.Ask
	}{
		{"read_file", `{}`, nil},
		{"list_files", `{}`, nil},
		{"other", `{}`, nil},
		{"pay", `{"amount":10}`, nil},
		{"pay", `{"amount":1001}`, &tools.Ask{RuleIndex: 2, Quorum: 3, Role: models.RoleOwner, ExpiresInSeconds: 60, OnExpiry: "fail"}},
		{"pay", `{"amount":500}`, &tools.Ask{RuleIndex: 3, Quorum: 2, Role: models.RoleAdmin, AllowSelf: true, ExpiresInSeconds: 3600, OnExpiry: "deny"}},
		{"send_mail", `{}`, &tools.Ask{RuleIndex: 3, Quorum: 2, Role: models.RoleAdmin, AllowSelf: true, ExpiresInSeconds: 3600, OnExpiry: "deny"}},
	} {
		v := verdict(t, g, call(c.tool, c.arguments))
		if (v.Kind == tools.VerdictAsk) != (c.want != nil) || c.want != nil && v.Ask != *c.want || v.Kind == tools.VerdictRefuse {
			t.Errorf("%s %s: got %+v, want %+v", c.tool, c.arguments, v, c.want)
		}
	}
}

// Rules: W9.
func TestTheDefaultCountsWhereNoRuleMatches(t *testing.T) {
	for config, want := range map[string]tools.VerdictKind{
		``:                    tools.VerdictRun,
		`{}`:                  tools.VerdictRun,
		`{"default":"never"}`: tools.VerdictRun,
		`{"default":"always","rules":[{"tools":["read_*"],"approve":"never"}]}`:           tools.VerdictAsk,
		`{"default":"always","rules":[{"tools":["*"],"when":"false","approve":"never"}]}`: tools.VerdictAsk,
		`{"default":"never","rules":[{"tools":["*"],"when":"false","approve":"always"}]}`: tools.VerdictRun,
		`{"default":"always","rules":[{"tools":["write_file"],"approve":"never"}]}`:       tools.VerdictRun,
		`{"rules":[{"tools":["*"],"when":"tool == 'write_file'","approve":"always"}]}`:    tools.VerdictAsk,
		`{"rules":[{"tools":["*"],"when":"has(agent.id)","approve":"always"}]}`:           tools.VerdictRun,
		`{"rules":[{"tools":["*"],"when":"session.id != turn.id","approve":"always"}]}`:   tools.VerdictAsk,
	} {
		v := verdict(t, gate(t, config), call("write_file", `{}`))
		if v.Kind != want {
			t.Errorf("%s: got %v, want %v", config, v.Kind, want)
		}
		if v.Kind == tools.VerdictAsk && strings.Contains(config, `"default":"always"`) && v.Ask.RuleIndex != -1 {
			t.Errorf("%s: rule %d asks, want the default", config, v.Ask.RuleIndex)
		}
	}
}

// A rule that can't be evaluated asks, also one that would have let the call run.
//
// Rules: W9.
func TestARuleAboutDestructiveToolsGoesByTheirHints(t *testing.T) {
	g := gate(t, `{"rules":[
		{"tools":["scratch_*"],"approve":"never"},
		{"tools":["@destructive","pay"],"approve":"always","role":"ADMIN"},
		{"tools":["@destructive"],"approve":"never"}
	]}`)
	for _, c := range []struct {
		tool        string
		destructive bool
		want        string
	}{
		{"delete_file", true, "Rule 2 of the approval policy requires it, for destructive tools, pay."},
		{"made_tomorrow", true, "Rule 2 of the approval policy requires it, for destructive tools, pay."},
		{"pay", false, "Rule 2 of the approval policy requires it, for destructive tools, pay."},
		{"read_file", false, ""},
		{"scratch_file", true, ""},
	} {
		made := call(c.tool, `{}`)
		made.Hints.Destructive = c.destructive
		v := verdict(t, g, made)
		asks := map[bool]tools.Asks{true: tools.AsksAlways, false: tools.AsksNever}[c.want != ""]
		if (v.Kind == tools.VerdictAsk) != (c.want != "") || v.Reason != c.want || v.Kind == tools.VerdictAsk && v.Ask.Role != models.RoleAdmin {
			t.Errorf("%s: got %+v, want %q", c.tool, v, c.want)
		}
		if got := g.Asks(c.tool, made.Hints); got != asks {
			t.Errorf("%s: the configuration says %v, want %v", c.tool, got, asks)
		}
	}
}

// Rules: W9.
func TestARuleThatCanNotBeEvaluatedAsks(t *testing.T) {
	for _, approve := range []string{"always", "never"} {
		g := gate(t, `{"rules":[{"tools":["a"],"when":"false","approve":"never"},{"tools":["pay"],"when":"arguments.amount < 10","approve":"`+approve+`","quorum":2}]}`)
		for _, arguments := range []string{`{}`, `{"amount":"9"}`, `{"amount":null}`, `{"amount":{}}`, `not JSON`, ``} {
			v := verdict(t, g, call("pay", arguments))
			if v.Kind != tools.VerdictAsk || v.Ask.RuleIndex != 1 || v.Ask.Quorum != 2 || !strings.HasPrefix(v.Reason, "Rule 2 of the approval policy could not be evaluated") {
				t.Errorf("%s, %q: got %+v", approve, arguments, v)
			}
		}
	}
}

func TestACancelledDecisionIsNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := gate(t, `{"rules":[{"tools":["*"],"when":"true","approve":"never"}]}`)
	if _, err := g.Decide(ctx, call("a", `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPoliciesThatAreRefused(t *testing.T) {
	rule := func(fields string) string { return `{"rules":[{"tools":["a"],"approve":"always"},{` + fields + `}]}` }
	for config, path := range map[string]string{
		`{"rule":[]}`:                                  "rule",
		`{"default":"ask"}`:                            "default",
		`{"quorum":0}`:                                 "quorum",
		`{"quorum":11}`:                                "quorum",
		`{"role":"VIEWER"}`:                            "role",
		`{"allowSelf":"yes"}`:                          "allowSelf",
		`{"expiresInSeconds":9}`:                       "expiresInSeconds",
		`{"expiresInSeconds":2592001}`:                 "expiresInSeconds",
		`{"onExpiry":"allow"}`:                         "onExpiry",
		rule(`"tools":["a"]`):                          "rules 1 approve",
		rule(`"approve":"always"`):                     "rules 1 tools",
		rule(`"tools":[],"approve":"always"`):          "rules 1 tools",
		rule(`"tools":["a","b c"],"approve":"always"`): "rules 1 tools 1",
		rule(`"tools":["a*b"],"approve":"always"`):     "rules 1 tools 0",
		rule(`"tools":["@destructive","@all"],"approve":"always"`): "rules 1 tools 1",
		rule(`"tools":["a"],"approve":"sometimes"`):                "rules 1 approve",
		rule(`"tools":["a"],"approve":"never","when":"1+"`):        "rules 1 when",
		rule(`"tools":["a"],"approve":"never","when":"1+1"`):       "rules 1 when",
		rule(`"tools":["a"],"approve":"never","when":"nope"`):      "rules 1 when",
	} {
		_, err := resolve(t, config)
		f := fault.As(err)
		if f == nil || f.Code != fault.Invalid || strings.Join(f.Path, " ") != "capabilities 0 config "+path {
			t.Errorf("%s: got %v %v", config, err, f)
		}
	}
}

func TestOnlyAdministratorsSetPolicies(t *testing.T) {
	c, ok := registry(t).Capability(approvals.ID)
	if !ok || c.Risk != "HIGH" {
		t.Errorf("the risk is %s: a session's settings could loosen the harness's policy", c.Risk)
	}
}

// Somebody who attaches approvals and says nothing else means to be asked.
func TestWithoutSettingsDestructiveToolsAsk(t *testing.T) {
	for config, want := range map[string][2]tools.VerdictKind{
		``:                          {tools.VerdictAsk, tools.VerdictRun},
		`{}`:                        {tools.VerdictAsk, tools.VerdictRun},
		`{"allowSelf":true}`:        {tools.VerdictAsk, tools.VerdictRun},
		`{"default":"destructive"}`: {tools.VerdictAsk, tools.VerdictRun},
		`{"default":"never"}`:       {tools.VerdictRun, tools.VerdictRun},
		`{"default":"always"}`:      {tools.VerdictAsk, tools.VerdictAsk},
		`{"rules":[{"tools":["read_file"],"approve":"always"}]}`: {tools.VerdictRun, tools.VerdictAsk},
	} {
		g := gate(t, config)
		destroys := call("delete_file", `{}`)
		destroys.Hints.Destructive = true
		if got := verdict(t, g, destroys); got.Kind != want[0] {
			t.Errorf("%s: a destructive call gets %+v", config, got)
		}
		if got := verdict(t, g, call("read_file", `{}`)); got.Kind != want[1] {
			t.Errorf("%s: a harmless call gets %+v", config, got)
		}
	}
}

// The form shows the default settings in place of none, so the two must decide alike.
func TestTheDefaultSettingsMeanWhatNoneMean(t *testing.T) {
	all := registry(t).Capabilities()
	if len(all) != 1 || len(all[0].DefaultConfig) == 0 {
		t.Fatalf("the capabilities are %+v", all)
	}
	none, given := gate(t, `{}`), gate(t, string(all[0].DefaultConfig))
	for _, hints := range []tools.Hints{{}, {Destructive: true}} {
		c := call("write_file", `{}`)
		c.Hints = hints
		if a, b := verdict(t, none, c), verdict(t, given, c); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v: without settings %+v, with the default %+v", hints, a, b)
		}
	}
}

func TestWhetherAToolAsksIsKnownBefore(t *testing.T) {
	for config, want := range map[string]tools.Asks{
		`{}`:                   tools.AsksAlways,
		`{"default":"never"}`:  tools.AsksNever,
		`{"default":"always"}`: tools.AsksAlways,
		`{"rules":[{"tools":["other"],"approve":"always"}]}`:                                                         tools.AsksNever,
		`{"rules":[{"tools":["delete_*"],"approve":"never"}],"default":"always"}`:                                    tools.AsksNever,
		`{"rules":[{"tools":["*"],"when":"arguments.n > 1","approve":"always"}]}`:                                    tools.AsksSometimes,
		`{"rules":[{"tools":["*"],"when":"arguments.n > 1","approve":"never"}],"default":"always"}`:                  tools.AsksSometimes,
		`{"rules":[{"tools":["*"],"when":"arguments.n > 1","approve":"always"},{"tools":["*"],"approve":"always"}]}`: tools.AsksAlways,
	} {
		set, err := resolve(t, config)
		if err != nil {
			t.Fatal(err)
		}
		m := tools.Manifest{Name: "delete_file", Hints: tools.Hints{Destructive: true}}
		if got := set.Asks(m); got != want {
			t.Errorf("%s: got %d, want %d", config, got, want)
		}
	}
}
