package orgs

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// apiKeyMark begins every key, so that people and scanners for leaked secrets know one when they see it.
	apiKeyMark     = "ost_"
	apiKeyLetters  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	apiKeyRandom   = 40
	apiKeyPrefix   = len(apiKeyMark) + 8
	maxPermissions = 100
)

// NewAPIKey is what a key is created from.
type NewAPIKey struct {
	Name string
	// Permissions are names of the schema's enum.
	Permissions []string
	// ExpiresAt is nil for a key that lasts until it is revoked.
	ExpiresAt *models.Millis
}

// CreateAPIKey makes a key of the caller's organization, and returns it with the key itself, which is shown this once. Who holds less than
// the key is to hold is FORBIDDEN to.
func (s *Service) CreateAPIKey(ctx context.Context, by *auth.Principal, in NewAPIKey) (*models.APIKey, string, error) {
	name, err := cleanName(in.Name)
	if err != nil {
		return nil, "", at(err, "input", "name")
	}
	wanted, err := keyPermissions(in.Permissions)
	if err != nil {
		return nil, "", at(err, "input", "permissions")
	}
	now := clock.Millis(s.clock)
	if in.ExpiresAt != nil && *in.ExpiresAt <= now {
		return nil, "", fault.New(fault.Invalid, "The expiry is in the past. Choose a time in the future, or none.").At("input", "expiresAt")
	}
	key, err := newAPIKey()
	if err != nil {
		return nil, "", err
	}
	row := models.APIKey{
		OrgID: by.OrgID, ID: models.NewID[models.APIKeyEntity](), Name: name, Prefix: key[:apiKeyPrefix], Hash: hashAPIKey(key),
		Permissions: wanted.Names(), CreatedBy: cmp.Or(by.UserID, by.MadeBy).Ptr(), CreatedAt: now, ExpiresAt: in.ExpiresAt,
	}
	most := s.limits.Of(ctx, by.OrgID).APIKeys
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		if err := checkKeyQuota(tx, by.OrgID, most); err != nil {
			return err
		}
		held, err := holdPermissions(tx, by, now)
		if err != nil {
			return err
		}
		if more := wanted &^ held; more != 0 {
			return fault.New(fault.Forbidden, "A key can't have permissions that its creator lacks, and you lack %s.",
				strings.Join(more.Names(), ", ")).At("input", "permissions")
		}
		if err := tx.Create(&row).Error; err != nil {
			return fmt.Errorf("store an API key: %w", err)
		}
		return audit.RecordBy(ctx, tx, now, by, "apiKey.created", row.ID.String(), map[string]any{"after": describeKey(&row)})
	})
	if err != nil {
		return nil, "", err
	}
	return &row, key, nil
}

// RevokeAPIKey ends a key for good: requests with it are refused, and open streams end within seconds. Repeating it changes nothing.
func (s *Service) RevokeAPIKey(ctx context.Context, by *auth.Principal, id models.APIKeyID) (*models.APIKey, error) {
	var row models.APIKey
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var err error
		if row, err = one[models.APIKey](tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), by.OrgID, id, "API key"); err != nil {
			return at(err, "id")
		}
		if row.RevokedAt != nil {
			return nil
		}
		before := describeKey(&row)
		now := clock.Millis(s.clock)
		row.RevokedAt = &now
		err = store.OneRow(store.Of(tx.Model(&models.APIKey{}), by.OrgID).Where("id = ?", id).Update("revoked_at", now))
		if err != nil {
			return fmt.Errorf("revoke %s: %w", id, err)
		}
		return audit.RecordBy(ctx, tx, now, by, "apiKey.revoked", id.String(), map[string]any{"before": before})
	})
	if err != nil {
		return nil, err
	}
	s.forget(func(p *auth.Principal) bool { return p.KeyID == id })
	return &row, nil
}

// APIKey returns a key of the organization, revoked ones too.
func (s *Service) APIKey(ctx context.Context, org models.OrgID, id models.APIKeyID) (*models.APIKey, error) {
	k, err := one[models.APIKey](s.db.Read(ctx, org), org, id, "API key")
	return &k, err
}

// APIKeysByID reads several keys; those that the organization doesn't have are left out.
func (s *Service) APIKeysByID(ctx context.Context, org models.OrgID, ids []models.APIKeyID) ([]models.APIKey, error) {
	return store.ByIDs[models.APIKey](s.db.Read(ctx, org), org, ids)
}

// ListAPIKeys returns the organization's keys, revoked and expired ones too, newest first: at most limit of those after a position.
func (s *Service) ListAPIKeys(ctx context.Context, org models.OrgID, after *models.APIKeyID, limit int) ([]models.APIKey, error) {
	return store.Page[models.APIKey](s.db.Read(ctx, org), org, after, limit)
}

