package tools

import (
	"net/url"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
)

// HookEvent is a moment at which hooks run.
type HookEvent string

// The events.
const (
	HookSessionStart     HookEvent = "session_start"
	HookUserPromptSubmit HookEvent = "user_prompt_submit"
	HookPreToolUse       HookEvent = "pre_tool_use"
	HookPostToolUse      HookEvent = "post_tool_use"
	HookTurnEnd          HookEvent = "turn_end"
)

// HookEvents returns all events in the order in which a session meets them.
func HookEvents() []HookEvent {
	return []HookEvent{HookSessionStart, HookUserPromptSubmit, HookPreToolUse, HookPostToolUse, HookTurnEnd}
}

// MayMutate reports whether a hook may change what the event is about.
func (e HookEvent) MayMutate() bool {
	return e == HookUserPromptSubmit || e == HookPreToolUse || e == HookPostToolUse
}

// MayBlock reports whether a hook may stop what the event is about.
func (e HookEvent) MayBlock() bool { return e == HookUserPromptSubmit || e == HookPreToolUse }

// MayFailClosed reports whether a failed hook can stop something: what may be blocked, and a result that is withheld.
func (e HookEvent) MayFailClosed() bool { return e.MayBlock() || e == HookPostToolUse }

// AboutTool reports whether the event is about a call of a tool, so that a matcher may name tools.
func (e HookEvent) AboutTool() bool { return e == HookPreToolUse || e == HookPostToolUse }

// OnError is what follows when a hook fails: no answer in time, or none that can be used.
type OnError string

// The policies for failed hooks. All leave a trace of the failure.
const (
	// OnErrorWarn goes on, and shows the failure to people. It is the default.
	OnErrorWarn OnError = "warn"
	// OnErrorAllow goes on.
	OnErrorAllow OnError = "allow"
	// OnErrorBlock stops what the event is about; a result of a tool is withheld from the model.
	OnErrorBlock OnError = "block"
)

// How long a hook may take.
const (
	MinHookTimeout     = 100 * time.Millisecond
	DefaultHookTimeout = 5 * time.Second
	MaxHookTimeout     = 30 * time.Second
)

// HookSpec says when a hook runs, and what it is. Exactly one of Webhook and CEL is set.
type HookSpec struct {
	// ID is "{capability}:{name}", with the position for a hook without name. The Toolset sets it.
	ID string
	// Name is unique within the capability; empty for none.
	Name string
	// Event is empty for a hook that never runs: it only counts where the ids of others go by position.
	Event   HookEvent
	Matcher HookMatcher
	// Webhook is an address that is asked by POST.
	Webhook *WebhookExecutor
	// CEL is an expression that is evaluated here.
	CEL *CELExecutor
	// OnError is OnErrorWarn when empty.
	OnError OnError
	// Timeout is DefaultHookTimeout when zero.
	Timeout time.Duration
}

// HookMatcher narrows an event down. The zero value matches always.
type HookMatcher struct {
	// Tools are globs of tool names (see NameGlob); empty for all. Only events about tools may have them.
	Tools []string
	// When is a CEL expression that evaluates to a bool; empty for true.
	When string
}

// WebhookExecutor asks an address.
type WebhookExecutor struct{ URL string }

// CELExecutor evaluates an expression to a bool, or to a map in the form of an answer.
type CELExecutor struct{ Expression string }

// Executor names what the hook is: webhook or cel.
func (h HookSpec) Executor() string {
	if h.Webhook != nil {
		return "webhook"
	}
	return "cel"
}

// Check returns the spec with its defaults, or says what is wrong. It can't judge expressions; whoever makes specs of
// users' words compiles them.
func (h HookSpec) Check() (HookSpec, *fault.Error) {
	if h.OnError == "" {
		h.OnError = OnErrorWarn
	}
	if h.Timeout == 0 {
		h.Timeout = DefaultHookTimeout
	}
	invalid := func(format string, args ...any) *fault.Error { return fault.New(fault.Invalid, format, args...) }
	switch {
	case !knownEvent(h.Event):
		return h, invalid("The event %q is unknown. There are session_start, user_prompt_submit, pre_tool_use, post_tool_use and turn_end.",
			Shorten(string(h.Event), 40)).At("event")
	case (h.Webhook == nil) == (h.CEL == nil):
		return h, invalid("A hook has either a webhook or a cel expression. Set one of them.")
	case h.OnError != OnErrorWarn && h.OnError != OnErrorAllow && h.OnError != OnErrorBlock:
		return h, invalid("onError is %q; it must be allow, block or warn.", Shorten(string(h.OnError), 40)).At("onError")
	case h.OnError == OnErrorBlock && !h.Event.MayFailClosed():
		return h, invalid("A hook of %s can't block, so onError can't be block. Use warn or allow.", h.Event).At("onError")
	case h.Timeout < MinHookTimeout || h.Timeout > MaxHookTimeout:
		return h, invalid("The timeout must be between %d and %d ms.", MinHookTimeout.Milliseconds(), MaxHookTimeout.Milliseconds()).At("timeoutMs")
	case len(h.Matcher.Tools) > 0 && !h.Event.AboutTool():
		return h, invalid("%s is not about a tool, so its matcher can't name tools. Leave them out.", h.Event).At("matcher", "tools")
	}
	if _, f := ParseNameGlobs(h.Matcher.Tools); f != nil {
		return h, f.At(append([]string{"matcher", "tools"}, f.Path...)...)
	}
	if h.Webhook != nil {
		u, err := url.Parse(h.Webhook.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Fragment != "" {
			return h, invalid("The url must be a whole http or https address without user and fragment.").At("webhook", "url")
		}
	}
	return h, nil
}

func knownEvent(e HookEvent) bool {
	for _, known := range HookEvents() {
		if e == known {
			return true
		}
	}
	return false
}
