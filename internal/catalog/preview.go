package catalog

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Draft is an agent that may not exist yet, on a harness. Without a harness it is the agent's, or else the
// organization's default; without an agent it is the harness alone.
type Draft struct {
	HarnessID *models.HarnessID
	Agent     *NewAgent
}

// Preview works out what a turn of a draft would run with. It writes nothing. The name of the draft doesn't matter.
// Model is nil when there is none to run with.
func (s *Service) Preview(ctx context.Context, org models.OrgID, d Draft) (*Effective, error) {
	db := s.db.Read(ctx, org)
	var agent *models.Agent
	harness, field := d.HarnessID, "harnessId"
	if d.Agent != nil {
		agent = newDraft(org)
		in := d.Agent.change()
		if err := agents.fill(agent, &in); err != nil {
			return nil, err
		}
		if harness == nil {
			harness = agent.HarnessID
		}
	}
	if harness == nil {
		var err error
		if harness, err = defaultHarness(db, org); err != nil {
			return nil, err
		}
	}
	chain, err := checkHarness(db, org, *harness, field)
	if err != nil {
		return nil, err
	}
	if agent != nil {
		// The registry's own words tell more than that a capability isn't there.
		if _, err := s.registry.Resolve(agent.Capabilities); err != nil {
			return nil, err
		}
		if err := s.checkAgentTools(db, &models.Agent{}, agent); err != nil {
			return nil, err
		}
	}
	eff, _, err := s.build(db, org, chain, agent, nil, Layer{})
	if dep := (*DependencyError)(nil); errors.As(err, &dep) {
		return nil, dep.Fault(field)
	} else if err != nil {
		return nil, err
	}
	eff.AgentRevision = nil
	return eff, nil
}

// PreviewSession works out what a turn of a session would run with if it started now. It returns nil when the harness or
// the agent is gone; Model is nil when there is none to run with.
func (s *Service) PreviewSession(ctx context.Context, org models.OrgID, id models.SessionID) (*Effective, error) {
	session, err := get[models.Session](s.db.Read(ctx, org).Select("harness_id", "agent_id", "model_id", "client_tools"), org, id)
	if err != nil {
		return nil, err
	}
	return s.PreviewRun(ctx, org, Run{HarnessID: session.HarnessID, AgentID: session.AgentID, SessionModelID: session.ModelID, Setup: session.Setup})
}

// PreviewRun is PreviewSession for a session whose row was read already.
func (s *Service) PreviewRun(ctx context.Context, org models.OrgID, run Run) (*Effective, error) {
	eff, err := s.effective(ctx, org, run)
	if dep := (*DependencyError)(nil); errors.As(err, &dep) {
		return nil, nil
	}
	return eff, err
}

// Choice is what a new session, or a change of one, names.
type Choice struct {
	HarnessID *models.HarnessID
	AgentID   *models.AgentID
	ModelID   *models.ModelID
	// Was is the session that is changed, as it was; nil for a new one.
	Was *models.Session
}

// CheckSession checks that somebody can make a session of what was chosen, or change one to it, and returns its harness: the one that was
// chosen, or else the agent's, or else the organization's default. Failures name harnessId, agentId or modelId of the input. The loss of a guard is
// a fault.Forbidden.
func (s *Service) CheckSession(ctx context.Context, by *auth.Principal, c Choice) (models.HarnessID, error) {
	org := by.OrgID
	db := s.db.Read(ctx, org)
	harness, field := c.HarnessID, "harnessId"
	var agent *models.Agent
	if c.AgentID != nil {
		var err error
		agent, err = get[models.Agent](db, org, *c.AgentID)
		if f := fault.As(err); f != nil {
			return models.HarnessID{}, f.At("input", "agentId")
		} else if err != nil {
			return models.HarnessID{}, err
		}
		if err := usableAgent(agent); err != nil {
			return models.HarnessID{}, err.Fault("agentId")
		}
		if harness == nil {
			harness, field = agent.HarnessID, "agentId"
		}
	}
	if harness == nil {
		var err error
		if harness, err = defaultHarness(db, org); err != nil {
			return models.HarnessID{}, err
		}
		field = "harnessId"
	}
	if c.ModelID != nil {
		if err := checkModel(db, org, *c.ModelID, "modelId"); err != nil {
			return models.HarnessID{}, err
		}
	}
	if err := s.keepSessionGuards(db, by, c, *harness, agent); err != nil {
		return models.HarnessID{}, err
	}
	if c.Was != nil && c.AgentID == nil && c.ModelID == nil {
		return *harness, nil // it refers to nothing new
	}
	_, err := s.effective(ctx, org, Run{HarnessID: *harness, AgentID: c.AgentID, SessionModelID: c.ModelID})
	if dep := (*DependencyError)(nil); errors.As(err, &dep) {
		if dep.Dependency == "harness" && dep.State == models.LifecycleDeleted {
			return models.HarnessID{}, unknown(*harness).At("input", field)
		}
		return models.HarnessID{}, dep.Fault(field)
	}
	return *harness, err
}

// defaultHarness returns the harness of sessions that name none.
func defaultHarness(db *gorm.DB, org models.OrgID) (*models.HarnessID, error) {
	var row models.Org
	err := db.Select("default_harness_id").Where("id = ?", org).Take(&row).Error
	if err != nil {
		return nil, fmt.Errorf("read the default harness of %s: %w", org, err)
	}
	if row.DefaultHarnessID == nil {
		return nil, fault.New(fault.Dependency, "The organization has no default harness. Choose a harness.").At("input", "harnessId")
	}
	return row.DefaultHarnessID, nil
}
