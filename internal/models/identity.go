package models

// Org is a tenant.
type Org struct {
	ID               OrgID `gorm:"primaryKey"`
	Name             string
	Slug             string
	DefaultHarnessID *HarnessID
	DefaultModelID   *ModelID
	// AllowUnpriced lets models without a price run under budgets in dollars, which they then take nothing of.
	AllowUnpriced bool
	// CreatedBy is the person who created it; nil for the first one.
	CreatedBy *UserID
	// RootID is the organization from which it descends: its creator acted from there, or from another descendant. It is nil for the first
	// one and those of operators, from which others descend.
	RootID    *OrgID
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}

// User is a person. EmailKey is the e-mail in lower case, by which it is unique. PasswordHash is empty for somebody who signs in with an
// Identity only.
type User struct {
	ID           UserID `gorm:"primaryKey"`
	Email        string
	EmailKey     string
	Name         string
	PasswordHash string
	Operator     bool
	// LastOrgID is where the user signed in last; sign-ins that name no organization go there.
	LastOrgID *OrgID
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}

// Membership makes a user a member of an organization.
type Membership struct {
	OrgID     OrgID        `gorm:"primaryKey"`
	ID        MembershipID `gorm:"primaryKey"`
	UserID    UserID
	Role      Role
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}

// SignIn is one device or program that is signed in: the family of its refresh tokens.
type SignIn struct {
	ID         SignInID `gorm:"primaryKey"`
	UserID     UserID
	OrgID      OrgID
	Transport  string
	Address    string
	UserAgent  string
	CreatedAt  Millis `gorm:"autoCreateTime:false"`
	LastUsedAt Millis
	RevokedAt  *Millis
}

// RefreshToken is the SHA-256 of a refresh token. A spent one still tells who uses it again.
type RefreshToken struct {
	Hash      []byte `gorm:"primaryKey"`
	SignInID  SignInID
	CreatedAt Millis `gorm:"autoCreateTime:false"`
	ExpiresAt Millis
	SpentAt   *Millis
}

// SigningKey signs access tokens. The private key is sealed under the master key.
type SigningKey struct {
	ID         string `gorm:"primaryKey"`
	PublicKey  []byte
	PrivateKey []byte
	CreatedAt  Millis `gorm:"autoCreateTime:false"`
	RetiredAt  *Millis
}

// MasterKey remembers which master key this database belongs to, by a fingerprint and a sealed known value.
type MasterKey struct {
	ID        string `gorm:"primaryKey"`
	Sealed    []byte
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}

// OrgSecret is a random secret of an organization, for one purpose. It is sealed under the master key.
type OrgSecret struct {
	OrgID     OrgID  `gorm:"primaryKey"`
	Name      string `gorm:"primaryKey"`
	Sealed    []byte
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}
