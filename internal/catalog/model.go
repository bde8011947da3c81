package catalog

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
)

// Prices are US dollars per million tokens.
type Prices struct {
	Input, Output         models.Nanos
	CacheRead, CacheWrite *models.Nanos
}

// NewModel is what a model is made from. What is left out is taken from the table of well-known models; a given nil says that it
// is not known.
type NewModel struct {
	ProviderID          models.ProviderID
	Name                string
	DisplayName         Opt[*string]
	ContextWindowTokens Opt[*int]
	MaxOutputTokens     Opt[*int]
	Prices              Opt[*Prices]
}

// ModelChange is a change of a model.
type ModelChange struct {
	DisplayName         Opt[*string]
	Enabled             Opt[*bool]
	ContextWindowTokens Opt[*int]
	MaxOutputTokens     Opt[*int]
	Prices              Opt[*Prices]
}

// Model reads a model.
func (s *Service) Model(ctx context.Context, org models.OrgID, id models.ModelID) (*models.Model, error) {
	return get[models.Model](s.db.Read(ctx, org), org, id)
}

// CreateModel adds a model to a provider. It is enabled.
func (s *Service) CreateModel(ctx context.Context, by *auth.Principal, in NewModel) (*models.Model, error) {
	now := clock.Millis(s.clock)
	row := models.Model{
		OrgID: by.OrgID, ID: models.NewID[models.ModelEntity](), ProviderID: in.ProviderID, Enabled: true,
		CreatedAt: now, UpdatedAt: now,
	}
	row.Name = strings.TrimSpace(in.Name)
	if err := checkLine("name", row.Name, maxDisplayName); err != nil {
		return nil, err
	}
	given := ModelChange{
		DisplayName: in.DisplayName, ContextWindowTokens: in.ContextWindowTokens, MaxOutputTokens: in.MaxOutputTokens, Prices: in.Prices,
	}
	// What was given is checked before anything is read.
	if err := fillModel(&row, given); err != nil {
		return nil, err
	}
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		p, err := get[models.Provider](tx, by.OrgID, in.ProviderID)
		if f := fault.As(err); f != nil {
			return f.At("input", "providerId")
		} else if err != nil {
			return err
		}
		if p.Lifecycle != models.LifecycleActive {
			return fault.New(fault.Dependency, "The provider %s is archived.", p.Name).At("input", "providerId")
		}
		if err := checkModelName(p.Kind, row.Name); err != nil {
			return err
		}
		if known := s.known.find(p.Kind, row.Name); known != nil {
			filled := given
			known.fill(&filled)
			if err := fillModel(&row, filled); err != nil {
				return err
			}
		}
		if row.DisplayName == "" {
			row.DisplayName = row.Name
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := recordPrices(tx, row); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), by, "model.created", row.ID.String(), map[string]any{"name": row.Name, "provider": row.ProviderID.String()})
	})
	if err != nil {
		return nil, taken(fmt.Errorf("create a model in %s: %w", by.OrgID, err), "a model of this provider", row.Name)
	}
	return &row, nil
}

// checkModelName asks the provider's driver, where that knows its models.
func checkModelName(kind models.ProviderKind, name string) error {
	if kind != models.ProviderSimulated {
		return nil
	}
	if err := simulated.Valid(name); err != nil {
		return invalid("name", "%s", sentence(err.Error()))
	}
	return nil
}

// UpdateModel changes a model. A disabled model can't be chosen, and turns that would use it fail.
func (s *Service) UpdateModel(ctx context.Context, by *auth.Principal, id models.ModelID, in ModelChange) (*models.Model, error) {
	var next models.Model
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lock[models.Model](tx, by.OrgID, id)
		if err != nil {
			return err
		}
		next = *row
		if err := fillModel(&next, in); err != nil {
			return err
		}
		if sameModel(row, &next) {
			return nil
		}
		next.UpdatedAt = s.now(row.UpdatedAt)
		err = change(tx, by.OrgID, id, "updated_at", row.UpdatedAt, &next, "display_name", "enabled", "context_window_tokens",
			"max_output_tokens", "price_input", "price_output", "price_cache_read", "price_cache_write", "updated_at")
		if err != nil {
			return err
		}
		if !samePrices(row, &next) {
			if err := recordPrices(tx, next); err != nil {
				return err
			}
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), by, "model.updated", id.String(), map[string]any{"fields": modelFields(row, &next)})
	})
	if err != nil {
		return nil, err
	}
	return &next, nil
}

func fillModel(row *models.Model, in ModelChange) error {
	var err error
	if in.DisplayName.Given {
		if row.DisplayName, err = cleanDisplayName(in.DisplayName.Value, row.Name); err != nil {
			return err
		}
	}
	if in.Enabled.Given {
		if in.Enabled.Value == nil {
			return invalid("enabled", "enabled must be true or false; leave it out to keep it as it is.")
		}
		row.Enabled = *in.Enabled.Value
	}
	for _, c := range []struct {
		name string
		in   Opt[*int]
		to   **int
	}{
		{"contextWindowTokens", in.ContextWindowTokens, &row.ContextWindowTokens},
		{"maxOutputTokens", in.MaxOutputTokens, &row.MaxOutputTokens},
	} {
		if !c.in.Given {
			continue
		}
		if n := c.in.Value; n != nil && (*n < 1 || *n > maxTokensCap) {
			return invalid(c.name, "%s must be from 1 to %d, not %d.", c.name, maxTokensCap, *n)
		}
		*c.to = c.in.Value
	}
	if in.Prices.Given {
		return fillPrices(row, in.Prices.Value)
	}
	return nil
}

func fillPrices(row *models.Model, p *Prices) error {
	row.PriceInput, row.PriceOutput, row.PriceCacheRead, row.PriceCacheWrite = nil, nil, nil, nil
	if p == nil {
		return nil
	}
	row.PriceInput, row.PriceOutput, row.PriceCacheRead, row.PriceCacheWrite = &p.Input, &p.Output, p.CacheRead, p.CacheWrite
	for _, n := range []*models.Nanos{row.PriceInput, row.PriceOutput, row.PriceCacheRead, row.PriceCacheWrite} {
		if n != nil && *n < 0 {
			return invalid("price", "A price can't be negative.")
		}
	}
	return nil
}

func sameModel(a, b *models.Model) bool {
	return a.DisplayName == b.DisplayName && a.Enabled == b.Enabled &&
		equalPtr(a.ContextWindowTokens, b.ContextWindowTokens) && equalPtr(a.MaxOutputTokens, b.MaxOutputTokens) &&
		samePrices(a, b)
}

// sentence makes a sentence of an error's text.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
