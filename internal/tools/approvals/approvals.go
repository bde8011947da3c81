// Package approvals holds the capability approvals: a policy that says which calls of tools people must approve, and who may
// do that.
package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/expr"
)

// ID is the capability's id.
const ID = "approvals"

// The limits of a policy; the schema has the same.
const (
	// DefaultExpiresInSeconds is how long a question stays open when nothing else is said: a day.
	DefaultExpiresInSeconds = 24 * 60 * 60
	// MaxQuorum is how many people can be asked for at most.
	MaxQuorum = 10
)

// Capability returns the capability approvals. It is of high risk, because settings of an agent replace those of the harness:
// whoever may only change agents must not be able to loosen the policy.
func Capability(expressions *expr.Compiler) tools.Capability {
	return tools.Capability{
		ID:           ID,
		Name:         "Approvals",
		Description:  "Ask people before tools run. Rules say for which calls, how many people, and of which role.",
		Risk:         "HIGH",
		ConfigSchema: json.RawMessage(configSchema),
		Gates: func(settings json.RawMessage) ([]tools.Gate, error) {
			p, err := read(expressions, settings)
			if err != nil {
				return nil, err
			}
			return []tools.Gate{{Name: "policy", Decide: p.decide, Asks: p.asks}}, nil
		},
	}
}

// The root's default is what settings without rules and without a default mean.
const configSchema = `{
	"type": "object",
	"default": {"default": "destructive"},
	"properties": {
		"default": {
			"enum": ["destructive", "always", "never"], "title": "Ask people", "x-order": 1,
			"x-labels": {"destructive": "Before anything destructive", "always": "Before every tool", "never": "Only where a rule says so"},
			"description": "For calls that no rule matches. Destructive tools overwrite or delete something. If you choose nothing, people are asked before destructive calls; once there are rules, only where a rule says so."
		},
		"rules": {
			"type": "array", "maxItems": 64, "title": "Rules", "x-order": 2, "description": "The first rule that matches a call decides about it.",
			"items": {
				"type": "object", "title": "Rule",
				"properties": {
					"tools": {
						"type": "array", "minItems": 1, "maxItems": 64, "title": "Tools", "x-order": 1, "default": ["@destructive"],
						"items": {"type": "string", "maxLength": 512, "x-reference": "tool", "x-labels": {"@destructive": "All destructive tools"}},
						"description": "Names of tools. A * at the end stands for any ending, and | separates alternatives. @destructive stands for all tools that overwrite or delete something, including those that the agent gets later."
					},
					"approve": {
						"enum": ["always", "never"], "title": "What happens", "x-order": 2, "default": "always",
						"x-labels": {"always": "Ask people", "never": "Run without asking"}
					},
					"when": {
						"type": "string", "maxLength": 4096, "title": "Only if", "x-order": 3, "x-multiline": true, "examples": ["arguments.amount > 1000"],
						"description": "A CEL expression over the call. Left out, the rule matches all calls of its tools."
					},
					"role": {"$ref": "#/$defs/role", "x-order": 4, "x-group": "Who decides", "default": null},
					"quorum": {"$ref": "#/$defs/quorum", "x-order": 5, "x-group": "Who decides", "default": null},
					"allowSelf": {"$ref": "#/$defs/allowSelf", "x-order": 6, "x-group": "Who decides", "default": null},
					"expiresInSeconds": {"$ref": "#/$defs/expiresInSeconds", "x-order": 7, "x-group": "Without an answer", "default": null},
					"onExpiry": {"$ref": "#/$defs/onExpiry", "x-order": 8, "x-group": "Without an answer", "default": null}
				},
				"required": ["tools", "approve"],
				"additionalProperties": false
			}
		},
		"role": {"$ref": "#/$defs/role", "x-order": 3, "x-group": "Who decides, unless a rule says otherwise"},
		"quorum": {"$ref": "#/$defs/quorum", "x-order": 4, "x-group": "Who decides, unless a rule says otherwise"},
		"allowSelf": {"$ref": "#/$defs/allowSelf", "x-order": 5, "x-group": "Who decides, unless a rule says otherwise"},
		"expiresInSeconds": {"$ref": "#/$defs/expiresInSeconds", "x-order": 6, "x-group": "Without an answer"},
		"onExpiry": {"$ref": "#/$defs/onExpiry", "x-order": 7, "x-group": "Without an answer"}
	},
	"additionalProperties": false,
	"$defs": {
		"quorum": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1, "title": "Approvals needed", "description": "How many different people must approve."},
		"role": {
			"enum": ["OWNER", "ADMIN", "MEMBER"], "default": "MEMBER", "title": "Lowest role that may decide",
			"description": "Members of a lower role can't approve."
		},
		"allowSelf": {
			"type": "boolean", "default": false, "title": "People may approve their own turns",
			"description": "Whether the person who started the turn may approve, too."
		},
		"expiresInSeconds": {
			"type": "integer", "minimum": 10, "maximum": 2592000, "default": 86400, "title": "Expires after (seconds)",
			"description": "How long people have to decide: 3600 is an hour, 86400 a day, 604800 a week."
		},
		"onExpiry": {
			"enum": ["deny", "fail"], "default": "deny", "title": "When it expires",
			"description": "What happens when the approval expires: the call is denied, or the turn fails."
		}
	}
}`

