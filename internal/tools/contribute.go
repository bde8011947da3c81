package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// contribute adds what a capability works out from its settings.
func (b *builder) contribute(c *capability, config models.JSON) error {
	settings := settingsOf(config)
	for _, part := range []struct {
		what string
		add  func() error
	}{
		{"section", func() error { return b.addSection(c, settings) }},
		{"hooks", func() error { return b.addHooks(c, settings) }},
		{"gates", func() error { return b.addGates(c, settings) }},
		{"clientTools", func() error { return b.addClientTools(c, settings) }},
		{"meters", func() error { return b.addMeters(c, settings) }},
		{"muted", func() error { return b.addMuted(c, settings) }},
	} {
		if err := contained(part.add); err != nil {
			if f := fault.As(err); f != nil {
				err = f.At(append([]string{"config"}, f.Path...)...)
			}
			return &ContributionError{CapabilityID: c.ID, What: part.what, Err: err}
		}
	}
	return nil
}

// settingsOf returns the settings as capabilities read them.
func settingsOf(config models.JSON) json.RawMessage {
	if len(config) == 0 || string(config) == "null" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(config)
}

// CheckAttach asks a capability whether its settings can be attached now; they have passed Resolve. The failure is a
// *fault.Error whose path begins with config, or the server's own.
func (r *Registry) CheckAttach(ref models.CapabilityRef) error {
	c := r.byID[ref.ID]
	if c == nil || c.Attach == nil {
		return nil
	}
	err := contained(func() error { return c.Attach(settingsOf(ref.Config)) })
	if f := fault.As(err); f != nil {
		return f.At(append([]string{"config"}, f.Path...)...)
	}
	return err
}

// contained keeps the panic of one capability from ending the process.
func contained(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return fn()
}

func (b *builder) addSection(c *capability, settings json.RawMessage) error {
	text := c.Prompt
	if c.Section != nil {
		more, err := c.Section(settings)
		if err != nil {
			return err
		}
		if text != "" && more != "" {
			text += "\n\n"
		}
		text += more
	}
	if text != "" {
		b.set.sections = append(b.set.sections, Section{CapabilityID: c.ID, Text: text})
	}
	return nil
}

func (b *builder) addHooks(c *capability, settings json.RawMessage) error {
	if c.Hooks == nil {
		return nil
	}
	specs, err := c.Hooks(settings)
	if err != nil {
		return err
	}
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	ids, err := partIDs(c.ID, "hooks", names)
	if err != nil {
		return err
	}
	for i, s := range specs {
		if s.Event == "" {
			continue
		}
		s, f := s.Check()
		if f != nil {
			return f.At(append([]string{"hooks", strconv.Itoa(i)}, f.Path...)...)
		}
		s.ID = ids[i]
		if c.UserHooks {
			b.users = append(b.users, s)
			continue
		}
		b.hooks = append(b.hooks, s)
	}
	return nil
}

func (b *builder) addGates(c *capability, settings json.RawMessage) error {
	if c.Gates == nil {
		return nil
	}
	gates, err := c.Gates(settings)
	if err != nil {
		return err
	}
	names := make([]string, len(gates))
	for i, g := range gates {
		names[i] = g.Name
	}
	ids, err := partIDs(c.ID, "gates", names)
	if err != nil {
		return err
	}
	for i, g := range gates {
		if g.Decide == nil {
			return fmt.Errorf("the policy %s makes no decision", ids[i])
		}
		g.ID = ids[i]
		b.set.gates = append(b.set.gates, g)
	}
	return nil
}

func (b *builder) addClientTools(c *capability, settings json.RawMessage) error {
	if c.ClientTools == nil {
		return nil
	}
	list, err := c.ClientTools(settings)
	if err != nil {
		return err
	}
	if f := b.addClients(list, "capability "+c.ID); f != nil {
		return f
	}
	return nil
}

func (b *builder) addMuted(c *capability, settings json.RawMessage) error {
	if c.Muted == nil {
		return nil
	}
	ids, err := c.Muted(settings)
	if err != nil {
		return err
	}
	if b.muted == nil {
		b.muted = make(map[string]bool, len(ids))
	}
	for _, id := range ids {
		b.muted[id] = true
	}
	return nil
}

// addClients offers tools that the client runs.
func (b *builder) addClients(list []models.ClientTool, source string) *fault.Error {
	regs, f := b.registry.clientTools(list, source)
	if f != nil {
		return f
	}
	for i, reg := range regs {
		if f := b.offer(reg); f != nil {
			return f.At(strconv.Itoa(i), "name")
		}
		b.set.clients = append(b.set.clients, list[i])
	}
	return nil
}

// offer adds a tool unless its name is taken.
func (b *builder) offer(reg *registered) *fault.Error {
	name := reg.manifest.Name
	if other := b.set.byName[name]; other != nil {
		return fault.New(fault.Invalid, "Two tools have the name %s: %s of %s and %s of %s. Rename one, or remove one.",
			name, other.manifest.ID, other.source(), reg.manifest.ID, reg.source())
	}
	b.set.tools = append(b.set.tools, reg)
	b.set.byName[name] = reg
	return nil
}

// source says in words where a tool comes from.
func (r *registered) source() string {
	if r.manifest.Hints.Client {
		return r.capability
	}
	return "capability " + r.capability
}

// finish adds the client's tools and puts the hooks in their order.
func (b *builder) finish(clientTools []models.ClientTool) error {
	if f := b.addClients(clientTools, "the client"); f != nil {
		return f.At(append([]string{"clientTools"}, f.Path...)...)
	}
	all := slices.Concat(b.hooks, b.users)
	b.set.hooks = slices.DeleteFunc(all, func(h HookSpec) bool { return b.muted[h.ID] })
	return nil
}
