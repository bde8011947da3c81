package models

// PasswordReset is the link by which a user may set a new password, of which there is one at a time. Hash is the SHA-256 of its token.
type PasswordReset struct {
	UserID    UserID `gorm:"primaryKey"`
	Hash      []byte
	CreatedAt Millis `gorm:"autoCreateTime:false"`
	ExpiresAt Millis
}
