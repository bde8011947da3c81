package model

import "github.com/ostler-dev/ostler/internal/models"

// Membership is a person's place in an organization.
type Membership struct {
	ID        string
	Role      Role
	CreatedAt models.Millis

	UserID models.UserID
}

// IsNode marks the type as a Node.
func (Membership) IsNode() {}

// GetID implements Node.
func (o Membership) GetID() string { return o.ID }
