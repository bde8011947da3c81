package models

// InvitationEntity is an Invitation.
type InvitationEntity struct{}

// Prefix implements Entity.
func (InvitationEntity) Prefix() string { return "inv" }

// InvitationID is the id of an Invitation.
type InvitationID = ID[InvitationEntity]

// Invitation lets whoever holds its token become a member of an organization, once. It is pending until it is accepted or revoked; one
// that has expired still is, until another one for the same e-mail replaces it.
type Invitation struct {
	OrgID OrgID        `gorm:"primaryKey"`
	ID    InvitationID `gorm:"primaryKey"`
	Email string
	// EmailKey is the e-mail in lower case, as that of a User.
	EmailKey string
	Role     Role
	// TokenHash is the SHA-256 of the token, which is stored nowhere.
	TokenHash []byte
	// InvitedByKind and InvitedBy are who invited; nil of invitations that are older than these columns.
	InvitedByKind *ActorKind
	InvitedBy     *ActorID
	CreatedAt     Millis `gorm:"autoCreateTime:false"`
	ExpiresAt     Millis
	AcceptedAt    *Millis
	RevokedAt     *Millis
}
