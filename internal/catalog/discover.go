package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// maxDiscovered bounds a list of models that a provider gives.
const maxDiscovered = 1000

// ProviderTest is what to test: a provider that is there, alone or with an address or a key to try, or what a new one would have.
type ProviderTest struct {
	ID              *models.ProviderID
	Kind            *models.ProviderKind
	BaseURL, APIKey *string
}

// Probe is what came of asking a provider for its models.
type Probe struct {
	// Failure tells why the provider gave none; nil when it did.
	Failure *llm.Error
	Models  []llm.ModelInfo
	Took    time.Duration
}

// TestProvider asks a provider for its models, which also shows whether the key is good. Nothing is stored. A stored key goes nowhere but
// to the stored address.
func (s *Service) TestProvider(ctx context.Context, by *auth.Principal, in ProviderTest) (Probe, error) {
	kind, at, err := s.testEndpoint(ctx, by.OrgID, in)
	if err != nil {
		return Probe{}, err
	}
	return s.probe(ctx, by.OrgID, kind, at)
}

func (s *Service) testEndpoint(ctx context.Context, org models.OrgID, in ProviderTest) (models.ProviderKind, llm.Endpoint, error) {
	if (in.ID == nil) == (in.Kind == nil) {
		return "", llm.Endpoint{}, fault.New(fault.Invalid, "Pass the id of a provider, or the kind of a new one.").At("input")
	}
	if in.APIKey != nil {
		if err := checkKey(*in.APIKey); err != nil {
			return "", llm.Endpoint{}, err
		}
	}
	if in.ID != nil {
		return s.storedEndpoint(ctx, org, in)
	}
	if !speaks(*in.Kind) {
		return "", llm.Endpoint{}, invalid("kind", "This server does not support the protocol %q.", *in.Kind)
	}
	base, err := s.checkBaseURL(*in.Kind, in.BaseURL)
	return *in.Kind, s.trial(ctx, org, *in.Kind, base, in.APIKey), err
}

// storedEndpoint returns where to ask a stored provider, with what is to be tried of it.
func (s *Service) storedEndpoint(ctx context.Context, org models.OrgID, in ProviderTest) (models.ProviderKind, llm.Endpoint, error) {
	p, err := s.Provider(ctx, org, *in.ID)
	if f := fault.As(err); f != nil {
		return "", llm.Endpoint{}, f.At("input", "id")
	}
	if err != nil {
		return "", llm.Endpoint{}, err
	}
	base, err := cleanBaseURL(in.BaseURL)
	if err != nil {
		return "", llm.Endpoint{}, err
	}
	if base == nil {
		base = p.BaseURL
	}
	// The stored address is checked as well: what is allowed may have changed since.
	if base, err = s.checkBaseURL(p.Kind, base); err != nil {
		return "", llm.Endpoint{}, err
	}
	if in.APIKey != nil {
		return p.Kind, s.trial(ctx, org, p.Kind, base, in.APIKey), nil
	}
	if equalPtr(base, p.BaseURL) {
		at, err := s.Endpoint(ctx, p)
		return p.Kind, at, err
	}
	if len(p.Credentials) > 0 {
		return "", llm.Endpoint{}, invalid("apiKey", "The stored key is only sent to the stored address. To try another baseUrl, pass apiKey too.")
	}
	return p.Kind, s.trial(ctx, org, p.Kind, base, nil), nil
}

// probe asks a provider for its models, within the limits of the organization.
func (s *Service) probe(ctx context.Context, org models.OrgID, kind models.ProviderKind, at llm.Endpoint) (Probe, error) {
	lister := s.listers[kind]
	if lister == nil {
		return Probe{}, fault.New(fault.Invalid, "This server can't list the models of providers of the kind %s.", kind).At("input", "kind")
	}
	if at.APIKey == "" && kind.NeedsKey() { // the address may be the operator's
		return Probe{Failure: &llm.Error{Code: llm.CodeMisconfigured, Message: "The provider has no API key. Enter one."}}, nil
	}
	done, err := s.probes.begin(org)
	if err != nil {
		return Probe{}, err
	}
	defer done()
	began := s.clock.Now()
	list, err := ask(ctx, lister, at)
	p := Probe{Models: list, Took: max(0, s.clock.Now().Sub(began))}
	if err != nil {
		failure, ok := errors.AsType[*llm.Error](err)
		if !ok {
			return Probe{}, fmt.Errorf("ask a provider of %s for its models: %w", org, err)
		}
		p.Failure = failure
	}
	return p, nil
}

