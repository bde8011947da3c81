package sessions

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// ClientToolsets gives sets of client tools by their hashes, as strings of bytes. Those that the organization doesn't have are left out.
func (s *Service) ClientToolsets(ctx context.Context, org models.OrgID, hashes []string) (map[string][]models.ClientTool, error) {
	keys := make([][]byte, len(hashes))
	for i, h := range hashes {
		keys[i] = []byte(h)
	}
	var rows []models.ClientToolset
	if len(keys) > 0 {
		if err := s.of(ctx, org).Where("hash IN ?", keys).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("read %d sets of client tools: %w", len(hashes), err)
		}
	}
	found := make(map[string][]models.ClientTool, len(rows))
	for _, row := range rows {
		found[string(row.Hash)] = row.Tools
	}
	return found, nil
}
