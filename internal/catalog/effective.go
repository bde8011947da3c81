package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// DefaultIterations is how often a turn may ask the model when nothing says otherwise.
const DefaultIterations = 100

// Run names what a turn runs with: the session's harness and agent, and the models that the session and the message ask
// for, if they do.
type Run struct {
	HarnessID      models.HarnessID
	AgentID        *models.AgentID
	SessionModelID *models.ModelID
	MessageModelID *models.ModelID
	// Setup is the hash of what the session brings; nil for nothing.
	Setup []byte
}

// Effective is what a turn really runs with: the fold of the harness chain, the agent, the session and the message.
// It is shared between turns and must not be changed.
type Effective struct {
	// SystemPrompt is that of the layers, then the sections of the capabilities.
	SystemPrompt string
	// Model is the model with its provider. It is nil only in previews, when there is none to run with.
	Model *RunModel
	// Fallbacks are asked in this order when Model can't be reached. Those that can't be used are left out.
	Fallbacks []*RunModel
	// Toolset is resolved from the capabilities; its Refs are those in effect, the always-on ones included.
	Toolset tools.Toolset
	// MaxIterations is how often the turn may ask the model.
	MaxIterations int
	// StreamRecovery tells what becomes of an answer that its runner did not live to finish.
	StreamRecovery models.StreamRecovery
	// Origins tells where these come from.
	Origins []Origin
	// HarnessRevision and AgentRevision are what the turn ran with; the latter is nil without an agent, and with a draft of one.
	HarnessRevision int
	AgentRevision   *int
	// Hash is the SHA-256 of all that decides how the turn behaves. Prices and revisions don't.
	Hash [sha256.Size]byte

	// used is the model that was found, also one that can't be used; then modelProblem tells why.
	used *RunModel
	// fallbacks are all that were named, also those that can't be used.
	fallbacks    []*RunModel
	modelProblem *ModelError
}

// EffectiveForSession works out what a turn runs with, now. Errors that end the turn are *DependencyError and *ModelError.
//
// It remembers what it worked out: a hot call reads nothing, and once in a second it asks, in one statement, whether
// anything has changed. So a change made by another process takes effect within Staleness, one made by this
// process at once. A cold call takes three statements, one more with fallback models, and one with what the session brings.
func (s *Service) EffectiveForSession(ctx context.Context, org models.OrgID, run Run) (*Effective, error) {
	eff, err := s.effective(ctx, org, run)
	if err != nil {
		return nil, err
	}
	if eff.modelProblem != nil {
		return nil, eff.modelProblem
	}
	return eff, nil
}

// effective is EffectiveForSession for those who can do without a model.
func (s *Service) effective(ctx context.Context, org models.OrgID, run Run) (*Effective, error) {
	key := cacheKey{org: org, harness: run.HarnessID, setup: string(run.Setup)}
	if run.AgentID != nil {
		key.agent = *run.AgentID
	}
	switch {
	case run.MessageModelID != nil:
		key.model = *run.MessageModelID
	case run.SessionModelID != nil:
		key.model = *run.SessionModelID
	}
	return s.cache.get(ctx, key, source{
		load:  func() (*Effective, []version, error) { return s.loadEffective(s.db.Read(ctx, org), key) },
		check: func(v []version) (bool, error) { return unchanged(s.db.Read(ctx, org), org, v) },
	})
}

// loadEffective reads everything and folds it.
func (s *Service) loadEffective(db *gorm.DB, key cacheKey) (*Effective, []version, error) {
	chain, err := harnessChain(db, key.org, key.harness)
	if err != nil {
		return nil, nil, err
	}
	if len(chain) == 0 {
		return nil, nil, &DependencyError{Dependency: "harness", ID: key.harness.String(), State: models.LifecycleDeleted}
	}
	var agent *models.Agent
	if !key.agent.IsZero() {
		agent, err = get[models.Agent](db, key.org, key.agent)
		if fault.Is(err, fault.NotFound) {
			return nil, nil, &DependencyError{Dependency: "agent", ID: key.agent.String(), State: models.LifecycleDeleted}
		} else if err != nil {
			return nil, nil, err
		}
	}
	setup, err := setupOf(db, key.org, key.setup)
	if err != nil {
		return nil, nil, err
	}
	runs, also := agent, []version(nil)
	if setup.Draft != nil {
		if runs, err = tried(key.org, agent, setup.Draft); err != nil {
			return nil, nil, err
		}
		if agent != nil {
			live, err := s.keepTried(db, agent, runs, chain)
			if err != nil {
				return nil, nil, err
			}
			also = versionsOfLive(agent, live)
		}
	}
	eff, defaulted, err := s.build(db, key.org, chain, runs, setup.Tools, Layer{ModelID: key.model.Ptr()})
	if err != nil {
		return nil, nil, err
	}
	if setup.Draft != nil {
		eff.AgentRevision = nil
	}
	return eff, versionsOf(chain, agent, eff, defaulted, also), nil
}

