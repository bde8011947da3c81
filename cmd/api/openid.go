package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth/oidc"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/httpapi"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/secrets"
)

const maxIssuerName = 40

// openIDSettings are the variables of the sign-in with OpenID Connect.
func openIDSettings() []setting {
	return []setting{
		{"OSTLER_OIDC_ISSUER", "", "The OpenID Connect issuer that people may sign in with: its address, exactly as the issuer states it. Default: none.", false, func(c *config, v string) error {
			c.oidc.Issuer = v
			if v == "" {
				return nil
			}
			return oidc.CheckIssuer(v)
		}},
		{"OSTLER_OIDC_CLIENT_ID", "", "The client id of this server at the issuer.", false, text(func(c *config) *string { return &c.oidc.ClientID })},
		{"OSTLER_OIDC_CLIENT_SECRET", "", "The client's secret. Default: none, a public client.", true, text(func(c *config) *string { return &c.oidc.ClientSecret })},
		{"OSTLER_OIDC_NAME", "", "The issuer's name for people, shown after \"Sign in with\". Default: its host.", false, func(c *config, v string) error {
			c.oidc.Name = v
			if len([]rune(v)) > maxIssuerName || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' }) {
				return fmt.Errorf("want at most %d characters in one line", maxIssuerName)
			}
			return nil
		}},
		{"OSTLER_OIDC_DOMAINS", "", "E-mail domains that may sign in through the issuer, separated by commas. Default: all.", false, func(c *config, v string) error {
			list, err := oidc.ParseDomains(v)
			c.oidc.Domains = list
			return err
		}},
		{"OSTLER_OIDC_SCOPES", oidc.DefaultScopes, "The scopes that the issuer is asked for.", false, func(c *config, v string) error {
			list, err := oidc.ParseScopes(v)
			c.oidc.Scopes = list
			return err
		}},
	}
}

// openIDWrong names what doesn't fit together.
func (c *config) openIDWrong() []string {
	o := c.oidc
	switch {
	case o.Issuer != "" && o.ClientID == "":
		return []string{"OSTLER_OIDC_CLIENT_ID: OSTLER_OIDC_ISSUER needs it; the issuer issued it when this server was registered"}
	case o.Issuer == "" && (o.ClientID != "" || o.ClientSecret != "" || len(o.Domains) > 0):
		return []string{"OSTLER_OIDC_ISSUER: the other OSTLER_OIDC_… variables are set, and need it"}
	}
	return nil
}

// openIssuer returns the issuer that is configured, without asking it for anything; nil for none.
func openIssuer(cfg config, clk clock.Clock, keeper *secrets.Keeper) (*oidc.Client, error) {
	o := cfg.oidc
	if o.Issuer == "" {
		return nil, nil
	}
	o.RedirectURL, o.Clock = cfg.publicURL+httpapi.OpenIDCallback, clk
	var err error
	if o.Secrets, err = keeper.Secrets("sign-ins with OpenID Connect"); err != nil {
		return nil, err
	}
	client, err := oidc.New(o)
	if err != nil {
		return nil, errors.Join(errors.New("OSTLER_OIDC_ISSUER"), err)
	}
	return client, nil
}

func unlinkIdentity(ctx context.Context, p place, args []string) error {
	email, err := flagEmail(args)
	if err != nil {
		return err
	}
	n, err := orgs.NewAdmin(p.db, p.clock, p.cfg.publicURL).Unlink(ctx, email)
	if err != nil {
		return err
	}
	if n == 0 {
		_, err = fmt.Fprintf(p.out, "%s is not linked to an issuer.\n", email)
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s is unlinked and signed out. The next sign-in through the issuer with that e-mail links it again.\n", email)
	return err
}
