package catalog

import (
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// A guard is a capability of high risk that has policy gates or hooks: it stands between an agent and what the agent may do, and
// only administrators attach one. This file holds the rule that nobody else takes one away, or changes its settings, whatever they change:
// what a harness or an agent attaches (checkRefs), an agent's harness (checkAgentRefs), a session's harness or agent (CheckSession).

// administers reports whether somebody may attach and detach guards.
func administers(by *auth.Principal) bool {
	return by.Role.AtLeast(models.RoleAdmin)
}

// keepGuards refuses a change after which a guard is missing, or has other settings. before and after are the capabilities
// in effect.
func (s *Service) keepGuards(by *auth.Principal, before, after []models.CapabilityRef) *fault.Error {
	if administers(by) {
		return nil
	}
	if lost := s.lostGuard(before, after); lost != "" {
		return fault.New(fault.Forbidden,
			"The capability %s would be lost, or get other settings. It controls what other capabilities may do, so only administrators may detach or change it.", lost)
	}
	return nil
}

// lostGuard returns the id of a guard that is missing, or has other settings; empty for none.
func (s *Service) lostGuard(before, after []models.CapabilityRef) string {
	for _, ref := range before {
		c, _ := s.registry.Capability(ref.ID)
		guards := c.Risk == "HIGH" && (c.Gates != nil || c.Hooks != nil)
		if guards && !slices.ContainsFunc(after, func(r models.CapabilityRef) bool { return sameRef(r, ref) }) {
			return ref.ID
		}
	}
	return ""
}

// keepTried refuses a draft that lacks a guard of the agent that it is tried in the place of, as the agent has it now. Administrators may save
// such a draft, but whoever may send messages can use the session that tries it. chain is the draft's; it returns the agent's, too.
func (s *Service) keepTried(db *gorm.DB, agent, draft *models.Agent, chain []models.Harness) ([]models.Harness, error) {
	live, err := chainOrDefault(db, agent.OrgID, agent.HarnessID)
	if err != nil {
		return nil, err
	}
	before := s.withDependencies(Fold(layersOf(live, agent)...).Capabilities)
	after := s.withDependencies(Fold(layersOf(chain, draft)...).Capabilities)
	if lost := s.lostGuard(before, after); lost != "" {
		return nil, &DependencyError{Reason: "The draft lacks the capability " + lost + " as the agent has it. It controls what other capabilities may do, so a draft of this agent is tried with it."}
	}
	return live, nil
}

// withDependencies returns the capabilities that are in effect when refs are attached: also those that come along with others. What can't
// be resolved, because a capability has vanished from this server, counts as it was attached.
func (s *Service) withDependencies(refs []models.CapabilityRef) []models.CapabilityRef {
	set, err := s.registry.Resolve(refs)
	if err != nil {
		return refs
	}
	return set.Refs()
}

// capabilitiesOf returns the capabilities in effect for an agent, which may be nil, on a harness; without one, on the organization's
// default. What is archived counts: it may come back.
func (s *Service) capabilitiesOf(db *gorm.DB, org models.OrgID, harness *models.HarnessID, agent *models.Agent) ([]models.CapabilityRef, error) {
	chain, err := chainOrDefault(db, org, harness)
	if err != nil {
		return nil, err
	}
	return s.withDependencies(Fold(layersOf(chain, agent)...).Capabilities), nil
}

// keepAgentGuards is keepGuards for a change of an agent's harness.
func (s *Service) keepAgentGuards(tx *gorm.DB, by *auth.Principal, row, next *models.Agent) error {
	if administers(by) || equalPtr(row.HarnessID, next.HarnessID) {
		return nil
	}
	before, err := s.capabilitiesOf(tx, by.OrgID, row.HarnessID, row)
	if err != nil {
		return err
	}
	after, err := s.capabilitiesOf(tx, by.OrgID, next.HarnessID, next)
	if err != nil {
		return err
	}
	if f := s.keepGuards(by, before, after); f != nil {
		return f.At("input", "harnessId")
	}
	return nil
}

// keepSessionGuards is keepGuards for what a session is made of, or changed to. It keeps the guards that the session has, and, where
// it gets an agent, those that the agent has on its own harness. The agent may be nil.
func (s *Service) keepSessionGuards(db *gorm.DB, by *auth.Principal, c Choice, harness models.HarnessID, agent *models.Agent) error {
	unchanged := agent == nil || c.HarnessID == nil // a new session
	if c.Was != nil {
		unchanged = equalPtr(c.Was.AgentID, c.AgentID)
	}
	if unchanged || administers(by) {
		return nil
	}
	after, err := s.capabilitiesOf(db, by.OrgID, &harness, agent)
	if err != nil {
		return err
	}
	field := "harnessId"
	if c.Was != nil {
		field = "agentId"
		was, err := agentRow(db, by.OrgID, c.Was.AgentID)
		if err != nil {
			return err
		}
		before, err := s.capabilitiesOf(db, by.OrgID, &c.Was.HarnessID, was)
		if err != nil {
			return err
		}
		if f := s.keepGuards(by, before, after); f != nil {
			return f.At("input", field)
		}
	}
	if agent == nil {
		return nil
	}
	own, err := s.capabilitiesOf(db, by.OrgID, agent.HarnessID, agent)
	if err != nil {
		return err
	}
	if f := s.keepGuards(by, own, after); f != nil {
		return f.At("input", field)
	}
	return nil
}
