package models

// AuditAnchor is where the chain of an organization begins, when retention has removed the entries up to Position. Hash is that of the
// last one of them; Signature covers both, under a secret of the master key that KeyID tells.
type AuditAnchor struct {
	OrgID     OrgID `gorm:"primaryKey"`
	Position  int64
	Hash      []byte
	KeyID     string
	Signature []byte
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}
