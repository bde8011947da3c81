package model

import "github.com/ostler-dev/ostler/internal/models"

// UsageRow is what was used by one group. What was not asked to be grouped by is nil, as is what the group has none of.
type UsageRow struct {
	Day         *string
	CustomerKey *string
	Tool        *string
	Usage       *Usage
	Turns       int64
	ModelCalls  int64
	ToolCalls   int64

	ModelID   *models.ModelID
	AgentID   *models.AgentID
	UserID    *models.UserID
	SessionID *models.SessionID
}
