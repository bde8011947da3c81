package catalog

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
)

// The caps of what a client may store. Prompts, keys and configurations are counted in bytes, the others in characters.
const (
	maxName         = 100
	maxDisplayName  = 200
	maxDescription  = 2000
	maxReason       = 500
	maxPrompt       = 256 << 10
	maxTags         = 20
	maxTag          = 50
	maxIterationCap = 1000
	maxURL          = 2000
	maxKey          = 10_000
	maxRefs         = 100
	maxRefConfigs   = 64 << 10
	maxTokensCap    = 1_000_000_000
)

func invalid(field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, format, args...).At("input", field)
}

// checkText refuses what the databases can't both store, and what is too long.
func checkText(field, s string, limit int) error {
	return text.Check(s, limit, "input", field)
}

// checkLine is checkText for what is shown in one line; the text must be trimmed.
func checkLine(field, s string, limit int) error {
	if err := checkText(field, s, limit); err != nil {
		return err
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return invalid(field, "%s contains a control character, such as a line break or a tab.", field)
	}
	if s == "" {
		return invalid(field, "%s is empty.", field)
	}
	return nil
}

// cleanName trims and checks a name that is unique in its organization.
func cleanName(s string) (string, error) {
	s = strings.TrimSpace(s)
	return s, checkLine("name", s, maxName)
}

// identifier is the form of the names of harnesses and agents, which programs refer to and nobody can change.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// cleanIdentifier is cleanName for a harness or an agent.
func cleanIdentifier(s string) (string, error) {
	s, err := cleanName(s)
	if err == nil && !identifier.MatchString(s) {
		err = invalid("name",
			"name can have the letters a to z, digits, dots, hyphens and underscores, and begins with a letter or a digit, such as support-agent. Any other text can be the displayName.")
	}
	return s, err
}

// cleanDisplayName trims and checks a display name; without one it is the name.
func cleanDisplayName(s *string, name string) (string, error) {
	if s == nil {
		return name, nil
	}
	trimmed := strings.TrimSpace(*s)
	return trimmed, checkLine("displayName", trimmed, maxDisplayName)
}

// cleanDescription trims and checks a description; an empty one is none.
func cleanDescription(s *string) (*string, error) {
	if s == nil {
		return nil, nil
	}
	trimmed := strings.TrimSpace(*s)
	if trimmed == "" {
		return nil, nil
	}
	return &trimmed, checkText("description", trimmed, maxDescription)
}

// cleanReason trims and checks what somebody says about a change; an empty one is none. path leads to the argument.
func cleanReason(s *string, path ...string) (*string, error) {
	if s == nil {
		return nil, nil
	}
	trimmed := strings.TrimSpace(*s)
	if trimmed == "" {
		return nil, nil
	}
	if err := checkText("reason", trimmed, maxReason); err != nil {
		return nil, fault.As(err).At(path...)
	}
	return &trimmed, nil
}

func checkPrompt(s string) error {
	if len(s) > maxPrompt {
		return invalid("systemPrompt", "systemPrompt has %d bytes; at most %d are allowed.", len(s), maxPrompt)
	}
	return checkText("systemPrompt", s, maxPrompt)
}

func checkMaxIterations(n *int) error {
	if n != nil && (*n < 1 || *n > maxIterationCap) {
		return invalid("maxIterations", "maxIterations must be from 1 to %d, not %d.", maxIterationCap, *n)
	}
	return nil
}

// cleanTags trims and checks tags; repeated ones count once.
func cleanTags(tags []string) ([]string, error) {
	clean := make([]string, 0, len(tags))
	for _, t := range tags {
		t = strings.TrimSpace(t)
		if err := checkLine("tags", t, maxTag); err != nil {
			return nil, err
		}
		if !slices.Contains(clean, t) {
			clean = append(clean, t)
		}
		// Inside the loop, so that a million tags cost no more than twenty.
		if len(clean) > maxTags {
			return nil, invalid("tags", "There are more than %d tags.", maxTags)
		}
	}
	return clean, nil
}

// cleanRefs checks the form of attached capabilities and brings their settings into canonical form, so that two that
// mean the same are the same. Whether there are such capabilities is the registry's business.
func cleanRefs(refs []models.CapabilityRef) ([]models.CapabilityRef, error) {
	if len(refs) > maxRefs {
		return nil, invalid("capabilities", "There are %d capabilities; at most %d are allowed.", len(refs), maxRefs)
	}
	clean := make([]models.CapabilityRef, 0, len(refs))
	size := 0
	for _, r := range refs {
		if err := checkLine("capabilities", r.ID, maxName); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(clean, func(c models.CapabilityRef) bool { return c.ID == r.ID }) {
			return nil, invalid("capabilities", "The capability %s is listed twice.", r.ID)
		}
		if size += len(r.Config); size > maxRefConfigs {
			return nil, invalid("capabilities", "The settings of the capabilities have more than %d bytes together.", maxRefConfigs)
		}
		c := models.CapabilityRef{ID: r.ID}
		if len(r.Config) > 0 && string(r.Config) != "null" {
			canonical, err := jsonx.Canonical(r.Config)
			if err != nil {
				return nil, invalid("capabilities", "The settings of the capability %s are not valid JSON: %v.", r.ID, err)
			}
			if jsonx.HasNUL(canonical) {
				return nil, invalid("capabilities", "The settings of the capability %s contain a NUL character.", r.ID)
			}
			c.Config = models.JSON(canonical)
		}
		clean = append(clean, c)
	}
	return clean, nil
}

// cleanBaseURL trims and checks the address of a provider; an empty one is none.
func cleanBaseURL(s *string) (*string, error) {
	if s == nil || strings.TrimSpace(*s) == "" {
		return nil, nil
	}
	trimmed := strings.TrimSpace(*s)
	if err := checkLine("baseUrl", trimmed, maxURL); err != nil {
		return nil, err
	}
	u, err := url.Parse(trimmed)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return nil, invalid("baseUrl", "baseUrl must be an absolute http or https address, e.g. https://api.example.com/v1.")
	case u.User != nil:
		return nil, invalid("baseUrl", "baseUrl must not contain a user name or password; use apiKey.")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(trimmed, "#"):
		return nil, invalid("baseUrl", "baseUrl must not have a query or a fragment.")
	}
	return &trimmed, nil
}

// checkKey checks an API key. Its text must never come into a message.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) ||
		strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return invalid("apiKey", "apiKey must be 1 to %d characters without spaces and control characters; null removes the key.", maxKey)
	}
	return nil
}
