package model

import "github.com/ostler-dev/ostler/internal/models"

// AuditEntry is something that was done.
type AuditEntry struct {
	ID        string
	Position  int64
	Action    string
	TargetID  *string
	Address   *string
	RequestID *string
	Details   models.JSON
	Hash      string
	CreatedAt models.Millis

	ActorKind models.ActorKind
	ActorID   *models.ActorID
}

// IsNode marks the type as a Node.
func (AuditEntry) IsNode() {}

// GetID implements Node.
func (e AuditEntry) GetID() string { return e.ID }
