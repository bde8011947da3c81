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

// MembershipConnection is a page of a list of Membership objects.
type MembershipConnection struct {
	Edges    []*MembershipEdge
	Nodes    []*Membership
	PageInfo *PageInfo
	Count    Count
}

// InvitationConnection is a page of a list of Invitation objects.
type InvitationConnection struct {
	Edges    []*InvitationEdge
	Nodes    []*Invitation
	PageInfo *PageInfo
	Count    Count
}
