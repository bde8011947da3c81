package webhooks

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// maxURL is the length of an address, in bytes.
const maxURL = 2048

// Addresses decides which addresses may be used. It is implemented by the client that sends.
type Addresses interface {
	// CheckURL returns an error for an address that it would not connect to. Its text is shown to users.
	CheckURL(u *url.URL) error
}

func (s *Service) checkURL(address string) error {
	if len(address) > maxURL {
		return fault.New(fault.Invalid, "The url is too long: at most %d bytes are allowed.", maxURL).At("input", "url")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fault.New(fault.Invalid, "This is not an address: write it as https://example.com/hook.").At("input", "url")
	}
	if err := s.addresses.CheckURL(u); err != nil {
		return fault.New(fault.Invalid, "%s", err).At("input", "url")
	}
	return nil
}

// Kinds are those that a webhook can be told of: all that have a place in the feed of their organization.
func Kinds() []models.EventKind {
	var list []models.EventKind
	for _, row := range events.Table() {
		if kind := row.Kind(); events.InOrgFeed(kind) {
			list = append(list, kind)
		}
	}
	return list
}

// cleanKinds returns the kinds that a webhook is to be told of, each once and in the order of the documentation.
func cleanKinds(kinds []models.EventKind) ([]models.EventKind, error) {
	allowed := Kinds()
	for _, k := range kinds {
		if !slices.Contains(allowed, k) {
			names := make([]string, len(allowed))
			for i, a := range allowed {
				names[i] = string(a)
			}
			return nil, fault.New(fault.Invalid, "Webhooks can't get %s, which is not an event of the organization's feed. Choose among %s.",
				k, strings.Join(names, ", ")).At("input", "kinds")
		}
	}
	if len(kinds) == 0 {
		return nil, fault.New(fault.Invalid, "A webhook needs at least one kind of event.").At("input", "kinds")
	}
	return slices.DeleteFunc(allowed, func(k models.EventKind) bool { return !slices.Contains(kinds, k) }), nil
}

// describe returns what an audit entry tells of a webhook. Of the address it tells no more than where it leads: paths and queries may hold keys.
func describe(row *models.Webhook) map[string]any {
	d := map[string]any{"kinds": row.Kinds, "enabled": row.Enabled}
	if u, err := url.Parse(row.URL); err == nil {
		d["url"] = u.Scheme + "://" + u.Host
	}
	return d
}
