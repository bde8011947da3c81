package orgs

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// RefreshTokenLifetime is how long a refresh token that isn't used is good for.
	RefreshTokenLifetime = 30 * 24 * time.Hour
	// refreshGrace is how long a spent refresh token still gives the same successor: two tabs may refresh at once, and
	// an answer may get lost.
	refreshGrace = 30 * time.Second

	refreshTokenBytes = 32
)

// SignedIn is what signing in, refreshing and switching return.
type SignedIn struct {
	Access, Refresh               string
	AccessExpires, RefreshExpires time.Time
	// Transport is how the tokens must travel: with auth.TransportCookie they must not be in the answer.
	Transport string
	Org       models.Org
	User      models.User
	// Browser is what a browser proves later that it has signed in to the account before.
	Browser string
	// Principal is who is signed in now.
	Principal *auth.Principal
}

// family is a sign-in with what its tokens say.
type family struct {
	signIn models.SignIn
	user   models.User
	org    models.Org
	role   models.Role
}

// signedIn makes an access token to go with a refresh token.
func (s *Service) signedIn(ctx context.Context, f family, refresh string, refreshExpires models.Millis) (*SignedIn, error) {
	access, expires, err := s.tokens.Issue(ctx, auth.Claims{
		UserID: f.user.ID, OrgID: f.org.ID, SignInID: f.signIn.ID, Role: f.role,
	})
	if err != nil {
		return nil, err
	}
	return &SignedIn{
		Access: access, AccessExpires: expires, Refresh: refresh, RefreshExpires: refreshExpires.Time(),
		Transport: f.signIn.Transport, Org: f.org, User: f.user, Browser: s.browserProof(f.user.EmailKey),
		Principal: &auth.Principal{
			UserID: f.user.ID, OrgID: f.org.ID, SignInID: f.signIn.ID, Role: f.role, Operator: f.user.Operator,
			Permissions: auth.RolePermissions(f.role, f.user.Operator), Transport: f.signIn.Transport, ExpiresAt: expires,
		},
	}, nil
}

// newRefreshToken stores a random refresh token for a sign-in.
func newRefreshToken(tx *gorm.DB, signIn models.SignInID, now models.Millis) (string, models.Millis, error) {
	raw := make([]byte, refreshTokenBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", 0, fmt.Errorf("make a refresh token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(raw)
	row, err := storeRefreshToken(tx, token, signIn, now)
	return token, row.ExpiresAt, err
}

func storeRefreshToken(tx *gorm.DB, token string, signIn models.SignInID, now models.Millis) (models.RefreshToken, error) {
	row := models.RefreshToken{
		Hash: hashRefreshToken(token), SignInID: signIn, CreatedAt: now,
		ExpiresAt: models.MillisOf(now.Time().Add(RefreshTokenLifetime)),
	}
	if err := tx.Create(&row).Error; err != nil {
		return row, fmt.Errorf("store a refresh token: %w", err)
	}
	return row, nil
}

// successor derives the token that a spent one is exchanged for. Only the server can, so that giving it out twice needs
// no copy of it in the database.
func successor(secret []byte, spent string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(spent))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func hashRefreshToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func isRefreshToken(token string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return err == nil && len(raw) == refreshTokenBytes
}

// wrongPassword is the one answer for everything that can be wrong with an email and a password.
func wrongPassword() *fault.Error {
	return fault.New(fault.InvalidCredentials, "Wrong email or password.")
}

// signInEnded is the one answer for everything that can be wrong with a refresh token.
func signInEnded() *fault.Error {
	return fault.New(fault.InvalidCredentials, "Your sign-in has expired or was ended. Sign in again.")
}
