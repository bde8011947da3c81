package model

import "github.com/ostler-dev/ostler/internal/models"

// APIKey lets a program act for an organization.
type APIKey struct {
	ID          string
	Name        string
	Prefix      string
	Permissions []Permission
	CreatedAt   models.Millis
	ExpiresAt   *models.Millis
	LastUsedAt  *models.Millis
	RevokedAt   *models.Millis
}

// IsNode marks the type as a Node.
func (APIKey) IsNode() {}

// GetID implements Node.
func (k APIKey) GetID() string { return k.ID }
