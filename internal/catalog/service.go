// Package catalog keeps what agents are made of: model providers and their models, harnesses, agents and the
// capabilities of them. It also works out what a turn really runs with; see Fold and Effective.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Config is what a Service needs. All fields but Limits, Environment, URLs and Listers are required.
type Config struct {
	DB       *store.DB
	Registry *tools.Registry
	Keeper   *secrets.Keeper
	Clock    clock.Clock
	// Limits are what organizations may have; nil for anything.
	Limits *limits.Limits
	// Environment has the keys and addresses that the server's own environment gives, by the kind of provider.
	Environment map[models.ProviderKind]llm.Endpoint
	// URLs says which addresses providers may have. Without it all are allowed that are well-formed.
	URLs URLChecker
	// Listers ask the providers of a kind for their models. A kind that has none can't be tested.
	Listers map[models.ProviderKind]llm.Lister
}

// URLChecker is what decides where the server may connect to.
type URLChecker interface {
	// CheckURL returns an error for an address that it would not connect to. Its text is shown to users.
	CheckURL(u *url.URL) error
}

// Service is the catalog of all organizations.
type Service struct {
	db       *store.DB
	registry *tools.Registry
	keeper   *secrets.Keeper
	clock    clock.Clock
	cache    *cache
	limits   *limits.Limits

	environment map[models.ProviderKind]llm.Endpoint
	urls        URLChecker
	listers     map[models.ProviderKind]llm.Lister
	known       *knownModels
	probes      *probes
}

// New makes a Service. It fails when the registry lacks a capability that a built-in harness needs.
func New(cfg Config) (*Service, error) {
	for _, b := range builtIns() {
		if _, err := cfg.Registry.Resolve(b.capabilities); err != nil {
			return nil, fmt.Errorf("the built-in harness %s: %w", b.name, err)
		}
	}
	known, err := readKnown(priceTable)
	if err != nil {
		return nil, err
	}
	return &Service{
		db: cfg.DB, registry: cfg.Registry, keeper: cfg.Keeper, clock: cfg.Clock, cache: newCache(cfg.Clock), limits: cfg.Limits,
		environment: cfg.Environment, urls: cfg.URLs, listers: cfg.Listers, known: known, probes: newProbes(cfg.Clock),
	}, nil
}

// Capabilities returns all capabilities that this server offers, each after those that it depends on.
func (s *Service) Capabilities() []tools.Capability { return s.registry.Capabilities() }

// Opt is a field of a change: left out, or given. A given nil clears what can be cleared.
type Opt[T any] struct {
	Given bool
	Value T
}

// Give makes a field that is given.
func Give[T any](v T) Opt[T] { return Opt[T]{Given: true, Value: v} }

// write runs fn in a transaction. What the process remembers of the organization is forgotten when it has committed.
func (s *Service) write(ctx context.Context, org models.OrgID, fn func(tx *gorm.DB) error) error {
	err := s.db.Write(ctx, org, fn)
	// Also after a failure: a commit whose answer was lost may have happened.
	s.cache.forget(org)
	return err
}

// now returns the time of a change of a row that was last changed at before. It always grows, because the cache tells by
// it whether a provider or a model has changed.
func (s *Service) now(before models.Millis) models.Millis {
	return max(clock.Millis(s.clock), before+1)
}

// noun returns how messages name an entity whose ids have the prefix.
func noun(prefix string) string {
	switch prefix {
	case models.ProviderEntity{}.Prefix():
		return "provider"
	case models.ModelEntity{}.Prefix():
		return "model"
	case models.HarnessEntity{}.Prefix():
		return "harness"
	case models.AgentEntity{}.Prefix():
		return "agent"
	case models.SessionEntity{}.Prefix():
		return "session"
	}
	return prefix
}

// unknown is the failure for an id that the organization doesn't have, whether or not another one has it.
func unknown[E models.Entity](id models.ID[E]) *fault.Error {
	var e E
	return fault.New(fault.NotFound, "There is no %s %s.", noun(e.Prefix()), id)
}

// get reads a row of an organization. There being none is a NOT_FOUND.
func get[T any, E models.Entity](db *gorm.DB, org models.OrgID, id models.ID[E]) (*T, error) {
	var row T
	err := store.Of(db, org).Where("id = ?", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", id, org, err)
	}
	return &row, nil
}

// lock reads a row that is about to be changed and keeps others from changing it until the transaction ends. (SQLite has
// one writer anyway.)
func lock[T any, E models.Entity](tx *gorm.DB, org models.OrgID, id models.ID[E]) (*T, error) {
	row, err := get[T](tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org, id)
	if f := fault.As(err); f != nil {
		return nil, f.At("id")
	}
	return row, err
}

// change writes the columns of a row. version names the column that says whether somebody else was faster, and was
// is its value as it was read; with the row locked nobody can be, and this is the proof.
func change[T any, E models.Entity](tx *gorm.DB, org models.OrgID, id models.ID[E], version string, was any, row *T, columns ...string) error {
	res := store.Of(tx.Model(new(T)), org).Where("id = ?", id).Where(clause.Eq{Column: version, Value: was}).
		Select(columns).Updates(row)
	if res.Error != nil {
		return fmt.Errorf("change %s of %s: %w", id, org, res.Error)
	}
	if res.RowsAffected != 1 {
		return fault.New(fault.Conflict, "It was changed at the same time by another request. Read it again, then repeat the change.")
	}
	return nil
}

// taken turns the refusal of a second row of one name into the failure that tells so.
func taken(err error, what, name string) error {
	if store.IsDuplicate(err) {
		return fault.New(fault.Taken, "There is already %s called %q; archived ones count too. Choose another name.", what, name).
			At("input", "name")
	}
	return err
}

// checkRevision refuses a change that was made from an older revision.
func checkRevision(given *int, current int) error {
	if given == nil || *given == current {
		return nil
	}
	return fault.New(fault.Conflict, "Somebody else changed it: the revision is now %d, not %d. Read it again, then repeat the change.",
		current, *given).At("input", "revision")
}

// checkActive refuses to change what is archived or deleted.
func checkActive(what string, l models.Lifecycle) error {
	switch l {
	case models.LifecycleActive:
		return nil
	case models.LifecycleArchived:
		return fault.New(fault.Conflict, "The %s is archived and therefore read-only. Unarchive it first.", what).At("id")
	default:
		return fault.New(fault.Conflict, "The %s is deleted.", what).At("id")
	}
}
