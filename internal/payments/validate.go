package payments

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// maxName and maxPurpose are in characters, maxURL, minSecret and maxSecret in bytes.
	maxName    = 100
	maxPurpose = 500
	maxURL     = 2048
	minSecret  = 32
	maxSecret  = 512
	// maxNames is how many capabilities, or hosts, a policy may name.
	maxNames = 100
)

// check reports what is wrong with a policy, and puts its names into their one form.
func (s *Service) check(row *models.PaymentPolicy) error {
	row.Name = strings.TrimSpace(row.Name)
	if row.Name == "" || utf8.RuneCountInString(row.Name) > maxName || !printable(row.Name) {
		return fault.New(fault.Invalid, "The name of a payment policy must be one line of up to %d characters.", maxName).At("input", "name")
	}
	if err := s.checkCapabilities(row); err != nil {
		return err
	}
	if err := checkHosts(row); err != nil {
		return err
	}
	if err := s.checkURL(row.URL); err != nil {
		return err
	}
	for name, amount := range map[string]models.Amount{"maxPerRequest": row.MaxRequest, "maxPerTurn": row.MaxTurn, "maxPerDay": row.MaxDay} {
		if amount <= 0 || amount > budget.MaxAmount {
			return fault.New(fault.Invalid, "A maximum must be above 0, and at most %s usd.", usd(budget.MaxAmount)).At("input", name)
		}
	}
	if a := row.ApprovalAbove; a != nil && (*a < 0 || *a > budget.MaxAmount) {
		return fault.New(fault.Invalid, "approvalAbove must be 0 or more; leave it out if no payment needs approval.").At("input", "approvalAbove")
	}
	return nil
}

func (s *Service) checkCapabilities(row *models.PaymentPolicy) error {
	if len(row.Capabilities) == 0 || len(row.Capabilities) > maxNames {
		return fault.New(fault.Invalid, "List 1 to %d capabilities whose tools may pay.", maxNames).At("input", "capabilities")
	}
	for _, id := range row.Capabilities {
		if _, ok := s.cfg.Capabilities.Capability(id); !ok {
			return fault.New(fault.Invalid, "There is no capability %.64q. The query `capabilities` lists all.", id).At("input", "capabilities")
		}
	}
	row.Capabilities = each(row.Capabilities)
	return nil
}

func checkHosts(row *models.PaymentPolicy) error {
	if len(row.Hosts) == 0 || len(row.Hosts) > maxNames {
		return fault.New(fault.Invalid, "List 1 to %d hosts that may be paid.", maxNames).At("input", "hosts")
	}
	list := make([]string, len(row.Hosts))
	for i, h := range row.Hosts {
		base, below := strings.CutPrefix(h, "*.")
		host, ok := hostName(base)
		if !ok {
			return fault.New(fault.Invalid, "%.100q is not a host: write api.example.com, or *.example.com for all hosts below it.", h).At("input", "hosts")
		}
		if below {
			host = "*." + host
		}
		list[i] = host
	}
	row.Hosts = each(list)
	return nil
}

// each returns names in their order, each once.
func each(names []string) []string {
	list := slices.Clone(names)
	slices.Sort(list)
	return slices.Compact(list)
}

// hostName returns the one form of a host, which has no port and is no pattern.
func hostName(h string) (string, bool) {
	h = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(h)), ".")
	if h == "" || strings.ContainsAny(h, "*/:@ ") {
		return "", false
	}
	_, err := egress.ParsePattern(h)
	return h, err == nil
}

// matches reports whether a policy lets the tools of a capability pay a host.
func matches(p *models.PaymentPolicy, capability, host string) bool {
	return p.Enabled && p.DeletedAt == nil && slices.Contains(p.Capabilities, capability) && slices.ContainsFunc(p.Hosts, func(pattern string) bool {
		base, below := strings.CutPrefix(pattern, "*.")
		return host == pattern || below && strings.HasSuffix(host, "."+base)
	})
}

func (s *Service) checkURL(address string) error {
	if len(address) > maxURL {
		return fault.New(fault.Invalid, "The url is too long: at most %d bytes are allowed.", maxURL).At("input", "url")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fault.New(fault.Invalid, "This is not an address: write it as https://example.com/pay.").At("input", "url")
	}
	if err := s.cfg.Addresses.CheckURL(u); err != nil {
		return fault.New(fault.Invalid, "%s", err).At("input", "url")
	}
	return nil
}

func checkSecret(secret string) error {
	if len(secret) < minSecret || len(secret) > maxSecret || !printable(secret) {
		return fault.New(fault.Invalid, "The secret must be text of %d to %d bytes: create one with `openssl rand -hex 32`.", minSecret, maxSecret).At("input", "secret")
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func usd(a models.Amount) string { return budget.Decimal(models.CurrencyUSD, a).String() }

// describe returns what an audit entry tells of a policy. Of the address it tells no more than where it leads: paths and queries may hold keys.
func describe(row *models.PaymentPolicy) map[string]any {
	d := map[string]any{
		"name": row.Name, "capabilities": row.Capabilities, "hosts": row.Hosts, "maxPerRequest": usd(row.MaxRequest), "maxPerTurn": usd(row.MaxTurn),
		"maxPerDay": usd(row.MaxDay), "enabled": row.Enabled,
	}
	if row.ApprovalAbove != nil {
		d["approvalAbove"] = usd(*row.ApprovalAbove)
	}
	if u, err := url.Parse(row.URL); err == nil {
		d["url"] = fmt.Sprintf("%s://%s", u.Scheme, u.Host)
	}
	return d
}
