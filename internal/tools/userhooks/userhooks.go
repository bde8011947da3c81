// Package userhooks holds the capability user_hooks: hooks that users write themselves, as webhooks and expressions, and
// the muting of other hooks.
package userhooks

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/expr"
)

// ID is the capability's id.
const ID = "user_hooks"

// Addresses tells which addresses may not be asked, so that a wrong one is refused when it is saved.
type Addresses interface {
	CheckURL(u *url.URL) error
}

// Capability returns the capability user_hooks. It is of high risk: a hook sees all that is said, and where it is sent is
// up to its author.
func Capability(expressions *expr.Compiler, addresses Addresses) tools.Capability {
	r := reader{expressions, addresses}
	return tools.Capability{
		ID:           ID,
		Name:         "User hooks",
		Description:  "Hooks of your own: webhooks and CEL expressions that see, change or stop what happens in a session. It can also mute other hooks.",
		Risk:         "HIGH",
		UserHooks:    true,
		ConfigSchema: json.RawMessage(configSchema),
		Hooks:        r.hooks,
		Muted:        muted,
		Attach:       r.attach,
	}
}

const configSchema = `{
	"type": "object",
	"properties": {
		"hooks": {
			"type": "array", "maxItems": 64, "title": "Hooks", "description": "They run in this order, after the hooks of capabilities.",
			"items": {
				"type": "object", "title": "Hook",
				"properties": {
					"name": {
						"type": "string", "maxLength": 64, "title": "Name", "x-order": 1, "examples": ["audit"],
						"description": "The hook's id is user_hooks:{name}; without a name, user_hooks:{position}, from 0."
					},
					"event": {
						"type": "string", "minLength": 1, "title": "Event", "x-order": 2,
						"x-labels": {
							"session_start": "A session starts", "user_prompt_submit": "A message is sent", "pre_tool_use": "Before a tool runs",
							"post_tool_use": "After a tool has run", "turn_end": "A turn ends"
						},
						"description": "session_start, user_prompt_submit, pre_tool_use, post_tool_use or turn_end."
					},
					"matcher": {
						"type": "object", "title": "Only for some calls", "x-order": 3,
						"properties": {
							"tools": {
								"type": "array", "maxItems": 64, "title": "Tools", "items": {"type": "string", "maxLength": 512, "x-reference": "tool"},
								"description": "Names of tools, each with an optional * at its end; | separates alternatives. Left out, all tools match."
							},
							"when": {
								"type": "string", "maxLength": 4096, "title": "Only if", "x-multiline": true, "examples": ["arguments.path.startsWith('/workspace/')"],
								"description": "A CEL expression that returns true or false."
							}
						},
						"additionalProperties": false
					},
					"webhook": {
						"type": "object", "title": "Call a webhook", "x-order": 4, "description": "A hook has either a webhook or an expression.",
						"properties": {
							"url": {
								"type": "string", "maxLength": 2048, "title": "URL", "examples": ["https://hooks.example.com/ostler"],
								"description": "An https address that is called by POST."
							}
						},
						"required": ["url"], "additionalProperties": false
					},
					"cel": {
						"type": "object", "title": "Evaluate an expression", "x-order": 5,
						"properties": {
							"expression": {
								"type": "string", "maxLength": 4096, "title": "Expression", "x-multiline": true, "examples": ["!message.matches('[0-9]{16}')"],
								"description": "A CEL expression that returns true to allow, false to block, or a map in the form of a webhook's answer."
							}
						},
						"required": ["expression"], "additionalProperties": false
					},
					"onError": {
						"enum": ["allow", "block", "warn"], "default": "warn", "title": "Without a valid answer", "x-order": 6,
						"description": "What happens when the hook fails or answers too late."
					},
					"timeoutMs": {
						"type": "integer", "minimum": 100, "maximum": 30000, "default": 5000, "title": "Timeout (milliseconds)", "x-order": 7,
						"description": "How long a webhook has to answer."
					}
				},
				"required": ["event"],
				"additionalProperties": false
			}
		},
		"disabled": {
			"type": "array", "maxItems": 256, "title": "Muted hooks", "items": {"type": "string", "maxLength": 200, "examples": ["capability:hook"]},
			"description": "The ids of hooks that don't run, of any capability. Policies such as approvals can't be muted."
		}
	},
	"additionalProperties": false
}`

