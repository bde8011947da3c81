package tools

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Capability is a unit of what an agent can do.
type Capability struct {
	ID, Name, Description string
	// Risk is LOW, MEDIUM or HIGH.
	Risk string
	// AlwaysOn capabilities belong to every agent.
	AlwaysOn  bool
	DependsOn []string
	// Pays is true when its tools may ask for payments.
	Pays bool
	// Prompt is a section of the system prompt; empty for none.
	Prompt string
	// ConfigSchema is the JSON Schema of the settings; nil when there are none. Forms are drawn from it, with the hints x-order,
	// x-group, x-multiline, x-reference and x-labels.
	ConfigSchema json.RawMessage
	// DefaultConfig is the settings that hold where none are given. The registry takes them from the default of the schema's root; nil
	// when it has none.
	DefaultConfig json.RawMessage
	Tools         []Tool

	// The following are worked out from the settings, which have passed the schema; without settings they are {}. They
	// must be pure, and are nil where there is nothing. A failure refuses the attachment; a *fault.Error's path leads
	// from the settings to what is wrong.

	// Section returns what the settings add to Prompt, as a paragraph of its own; empty for nothing.
	Section func(config json.RawMessage) (string, error)
	// Meters returns what calls of the capability's tools take at most, by the tools' names. It goes before what their manifests say.
	Meters func(config json.RawMessage) (map[string]Meters, error)
	// Hooks returns the hooks, in their order. Their ids are set by the Toolset.
	Hooks func(config json.RawMessage) ([]HookSpec, error)
	// Gates returns the policy gates, in their order. Nothing mutes them.
	Gates func(config json.RawMessage) ([]Gate, error)
	// ClientTools returns tools that the client of the API runs.
	ClientTools func(config json.RawMessage) ([]models.ClientTool, error)
	// Muted returns the ids of hooks that don't run, of any capability.
	Muted func(config json.RawMessage) ([]string, error)
	// Attach judges settings when they are attached, by what may change later and then has to show elsewhere, such as which
	// addresses may be reached. It isn't asked again while turns run.
	Attach func(config json.RawMessage) error
	// UserHooks is true when Hooks are the user's own. They run after those of all other capabilities.
	UserHooks bool
}

// ContributionError says that what a capability contributes can't be worked out from its settings. When a capability is
// attached it is the caller's fault: errors.As finds the *fault.Error inside, if there is one. While a turn runs, the
// settings have been taken before, so the step is tried again.
type ContributionError struct {
	CapabilityID string
	// What is section, hooks, gates, clientTools, meters or muted.
	What string
	Err  error
}

func (e *ContributionError) Error() string {
	return fmt.Sprintf("the %s of capability %s can't be computed: %v", e.What, e.CapabilityID, e.Err)
}

func (e *ContributionError) Unwrap() error { return e.Err }

// Retryable reports whether the same may succeed later.
func (e *ContributionError) Retryable() bool { return true }

// partName is what a hook or a gate may be called within its capability. It begins with no digit, so that no name looks
// like a position.
var partName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// partIDs returns the ids of a capability's hooks or gates: "{capability}:{name}", or the position for those without name.
func partIDs(capabilityID, what string, names []string) ([]string, error) {
	ids := make([]string, len(names))
	taken := make(map[string]int, len(names))
	for i, name := range names {
		path := []string{what, strconv.Itoa(i), "name"}
		if name == "" {
			ids[i] = capabilityID + ":" + strconv.Itoa(i)
			continue
		}
		if !partName.MatchString(name) {
			return nil, fault.New(fault.Invalid, "The name %q can't be used: use 1 to 64 letters, digits, _, . and -, beginning with a letter.",
				Shorten(name, 64)).At(path...)
		}
		if first, ok := taken[name]; ok {
			return nil, fault.New(fault.Invalid, "The name %s is used twice, at %d and at %d. Names must differ.", name, first, i).At(path...)
		}
		taken[name] = i
		ids[i] = capabilityID + ":" + name
	}
	return ids, nil
}
