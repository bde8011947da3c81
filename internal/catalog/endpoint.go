package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// Endpoint returns where a provider is asked, and with which key. One without a key of its own gets the server's for its kind, if an
// operator has allowed it to its organization and the provider has no address of its own: the server's key goes nowhere but to the server's
// address.
func (s *Service) Endpoint(ctx context.Context, p *models.Provider) (llm.Endpoint, error) {
	if p.BaseURL == nil && len(p.Credentials) == 0 {
		return s.shared(ctx, p.OrgID, p.Kind), nil
	}
	at := llm.Endpoint{BaseURL: s.environment[p.Kind].BaseURL}
	if p.BaseURL != nil {
		at.BaseURL = strings.TrimRight(*p.BaseURL, "/")
	}
	if len(p.Credentials) > 0 {
		key, err := s.keeper.Open(p.Credentials, credentialsPlace(p))
		if err != nil {
			return llm.Endpoint{}, fmt.Errorf("open the key of provider %s: %w", p.ID, err)
		}
		at.APIKey = string(key)
	}
	return at, nil
}

// shared returns what the environment says of a kind of provider, to an organization: the key only if an operator has allowed it.
func (s *Service) shared(ctx context.Context, org models.OrgID, kind models.ProviderKind) llm.Endpoint {
	at := s.environment[kind]
	if at.APIKey != "" && s.limits.Of(ctx, org).EnvironmentKeys == 0 {
		at.APIKey = ""
	}
	return at
}

// HasCredentials reports whether a provider is asked with a key: one of its own, or the server's.
func (s *Service) HasCredentials(ctx context.Context, p *models.Provider) bool {
	return len(p.Credentials) > 0 || (p.BaseURL == nil && s.shared(ctx, p.OrgID, p.Kind).APIKey != "")
}

// trial returns where a provider would be asked that has just this address and this key; nil for none.
func (s *Service) trial(ctx context.Context, org models.OrgID, kind models.ProviderKind, base, key *string) llm.Endpoint {
	if base == nil && key == nil {
		return s.shared(ctx, org, kind)
	}
	at := llm.Endpoint{BaseURL: s.environment[kind].BaseURL}
	if base != nil {
		at.BaseURL = strings.TrimRight(*base, "/")
	}
	if key != nil {
		at.APIKey = *key
	}
	return at
}