// sessionEnd is an event that earlier versions took in settings and never sent. Stored hooks of it are read and never run.
const sessionEnd tools.HookEvent = "session_end"

// config is the settings. They have passed the schema.
type config struct {
	Hooks    []hook   `json:"hooks"`
	Disabled []string `json:"disabled"`
}

type hook struct {
	Name    string          `json:"name"`
	Event   tools.HookEvent `json:"event"`
	Matcher struct {
		Tools []string `json:"tools"`
		When  string   `json:"when"`
	} `json:"matcher"`
	Webhook *struct {
		URL string `json:"url"`
	} `json:"webhook"`
	CEL *struct {
		Expression string `json:"expression"`
	} `json:"cel"`
	OnError   tools.OnError `json:"onError"`
	TimeoutMs int64         `json:"timeoutMs"`
}

func read(settings json.RawMessage) (config, error) {
	var c config
	if err := json.Unmarshal(settings, &c); err != nil {
		return c, fmt.Errorf("read the settings of user_hooks: %w", err)
	}
	return c, nil
}

func muted(settings json.RawMessage) ([]string, error) {
	c, err := read(settings)
	return c.Disabled, err
}

type reader struct {
	expressions *expr.Compiler
	addresses   Addresses
}

func (r reader) hooks(settings json.RawMessage) ([]tools.HookSpec, error) {
	c, err := read(settings)
	if err != nil {
		return nil, err
	}
	specs := make([]tools.HookSpec, len(c.Hooks))
	for i, h := range c.Hooks {
		if h.Event == sessionEnd {
			specs[i].Name = h.Name
			continue
		}
		spec, f := r.spec(h)
		if f != nil {
			return nil, f.At(append([]string{"hooks", strconv.Itoa(i)}, f.Path...)...)
		}
		specs[i] = spec
	}
	return specs, nil
}

func (r reader) spec(h hook) (tools.HookSpec, *fault.Error) {
	spec := tools.HookSpec{
		Name: h.Name, Event: h.Event, Matcher: tools.HookMatcher{Tools: h.Matcher.Tools, When: h.Matcher.When},
		OnError: h.OnError, Timeout: time.Duration(h.TimeoutMs) * time.Millisecond,
	}
	if h.Webhook != nil {
		spec.Webhook = &tools.WebhookExecutor{URL: h.Webhook.URL}
	}
	if h.CEL != nil {
		spec.CEL = &tools.CELExecutor{Expression: h.CEL.Expression}
	}
	spec, f := spec.Check()
	if f != nil {
		return spec, f
	}
	if spec.Matcher.When != "" {
		if _, err := r.expressions.Compile(spec.Matcher.When, expr.Condition); err != nil {
			return spec, fault.New(fault.Invalid, "The condition can't be used: %v.", err).At("matcher", "when")
		}
	}
	if spec.CEL != nil {
		if _, err := r.expressions.Compile(spec.CEL.Expression, expr.Answer); err != nil {
			return spec, fault.New(fault.Invalid, "The expression can't be used: %v.", err).At("cel", "expression")
		}
	}
	return spec, nil
}

// attach refuses hooks that never run, and looks at the addresses. What may be reached is up to the operator, who may change that: a webhook that can't be
// reached any more fails when it is asked, and follows its onError.
func (r reader) attach(settings json.RawMessage) error {
	c, err := read(settings)
	if err != nil {
		return err
	}
	for i, h := range c.Hooks {
		if h.Event == sessionEnd {
			return fault.New(fault.Invalid, "There is no event session_end: a hook of it never ran. Remove the hook.").At("hooks", strconv.Itoa(i), "event")
		}
		if h.Webhook == nil {
			continue
		}
		u, err := url.Parse(h.Webhook.URL)
		if err == nil {
			err = r.addresses.CheckURL(u)
		}
		if err != nil {
			return fault.New(fault.Invalid, "The url can't be used: %v", err).At("hooks", strconv.Itoa(i), "webhook", "url")
		}
	}
	return nil
}
