// Package orgs knows people and organizations: the first start, signing in and out, and who belongs where.
package orgs

import (
	"context"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/auth/oidc"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Seeder fills a new organization with what it starts with: providers, models, built-in harnesses; the catalog is one.
type Seeder interface {
	// SeedOrg works in the transaction that creates the organization, whose row is there already.
	SeedOrg(ctx context.Context, tx *gorm.DB, org models.OrgID, now models.Millis) (
		defaultHarness models.HarnessID, defaultModel models.ModelID, err error)
	// DefaultsChanged is called when an organization may have other defaults, after that was committed.
	DefaultsChanged(org models.OrgID)
}

// SecretDeriver derives secrets that all nodes share; secrets.Keeper is one. The current secret comes first.
type SecretDeriver interface {
	Secrets(purpose string) ([][]byte, error)
}

// Config is what a Service works with. All fields are required, but for the administrator's, Limits, Creators, PersonOrgs, Descendants, Resets and Issuer.
type Config struct {
	DB        *store.DB
	Clock     clock.Clock
	Passwords *auth.Passwords
	Tokens    *auth.AccessTokens
	Secrets   SecretDeriver
	Seeder    Seeder
	// AdminEmail and AdminPassword are those of the first owner. They default to admin@localhost and to a random
	// password; see FirstStart.
	AdminEmail, AdminPassword string
	// Limits are what organizations may have; nil for anything.
	Limits *limits.Limits
	// Creators may create organizations; operators and owners when it is empty. PersonOrgs is how many organizations one person may create, 0
	// any number; Descendants is how many may come from one organization: those that its people create, and theirs again. Operators have no
	// such limits.
	Creators    Creators
	PersonOrgs  int
	Descendants int
	// Resets is how forgotten passwords are replaced. Left out, links go nowhere.
	Resets Resets
	// Issuer vouches for people who sign in with OpenID Connect. Left out, nobody does.
	Issuer *oidc.Client
}

// Service is the one place that writes people, organizations, memberships and sign-ins. It is safe for concurrent use.
type Service struct {
	db        *store.DB
	clock     clock.Clock
	passwords *auth.Passwords
	tokens    *auth.AccessTokens
	seeder    Seeder
	admin     credentials

	successors              [][]byte // secrets that refresh tokens are derived with, the current one first
	browsers                [][]byte // secrets that browsers are known by, the current one first
	throttle                *throttle
	resets                  *resets
	issuer                  *oidc.Client // nil for none
	limits                  *limits.Limits
	creators                Creators
	personOrgs, descendants int
	access                  *lru.Cache[tokenHash, accessEntry]
	keyUses                 keyUses
}

type credentials struct{ email, password string }

// New fails when the configuration is incomplete.
func New(cfg Config) (*Service, error) {
	if cfg.DB == nil || cfg.Clock == nil || cfg.Passwords == nil || cfg.Tokens == nil || cfg.Secrets == nil || cfg.Seeder == nil {
		return nil, errors.New("the service of organizations needs a database, a clock, passwords, tokens, secrets and a seeder")
	}
	successors, err := cfg.Secrets.Secrets("refresh tokens")
	if err != nil {
		return nil, fmt.Errorf("derive the secret of refresh tokens: %w", err)
	}
	browsers, err := cfg.Secrets.Secrets("known browsers")
	if err != nil {
		return nil, fmt.Errorf("derive the secret that browsers are known by: %w", err)
	}
	throttle, err := newThrottle()
	if err != nil {
		return nil, err
	}
	resets, err := newResets(cfg.Resets)
	if err != nil {
		return nil, err
	}
	access, err := lru.New[tokenHash, accessEntry](accessEntries)
	if err != nil {
		return nil, fmt.Errorf("make the cache of tokens: %w", err)
	}
	return &Service{
		db: cfg.DB, clock: cfg.Clock, passwords: cfg.Passwords, tokens: cfg.Tokens, seeder: cfg.Seeder,
		admin:      credentials{cfg.AdminEmail, cfg.AdminPassword},
		successors: successors, browsers: browsers, throttle: throttle, resets: resets, limits: cfg.Limits, creators: cfg.Creators, personOrgs: cfg.PersonOrgs, descendants: cfg.Descendants, issuer: cfg.Issuer, access: access,
	}, nil
}

// Org returns an organization that the caller is known to belong to: the principal's, or one of OrgsOf.
func (s *Service) Org(ctx context.Context, id models.OrgID) (models.Org, error) {
	return orgByID(s.db.Read(ctx, id), id)
}

// User returns the user behind a principal, or another one whose id was found in a row that the caller may see.
func (s *Service) User(ctx context.Context, id models.UserID) (models.User, error) {
	u, err := userByID(s.db.ReadAcross(ctx), id)
	if err != nil {
		return models.User{}, err
	}
	if u == nil {
		return models.User{}, fault.New(fault.NotFound, "There is no such user.")
	}
	return *u, nil
}

// Member returns a user of the organization; fault.NotFound for everybody else, whether they exist or not.
func (s *Service) Member(ctx context.Context, org models.OrgID, id models.UserID) (models.User, error) {
	if _, err := membership(s.db.ReadAcross(ctx), org, id); err != nil {
		return models.User{}, err
	}
	return s.User(ctx, id)
}

// Users returns those of the users that exist, by id. The ids must come from rows that the caller may see, never from a
// request: users belong to no organization, and former members still have names.
func (s *Service) Users(ctx context.Context, ids []models.UserID) (map[models.UserID]models.User, error) {
	list, err := usersByID(s.db.ReadAcross(ctx), ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[models.UserID]models.User, len(list))
	for _, u := range list {
		byID[u.ID] = u
	}
	return byID, nil
}

// OrgsOf returns the organizations that a user is a member of, by name.
func (s *Service) OrgsOf(ctx context.Context, user models.UserID) ([]models.Org, error) {
	return orgsOf(s.db.ReadAcross(ctx), user)
}

func orgByID(db *gorm.DB, id models.OrgID) (models.Org, error) {
	found, err := store.First[models.Org](db.Where("id = ?", id))
	if err != nil {
		return models.Org{}, fmt.Errorf("read an organization: %w", err)
	}
	if found == nil {
		return models.Org{}, noSuchOrg()
	}
	return *found, nil
}

// membership returns a user's place in one organization; fault.NotFound when there is none, as for an organization that
// doesn't exist.
func membership(db *gorm.DB, org models.OrgID, user models.UserID) (models.Membership, error) {
	found, err := store.First[models.Membership](store.Of(db, org).Where("user_id = ?", user))
	if err != nil {
		return models.Membership{}, fmt.Errorf("read a membership: %w", err)
	}
	if found == nil {
		return models.Membership{}, noSuchOrg()
	}
	return *found, nil
}

func noSuchOrg() *fault.Error {
	return fault.New(fault.NotFound, "You are not a member of an organization with this id.")
}
