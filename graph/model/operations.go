package model

import "github.com/ostler-dev/ostler/internal/models"

// AgentOperations is how the turns of an agent went; AgentID is nil for sessions without one.
type AgentOperations struct {
	Turns       int64
	FailedTurns int
	Usage       *Usage

	AgentID *models.AgentID
}
