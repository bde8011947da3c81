package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
)

// version is the state of one row that an Effective was made from. IDs of all entities are held as the same type.
type version struct {
	Kind    int
	ID      models.OrgID
	Version int64
}

const (
	kindHarness = iota + 1
	kindAgent
	kindModel
	kindProvider
	// kindDefault is the organization's default model; its version says nothing, the id does.
	kindDefault
	// kindDefaultHarness is the same for its default harness.
	kindDefaultHarness
)

// versionsSQL reads them all at once. Revisions grow with every change of a harness and an agent, the lifecycle
// included, and the time of the last change does of a model and a provider.
const versionsSQL = `SELECT 1 AS kind, id, revision AS version FROM harnesses WHERE org_id = ? AND id IN ?
UNION ALL SELECT 2, id, revision FROM agents WHERE org_id = ? AND id IN ?
UNION ALL SELECT 3, id, updated_at FROM models WHERE org_id = ? AND id IN ?
UNION ALL SELECT 4, id, updated_at FROM providers WHERE org_id = ? AND id IN ?
UNION ALL SELECT 5, default_model_id, 0 FROM orgs WHERE id IN ?`

// defaultHarnessSQL is what few are made from.
const defaultHarnessSQL = `
UNION ALL SELECT 6, default_harness_id, 0 FROM orgs WHERE id IN ?`

func versionsOf(chain []models.Harness, agent *models.Agent, eff *Effective, defaulted bool, also []version) []version {
	list := append(make([]version, 0, len(chain)+4+len(also)), also...)
	list = appendChain(list, chain)
	if agent != nil {
		list = append(list, version{Kind: kindAgent, ID: models.OrgID(agent.ID), Version: int64(agent.Revision)})
	}
	used := eff.used
	if used != nil {
		list = append(list, version{Kind: kindModel, ID: models.OrgID(used.Model.ID), Version: int64(used.Model.UpdatedAt)},
			version{Kind: kindProvider, ID: models.OrgID(used.Provider.ID), Version: int64(used.Provider.UpdatedAt)})
	}
	// Those that can't be used count as well: they may be usable again.
	for _, m := range eff.fallbacks {
		list = append(list, version{Kind: kindModel, ID: models.OrgID(m.Model.ID), Version: int64(m.Model.UpdatedAt)},
			version{Kind: kindProvider, ID: models.OrgID(m.Provider.ID), Version: int64(m.Provider.UpdatedAt)})
	}
	if defaulted {
		v := version{Kind: kindDefault}
		if used != nil {
			v.ID = models.OrgID(used.Model.ID)
		}
		list = append(list, v)
	}
	sortVersions(list)
	// Models share providers, and the database tells of each row once.
	return slices.Compact(list)
}

// versionsOfLive are what the guards of an agent come from that a draft is tried in the place of, besides the agent itself: its harnesses as they
// are now, and which it is where that is the organization's default.
func versionsOfLive(agent *models.Agent, chain []models.Harness) []version {
	list := appendChain(nil, chain)
	if agent.HarnessID == nil {
		v := version{Kind: kindDefaultHarness}
		if len(chain) > 0 {
			v.ID = models.OrgID(chain[len(chain)-1].ID)
		}
		list = append(list, v)
	}
	return list
}

func appendChain(list []version, chain []models.Harness) []version {
	for i := range chain {
		list = append(list, version{Kind: kindHarness, ID: models.OrgID(chain[i].ID), Version: int64(chain[i].Revision)})
	}
	return list
}

// unchanged reports whether rows still have the versions that they had.
func unchanged(db *gorm.DB, org models.OrgID, before []version) (bool, error) {
	ids := map[int][]models.OrgID{}
	for _, v := range before {
		id := v.ID
		if v.Kind == kindDefault || v.Kind == kindDefaultHarness {
			id = org
		}
		ids[v.Kind] = append(ids[v.Kind], id)
	}
	statement, args := versionsSQL, []any{org, ids[kindHarness], org, ids[kindAgent], org, ids[kindModel], org, ids[kindProvider], ids[kindDefault]}
	if of := ids[kindDefaultHarness]; len(of) > 0 {
		statement, args = statement+defaultHarnessSQL, append(args, of)
	}
	var now []version
	err := db.Raw(statement, args...).Scan(&now).Error
	if err != nil {
		return false, fmt.Errorf("look for changes in the catalog of %s: %w", org, err)
	}
	sortVersions(now)
	return slices.Equal(before, now), nil
}

func sortVersions(list []version) {
	slices.SortFunc(list, func(a, b version) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.ID[:], b.ID[:]))
	})
}
