package tools

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// toolName is what every provider takes as the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Registry knows all capabilities and their tools. It never changes once it is made.
type Registry struct {
	// ordered has every capability after those that it depends on.
	ordered []*capability
	byID    map[string]*capability
	tools   map[string]*registered
	// compiled has the schemas of client tools.
	compiled *schemaCache
}

// capability is a Capability with what was worked out for it once.
type capability struct {
	Capability
	config *schema
	tools  []*registered
}

// registered is a tool with its manifest, asked for once so that it can't change, and its compiled schema.
type registered struct {
	tool       Tool
	manifest   Manifest
	schema     *schema
	capability string
}

// NewRegistry checks capabilities and compiles their schemas. It refuses what could only fail later: two capabilities
// of one id, two tools of one id or name, dependencies that are unknown or go in a circle, and invalid schemas.
func NewRegistry(caps ...Capability) (*Registry, error) {
	r := &Registry{byID: make(map[string]*capability, len(caps)), tools: map[string]*registered{}, compiled: newSchemaCache()}
	names := map[string]*registered{}
	for _, c := range caps {
		added, err := r.add(c)
		if err != nil {
			return nil, err
		}
		for _, t := range added.tools {
			if other := names[t.manifest.Name]; other != nil {
				return nil, fmt.Errorf("two tools have the name %s: %s of capability %s and %s of capability %s",
					t.manifest.Name, other.manifest.ID, other.capability, t.manifest.ID, t.capability)
			}
			names[t.manifest.Name] = t
		}
	}
	if err := r.sort(caps); err != nil {
		return nil, err
	}
	// An always-on capability has no one to give it settings, so it has to do without.
	if _, err := r.Resolve(nil); err != nil {
		return nil, fmt.Errorf("the always-on capabilities: %w", err)
	}
	return r, nil
}

func (r *Registry) add(c Capability) (*capability, error) {
	switch {
	case c.ID == "" || c.Name == "" || c.Description == "":
		return nil, fmt.Errorf("capability %q must have an id, a name and a description", c.ID)
	case !slices.Contains([]string{"LOW", "MEDIUM", "HIGH"}, c.Risk):
		return nil, fmt.Errorf("capability %s has the risk %q; it must be LOW, MEDIUM or HIGH", c.ID, c.Risk)
	case r.byID[c.ID] != nil:
		return nil, fmt.Errorf("two capabilities have the id %s", c.ID)
	}
	added := &capability{Capability: c}
	if c.ConfigSchema != nil {
		s, err := compileSchema("the settings of capability "+c.ID, c.ConfigSchema)
		if err != nil {
			return nil, err
		}
		added.config = s
		if added.DefaultConfig, err = s.rootDefault(); err != nil {
			return nil, fmt.Errorf("the default of the settings of capability %s: %w", c.ID, err)
		}
	}
	for _, t := range c.Tools {
		reg, err := register(t, c.ID)
		if err != nil {
			return nil, err
		}
		if other := r.tools[reg.manifest.ID]; other != nil {
			return nil, fmt.Errorf("two tools have the id %s: %s of capability %s and %s of capability %s",
				reg.manifest.ID, other.manifest.Name, other.capability, reg.manifest.Name, reg.capability)
		}
		r.tools[reg.manifest.ID] = reg
		added.tools = append(added.tools, reg)
	}
	r.byID[c.ID] = added
	return added, nil
}

func register(t Tool, capabilityID string) (*registered, error) {
	m := t.Manifest()
	switch {
	case m.ID == "":
		return nil, fmt.Errorf("a tool of capability %s has no id", capabilityID)
	case !toolName.MatchString(m.Name):
		return nil, fmt.Errorf("tool %s has the name %q; providers take 1 to 64 letters, digits, _ and -", m.ID, m.Name)
	case strings.HasPrefix(m.ID, clientPrefix):
		return nil, fmt.Errorf("tool %s of capability %s has an id that only clients' tools have", m.ID, capabilityID)
	case m.Hints.Client:
		return nil, fmt.Errorf("tool %s of capability %s can't be a client's tool; contribute it as one", m.ID, capabilityID)
	case m.DisplayName == "" || m.Description == "":
		return nil, fmt.Errorf("tool %s must have a display name and a description", m.ID)
	}
	if err := m.Hints.Retry.check(); err != nil {
		return nil, fmt.Errorf("tool %s: %w", m.ID, err)
	}
	if err := m.Meters.check(); err != nil {
		return nil, fmt.Errorf("tool %s: %w", m.ID, err)
	}
	m.Meters = maps.Clone(m.Meters)
	s, err := compileSchema("tool "+m.ID, m.InputSchema)
	if err != nil {
		return nil, err
	}
	m.InputSchema = slices.Clone(m.InputSchema)
	return &registered{tool: t, manifest: m, schema: s, capability: capabilityID}, nil
}

// sort fills ordered: dependencies first, otherwise as they were given.
func (r *Registry) sort(caps []Capability) error {
	const visiting, done = 1, 2
	state := make(map[string]int, len(caps))
	var visit func(id string, trail []string) error
	visit = func(id string, trail []string) error {
		trail = append(slices.Clip(trail), id)
		switch state[id] {
		case done:
			return nil
		case visiting:
			return fmt.Errorf("capabilities depend on each other in a cycle: %s",
				strings.Join(trail[slices.Index(trail, id):], " → "))
		}
		c := r.byID[id]
		if c == nil {
			return fmt.Errorf("capability %s depends on %s, which is unknown", trail[len(trail)-2], id)
		}
		state[id] = visiting
		for _, d := range c.DependsOn {
			if err := visit(d, trail); err != nil {
				return err
			}
		}
		state[id] = done
		r.ordered = append(r.ordered, c)
		return nil
	}
	for _, c := range caps {
		if err := visit(c.ID, nil); err != nil {
			return err
		}
	}
	return nil
}

// Capabilities returns all capabilities, each after those that it depends on. What they hold must not be changed.
func (r *Registry) Capabilities() []Capability {
	all := make([]Capability, len(r.ordered))
	for i, c := range r.ordered {
		all[i] = c.Capability
	}
	return all
}

// Capability finds a capability by its id.
func (r *Registry) Capability(id string) (Capability, bool) {
	c := r.byID[id]
	if c == nil {
		return Capability{}, false
	}
	return c.Capability, true
}

// CapabilityOf returns the capability that a tool belongs to; false when there is no such tool.
func (r *Registry) CapabilityOf(toolID string) (string, bool) {
	reg := r.tools[toolID]
	if reg == nil {
		return "", false
	}
	return reg.capability, true
}

// FailureLine returns the line that people read about a call that has failed: the first one of its error, without the code before it.
func FailureLine(failure string) string {
	failure, _, _ = strings.Cut(failure, "\n")
	if code, message, ok := strings.Cut(failure, ": "); ok && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") == "" {
		failure = message
	}
	return oneLine(failure, maxNarration)
}

// maxNarration bounds a line for people, in characters.
const maxNarration = 200

// Narration returns the line that people read about a call; done reports that it has succeeded. It is empty when the tool
// has none or is gone.
func (r *Registry) Narration(f Frozen, done bool, locale string) (line string) {
	reg := r.tools[f.ToolID]
	if reg == nil {
		return ""
	}
	narrator, ok := reg.tool.(Narrator)
	if !ok {
		return ""
	}
	// A line for people is never worth a failed call.
	defer func() {
		if recover() != nil {
			line = ""
		}
	}()
	return oneLine(narrator.Narrate(f.Arguments, done, locale), maxNarration)
}
