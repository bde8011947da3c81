// Package sessions is what users do with sessions: create and change them, send messages, read their turns, messages
// and files. What sessions do by themselves is internal/runtime.
package sessions

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Config is what a Service needs. All fields are required but Secrets, Limits and Dispatch.
type Config struct {
	DB        *store.DB
	Committer *commit.Committer
	Catalog   *catalog.Service
	Clock     clock.Clock
	// Secrets signs the tokens of waits; without it there are none.
	Secrets Secrets
	// Limits are what organizations may have and do; nil for anything.
	Limits *limits.Limits
	// Dispatch reserves a slot of this process for a turn in the transaction that makes it ready; nil where no turns run.
	Dispatch Dispatcher
}

// Dispatcher hands out slots for turns.
type Dispatcher interface {
	// Reserve returns a slot for a turn that is about to be made, when one is free for this organization.
	Reserve(org models.OrgID, turn models.TurnID) (Slot, bool)
}

// Slot is the right to run one turn. One of Run and Free must be called.
type Slot interface {
	// Prepare finds out, before the transaction, what the turn of a message will run with, and returns what claims it.
	Prepare(ctx context.Context, m *turns.SendMessage) *turns.Claim
	// Run works on the turn; session and input are as in the transaction that claimed it.
	Run(t models.Turn, session *models.Session, input *models.Message)
	Free()
}

// Service is the sessions of all organizations.
type Service struct {
	cfg       Config
	workspace *Workspace
	images    *Images
	log       *events.Log
	lineages  *events.Lineages
	// decoy stands for the secrets of waits that don't exist.
	decoy [32]byte
	// strangers counts the tokens of waits that were good for nothing.
	strangers auth.Strangers
}

// New makes a Service.
func New(cfg Config) *Service {
	return &Service{
		cfg: cfg, workspace: NewWorkspace(cfg.DB, cfg.Clock, cfg.Limits), images: NewImages(cfg.DB, cfg.Clock, cfg.Limits), log: events.NewLog(cfg.DB),
		lineages: events.NewLineages(cfg.DB), decoy: newDecoy(),
	}
}

// Images returns the images that messages show.
func (s *Service) Images() *Images { return s.images }

// Limits of what users may write.
const (
	maxTitle = 200
	maxTags  = 20
	maxTag   = 50
	// MaxCustomerKey bounds the key of a customer, in characters.
	MaxCustomerKey = 200
	maxKey         = 200
	// MaxMessageBytes bounds the text of one message.
	MaxMessageBytes = 256 << 10
)

func checkTags(tags []string, path ...string) error {
	if len(tags) > maxTags {
		return fault.New(fault.Invalid, "There are %d tags; at most %d are allowed.", len(tags), maxTags).At(path...)
	}
	for i, t := range tags {
		at := append(append([]string{}, path...), fmt.Sprint(i))
		if strings.TrimSpace(t) == "" {
			return fault.New(fault.Invalid, "A tag must not be empty.").At(at...)
		}
		if err := text.Check(t, maxTag, at...); err != nil {
			return err
		}
	}
	return nil
}

func notFound(id fmt.Stringer) *fault.Error { return fault.New(fault.NotFound, "There is no %s.", id) }

// Get returns a session; NOT_FOUND when the organization has none with this id.
func (s *Service) Get(ctx context.Context, org models.OrgID, id models.SessionID) (*models.Session, error) {
	return one[models.Session](s.of(ctx, org).Where("id = ?", id), id)
}

// Turn returns a turn; NOT_FOUND when the organization has none with this id.
func (s *Service) Turn(ctx context.Context, org models.OrgID, id models.TurnID) (*models.Turn, error) {
	return one[models.Turn](s.of(ctx, org).Where("id = ?", id), id)
}

// Message returns a message; NOT_FOUND when the organization has none with this id.
func (s *Service) Message(ctx context.Context, org models.OrgID, id models.MessageID) (*models.Message, error) {
	return one[models.Message](s.of(ctx, org).Where("id = ?", id), id)
}

func (s *Service) of(ctx context.Context, org models.OrgID) *gorm.DB {
	return store.Of(s.cfg.DB.Read(ctx, org), org)
}

func one[T any](q *gorm.DB, id fmt.Stringer) (*T, error) {
	row, err := store.First[T](q)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	if row == nil {
		return nil, notFound(id)
	}
	return row, nil
}
