package secrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// The secrets that each organization has.
const (
	// SecretHooks signs requests to webhooks of hooks.
	SecretHooks = "hooks"
	// SecretWaits signs the tokens by which waits are resolved from outside.
	SecretWaits = "waits"
)

const (
	// maxOrgSecrets bounds what is kept in memory; OrgSecretStaleness how long, so that a rotation reaches every process.
	maxOrgSecrets = 4096
	// OrgSecretStaleness is how long another process may go on with a secret that was replaced.
	OrgSecretStaleness = 5 * time.Second
)

// OrgSecrets keeps random secrets of organizations, sealed. They never leave the server, but for the one of hooks, which
// its receivers need to check signatures. It is safe for concurrent use.
type OrgSecrets struct {
	db     *store.DB
	keeper *Keeper
	clock  clock.Clock

	mu    sync.Mutex
	cache *lru.Cache[orgSecretKey, cachedSecret]
	// rotations counts what was put by Rotate: a value that was read before doesn't replace it.
	rotations uint64
}

type orgSecretKey struct {
	org  models.OrgID
	name string
}

type cachedSecret struct {
	value []byte
	until time.Time
}

// NewOrgSecrets returns the secrets in a database.
func NewOrgSecrets(db *store.DB, keeper *Keeper, clk clock.Clock) (*OrgSecrets, error) {
	cache, err := lru.New[orgSecretKey, cachedSecret](maxOrgSecrets)
	if err != nil {
		return nil, fmt.Errorf("prepare the cache of secrets: %w", err)
	}
	return &OrgSecrets{db: db, keeper: keeper, clock: clk, cache: cache}, nil
}

// Get returns a secret of an organization, 32 bytes. It is made when it is asked for the first time; of several who ask at
// once, in any process, all get the same. The value may be up to OrgSecretStaleness old.
func (s *OrgSecrets) Get(ctx context.Context, org models.OrgID, name string) ([]byte, error) {
	if err := knownSecret(name); err != nil {
		return nil, err
	}
	key := orgSecretKey{org, name}
	s.mu.Lock()
	if c, ok := s.cache.Get(key); ok && s.clock.Now().Before(c.until) {
		s.mu.Unlock()
		return bytes.Clone(c.value), nil
	}
	rotations := s.rotations
	s.mu.Unlock()

	row, err := readOrgSecret(s.db.Read(ctx, org), org, name)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		row, err = s.create(ctx, org, name)
	}
	if err != nil {
		return nil, failedSecret("read", org, name, err)
	}
	value, err := s.keeper.Open(row.Sealed, placeOfOrgSecret(org, name))
	if err != nil {
		return nil, failedSecret("read", org, name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rotations == rotations {
		s.keep(key, value)
	}
	return bytes.Clone(value), nil
}

// HookSecret returns the secret that signs requests to webhooks of hooks.
func (s *OrgSecrets) HookSecret(ctx context.Context, org models.OrgID) ([]byte, error) {
	return s.Get(ctx, org, SecretHooks)
}

// Rotate replaces a secret of an organization and returns the new one. Other processes use it after OrgSecretStaleness at the
// latest.
func (s *OrgSecrets) Rotate(ctx context.Context, org models.OrgID, name string) ([]byte, error) {
	if err := knownSecret(name); err != nil {
		return nil, err
	}
	value, row, err := s.fresh(org, name)
	if err != nil {
		return nil, failedSecret("replace", org, name, err)
	}
	err = s.db.Write(ctx, org, func(tx *gorm.DB) error {
		return tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "org_id"}, {Name: "name"}},
			DoUpdates: clause.AssignmentColumns([]string{"sealed", "created_at"}),
		}).Create(&row).Error
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	// Of two rotations at once this process can't tell which one was the last, and a commit whose answer was lost may
	// have happened: the next Get reads.
	s.rotations++
	s.cache.Remove(orgSecretKey{org, name})
	if err != nil {
		return nil, failedSecret("replace", org, name, missingOrg(org, err))
	}
	return value, nil
}

// create makes a secret unless another one was faster, and returns the row that is there then.
func (s *OrgSecrets) create(ctx context.Context, org models.OrgID, name string) (models.OrgSecret, error) {
	_, row, err := s.fresh(org, name)
	if err != nil {
		return row, err
	}
	var kept models.OrgSecret
	err = s.db.Write(ctx, org, func(tx *gorm.DB) error {
		// It waits for another transaction that makes the same one, and does nothing when that commits.
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return missingOrg(org, err)
		}
		kept, err = readOrgSecret(tx, org, name)
		return err
	})
	return kept, err
}

// fresh makes a new value and its row.
func (s *OrgSecrets) fresh(org models.OrgID, name string) ([]byte, models.OrgSecret, error) {
	value := make([]byte, keyLen)
	if _, err := rand.Read(value); err != nil {
		return nil, models.OrgSecret{}, err
	}
	sealed, err := s.keeper.Seal(value, placeOfOrgSecret(org, name))
	if err != nil {
		return nil, models.OrgSecret{}, err
	}
	return value, models.OrgSecret{OrgID: org, Name: name, Sealed: sealed, CreatedAt: clock.Millis(s.clock)}, nil
}

// keep remembers a value; the lock is held.
func (s *OrgSecrets) keep(key orgSecretKey, value []byte) {
	s.cache.Add(key, cachedSecret{value: bytes.Clone(value), until: s.clock.Now().Add(OrgSecretStaleness)})
}

func readOrgSecret(db *gorm.DB, org models.OrgID, name string) (models.OrgSecret, error) {
	var row models.OrgSecret
	err := store.Of(db, org).Where("name = ?", name).Take(&row).Error
	return row, err
}

func missingOrg(org models.OrgID, err error) error {
	if store.IsMissingReference(err) {
		return fault.New(fault.NotFound, "There is no organization %s.", org)
	}
	return err
}

func knownSecret(name string) error {
	if known := []string{SecretHooks, SecretWaits}; !slices.Contains(known, name) {
		return fmt.Errorf("organizations have no secret %q, only %v", name, known)
	}
	return nil
}

func failedSecret(verb string, org models.OrgID, name string, err error) error {
	return fmt.Errorf("%s the secret %s of %s: %w", verb, name, org, err)
}

func placeOfOrgSecret(org models.OrgID, name string) Place {
	return Place{Org: org, Table: "org_secrets", Column: "sealed", Row: name}
}