// build folds what was read, resolves the capabilities, with the client tools of the agent and the session, and finds the model. defaulted reports that nothing named a model, so
// that it is the organization's default.
func (s *Service) build(
	db *gorm.DB, org models.OrgID, chain []models.Harness, agent *models.Agent, session []models.ClientTool, top Layer,
) (*Effective, bool, error) {
	if err := usableChain(chain); err != nil {
		return nil, false, err
	}
	if agent != nil {
		if err := usableAgent(agent); err != nil {
			return nil, false, err
		}
	}
	layers := append(layersOf(chain, agent), top)
	fold := Fold(layers...)
	eff := &Effective{MaxIterations: DefaultIterations, StreamRecovery: models.RecoveryRestart, HarnessRevision: chain[len(chain)-1].Revision}
	if fold.MaxIterations != nil {
		eff.MaxIterations = *fold.MaxIterations
	}
	if fold.StreamRecovery != nil {
		eff.StreamRecovery = *fold.StreamRecovery
	}
	if agent != nil {
		eff.AgentRevision = &agent.Revision
	}
	var err error
	clients, _ := withSession(agent, session)
	if eff.Toolset, err = s.resolve(fold.Capabilities, clients); err != nil {
		return nil, false, err
	}
	sections := make([]string, 0, 8)
	if fold.Prompt != "" {
		sections = append(sections, fold.Prompt)
	}
	for _, sec := range eff.Toolset.Sections() {
		sections = append(sections, sec.Text)
	}
	eff.SystemPrompt = strings.Join(sections, "\n\n")

	if eff.used, err = loadModel(db, org, fold.ModelID); err != nil {
		return nil, false, err
	}
	switch {
	case eff.used != nil:
		eff.modelProblem = eff.used.problem()
	case fold.ModelID != nil:
		eff.modelProblem = &ModelError{Reason: ModelGone, ModelID: fold.ModelID}
	default:
		eff.modelProblem = &ModelError{Reason: ModelNone}
	}
	if eff.modelProblem == nil {
		eff.Model = eff.used
	}
	if eff.fallbacks, err = loadModels(db, org, fold.Fallbacks); err != nil {
		return nil, false, err
	}
	eff.Fallbacks = usableFallbacks(eff.fallbacks, eff.Model)
	defaulted := fold.ModelID == nil
	eff.Origins = originsOf(chain, agent, layers, eff.Toolset.Refs(), defaulted)
	eff.Hash, err = eff.hash()
	return eff, defaulted, err
}

// resolve asks the registry for capabilities that were valid when they were attached. One that isn't any more has vanished
// from this server, or its settings mean nothing to it. A client tool may have the name of one that came to the harness later. What can't be worked out from good settings is a
// *tools.ContributionError: the step is tried again.
func (s *Service) resolve(refs []models.CapabilityRef, clients []models.ClientTool) (tools.Toolset, error) {
	set, err := s.registry.ResolveWith(refs, clients)
	if err == nil {
		return set, nil
	}
	if aboutClientTools(err) {
		return set, &DependencyError{Dependency: "client tool", State: models.LifecycleDeleted, Reason: fault.As(err).Message}
	}
	if c, ok := errors.AsType[*tools.ContributionError](err); ok {
		return set, c
	}
	for _, r := range refs {
		if s.registry.ValidateConfig(r) != nil {
			return set, &DependencyError{Dependency: "capability", ID: r.ID, Name: r.ID, State: models.LifecycleDeleted}
		}
	}
	return set, fmt.Errorf("resolve capabilities: %w", err)
}

// modelIdentity is what of a model decides how a turn behaves.
type modelIdentity struct {
	Provider models.ProviderID
	Kind     models.ProviderKind
	BaseURL  *string
	Model    string
}

func (e *Effective) hash() ([sha256.Size]byte, error) {
	in := struct {
		Prompt        string
		Tools         []tools.Manifest
		Refs          []models.CapabilityRef
		MaxIterations int
		Provider      models.ProviderID
		Kind          models.ProviderKind
		BaseURL       *string
		Model         string
		Fallbacks     []modelIdentity `json:",omitempty"`
		// StreamRecovery is left out where it is the default, so that hashes stay what they were.
		StreamRecovery models.StreamRecovery `json:",omitempty"`
	}{Prompt: e.SystemPrompt, Tools: slices.Collect(e.Toolset.Manifests()), Refs: e.Toolset.Refs(), MaxIterations: e.MaxIterations}
	if m := e.Model; m != nil {
		in.Provider, in.Kind, in.BaseURL, in.Model = m.Provider.ID, m.Provider.Kind, m.Provider.BaseURL, m.Model.Name
	}
	for _, m := range e.Fallbacks {
		in.Fallbacks = append(in.Fallbacks, modelIdentity{m.Provider.ID, m.Provider.Kind, m.Provider.BaseURL, m.Model.Name})
	}
	if e.StreamRecovery != models.RecoveryRestart {
		in.StreamRecovery = e.StreamRecovery
	}
	b, err := json.Marshal(in) //nolint:musttag // hashed, never read back
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("hash a configuration: %w", err)
	}
	return sha256.Sum256(b), nil
}
