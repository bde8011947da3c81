package catalog

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// RunModel is a model with its provider.
type RunModel struct {
	Model    models.Model    `gorm:"embedded;embeddedPrefix:m_"`
	Provider models.Provider `gorm:"embedded;embeddedPrefix:p_"`
}

const modelColumns = `SELECT m.org_id AS m_org_id, m.id AS m_id, m.provider_id AS m_provider_id, m.name AS m_name,
  m.display_name AS m_display_name, m.enabled AS m_enabled, m.context_window_tokens AS m_context_window_tokens,
  m.max_output_tokens AS m_max_output_tokens, m.price_input AS m_price_input, m.price_output AS m_price_output,
  m.price_cache_read AS m_price_cache_read, m.price_cache_write AS m_price_cache_write,
  m.created_at AS m_created_at, m.updated_at AS m_updated_at,
  p.org_id AS p_org_id, p.id AS p_id, p.name AS p_name, p.kind AS p_kind, p.base_url AS p_base_url,
  p.credentials AS p_credentials, p.lifecycle AS p_lifecycle, p.created_at AS p_created_at, p.updated_at AS p_updated_at
FROM models m JOIN providers p ON p.org_id = m.org_id AND p.id = m.provider_id
`

const modelSQL = modelColumns + `WHERE m.org_id = ? AND m.id = COALESCE(?, (SELECT default_model_id FROM orgs WHERE id = ?))`

// loadModel reads a model with its provider; without an id, the organization's default. It returns nil when there is none.
func loadModel(db *gorm.DB, org models.OrgID, id *models.ModelID) (*RunModel, error) {
	var arg any
	if id != nil {
		arg = *id
	}
	var found []RunModel
	if err := db.Raw(modelSQL, org, arg, org).Scan(&found).Error; err != nil {
		return nil, fmt.Errorf("read a model of %s: %w", org, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}

// problem tells why the model can't be used; nil when it can.
func (m *RunModel) problem() *ModelError {
	e := ModelError{ModelID: &m.Model.ID, Name: m.Model.Name, Provider: m.Provider.Name}
	switch {
	case m.Provider.Lifecycle != models.LifecycleActive:
		e.Reason = ModelProviderArchived
	case !m.Model.Enabled:
		e.Reason = ModelDisabled
	default:
		return nil
	}
	return &e
}
