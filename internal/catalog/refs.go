package catalog

import (
	"fmt"
	"slices"
	"strconv"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// maxDepth is how many harnesses a line of inheritance has at most.
const maxDepth = 8

// chainSQL reads a harness and those that it inherits from, root first. The depth bounds it even if a line ever closed
// to a circle.
//
//nolint:unqueryvet // GORM's rows take all columns
const chainSQL = `WITH RECURSIVE chain AS (
  SELECT id, parent_id, 1 AS depth FROM harnesses WHERE org_id = ? AND id = ?
  UNION ALL
  SELECT h.id, h.parent_id, c.depth + 1 FROM harnesses h JOIN chain c ON h.org_id = ? AND h.id = c.parent_id
  WHERE c.depth <= ?
)
SELECT h.* FROM chain c JOIN harnesses h ON h.org_id = ? AND h.id = c.id ORDER BY c.depth DESC`

// harnessChain reads the line of inheritance of a harness, root first; empty when there is no such harness.
func harnessChain(db *gorm.DB, org models.OrgID, id models.HarnessID) ([]models.Harness, error) {
	var chain []models.Harness
	if err := db.Raw(chainSQL, org, id, org, maxDepth, org).Scan(&chain).Error; err != nil {
		return nil, fmt.Errorf("read harness %s of %s with its parents: %w", id, org, err)
	}
	if len(chain) > maxDepth {
		return nil, fmt.Errorf("harness %s of %s has more than %d levels", id, org, maxDepth)
	}
	return chain, nil
}

// checkHarness checks that a harness exists and can be used, with all that it inherits from.
func checkHarness(tx *gorm.DB, org models.OrgID, id models.HarnessID, field string) ([]models.Harness, error) {
	chain, err := harnessChain(tx, org, id)
	if err != nil {
		return nil, err
	}
	if len(chain) == 0 {
		return nil, unknown(id).At("input", field)
	}
	if err := usableChain(chain); err != nil {
		return nil, err.Fault(field)
	}
	return chain, nil
}

// chainOrDefault reads the line of inheritance of a harness, and without one that of the organization's default; empty when there is none.
func chainOrDefault(db *gorm.DB, org models.OrgID, id *models.HarnessID) ([]models.Harness, error) {
	if id == nil {
		var err error
		if id, err = defaultHarness(db, org); fault.Is(err, fault.Dependency) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return harnessChain(db, org, *id)
}

// checkModel checks that a model exists and can be chosen.
func checkModel(db *gorm.DB, org models.OrgID, id models.ModelID, field string) error {
	choice, err := loadModel(db, org, &id)
	if err != nil {
		return err
	}
	if choice == nil {
		return unknown(id).At("input", field)
	}
	if problem := choice.problem(); problem != nil {
		return problem.Fault(field)
	}
	return nil
}

// checkRefs checks newly attached capabilities: that they exist, that their settings are valid, and that a HIGH risk one
// is attached by an administrator, or detached by one if it is a policy or has hooks. had are those that were attached before.
func (s *Service) checkRefs(by *auth.Principal, had, refs []models.CapabilityRef) error {
	set, err := s.registry.Resolve(refs)
	if f := fault.As(err); f != nil {
		return f.At(append([]string{"input"}, f.Path...)...)
	} else if err != nil {
		return fmt.Errorf("resolve capabilities: %w", err)
	}
	for i, r := range refs {
		if slices.ContainsFunc(had, func(h models.CapabilityRef) bool { return sameRef(h, r) }) {
			continue
		}
		err := s.registry.CheckAttach(r)
		if f := fault.As(err); f != nil {
			return f.At(append([]string{"input", "capabilities", strconv.Itoa(i)}, f.Path...)...)
		} else if err != nil {
			return fmt.Errorf("attach capability %s: %w", r.ID, err)
		}
	}
	if administers(by) {
		return nil
	}
	had = s.withDependencies(had)
	for _, r := range set.Refs() {
		c, _ := s.registry.Capability(r.ID)
		if c.Risk != "HIGH" || c.AlwaysOn || slices.ContainsFunc(had, func(h models.CapabilityRef) bool { return sameRef(h, r) }) {
			continue
		}
		f := fault.New(fault.Forbidden, "The capability %s is high-risk: only administrators may attach it or change its settings.", r.ID)
		if i := slices.IndexFunc(refs, func(x models.CapabilityRef) bool { return x.ID == r.ID }); i >= 0 {
			return f.At("input", "capabilities", strconv.Itoa(i))
		}
		return f.At("input", "capabilities")
	}
	if f := s.keepGuards(by, had, set.Refs()); f != nil {
		return f.At("input", "capabilities")
	}
	return nil
}