// config is the settings. They have passed the schema.
type config struct {
	terms
	Rules   []rule `json:"rules"`
	Default string `json:"default"`
}

type rule struct {
	terms
	Tools   []string `json:"tools"`
	When    string   `json:"when"`
	Approve string   `json:"approve"`
}

// terms say what an approval takes; nil where the next level decides.
type terms struct {
	Quorum           *int         `json:"quorum"`
	Role             *models.Role `json:"role"`
	AllowSelf        *bool        `json:"allowSelf"`
	ExpiresInSeconds *int         `json:"expiresInSeconds"`
	OnExpiry         *string      `json:"onExpiry"`
}

const (
	always      = "always"
	destructive = "destructive"
	// destructiveTools stands among the tools of a rule for those that are destructive, whatever they are called. No tool has such a name.
	destructiveTools = "@destructive"
)

// policy is what was read of the settings.
type policy struct {
	rules []compiled
	// fallback decides when no rule matches.
	fallback compiled
}

type compiled struct {
	globs tools.NameGlobs
	// effect is true for a rule about destructive tools, beside those that globs match.
	effect bool
	// source is the rule as it was written, for those who are asked because of it.
	source rule
	// when is nil when the rule matches all calls of its tools.
	when *expr.Program
	must bool
	// destructive asks for calls of destructive tools only, where must is not set.
	destructive bool
	ask         tools.Ask
}

func read(expressions *expr.Compiler, settings json.RawMessage) (*policy, error) {
	var c config
	if err := json.Unmarshal(settings, &c); err != nil {
		return nil, fmt.Errorf("read the settings of approvals: %w", err)
	}
	base := tools.Ask{
		RuleIndex: -1, Quorum: 1, Role: models.RoleMember, ExpiresInSeconds: DefaultExpiresInSeconds, OnExpiry: tools.OnExpiryDeny,
	}
	base = c.over(base)
	if c.Default == "" && len(c.Rules) == 0 {
		c.Default = destructive // a policy that says nothing must not let everything run
	}
	p := &policy{fallback: compiled{must: c.Default == always, destructive: c.Default == destructive, ask: base}}
	for i, r := range c.Rules {
		at := strconv.Itoa(i)
		next := compiled{source: r, must: r.Approve == always, ask: r.over(base)}
		next.ask.RuleIndex = i
		for j, text := range r.Tools {
			if text == destructiveTools {
				next.effect = true
				continue
			}
			glob, f := tools.ParseNameGlob(text)
			if f != nil {
				return nil, f.At("rules", at, "tools", strconv.Itoa(j))
			}
			next.globs = append(next.globs, glob)
		}
		if r.When != "" {
			var err error
			if next.when, err = expressions.Compile(r.When, expr.Condition); err != nil {
				return nil, fault.New(fault.Invalid, "The condition of rule %d can't be used: %v.", i, err).At("rules", at, "when")
			}
		}
		p.rules = append(p.rules, next)
	}
	return p, nil
}

