package models

// Identity is who a user is to an issuer of OpenID Connect. A user has one at most with each issuer.
type Identity struct {
	Issuer    string `gorm:"primaryKey"`
	Subject   string `gorm:"primaryKey"`
	UserID    UserID
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}

// SpentState is the SHA-256 of the state of a sign-in with OpenID Connect that was finished, or tried to: it can't be a second time.
type SpentState struct {
	Hash      []byte `gorm:"primaryKey"`
	ExpiresAt Millis
}
