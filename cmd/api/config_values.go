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

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
)

// list reads values that are separated by commas.
func list[T any](field func(c *config) *[]T, parse func(part string) (T, error)) func(*config, string) error {
	return func(c *config, v string) error {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			one, err := parse(part)
			if err != nil {
				return err
			}
			*field(c) = append(*field(c), one)
		}
		return nil
	}
}

// network reads an address or a network.
func network(v string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(v); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	network, err := netip.ParsePrefix(v)
	if err != nil || network != network.Masked() {
		return network, errors.New("want addresses or networks separated by commas, e.g. 10.0.0.0/8,192.168.1.7")
	}
	return network, nil
}

func text(field func(c *config) *string) func(*config, string) error {
	return func(c *config, v string) error {
		*field(c) = v
		return nil
	}
}

// checked is text that is either empty or passes a check.
func checked(field func(c *config) *string, check func(string) error) func(*config, string) error {
	return func(c *config, v string) error {
		*field(c) = v
		if v == "" {
			return nil
		}
		return check(v)
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

// choice is one of two words, of which one says yes.
func choice(field func(c *config) *bool, yes string, words ...string) func(*config, string) error {
	return func(c *config, v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("want %s", strings.Join(words, " or "))
		}
		*field(c) = v == yes
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

// mailsWaitsAfter returns after how long people get mail about what waits for them; 0 for never.
func (c config) mailsWaitsAfter() time.Duration {
	if c.smtpURL == "" {
		return 0
	}
	return c.waitMailAfter
}

// waitMailAfter leaves time for waits that are being committed, and for people who are there anyway.
func waitMailAfter(c *config, v string) error {
	err := durationOrOff(func(c *config) *time.Duration { return &c.waitMailAfter })(c, v)
	if err == nil && c.waitMailAfter != 0 && c.waitMailAfter < time.Minute {
		err = errors.New("want at least 1m, or 0")
	}
	return err
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
