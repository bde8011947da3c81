package catalog

import (
	"context"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// Filter tells which harnesses or agents to list.
type Filter struct {
	// Search is the start of the name, without regard to case; empty for all.
	Search          string
	IncludeArchived bool
}

// ListProviders returns providers that are not archived, newest first: at most limit of those after a position.
func (s *Service) ListProviders(ctx context.Context, org models.OrgID, after *models.ProviderID, limit int) ([]models.Provider, error) {
	return store.Page[models.Provider](active(s.db.Read(ctx, org)), org, after, limit)
}

// CountProviders counts what ListProviders lists.
func (s *Service) CountProviders(ctx context.Context, org models.OrgID) (int, error) {
	return store.Count[models.Provider](s.db.Read(ctx, org), active(s.db.Read(ctx, org)), org)
}

// ListModels returns models, newest first: those of one provider, or without one those of all that are not archived.
func (s *Service) ListModels(ctx context.Context, org models.OrgID, of *models.ProviderID, after *models.ModelID, limit int) ([]models.Model, error) {
	return store.Page[models.Model](s.modelsOf(ctx, org, of), org, after, limit)
}

// CountModels counts what ListModels lists.
func (s *Service) CountModels(ctx context.Context, org models.OrgID, of *models.ProviderID) (int, error) {
	return store.Count[models.Model](s.db.Read(ctx, org), s.modelsOf(ctx, org, of), org)
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
	return store.Page[models.Harness](q, org, after, limit)
}

// CountHarnesses counts what ListHarnesses lists.
func (s *Service) CountHarnesses(ctx context.Context, org models.OrgID, f Filter) (int, error) {
	q, err := f.apply(s.db.Read(ctx, org))
	if err != nil {
		return 0, err
	}
	return store.Count[models.Harness](s.db.Read(ctx, org), q, org)
}

// ListAgents returns agents, newest first: at most limit of those after a position.
func (s *Service) ListAgents(ctx context.Context, org models.OrgID, f Filter, after *models.AgentID, limit int) ([]models.Agent, error) {
	q, err := f.apply(s.db.Read(ctx, org))
	if err != nil {
		return nil, err
	}
	return store.Page[models.Agent](q, org, after, limit)
}

// CountAgents counts what ListAgents lists.
func (s *Service) CountAgents(ctx context.Context, org models.OrgID, f Filter) (int, error) {
	q, err := f.apply(s.db.Read(ctx, org))
	if err != nil {
		return 0, err
	}
	return store.Count[models.Agent](s.db.Read(ctx, org), q, org)
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

// ProvidersByID reads several providers; those that the organization doesn't have are left out.
func (s *Service) ProvidersByID(ctx context.Context, org models.OrgID, ids []models.ProviderID) ([]models.Provider, error) {
	return store.ByIDs[models.Provider](s.db.Read(ctx, org), org, ids)
}

// ModelsByID reads several models; those that the organization doesn't have are left out.
func (s *Service) ModelsByID(ctx context.Context, org models.OrgID, ids []models.ModelID) ([]models.Model, error) {
	return store.ByIDs[models.Model](s.db.Read(ctx, org), org, ids)
}

// HarnessesByID reads several harnesses; those that the organization doesn't have are left out.
func (s *Service) HarnessesByID(ctx context.Context, org models.OrgID, ids []models.HarnessID) ([]models.Harness, error) {
	return store.ByIDs[models.Harness](s.db.Read(ctx, org), org, ids)
}

// AgentsByID reads several agents; those that the organization doesn't have are left out.
func (s *Service) AgentsByID(ctx context.Context, org models.OrgID, ids []models.AgentID) ([]models.Agent, error) {
	return store.ByIDs[models.Agent](s.db.Read(ctx, org), org, ids)
}
