package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// RestoreHarness makes an earlier revision the current state, as a new revision. It is checked like an update: what the old
// state refers to must still be there. The name, the parent and the lifecycle stay as they are.
func (s *Service) RestoreHarness(
	ctx context.Context, by *auth.Principal, id models.HarnessID, revision int, reason *string,
) (*models.Harness, error) {
	why, err := cleanReason(reason, "reason")
	if err != nil {
		return nil, err
	}
	return s.changeHarness(ctx, by, id, deed{verb: "restored", reason: why, from: revision}, func(tx *gorm.DB, row, next *models.Harness) error {
		if err := checkActive("harness", row.Lifecycle); err != nil {
			return err
		}
		doc, err := pastHarness(tx, row, revision)
		if err != nil {
			return err
		}
		var state harnessSnapshot
		if err := json.Unmarshal(doc, &state); err != nil {
			return fmt.Errorf("read revision %d of %s: %w", revision, id, err)
		}
		if err := fillHarness(next, state.change()); err != nil {
			return ofRevision(err)
		}
		return ofRevision(s.checkHarnessRefs(tx, by, row, next))
	})
}

// RestoreAgent is RestoreHarness for an agent. The name and the lifecycle stay as they are.
func (s *Service) RestoreAgent(
	ctx context.Context, by *auth.Principal, id models.AgentID, revision int, reason *string,
) (*models.Agent, error) {
	why, err := cleanReason(reason, "reason")
	if err != nil {
		return nil, err
	}
	return s.changeAgent(ctx, by, id, deed{verb: "restored", reason: why, from: revision}, func(tx *gorm.DB, row, next *models.Agent) error {
		if err := checkActive("agent", row.Lifecycle); err != nil {
			return err
		}
		doc, err := pastAgent(tx, row, revision)
		if err != nil {
			return err
		}
		var state agentSnapshot
		if err := json.Unmarshal(doc, &state); err != nil {
			return fmt.Errorf("read revision %d of %s: %w", revision, id, err)
		}
		if err := fillAgent(next, state.change()); err != nil {
			return ofRevision(err)
		}
		return ofRevision(s.checkAgentRefs(tx, by, row, next))
	})
}

// blame makes the path of a refusal that of what was asked for.
func (d deed) blame(err error) error {
	if d.from > 0 {
		return ofRevision(err)
	}
	return err
}

// ofRevision turns the refusal of a change's field into that of the old state's: there is no input to blame, and what the
// state refers to was there once.
func ofRevision(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	path := slices.Clone(f.Path)
	if len(path) > 0 && path[0] == "input" {
		path[0] = "revision"
	}
	out := *f
	out.Path = path
	if out.Code == fault.NotFound {
		out.Code = fault.Dependency
	}
	return &out
}