// ask asks for probeTimeout at most. Running out of it is the provider's failure; the end of ctx is not.
func ask(ctx context.Context, lister llm.Lister, at llm.Endpoint) ([]llm.ModelInfo, error) {
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	list, err := lister.Models(within, at)
	switch {
	case err == nil:
		return list, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the request to the provider was abandoned: %w", ctx.Err())
	case within.Err() != nil:
		return nil, &llm.Error{
			Code: llm.CodeUnavailable, Transient: true, Cause: err,
			Message: fmt.Sprintf("The provider did not answer within %d seconds. Check the base URL, or try again later.", int(probeTimeout.Seconds())),
		}
	}
	return nil, err
}

// Discover returns the models that a stored provider lists, in its order, with what the table of well-known models adds.
func (s *Service) Discover(ctx context.Context, by *auth.Principal, id models.ProviderID) ([]Known, error) {
	p, err := s.Provider(ctx, by.OrgID, id)
	if f := fault.As(err); f != nil {
		return nil, f.At("providerId")
	}
	if err != nil {
		return nil, err
	}
	_, at, err := s.storedEndpoint(ctx, by.OrgID, ProviderTest{ID: &id})
	if f := fault.As(err); f != nil {
		return nil, f.At("providerId")
	}
	if err != nil {
		return nil, err
	}
	probe, err := s.probe(ctx, by.OrgID, p.Kind, at)
	if f := fault.As(err); f != nil {
		return nil, f.At("providerId")
	}
	if err != nil {
		return nil, err
	}
	if probe.Failure != nil {
		return nil, probeFault(probe.Failure).At("providerId")
	}
	return s.discovered(p.Kind, probe.Models), nil
}

// probeFault tells of a provider's failure where there is no room for more than a failed request.
func probeFault(e *llm.Error) *fault.Error {
	if e.Code == llm.CodeRateLimited {
		f := fault.New(fault.RateLimited, "%s", e.Message)
		f.RetryAfterSeconds = int((e.RetryAfter + time.Second - 1) / time.Second)
		return f
	}
	return fault.New(fault.Dependency, "%s", e.Message)
}

// discovered joins what a provider told with what is known. The provider is another's server: names that can't be stored are left out,
// and so are figures that make no sense.
func (s *Service) discovered(kind models.ProviderKind, list []llm.ModelInfo) []Known {
	out := make([]Known, 0, min(len(list), maxDiscovered))
	seen := map[string]bool{}
	for _, info := range list {
		name := strings.TrimSpace(info.Name)
		if seen[name] || checkLine("name", name, maxDisplayName) != nil {
			continue
		}
		seen[name] = true
		m := Known{Name: name, DisplayName: name}
		if known := s.known.find(kind, name); known != nil {
			m = *known
			m.Name = name
		}
		if display := strings.TrimSpace(info.DisplayName); checkLine("displayName", display, maxDisplayName) == nil {
			m.DisplayName = display
		}
		fillKnown(&m.ContextWindowTokens, info.ContextWindowTokens)
		fillKnown(&m.MaxOutputTokens, info.MaxOutputTokens)
		if out = append(out, m); len(out) == maxDiscovered {
			break
		}
	}
	return out
}

func fillKnown(to **int, n int) {
	if n > 0 && n <= maxTokensCap {
		*to = &n
	}
}

// ModelName is a model as its provider calls it.
type ModelName struct {
	ProviderID models.ProviderID
	Name       string
}

// ModelsByName reads the models of these names, in one statement; those that the organization doesn't have are left out.
func (s *Service) ModelsByName(ctx context.Context, org models.OrgID, names []ModelName) ([]models.Model, error) {
	if len(names) == 0 {
		return nil, nil
	}
	providers := make([]models.ProviderID, 0, 1)
	list := make([]string, len(names))
	known := map[models.ProviderID]bool{}
	for i, n := range names {
		list[i] = n.Name
		if !known[n.ProviderID] {
			known[n.ProviderID] = true
			providers = append(providers, n.ProviderID)
		}
	}
	var rows []models.Model
	// This may find a name of another of the providers too, which does no harm.
	err := store.Of(s.db.Read(ctx, org), org).Where("provider_id IN ?", providers).Where("name IN ?", list).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read models of %s by their names: %w", org, err)
	}
	return rows, nil
}
