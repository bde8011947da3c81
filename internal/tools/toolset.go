package tools

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// Section is what a capability adds to the system prompt.
type Section struct {
	CapabilityID string
	Text         string
}

// Toolset is what an agent can do: tools, prompt sections and the capabilities that they come from. It never changes
// and is a single pointer, so it may be cached and shared. The zero Toolset offers nothing.
type Toolset struct{ set *toolset }

type toolset struct {
	tools    []*registered
	byName   map[string]*registered
	sections []Section
	refs     []models.CapabilityRef
	hooks    []HookSpec
	gates    []Gate
	clients  []models.ClientTool
}

// get returns what the set offers; nothing for the zero one.
func (t Toolset) get() *toolset {
	if t.set == nil {
		return &toolset{}
	}
	return t.set
}

// Manifests returns the tools in the order in which the model is shown them. Their schemas must not be changed.
func (t Toolset) Manifests() iter.Seq[Manifest] {
	return func(yield func(Manifest) bool) {
		for _, reg := range t.get().tools {
			if !yield(reg.manifest) {
				return
			}
		}
	}
}

// ByName finds an offered tool by the name that the model knows.
func (t Toolset) ByName(name string) (Manifest, bool) {
	reg := t.lookup(name)
	if reg == nil {
		return Manifest{}, false
	}
	return reg.manifest, true
}

// Sections returns the prompt sections in order.
func (t Toolset) Sections() []Section {
	return slices.Clone(t.get().sections)
}

// Refs returns the capabilities that are in effect, in order: the always-on ones, then the attached ones, each after
// those that it depends on.
func (t Toolset) Refs() []models.CapabilityRef {
	return slices.Clone(t.get().refs)
}

// Hooks returns the hooks in the order in which they run: those of capabilities, in the order of Refs, then the user's own.
// Muted ones are left out.
func (t Toolset) Hooks() []HookSpec {
	return slices.Clone(t.get().hooks)
}

// Gates returns the policy gates in order.
func (t Toolset) Gates() []Gate {
	return slices.Clone(t.get().gates)
}

// Asks reports whether people are asked before a tool of the set runs: what the strictest of its gates says.
func (t Toolset) Asks(m Manifest) Asks {
	asks := AsksNever
	for _, g := range t.get().gates {
		if g.Asks != nil {
			asks = max(asks, g.Asks(m.Name, m.Hints))
		}
	}
	return asks
}

// ClientTools returns the tools that the client runs: those of capabilities, then those that ResolveWith was given. Their
// schemas must not be changed.
func (t Toolset) ClientTools() []models.ClientTool {
	return slices.Clone(t.get().clients)
}

func (t Toolset) lookup(name string) *registered {
	return t.get().byName[name]
}

// offered lists the names for a model that asked for something else.
func (t Toolset) offered() string {
	if len(t.get().tools) == 0 {
		return "No tools are available; answer without them."
	}
	const most = 100
	names := make([]string, 0, min(len(t.get().tools), most+1))
	for i, reg := range t.get().tools {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, reg.manifest.Name)
	}
	return "Available tools: " + strings.Join(names, ", ") + "."
}

// Resolve returns the toolset of the capabilities that are attached, with those that are always on and those that they
// depend on, each once. A capability that is attached twice keeps its first place and takes its last settings. An
// unknown id and invalid settings are refused with a *fault.Error whose path begins with capabilities and the
// reference's index. So is what can't be worked out from settings, inside a *ContributionError.
func (r *Registry) Resolve(refs []models.CapabilityRef) (Toolset, error) {
	return r.ResolveWith(refs, nil)
}

