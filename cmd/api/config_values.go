package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
)

// patterns reads hosts and addresses that requests for organizations may, or may not, go to.
func patterns(v string) (list []egress.Pattern, err error) {
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		p, err := egress.ParsePattern(part)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func prefixes(v string) (list []netip.Prefix, err error) {
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if addr, err := netip.ParseAddr(part); err == nil && addr.Zone() == "" {
			addr = addr.Unmap()
			list = append(list, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(part)
		if err != nil || network != network.Masked() {
			return nil, errors.New("want addresses or networks separated by commas, e.g. 10.0.0.0/8,192.168.1.7")
		}
		list = append(list, network)
	}
	return list, nil
}

func text(field func(c *config) *string) func(*config, string) error {
	return func(c *config, v string) error {
		*field(c) = v
		return nil
	}
}

func oneOf(field func(c *config) *string, allowed ...string) func(*config, string) error {
	return func(c *config, v string) error {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("want one of %s", strings.Join(allowed, ", "))
		}
		*field(c) = v
		return nil
	}
}

func onOff(field func(c *config) *bool) func(*config, string) error {
	return func(c *config, v string) error {
		if v != "on" && v != "off" {
			return errors.New("want on or off")
		}
		*field(c) = v == "on"
		return nil
	}
}

func number(field func(c *config) *int, least, most int) func(*config, string) error {
	return func(c *config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want a number from %d to %d", least, most)
		}
		*field(c) = n
		return nil
	}
}

func duration(field func(c *config) *time.Duration) func(*config, string) error {
	return func(c *config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return errors.New("want a duration, e.g. 6s or 500ms")
		}
		*field(c) = d
		return nil
	}
}

// durationOrOff is duration, with 0 for never.
func durationOrOff(field func(c *config) *time.Duration) func(*config, string) error {
	return func(c *config, v string) error {
		if d, err := time.ParseDuration(v); err == nil && d == 0 {
			*field(c) = 0
			return nil
		}
		if duration(field)(c, v) != nil {
			return errors.New("want a duration, e.g. 1h or 10m, or 0")
		}
		return nil
	}
}

func metricsToken(c *config, v string) error {
	if v != "" && (len(v) < minMetricsToken || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f })) {
		return fmt.Errorf("want at least %d characters, without spaces", minMetricsToken)
	}
	c.metricsToken = v
	return nil
}

// collector checks the address that traces go to. The SDK reads it by itself.
func collector(_ *config, v string) error {
	u, err := url.Parse(v)
	if v != "" && (err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil) {
		return errors.New("want an address like http://collector:4318, without a user")
	}
	return nil
}

func key(field func(c *config) *[]byte) func(*config, string) error {
	return func(c *config, v string) error {
		if v == "" {
			return nil
		}
		k, err := secrets.ParseKey(v)
		*field(c) = k
		return err
	}
}

func providerKey(kind models.ProviderKind) func(*config, string) error {
	return func(c *config, v string) error {
		if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return errors.New("want a key without spaces, line breaks and other control characters")
		}
		c.endpoint(kind, func(at *llm.Endpoint) { at.APIKey = v })
		return nil
	}
}

func providerURL(kind models.ProviderKind) func(*config, string) error {
	return func(c *config, v string) error {
		u, err := url.Parse(v)
		if v != "" && (err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			return errors.New("want an address like https://api.example.com, without user, query and fragment")
		}
		c.endpoint(kind, func(at *llm.Endpoint) { at.BaseURL = strings.TrimRight(v, "/") })
		return nil
	}
}