// over returns a with the fields that t sets in place of its own.
func (t terms) over(a tools.Ask) tools.Ask {
	set(&a.Quorum, t.Quorum)
	set(&a.Role, t.Role)
	set(&a.AllowSelf, t.AllowSelf)
	set(&a.ExpiresInSeconds, t.ExpiresInSeconds)
	set(&a.OnExpiry, t.OnExpiry)
	return a
}

func set[T any](into, v *T) {
	if v != nil {
		*into = *v
	}
}

// decide is the gate. It never fails but with the context: a rule that can't be evaluated asks people.
func (p *policy) decide(ctx context.Context, call tools.GateCall) (tools.Verdict, error) {
	var in expr.Input
	bound := false
	for i, r := range p.rules {
		if !r.covers(call.ToolName, call.Hints) {
			continue
		}
		if r.when != nil {
			if !bound {
				var err error
				if in, err = expr.Bind(vars(call)); err != nil {
					return r.undecided(i, err), nil
				}
				bound = true
			}
			matches, err := r.when.Condition(ctx, in)
			if ctx.Err() != nil {
				return tools.Verdict{}, ctx.Err()
			}
			if err != nil {
				// Whether the rule lets the call run or not, nobody knows.
				return r.undecided(i, err), nil
			}
			if !matches {
				continue
			}
		}
		if !r.must {
			return tools.Verdict{}, nil
		}
		return r.verdict(r.reason()), nil
	}
	if p.fallback.destructive && call.Hints.Destructive {
		p := p.fallback
		p.must = true
		return p.verdict("The approval policy requires it for destructive tools."), nil
	}
	return p.fallback.verdict("The approval policy requires it by default."), nil
}

// asks goes through the rules as decide does, without a call. A condition may come out either way.
func (p *policy) asks(tool string, hints tools.Hints) tools.Asks {
	last := p.fallback.must || p.fallback.destructive && hints.Destructive
	always, sometimes := true, false
	for _, r := range p.rules {
		if !r.covers(tool, hints) {
			continue
		}
		if r.when == nil {
			last = r.must
			break
		}
		sometimes = true
		always = always && r.must
	}
	switch {
	case last && always:
		return tools.AsksAlways
	case last || sometimes:
		return tools.AsksSometimes
	}
	return tools.AsksNever
}

// covers reports whether a rule is about a tool.
func (c compiled) covers(tool string, hints tools.Hints) bool {
	return c.effect && hints.Destructive || c.globs.Match(tool)
}

func (c compiled) verdict(reason string) tools.Verdict {
	if !c.must {
		return tools.Verdict{}
	}
	return tools.Verdict{Kind: tools.VerdictAsk, Reason: reason, Ask: c.ask}
}

// reason tells which rule asks, counted from 1 as people do.
func (c compiled) reason() string {
	names := strings.ReplaceAll(strings.Join(c.source.Tools, ", "), destructiveTools, "destructive tools")
	text := fmt.Sprintf("Rule %d of the approval policy requires it, for %s", c.ask.RuleIndex+1, names)
	if c.source.When != "" {
		text += " when " + c.source.When
	}
	return text + "."
}

func (c compiled) undecided(index int, err error) tools.Verdict {
	c.must = true
	return c.verdict(fmt.Sprintf("Rule %d of the approval policy could not be evaluated (%v), so approval is required.", index+1, err))
}

func vars(call tools.GateCall) expr.Vars {
	v := expr.Vars{
		Event: string(tools.HookPreToolUse), Tool: call.ToolName, Arguments: call.Arguments,
		Session: map[string]any{"id": call.SessionID.String()},
		Turn:    map[string]any{"id": call.TurnID.String()},
	}
	if call.AgentID != nil {
		v.Agent = map[string]any{"id": call.AgentID.String()}
	}
	return v
}
