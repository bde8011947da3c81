package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

const (
	reasonBlocked    = "the operator of this server has blocked it."
	reasonNotAllowed = "the operator of this server allows only other addresses."
)

// Rules say which addresses may be reached by what they are called, whatever they stand for.
type Rules struct {
	// Allowed are the only ones that may be; empty for any.
	Allowed []Pattern
	// Blocked are those that may not. They win.
	Blocked []Pattern
}

// Pattern is what ParsePattern reads: a host, the hosts below one, or the addresses below a URL.
type Pattern struct {
	host string
	// below is true when it stands for the hosts below it, and not for itself.
	below bool
	// scheme, port and dir are those of a URL; empty for a host.
	scheme, port, dir string
}

// ParsePattern reads "api.example.com" (this host), "*.example.com" (all hosts below it, at any depth) or "https://example.com/v1" (this
// address and what is below it: /v1/a, not /v10).
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{host: s}
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || ambiguous(u) {
			return p, fmt.Errorf("%q is not an address: want https://host/path, without user, query and fragment", s)
		}
		p = Pattern{host: u.Hostname(), scheme: u.Scheme, port: portOf(u), dir: cleaned(u)}
	}
	if rest, ok := strings.CutPrefix(p.host, "*."); ok && p.scheme == "" {
		p.host, p.below = rest, true
	}
	p.host = hostName(p.host)
	if _, err := netip.ParseAddr(p.host); err == nil && !p.below {
		return p, nil
	}
	if !isName(p.host) {
		return p, fmt.Errorf("%q has no valid host: want api.example.com, *.example.com or https://example.com/path", s)
	}
	return p, nil
}

// check returns the reason not to ask for an address; none when it may be.
func (r Rules) check(u *url.URL) string {
	if slices.ContainsFunc(r.Blocked, func(p Pattern) bool { return p.covers(u, true) }) {
		return reasonBlocked
	}
	if len(r.Allowed) > 0 && !slices.ContainsFunc(r.Allowed, func(p Pattern) bool { return p.covers(u, false) }) {
		return reasonNotAllowed
	}
	return ""
}

// covers reports whether an address is one of those that the pattern stands for. doubt is the answer for a path that servers read in
// different ways.
func (p Pattern) covers(u *url.URL, doubt bool) bool {
	host := hostName(u.Hostname())
	if p.below {
		return strings.HasSuffix(host, "."+p.host)
	}
	if host != p.host {
		return false
	}
	if p.scheme == "" {
		return true
	}
	if u.Scheme != p.scheme || portOf(u) != p.port {
		return false
	}
	if p.dir == "/" {
		return true
	}
	if ambiguous(u) {
		return doubt
	}
	dir := cleaned(u)
	return dir == p.dir || strings.HasPrefix(dir, p.dir+"/")
}

// hostName returns the one form of a host.
func hostName(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return strings.TrimLeft(u.Port(), "0")
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// cleaned returns the path without the steps that go nowhere, or back.
func cleaned(u *url.URL) string { return path.Clean("/" + u.Path) }

// ambiguous reports whether a path has slashes that some servers take for such, and others don't.
func ambiguous(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	return strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") || strings.Contains(u.Path, `\`) || strings.Contains(escaped, "%25")
}
