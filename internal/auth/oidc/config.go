// Package oidc is the relying party of OpenID Connect: it sends browsers to the one issuer that the operator configured, and verifies
// whom that issuer sends back.
package oidc

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/clock"
)

// DefaultScopes are asked for when none are configured.
const DefaultScopes = "openid email profile"

// Config says who vouches for people. Issuer, ClientID, RedirectURL, Clock and Secrets are required.
type Config struct {
	// Issuer is the address of the issuer, exactly as it names itself.
	Issuer string
	// ClientID is what the issuer knows this server by.
	ClientID string
	// ClientSecret proves that to the issuer; empty for a public client.
	ClientSecret string
	// Name is what people call the issuer. Defaults to its host.
	Name string
	// Domains are those of the e-mails that may sign in, in lower case; none allows all.
	Domains []string
	// Scopes are asked for. Defaults to DefaultScopes.
	Scopes []string
	// RedirectURL is where the issuer sends browsers back to.
	RedirectURL string
	Clock       clock.Clock
	// Secrets seal what browsers keep meanwhile, the current one first. All nodes have the same.
	Secrets [][]byte
}

// CheckIssuer tells what is wrong with the address of an issuer. Whoever can change what it answers can sign in as anybody, so plain http
// is for this machine only.
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		(u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("want an address like https://login.example.com, without user, query and fragment")
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return errors.New("want https: over http, anyone on the network path could sign in as anyone")
	}
	return nil
}

// ParseDomains reads domains with commas between them.
func ParseDomains(list string) ([]string, error) {
	var domains []string
	for d := range strings.SplitSeq(list, ",") {
		if d = strings.TrimSpace(d); d == "" {
			continue
		}
		if !isDomain(d) {
			return nil, errors.New("want domains separated by commas, e.g. example.com,example.org; write those with other letters as xn--…")
		}
		domains = append(domains, strings.ToLower(d))
	}
	return domains, nil
}

// ParseScopes reads scopes with spaces between them. They must hold openid, without which there is no ID token.
func ParseScopes(list string) ([]string, error) {
	scopes := strings.Fields(list)
	if !slices.Contains(scopes, "openid") || strings.ContainsFunc(list, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return nil, errors.New(`want scopes separated by spaces, including openid, e.g. "` + DefaultScopes + `"`)
	}
	return scopes, nil
}

// isDomain reports whether this is a name of DNS in ASCII.
func isDomain(d string) bool {
	if len(d) > 253 {
		return false
	}
	for label := range strings.SplitSeq(d, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, func(r rune) bool {
				return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
			}) {
			return false
		}
	}
	return true
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

func (c Config) check() (Config, error) {
	if c.Issuer == "" || c.ClientID == "" || c.RedirectURL == "" || c.Clock == nil || len(c.Secrets) == 0 {
		return c, errors.New("signing in with OpenID Connect needs an issuer, a client id, the address to return to, a clock and secrets")
	}
	if err := CheckIssuer(c.Issuer); err != nil {
		return c, err
	}
	if len(c.Scopes) == 0 {
		c.Scopes = strings.Fields(DefaultScopes)
	}
	if c.Name == "" {
		u, _ := url.Parse(c.Issuer) // it was parsed above
		c.Name = u.Hostname()
	}
	return c, nil
}