// ResolveWith is Resolve with tools that the client runs, as the agent and the session declare them. A tool of a name that
// another one has is refused, naming both; its path begins with clientTools and the index.
func (r *Registry) ResolveWith(refs []models.CapabilityRef, clientTools []models.ClientTool) (Toolset, error) {
	settings := make(map[string]models.CapabilityRef, len(refs))
	for i, ref := range refs {
		if r.byID[ref.ID] == nil {
			return Toolset{}, r.unknown(ref.ID).At("capabilities", strconv.Itoa(i), "id")
		}
		if err := r.ValidateConfig(ref); err != nil {
			f := fault.As(err)
			return Toolset{}, f.At(append([]string{"capabilities", strconv.Itoa(i)}, f.Path...)...)
		}
		settings[ref.ID] = ref
	}
	b := builder{registry: r, settings: settings, seen: map[string]bool{}, set: &toolset{byName: map[string]*registered{}}}
	for _, c := range r.ordered {
		if c.AlwaysOn {
			if err := b.include(c); err != nil {
				return Toolset{}, err
			}
		}
	}
	for i, ref := range refs {
		if err := b.include(r.byID[ref.ID]); err != nil {
			// The path of what a capability contributes leads into its settings, which may stand at a later place.
			if at := lastOf(refs, b.failed); at >= 0 {
				i = at
			}
			return Toolset{}, under(err, "capabilities", strconv.Itoa(i))
		}
	}
	if err := b.finish(clientTools); err != nil {
		return Toolset{}, err
	}
	return Toolset{set: b.set}, nil
}

// lastOf returns the place whose settings count for a capability, -1 when it isn't attached itself.
func lastOf(refs []models.CapabilityRef, id string) int {
	for i, ref := range slices.Backward(refs) {
		if ref.ID == id {
			return i
		}
	}
	return -1
}

// under puts a path before that of the failure inside an error; the error keeps its type.
func under(err error, path ...string) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	f = f.At(append(path, f.Path...)...)
	if c, ok := errors.AsType[*ContributionError](err); ok {
		return &ContributionError{CapabilityID: c.CapabilityID, What: c.What, Err: f}
	}
	return f
}

// ValidateConfig checks the settings of one reference. The failure is a *fault.Error whose path begins with id or
// config.
func (r *Registry) ValidateConfig(ref models.CapabilityRef) error {
	c := r.byID[ref.ID]
	if c == nil {
		return r.unknown(ref.ID).At("id")
	}
	if f := c.validate(ref.Config); f != nil {
		return f
	}
	return nil
}

func (c *capability) validate(config models.JSON) *fault.Error {
	invalid := func(path []string, what string) *fault.Error {
		return fault.New(fault.Invalid, "The settings of capability %s are not valid: %s.", c.ID, what).
			At(append([]string{"config"}, path...)...)
	}
	if len(config) == 0 || string(config) == "null" {
		config = models.JSON("{}")
	}
	v, err := jsonx.Normalized(config)
	if err != nil {
		return invalid(nil, "config is not valid JSON: "+err.Error())
	}
	object, ok := v.(map[string]any)
	if !ok {
		return invalid(nil, "config must be an object")
	}
	if path, found := findNUL(object, nil); found {
		return invalid(path, fieldName(path)+" has a NUL character in it")
	}
	if c.config == nil {
		if len(object) > 0 {
			return invalid(nil, "it has no settings; leave config out")
		}
		return nil
	}
	if problems := c.config.check(v); len(problems) > 0 {
		return invalid(problems[0].Path, describe(problems))
	}
	return nil
}

func (r *Registry) unknown(id string) *fault.Error {
	known := make([]string, len(r.ordered))
	for i, c := range r.ordered {
		known[i] = c.ID
	}
	return fault.New(fault.Invalid, "Capability %q is unknown. Available are: %s.",
		Shorten(strings.ToValidUTF8(id, "\uFFFD"), 64), strings.Join(known, ", "))
}

// builder puts a toolset together.
type builder struct {
	registry *Registry
	settings map[string]models.CapabilityRef
	seen     map[string]bool
	set      *toolset
	// hooks and users are the hooks of capabilities and of users, before any is muted.
	hooks, users []HookSpec
	muted        map[string]bool
	// failed is the capability that include couldn't take.
	failed string
}

func (b *builder) include(c *capability) error {
	if b.seen[c.ID] {
		return nil
	}
	b.seen[c.ID] = true
	for _, id := range c.DependsOn {
		if err := b.include(b.registry.byID[id]); err != nil {
			return err
		}
	}
	b.failed = c.ID
	ref, attached := b.settings[c.ID]
	if !attached {
		// It came along with another one: it must do with its defaults, or be attached with settings.
		if f := c.validate(nil); f != nil {
			f.Message += " Attach it with settings of its own."
			return f.At("id")
		}
		ref.ID = c.ID
	}
	b.set.refs = append(b.set.refs, ref)
	for _, reg := range c.tools {
		if f := b.offer(reg); f != nil {
			return f.At("id")
		}
	}
	return b.contribute(c, ref.Config)
}
