package catalog

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
)

// NewProvider is what a provider is made from.
type NewProvider struct {
	Name    string
	Kind    models.ProviderKind
	BaseURL *string
	APIKey  *string
}

// ProviderChange is a change of a provider.
type ProviderChange struct {
	Name    Opt[*string]
	BaseURL Opt[*string]
	APIKey  Opt[*string]
}

// Provider reads a provider.
func (s *Service) Provider(ctx context.Context, org models.OrgID, id models.ProviderID) (*models.Provider, error) {
	return get[models.Provider](s.db.Read(ctx, org), org, id)
}

// CreateProvider adds a provider. The key is stored sealed and never given out again.
func (s *Service) CreateProvider(ctx context.Context, by *auth.Principal, in NewProvider) (*models.Provider, error) {
	now := clock.Millis(s.clock)
	row := models.Provider{
		OrgID: by.OrgID, ID: models.NewID[models.ProviderEntity](), Kind: in.Kind, Lifecycle: models.LifecycleActive,
		CreatedAt: now, UpdatedAt: now,
	}
	if !speaks(in.Kind) {
		return nil, invalid("kind", "This server does not support the protocol %q.", in.Kind)
	}
	if err := s.fillProvider(&row, ProviderChange{Name: Give(&in.Name), BaseURL: Give(in.BaseURL), APIKey: Give(in.APIKey)}); err != nil {
		return nil, err
	}
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), by, "provider.created", row.ID.String(), map[string]any{"name": row.Name, "kind": row.Kind})
	})
	if err != nil {
		return nil, taken(fmt.Errorf("create a provider in %s: %w", by.OrgID, err), "a provider", row.Name)
	}
	return &row, nil
}

// UpdateProvider changes a provider.
func (s *Service) UpdateProvider(ctx context.Context, by *auth.Principal, id models.ProviderID, in ProviderChange) (*models.Provider, error) {
	var next models.Provider
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lock[models.Provider](tx, by.OrgID, id)
		if err != nil {
			return err
		}
		if row.Lifecycle != models.LifecycleActive {
			return fault.New(fault.Conflict, "The provider is archived, and archived providers are read-only.").At("id")
		}
		next = *row
		if err := s.fillProvider(&next, in); err != nil {
			return err
		}
		if err := checkKeyStays(row, &next, in); err != nil {
			return err
		}
		// A new key can't be compared with the sealed one, so it always counts as a change.
		if next.Name == row.Name && equalPtr(next.BaseURL, row.BaseURL) && string(next.Credentials) == string(row.Credentials) {
			return nil
		}
		next.UpdatedAt = s.now(row.UpdatedAt)
		if err := change(tx, by.OrgID, id, "updated_at", row.UpdatedAt, &next, "name", "base_url", "credentials", "updated_at"); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), by, "provider.updated", id.String(), map[string]any{"fields": providerFields(row, &next)})
	})
	if err != nil {
		return nil, taken(err, "a provider", next.Name)
	}
	return &next, nil
}

func (s *Service) fillProvider(row *models.Provider, in ProviderChange) error {
	var err error
	if in.Name.Given {
		if in.Name.Value == nil {
			return invalid("name", "A provider must have a name.")
		}
		if row.Name, err = cleanName(*in.Name.Value); err != nil {
			return err
		}
	}
	if in.BaseURL.Given {
		if row.BaseURL, err = s.checkBaseURL(row.Kind, in.BaseURL.Value); err != nil {
			return err
		}
	}
	if !in.APIKey.Given {
		return nil
	}
	if in.APIKey.Value == nil {
		row.Credentials = nil
		return nil
	}
	if err := checkKey(*in.APIKey.Value); err != nil {
		return err
	}
	row.Credentials, err = s.keeper.Seal([]byte(*in.APIKey.Value), credentialsPlace(row))
	if err != nil {
		return fmt.Errorf("seal the key of %s: %w", row.ID, err)
	}
	return nil
}

// speaks reports whether the program knows the protocol.
func speaks(kind models.ProviderKind) bool {
	switch kind {
	case models.ProviderAnthropic, models.ProviderOpenAI, models.ProviderOpenAICompatible, models.ProviderGemini, models.ProviderSimulated:
		return true
	}
	return false
}

// checkBaseURL cleans the address of a provider and checks that it may be asked there; nil stands for the kind's own address.
func (s *Service) checkBaseURL(kind models.ProviderKind, given *string) (*string, error) {
	base, err := cleanBaseURL(given)
	if err != nil {
		return nil, err
	}
	if base == nil {
		if kind == models.ProviderOpenAICompatible {
			return nil, invalid("baseUrl", "A provider of this kind needs a baseUrl, e.g. https://api.example.com/v1.")
		}
		return nil, nil
	}
	if s.urls == nil {
		return base, nil
	}
	u, err := url.Parse(*base)
	if err != nil {
		return nil, fmt.Errorf("parse a checked address: %w", err)
	}
	if err := s.urls.CheckURL(u); err != nil {
		return nil, invalid("baseUrl", "%s", err)
	}
	return base, nil
}

// checkKeyStays keeps a stored key from being sent where it was not given for: whoever may change the address need not know the key.
// The path counts too, since it tells whose account is meant at gateways that many share.
func checkKeyStays(was, next *models.Provider, in ProviderChange) error {
	if in.APIKey.Given || len(was.Credentials) == 0 || destination(was.BaseURL) == destination(next.BaseURL) {
		return nil
	}
	return invalid("apiKey", "The stored key is only sent to the stored baseUrl. To change the baseUrl, pass apiKey again too, or null to remove it.")
}

// destination returns scheme, host, port and path of a checked address, in the form that is the same for all that mean the same; empty for
// none.
func destination(base *string) string {
	if base == nil {
		return ""
	}
	u, err := url.Parse(*base)
	if err != nil {
		return *base
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port) + strings.TrimRight(u.EscapedPath(), "/")
}

// ArchiveProvider takes a provider out of use: its models can't be chosen any more, and turns that would use one of them
// fail. Archiving an archived one changes nothing.
func (s *Service) ArchiveProvider(ctx context.Context, by *auth.Principal, id models.ProviderID) (*models.Provider, error) {
	var next models.Provider
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lock[models.Provider](tx, by.OrgID, id)
		if err != nil {
			return err
		}
		if next = *row; row.Lifecycle != models.LifecycleActive {
			return nil
		}
		next.Lifecycle, next.UpdatedAt = models.LifecycleArchived, s.now(row.UpdatedAt)
		if err := change(tx, by.OrgID, id, "updated_at", row.UpdatedAt, &next, "lifecycle", "updated_at"); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), by, "provider.archived", id.String(), nil)
	})
	if err != nil {
		return nil, err
	}
	return &next, nil
}

// credentialsPlace is where a provider's key is stored. A copy of the ciphertext opens nowhere else.
func credentialsPlace(row *models.Provider) secrets.Place {
	return secrets.Place{Org: row.OrgID, Table: "providers", Column: "credentials", Row: row.ID.String()}
}

func equalPtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
