package orgs

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// StoredBytes returns how many bytes of files and images organizations have stored, each content once. One that has stored nothing is
// left out.
func (s *Service) StoredBytes(ctx context.Context, ids []models.OrgID) (map[models.OrgID]int64, error) {
	var rows []models.OrgStorage
	if err := store.CrossOrg(s.db.ReadAcross(ctx)).Where("org_id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read how much organizations have stored: %w", err)
	}
	bytes := make(map[models.OrgID]int64, len(rows))
	for _, r := range rows {
		bytes[r.OrgID] = r.Bytes
	}
	return bytes, nil
}
