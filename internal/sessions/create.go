package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/text/language"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
)

// NewSession is what a session is made from. Without agent and harness the organization's default harness is used.
type NewSession struct {
	AgentID     *models.AgentID
	HarnessID   *models.HarnessID
	ModelID     *models.ModelID
	Title       *string
	Tags        []string
	Locale      *string
	CustomerKey *string
	// ClientTools are run by the caller's own program, in addition to those of the agent.
	ClientTools []models.ClientTool `json:",omitempty"`
	// Draft is tried in the place of the agent, which it may be a later state of; nil for none. Its own harness and models hold.
	Draft          *catalog.NewAgent `json:",omitempty"`
	IdempotencyKey *string           `json:"-"`
}

// Create makes a session. The same idempotency key with the same input gives the same session again.
func (s *Service) Create(ctx context.Context, by *auth.Principal, in NewSession) (*models.Session, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	harness, brings, err := s.basis(ctx, by, in)
	if err != nil {
		return nil, err
	}
	if in.Tags == nil {
		in.Tags = []string{}
	}
	c := &createSession{by: by, id: models.NewID[models.SessionEntity](), in: in, harness: harness, brings: brings, most: s.cfg.Limits.Of(ctx, by.OrgID).Sessions}
	if in.IdempotencyKey != nil {
		c.key = &commit.IdempotencyKey{Operation: "createSession", Key: *in.IdempotencyKey}
		c.hash = inputHash(in)
	}
	if err := s.cfg.Committer.Submit(ctx, c); err != nil {
		return nil, err
	}
	return s.Get(ctx, by.OrgID, c.made)
}

// basis checks what a session is to run with, and returns its harness and what it brings.
func (s *Service) basis(ctx context.Context, by *auth.Principal, in NewSession) (models.HarnessID, setup, error) {
	if in.Draft != nil {
		t, err := s.cfg.Catalog.CheckTrial(ctx, by, in.AgentID, *in.Draft)
		return t.HarnessID, ofDraft(t.Draft), err //nolint:wrapcheck // it says what is wrong
	}
	harness, err := s.cfg.Catalog.CheckSession(ctx, by, catalog.Choice{HarnessID: in.HarnessID, AgentID: in.AgentID, ModelID: in.ModelID})
	if err != nil {
		return harness, setup{}, err
	}
	brings, err := s.ofClientTools(ctx, by.OrgID, harness, in.AgentID, in.ClientTools)
	return harness, brings, err
}

