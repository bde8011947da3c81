package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// originOf writes an address the way browsers write origins: in lowercase, without the scheme's own port.
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host
}

// ownOrigin decides about WebSockets and event streams by GET, which browsers open across origins without asking, cookies
// included. With a cookie the Origin must be the public one, and there must be one. Without, it may also be the host that
// was asked.
func (s *Server) ownOrigin(r *http.Request) bool {
	header := r.Header.Get("Origin")
	if hasTokenCookie(r) {
		return sameOrigin(header, s.public.origin)
	}
	if header == "" || sameOrigin(header, s.public.origin) {
		return true
	}
	u, err := url.Parse(header)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func sameOrigin(header, origin string) bool {
	u, err := url.Parse(header)
	return err == nil && u.Host != "" && u.Path == "" && originOf(u) == origin
}

// clientAddress returns the address of the client: the connection's own, or, behind proxies that are trusted, the last
// one in X-Forwarded-For that is not such a proxy. Anything further left is the client's own invention.
func clientAddress(r *http.Request, trusted []netip.Prefix) string {
	addr, host := peer(r)
	if !addr.IsValid() {
		return host
	}
	if !contains(trusted, addr) {
		return addr.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = hop.Unmap().WithZone("")
		if !contains(trusted, addr) {
			break
		}
	}
	return addr.String()
}

// peer returns the address of the connection's other end. The address is not valid when it is none of IP; host is what it is then.
func peer(r *http.Request) (addr netip.Addr, host string) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err = netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, host
	}
	return addr.Unmap().WithZone(""), host
}

// fromTrustedProxy reports whether the connection is a trusted proxy's, so that what it says of a request counts.
func (s *Server) fromTrustedProxy(r *http.Request) bool {
	addr, _ := peer(r)
	return addr.IsValid() && contains(s.cfg.TrustedProxies, addr)
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
