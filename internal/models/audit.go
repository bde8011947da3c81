package models

// ActorEntity stands for whoever did something: a user, or an API key. An ActorKind tells which; its ids are never shown as such.
type ActorEntity struct{}

// Prefix implements Entity.
func (ActorEntity) Prefix() string { return "actor" }

// ActorID is a UserID or an APIKeyID, as the ActorKind beside it says.
type ActorID = ID[ActorEntity]

// AuditEntryEntity is an AuditEntry.
type AuditEntryEntity struct{}

// Prefix implements Entity.
func (AuditEntryEntity) Prefix() string { return "audit" }

// AuditEntryID is the id of an AuditEntry.
type AuditEntryID = ID[AuditEntryEntity]

// AuditEntry records one thing that was done in an organization. Positions count from 1 without gaps; Hash covers all other
// columns and the hash of the entry before, which PrevHash repeats.
type AuditEntry struct {
	OrgID     OrgID `gorm:"primaryKey"`
	Position  int64 `gorm:"primaryKey;autoIncrement:false"`
	ID        AuditEntryID
	ActorKind ActorKind
	ActorID   *ActorID
	Action    string
	TargetID  string
	Address   string
	RequestID string
	// Details is a JSON object, without secrets; its bytes are hashed as they are.
	Details   string
	CreatedAt Millis `gorm:"autoCreateTime:false"`
	PrevHash  []byte
	Hash      []byte
}

// AuditHead is where the chain of an organization ends.
type AuditHead struct {
	OrgID    OrgID `gorm:"primaryKey"`
	Position int64
	Hash     []byte
}
