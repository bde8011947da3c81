package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Trial is a draft of an agent as a session holds it that tries it: the session runs with it in the place of its agent.
type Trial struct {
	Draft     models.JSON
	HarnessID models.HarnessID
}

// CheckTrial checks that somebody could save a draft and make a session of it now. The agent is the one that it is a draft of; nil for a new
// one. The name of the draft doesn't matter.
func (s *Service) CheckTrial(ctx context.Context, by *auth.Principal, agent *models.AgentID, in NewAgent) (Trial, error) {
	if !by.Can(auth.CatalogWrite) {
		return Trial{}, fault.New(fault.Forbidden, "A draft can be tried by those who may change agents: it takes the permission CATALOG_WRITE.").
			At("input", "draft")
	}
	db := s.db.Read(ctx, by.OrgID)
	row := newDraft(by.OrgID)
	if agent != nil {
		var err error
		if row, err = get[models.Agent](db, by.OrgID, *agent); err != nil {
			return Trial{}, fault.At(err, "input", "agentId")
		}
		if err := usableAgent(row); err != nil {
			return Trial{}, err.Fault("agentId")
		}
	}
	t, err := s.checkDraft(db, by, row, in)
	return t, inDraft(err)
}

// checkDraft asks who may attach what (checkRefs), as for saving it. What the agent has to keep is keepTried's alone: it asks for more than saving does.
func (s *Service) checkDraft(db *gorm.DB, by *auth.Principal, row *models.Agent, in NewAgent) (t Trial, err error) {
	next, change := *row, in.change()
	if err := agents.fill(&next, &change); err != nil {
		return t, err
	}
	if err := agents.checkRefs(s, db, by, row, &next); err != nil {
		return t, err
	}
	harness := next.HarnessID
	if harness == nil {
		if harness, err = defaultHarness(db, by.OrgID); err != nil {
			return t, err
		}
	}
	chain, err := checkHarness(db, by.OrgID, *harness, "harnessId")
	if err != nil {
		return t, err
	}
	if !row.ID.IsZero() {
		if _, err := s.keepTried(db, row, &next, chain); err != nil {
			if dep, ok := errors.AsType[*DependencyError](err); ok {
				return t, dep.Fault("capabilities")
			}
			return t, err
		}
	}
	if _, _, err = s.build(db, by.OrgID, chain, &next, nil, Layer{}); err != nil {
		if dep, ok := errors.AsType[*DependencyError](err); ok {
			return t, dep.Fault("harnessId")
		}
		return t, err
	}
	t.HarnessID = *harness
	t.Draft, err = agents.snapshot(&next)
	return t, err
}

// inDraft says of a field of the draft what was said of a field of the input.
func inDraft(err error) error {
	f := fault.As(err)
	if f == nil || len(f.Path) < 2 || f.Path[0] != "input" || f.Path[1] == "agentId" {
		return err
	}
	return f.At(append([]string{"input", "draft"}, f.Path[1:]...)...)
}

// newDraft is what a draft of an agent that doesn't exist yet begins with.
func newDraft(org models.OrgID) *models.Agent {
	return &models.Agent{OrgID: org, Lifecycle: models.LifecycleActive, Name: "draft"}
}

// tried returns an agent as a draft has it. The agent is nil for a draft of a new one.
func tried(org models.OrgID, agent *models.Agent, draft models.JSON) (*models.Agent, error) {
	var state snapshot
	if err := json.Unmarshal(draft, &state); err != nil {
		return nil, fmt.Errorf("read a draft of %s: %w", org, err)
	}
	row := newDraft(org)
	if agent != nil {
		*row = *agent
	}
	change := state.change()
	return row, agents.fill(row, &change)
}
