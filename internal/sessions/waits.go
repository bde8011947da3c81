package sessions

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// MaxTurnWaits is how many of a turn's open waits are listed.
const MaxTurnWaits = 100

// Wait returns a wait, open or not; NOT_FOUND when the organization has none with this id.
func (s *Service) Wait(ctx context.Context, org models.OrgID, id models.WaitID) (*models.Wait, error) {
	return one[models.Wait](s.of(ctx, org).Where("id = ?", id), id)
}

// Waits returns up to limit open waits of an organization, newest first, that come after the one with the given id: of all kinds, or
// of some.
func (s *Service) Waits(ctx context.Context, org models.OrgID, kinds []models.WaitKind, after *models.WaitID, limit int) ([]models.Wait, error) {
	q := s.openWaits(ctx, org, kinds)
	if after != nil {
		q = q.Where("id < ?", *after)
	}
	return pageOfWaits(q.Order("id DESC"), limit)
}

// CountWaits counts open waits, as far as one more than 10 000.
func (s *Service) CountWaits(ctx context.Context, org models.OrgID, kinds []models.WaitKind) (int, error) {
	return count(s.openWaits(ctx, org, kinds).Model(&models.Wait{}))
}

// DecidedApprovals returns up to limit approvals of an organization that are over, those decided last first, that come after the one with
// the given id. What is over stays as it is, so that its id is place enough in the list.
func (s *Service) DecidedApprovals(ctx context.Context, org models.OrgID, after *models.WaitID, limit int) ([]models.Wait, error) {
	q := s.decidedApprovals(ctx, org)
	if after != nil {
		q = q.Where("(resolved_at, id) < (SELECT resolved_at, id FROM waits WHERE org_id = ? AND id = ?)", org, *after)
	}
	return pageOfWaits(q.Order("resolved_at DESC, id DESC"), limit)
}

// CountDecidedApprovals counts the approvals that are over, as far as one more than 10 000.
func (s *Service) CountDecidedApprovals(ctx context.Context, org models.OrgID) (int, error) {
	return count(s.decidedApprovals(ctx, org).Model(&models.Wait{}))
}

// decidedApprovals has its conditions written out for the same reason as openWaits.
func (s *Service) decidedApprovals(ctx context.Context, org models.OrgID) *gorm.DB {
	return s.of(ctx, org).Where("kind = 'APPROVAL' AND state <> 'OPEN'")
}

func pageOfWaits(q *gorm.DB, limit int) ([]models.Wait, error) {
	var list []models.Wait
	if err := q.Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list waits: %w", err)
	}
	return list, nil
}

func (s *Service) openWaits(ctx context.Context, org models.OrgID, kinds []models.WaitKind) *gorm.DB {
	// The state is written out, not a parameter: the index is one of open waits only, and is used only when that is known.
	q := s.of(ctx, org).Where("state = 'OPEN'")
	if len(kinds) > 0 {
		q = q.Where("kind IN ?", kinds)
	}
	return q
}

// WaitsOfTurns returns what turns wait for, oldest first, at most MaxTurnWaits of each, in one statement. It has an entry for every
// turn.
func (s *Service) WaitsOfTurns(ctx context.Context, org models.OrgID, ids []models.TurnID) (map[models.TurnID][]models.Wait, error) {
	which := store.Owned{Table: "waits", Owner: "turn_id", Where: "state = 'OPEN'", Order: "created_at, id", Limit: MaxTurnWaits}
	return store.ListOf(ctx, s.cfg.DB, org, ids, which, func(w *models.Wait) models.TurnID { return w.TurnID })
}

// Decisions returns what people have decided about approvals, oldest first. It has an entry for every wait.
func (s *Service) Decisions(
	ctx context.Context, org models.OrgID, ids []models.WaitID,
) (map[models.WaitID][]models.ApprovalDecision, error) {
	found := make(map[models.WaitID][]models.ApprovalDecision, len(ids))
	for _, id := range ids {
		found[id] = nil
	}
	if len(ids) == 0 {
		return found, nil
	}
	var rows []models.ApprovalDecision
	if err := s.of(ctx, org).Where("wait_id IN ?", ids).Order("created_at, actor_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list the decisions about %d approvals: %w", len(ids), err)
	}
	for _, row := range rows {
		found[row.WaitID] = append(found[row.WaitID], row)
	}
	return found, nil
}

// waitOf returns a wait of a kind that a caller names at a path, with its turn.
func (s *Service) waitOf(
	ctx context.Context, org models.OrgID, id models.WaitID, kind models.WaitKind, path ...string,
) (*models.Wait, *models.Turn, error) {
	w, err := s.Wait(ctx, org, id)
	if err != nil {
		return nil, nil, fault.At(err, path...)
	}
	if w.Kind != kind {
		return nil, nil, fault.New(fault.Invalid, "The wait %s is of the kind %s, not %s.", id, w.Kind, kind).At(path...)
	}
	t, err := s.Turn(ctx, org, w.TurnID)
	if err != nil {
		return nil, nil, err
	}
	return w, t, nil
}

// waitWithTurn returns both as they stand after a change.
func (s *Service) waitWithTurn(ctx context.Context, w *models.Wait) (*models.Wait, *models.Turn, error) {
	after, err := s.Wait(ctx, w.OrgID, w.ID)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Turn(ctx, w.OrgID, w.TurnID)
	if err != nil {
		return nil, nil, err
	}
	return after, t, nil
}
