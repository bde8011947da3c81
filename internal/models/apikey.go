package models

// APIKeyEntity is an APIKey.
type APIKeyEntity struct{}

// Prefix implements Entity.
func (APIKeyEntity) Prefix() string { return "key" }

// APIKeyID is the id of an APIKey.
type APIKeyID = ID[APIKeyEntity]

// APIKey lets a program act for an organization. The key itself is kept nowhere: Hash is its SHA-256, and Prefix how it begins.
type APIKey struct {
	OrgID  OrgID    `gorm:"primaryKey"`
	ID     APIKeyID `gorm:"primaryKey"`
	Name   string
	Prefix string
	Hash   []byte
	// Permissions are names of the schema's enum.
	Permissions []string `gorm:"serializer:json;type:json"`
	// CreatedBy is the person who made it, or who made the key that it was made with; nil for older keys where that is not known.
	CreatedBy *UserID
	CreatedAt Millis `gorm:"autoCreateTime:false"`
	ExpiresAt *Millis
	// LastUsedAt is right to a minute or so.
	LastUsedAt *Millis
	RevokedAt  *Millis
}
