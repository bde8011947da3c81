package catalog

import (
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// Endpoint gives where a provider is asked, and with which key. One without a key of its own gets the server's for its kind, unless it
// has an address of its own: the server's key goes nowhere but to the server's address.
func (s *Service) Endpoint(p *models.Provider) (llm.Endpoint, error) {
	if p.BaseURL == nil && len(p.Credentials) == 0 {
		return s.environment[p.Kind], nil
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

// HasCredentials tells whether a provider is asked with a key: one of its own, or the server's.
func (s *Service) HasCredentials(p *models.Provider) bool {
	return len(p.Credentials) > 0 || (p.BaseURL == nil && s.environment[p.Kind].APIKey != "")
}

// trial gives where a provider would be asked that has just this address and this key; nil for none.
func (s *Service) trial(kind models.ProviderKind, base, key *string) llm.Endpoint {
	if base == nil && key == nil {
		return s.environment[kind]
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
