package egress

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The reasons to refuse an address, in words for users.
const (
	reasonRedirect   = "it answered with a redirect, and redirects are not followed. Use the address that the redirect leads to."
	reasonScheme     = "only https and http addresses can be used."
	reasonHost       = "it is not the name or address of a server. Write names with letters, digits, dots and hyphens, and addresses in full."
	reasonUser       = "a user name or password in an address is not accepted. Use the field for the key."
	reasonPort       = "its port is not a number from 1 to 65535."
	reasonPlain      = "http would send the key unencrypted over a public network. Use https."
	reasonUnreadable = "its address can't be read."
	reasonMetadata   = "it is a metadata service of the machine that this server runs on."
	reasonLoopback   = "it is this server's own machine. Use a public address, or ask the operator of this server to allow it with OSTLER_EGRESS_ALLOW."
	reasonPrivate    = "it is an address of a private network. The operator of this server can allow it with OSTLER_EGRESS_ALLOW."
	reasonSpecial    = "it is not the address of a public server."
)

// blocks are networks that are named, e.g. for a reason to refuse them.
type blocks []netip.Prefix

func list(prefixes ...string) blocks {
	out := make(blocks, len(prefixes))
	for i, p := range prefixes {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

func (l blocks) contain(a netip.Addr) bool {
	return slices.ContainsFunc(l, func(p netip.Prefix) bool { return p.Contains(a) })
}

var (
	// Services that hand out the machine's own credentials: AWS and most others, AWS and Google over IPv6, Alibaba, Oracle, Azure.
	metadata = list("169.254.169.254/32", "fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32")
	loopback = list("127.0.0.0/8", "::1/128")
	private  = list("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "fc00::/7", "fe80::/10", "fec0::/10")
	// What is for documentation, tests, groups of receivers and other things that no public server has.
	special = list("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20")
	// public6 is where public servers live in IPv6.
	public6 = netip.MustParsePrefix("2000::/3")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4  = netip.MustParsePrefix("2002::/16")
)

// check returns the reason not to connect to an address; none when it may be. plain reports that nothing will be encrypted.
func (c *Client) check(a netip.Addr, plain bool) string {
	zone := a.Zone() != ""
	a = a.Unmap().WithZone("")
	switch {
	case metadata.contain(a) || metadata.contain(embedded(a)):
		return reasonMetadata
	case !zone && (blocks(c.cfg.Allow).contain(a) || c.cfg.AllowLoopback && loopback.contain(a)):
		return ""
	case zone:
		return reasonPrivate
	}
	if reason := notPublic(a); reason != "" {
		return reason
	}
	if plain {
		return reasonPlain
	}
	return ""
}

// notPublic returns why an address is no public one. An IPv6 address that a gateway turns into an IPv4 address counts as that one.
func notPublic(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return reasonUnreadable
	case loopback.contain(a):
		return reasonLoopback
	case private.contain(a):
		return reasonPrivate
	case special.contain(a):
		return reasonSpecial
	case a.Is4():
		return ""
	}
	if v4 := embedded(a); v4.IsValid() {
		return notPublic(v4)
	}
	if !public6.Contains(a) {
		return reasonSpecial
	}
	return ""
}

// embedded returns the IPv4 address within an address of NAT64 or 6to4; the zero Addr when there is none.
func embedded(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return netip.Addr{}
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixTo4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return netip.Addr{}
}

func (c *Client) checkURL(u *url.URL) string {
	if u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" {
		return reasonScheme
	}
	if u.User != nil {
		return reasonUser
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return reasonPort
		}
	}
	if reason := c.cfg.Rules.check(u); reason != "" {
		return reason
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return c.check(a, u.Scheme == "http")
	}
	if !isName(host) {
		return reasonHost
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		if !c.mayReachLoopback() {
			return reasonLoopback
		}
		return ""
	}
	// What a name stands for is only known when it is dialled. Without exceptions, though, nothing may be asked unencrypted.
	if u.Scheme == "http" && !c.cfg.AllowLoopback && len(c.cfg.Allow) == 0 {
		return reasonPlain
	}
	return ""
}

func (c *Client) mayReachLoopback() bool {
	return c.cfg.AllowLoopback || slices.ContainsFunc(c.cfg.Allow, func(p netip.Prefix) bool {
		return slices.ContainsFunc(loopback, p.Overlaps)
	})
}

// isName reports whether a host is a name of DNS. Numbers are none: some resolvers read 2130706433, 0x7f.1 and 127.1 as addresses.
func isName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}