// CountAPIKeys counts what ListAPIKeys lists, as far as store.MaxCount.
func (s *Service) CountAPIKeys(ctx context.Context, org models.OrgID) (int, error) {
	return store.Count[models.APIKey](s.db.Read(ctx, org), s.db.Read(ctx, org), org)
}

// keyPermissions reads what a key is to hold, with what that implies.
func keyPermissions(names []string) (auth.Permissions, error) {
	if len(names) > maxPermissions {
		return 0, fault.New(fault.Invalid, "%d permissions are too many: list each one once.", len(names))
	}
	var set auth.Permissions
	for _, name := range names {
		p, ok := auth.ParsePermission(name)
		if !ok {
			return 0, fault.New(fault.Invalid, "There is no permission %q.", clip(name))
		}
		set |= auth.PermissionsOf(p)
	}
	if platform := set & auth.Platform(); platform != 0 {
		return 0, fault.New(fault.Forbidden, "%s is for operators only and can't be given to a key.", strings.Join(platform.Names(), ", "))
	}
	return set.Implied(), nil
}

// heldPermissions returns what a key may do. Names that this version doesn't know, and those that no key may have, count for nothing.
func heldPermissions(names []string) auth.Permissions {
	var set auth.Permissions
	for _, name := range names {
		if p, ok := auth.ParsePermission(name); ok {
			set |= auth.PermissionsOf(p)
		}
	}
	return (set &^ auth.Platform()).Implied()
}

// holdPermissions reads what the caller may do now, and keeps it from being taken away until the transaction ends: what the principal
// says may be seconds old, and the key that is made would outlive it.
func holdPermissions(tx *gorm.DB, by *auth.Principal, now models.Millis) (auth.Permissions, error) {
	tx = tx.Clauses(clause.Locking{Strength: "SHARE"})
	gone := fault.New(fault.Forbidden, "You may no longer create keys in this organization.")
	if by.IsKey() {
		own, err := one[models.APIKey](tx, by.OrgID, by.KeyID, "API key")
		if fault.Is(err, fault.NotFound) {
			return 0, gone
		}
		if err != nil {
			return 0, err
		}
		held := heldPermissions(own.Permissions)
		if own.RevokedAt != nil || (own.ExpiresAt != nil && *own.ExpiresAt <= now) || !held.Has(auth.APIKeysManage) {
			return 0, gone
		}
		return held, nil
	}
	m, err := membership(tx, by.OrgID, by.UserID)
	if fault.Is(err, fault.NotFound) {
		return 0, gone
	}
	if err != nil {
		return 0, err
	}
	held := auth.RolePermissions(m.Role, false)
	if !held.Has(auth.APIKeysManage) {
		return 0, gone
	}
	return held, nil
}

// describeKey returns what an audit entry tells of a key.
func describeKey(k *models.APIKey) map[string]any {
	d := map[string]any{"name": k.Name, "prefix": k.Prefix, "permissions": k.Permissions}
	if k.ExpiresAt != nil {
		d["expiresAt"] = k.ExpiresAt
	}
	return d
}

// newAPIKey makes a key of letters and digits, each as likely as the others.
func newAPIKey() (string, error) {
	// Bytes from here on would make some characters likelier than others.
	const fair = 256 - 256%len(apiKeyLetters)
	key := append(make([]byte, 0, len(apiKeyMark)+apiKeyRandom), apiKeyMark...)
	raw := make([]byte, 2*apiKeyRandom)
	for {
		if _, err := rand.Read(raw); err != nil {
			return "", fmt.Errorf("make an API key: %w", err)
		}
		for _, b := range raw {
			if int(b) >= fair {
				continue
			}
			if key = append(key, apiKeyLetters[int(b)%len(apiKeyLetters)]); len(key) == cap(key) {
				return string(key), nil
			}
		}
	}
}

// isAPIKey tells keys from access tokens.
func isAPIKey(token string) bool { return strings.HasPrefix(token, apiKeyMark) }

// wellFormedKey refuses what can be no key of ours, so that it costs no look-up.
func wellFormedKey(token string) bool {
	random, ok := strings.CutPrefix(token, apiKeyMark)
	return ok && len(random) == apiKeyRandom &&
		!strings.ContainsFunc(random, func(r rune) bool { return !strings.ContainsRune(apiKeyLetters, r) })
}

// hashAPIKey needs no salt and no slow hash: a key has 238 bits of chance.
func hashAPIKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// needPerson refuses keys where only a person can be meant.
func needPerson(p *auth.Principal, deed string) error {
	if p.IsKey() {
		return fault.New(fault.Forbidden, "An API key can't %s: only a signed-in person can.", deed)
	}
	return nil
}
