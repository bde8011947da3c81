package catalog

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// MaxCount is how far lists are counted. A longer one counts as one more.
const MaxCount = 10_000

// Filter tells which harnesses or agents to list.
type Filter struct {
	// Search is the start of the name, without regard to case; empty for all.
	Search          string
	IncludeArchived bool
}

// ListProviders returns providers that are not archived, newest first: at most limit of those after a position.
func (s *Service) ListProviders(ctx context.Context, org models.OrgID, after *models.ProviderID, limit int) ([]models.Provider, error) {
	return list[models.Provider](active(s.db.Read(ctx, org)), org, after, limit)
}

// CountProviders counts what ListProviders lists.
func (s *Service) CountProviders(ctx context.Context, org models.OrgID) (int, error) {
	return count[models.Provider](s.db.Read(ctx, org), active(s.db.Read(ctx, org)), org)
}

// ListModels returns models, newest first: those of one provider, or without one those of all that are not archived.
func (s *Service) ListModels(ctx context.Context, org models.OrgID, of *models.ProviderID, after *models.ModelID, limit int) ([]models.Model, error) {
	return list[models.Model](s.modelsOf(ctx, org, of), org, after, limit)
}

// CountModels counts what ListModels lists.
func (s *Service) CountModels(ctx context.Context, org models.OrgID, of *models.ProviderID) (int, error) {
	return count[models.Model](s.db.Read(ctx, org), s.modelsOf(ctx, org, of), org)
}

func (s *Service) modelsOf(ctx context.Context, org models.OrgID, of *models.ProviderID) *gorm.DB {
	db := s.db.Read(ctx, org)
	if of != nil {
		return db.Where("provider_id = ?", *of)
	}
	usable := active(store.Of(s.db.Read(ctx, org).Model(&models.Provider{}), org)).Select("id")
	return db.Where("provider_id IN (?)", usable)
}

// ListHarnesses returns harnesses, newest first: at most limit of those after a position.
func (s *Service) ListHarnesses(ctx context.Context, org models.OrgID, f Filter, after *models.HarnessID, limit int) ([]models.Harness, error) {
	q, err := f.apply(s.db.Read(ctx, org))
	if err != nil {
		return nil, err
	}
	return list[models.Harness](q, org, after, limit)
}

// CountHarnesses counts what ListHarnesses lists.
func (s *Service) CountHarnesses(ctx context.Context, org models.OrgID, f Filter) (int, error) {
	q, err := f.apply(s.db.Read(ctx, org))
	if err != nil {
		return 0, err
	}
	return count[models.Harness](s.db.Read(ctx, org), q, org)
}

// ListAgents returns agents, newest first: at most limit of those after a position.
func (s *Service) ListAgents(ctx context.Context, org models.OrgID, f Filter, after *models.AgentID, limit int) ([]models.Agent, error) {
	q, err := f.apply(s.db.Read(ctx, org))
	if err != nil {
		return nil, err
	}
	return list[models.Agent](q, org, after, limit)
}

// CountAgents counts what ListAgents lists.
func (s *Service) CountAgents(ctx context.Context, org models.OrgID, f Filter) (int, error) {
	q, err := f.apply(s.db.Read(ctx, org))
	if err != nil {
		return 0, err
	}
	return count[models.Agent](s.db.Read(ctx, org), q, org)
}

// active limits a list to what is in use. The value stands in the text, because there are indexes for just this.
func active(q *gorm.DB) *gorm.DB { return q.Where("lifecycle = 'ACTIVE'") }

func (f Filter) apply(q *gorm.DB) (*gorm.DB, error) {
	if !f.IncludeArchived {
		q = active(q)
	}
	if f.Search == "" {
		return q, nil
	}
	if !text.Storable(f.Search) {
		return nil, fault.New(fault.Invalid, "search contains a NUL character or is not valid UTF-8.").At("search")
	}
	return store.Prefixed(q, "name_key", strings.ToLower(f.Search)), nil
}

func list[T any, E models.Entity](q *gorm.DB, org models.OrgID, after *models.ID[E], limit int) ([]T, error) {
	q = store.Of(q, org)
	if after != nil {
		q = q.Where("id < ?", *after)
	}
	var rows []T
	if err := q.Order("id DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list %T of %s: %w", rows, org, err)
	}
	return rows, nil
}

// count counts no further than to one more than MaxCount, so that it never takes time in proportion to a table.
func count[T any](db, q *gorm.DB, org models.OrgID) (int, error) {
	var n int64
	some := store.Of(q.Model(new(T)), org).Select("1").Limit(MaxCount + 1)
	if err := db.Table("(?) AS counted", some).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count %T of %s: %w", *new(T), org, err)
	}
	return int(n), nil
}

// byIDs reads rows of an organization by their ids, in one statement. Ids that it doesn't have are left out.
func byIDs[T any, E models.Entity](db *gorm.DB, org models.OrgID, ids []models.ID[E]) ([]T, error) {
	var rows []T
	if len(ids) == 0 {
		return nil, nil
	}
	if err := store.Of(db, org).Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read %T of %s: %w", rows, org, err)
	}
	return rows, nil
}

// ProvidersByID reads several providers; those that the organization doesn't have are left out.
func (s *Service) ProvidersByID(ctx context.Context, org models.OrgID, ids []models.ProviderID) ([]models.Provider, error) {
	return byIDs[models.Provider](s.db.Read(ctx, org), org, ids)
}

// ModelsByID reads several models; those that the organization doesn't have are left out.
func (s *Service) ModelsByID(ctx context.Context, org models.OrgID, ids []models.ModelID) ([]models.Model, error) {
	return byIDs[models.Model](s.db.Read(ctx, org), org, ids)
}

// HarnessesByID reads several harnesses; those that the organization doesn't have are left out.
func (s *Service) HarnessesByID(ctx context.Context, org models.OrgID, ids []models.HarnessID) ([]models.Harness, error) {
	return byIDs[models.Harness](s.db.Read(ctx, org), org, ids)
}

// AgentsByID reads several agents; those that the organization doesn't have are left out.
func (s *Service) AgentsByID(ctx context.Context, org models.OrgID, ids []models.AgentID) ([]models.Agent, error) {
	return byIDs[models.Agent](s.db.Read(ctx, org), org, ids)
}