func (in *NewSession) check() error {
	if in.Draft != nil && (in.HarnessID != nil || in.ModelID != nil || len(in.ClientTools) > 0) {
		return fault.New(fault.Invalid, "A draft says itself which harness, model and client tools it has: leave out harnessId, modelId and clientTools.").
			At("input", "draft")
	}
	if err := text.CheckOptional(in.Title, maxTitle, "input", "title"); err != nil {
		return err
	}
	if err := checkTags(in.Tags, "input", "tags"); err != nil {
		return err
	}
	if err := text.CheckOptional(in.CustomerKey, MaxCustomerKey, "input", "customerKey"); err != nil {
		return err
	}
	if in.Locale != nil {
		if _, err := language.Parse(*in.Locale); err != nil {
			return fault.New(fault.Invalid, "%q is not a BCP 47 language tag, e.g. \"en\" or \"pt-BR\".", clip(*in.Locale)).At("input", "locale")
		}
	}
	return checkKey(in.IdempotencyKey)
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

func checkKey(key *string) error {
	if key != nil && *key == "" {
		return fault.New(fault.Invalid, "The idempotency key must not be empty; leave it out instead.").At("input", "idempotencyKey")
	}
	return text.CheckOptional(key, maxKey, "input", "idempotencyKey")
}

// inputHash tells inputs apart that come under the same idempotency key.
func inputHash(in any) []byte {
	b, err := json.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", in, err))
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// createSession makes a session with its first event.
type createSession struct {
	by      *auth.Principal
	id      models.SessionID
	in      NewSession
	harness models.HarnessID
	brings  setup
	// most is how many sessions the organization may have; 0 is any number.
	most int
	key  *commit.IdempotencyKey
	hash []byte

	made models.SessionID
}

func (c *createSession) Needs() commit.Needs {
	return commit.Needs{Org: c.by.OrgID, Session: c.id, Create: true, Idempotency: c.key, Bytes: 2048 + c.brings.bytes}
}

func (c *createSession) Apply(tx *commit.Tx) error {
	if c.key != nil {
		id, found, err := commit.Repeated[models.SessionID](tx, c.hash)
		if err != nil || found {
			c.made = id
			return err
		}
	}
	if tx.SessionsFull(c.most) {
		return sessionsFull(c.most)
	}
	c.made = c.id
	kind, by := c.by.Actor()
	tx.CreateSession(models.Session{
		OrgID: c.by.OrgID, ID: c.id, Title: c.in.Title, HarnessID: c.harness, AgentID: c.in.AgentID, ModelID: c.in.ModelID, Tags: c.in.Tags,
		Locale: c.in.Locale, CustomerKey: c.in.CustomerKey, CreatedByKind: kind, CreatedByID: by.Ptr(), OwnerID: c.by.UserID.Ptr(),
		CreatedAt: tx.Now, Status: models.SessionStarted, Setup: c.brings.Hash, Trial: c.in.Draft != nil,
	})
	c.brings.add(tx)
	tx.TagSession(c.in.Tags)
	tx.Emit(nil, events.SessionStarted{HarnessID: c.harness, AgentID: c.in.AgentID, Title: c.in.Title})
	if c.key != nil {
		tx.Remember(*c.key, c.hash, c.id, tx.Now+models.Millis(commit.RepeatableFor.Milliseconds()))
	}
	return nil
}

// Change is what to change of a session; what is not given stays.
type Change struct {
	Title   catalog.Opt[*string]
	Tags    catalog.Opt[[]string]
	ModelID catalog.Opt[*models.ModelID]
	AgentID catalog.Opt[*models.AgentID]
	// ClientTools replace those that the session brings.
	ClientTools catalog.Opt[[]models.ClientTool]
}

// Update changes a session. A turn that is at work follows at its next step.
func (s *Service) Update(ctx context.Context, by *auth.Principal, id models.SessionID, ch Change) (*models.Session, error) {
	if err := text.CheckOptional(ch.Title.Value, maxTitle, "input", "title"); err != nil {
		return nil, err
	}
	if err := checkTags(ch.Tags.Value, "input", "tags"); err != nil {
		return nil, err
	}
	for {
		c, err := s.prepareUpdate(ctx, by, id, ch)
		if err != nil {
			return nil, err
		}
		if err = s.cfg.Committer.Submit(ctx, c); errors.Is(err, errLookAgain) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return s.Get(ctx, by.OrgID, id)
	}
}

// prepareUpdate checks a change, without a lock, against what the session is now.
func (s *Service) prepareUpdate(ctx context.Context, by *auth.Principal, id models.SessionID, ch Change) (*updateSession, error) {
	have, err := s.Get(ctx, by.OrgID, id)
	if err != nil {
		return nil, err
	}
	choice := catalog.Choice{HarnessID: &have.HarnessID, AgentID: ch.AgentID.Value, ModelID: ch.ModelID.Value}
	if ch.AgentID.Given {
		choice.Was = have
	}
	if choice.ModelID != nil || ch.AgentID.Given {
		if _, err := s.cfg.Catalog.CheckSession(ctx, by, choice); err != nil {
			return nil, err
		}
	}
	c := &updateSession{org: by.OrgID, id: id, change: ch, agent: have.AgentID}
	c.brings, err = s.changedSetup(ctx, have, ch)
	return c, err
}

type updateSession struct {
	org    models.OrgID
	id     models.SessionID
	change Change
	// agent is the session's when the change was checked.
	agent *models.AgentID
	// brings are the new client tools, where the change gives some.
	brings setup
}

func (c *updateSession) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.id, Bytes: 1024 + c.brings.bytes}
}

func (c *updateSession) Apply(tx *commit.Tx) error {
	s := tx.Session
	if s == nil {
		return notFound(c.id)
	}
	if c.change.AgentID.Given && !models.Same(s.AgentID, c.agent) {
		return errLookAgain
	}
	if c.change.Title.Given && !models.Same(s.Title, c.change.Title.Value) {
		s.Title = c.change.Title.Value
		tx.Emit(nil, events.SessionTitleChanged{Title: s.Title})
	}
	if c.change.ModelID.Given && !models.Same(s.ModelID, c.change.ModelID.Value) {
		s.ModelID = c.change.ModelID.Value
		tx.Emit(nil, events.SessionModelChanged{ModelID: s.ModelID})
	}
	if c.change.AgentID.Given {
		s.AgentID = c.change.AgentID.Value
	}
	if c.change.ClientTools.Given {
		s.Setup = c.brings.Hash
		c.brings.add(tx)
	}
	if c.change.Tags.Given && !slices.Equal(s.Tags, c.change.Tags.Value) {
		s.Tags = append([]string{}, c.change.Tags.Value...)
		tx.ReplaceTags(s.Tags)
	}
	tx.SaveDetails()
	return nil
}

func sessionsFull(most int) error {
	return fault.New(fault.LimitReached, "The organization has reached its limit of %d sessions. Ask the operator of this server to raise it.", most)
}
