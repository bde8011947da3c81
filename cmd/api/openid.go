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
		{"OSTLER_OIDC_ISSUER", "", "Who vouches for people besides their passwords: the address of an OpenID Connect issuer, exactly as it names itself. Default: nobody.", false, func(c *config, v string) error {
			c.oidc.Issuer = v
			if v == "" {
				return nil
			}
			return oidc.CheckIssuer(v)
		}},
		{"OSTLER_OIDC_CLIENT_ID", "", "What the issuer knows this server by.", false, text(func(c *config) *string { return &c.oidc.ClientID })},
		{"OSTLER_OIDC_CLIENT_SECRET", "", "The client's secret. Default: none, a public client.", true, text(func(c *config) *string { return &c.oidc.ClientSecret })},
		{"OSTLER_OIDC_NAME", "", "What people call the issuer: what is behind \"Sign in with\". Default: its host.", false, func(c *config, v string) error {
			c.oidc.Name = v
			if len([]rune(v)) > maxIssuerName || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' }) {
				return fmt.Errorf("want at most %d characters in one line", maxIssuerName)
			}
			return nil
		}},
		{"OSTLER_OIDC_DOMAINS", "", "Domains of e-mails, with commas between them, that may sign in by the issuer. Default: all.", false, func(c *config, v string) error {
			list, err := oidc.ParseDomains(v)
			c.oidc.Domains = list
			return err
		}},
		{"OSTLER_OIDC_SCOPES", oidc.DefaultScopes, "What the issuer is asked for.", false, func(c *config, v string) error {
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
		return []string{"OSTLER_OIDC_CLIENT_ID: OSTLER_OIDC_ISSUER needs it; the issuer gave it when this server was registered there"}
	case o.Issuer == "" && (o.ClientID != "" || o.ClientSecret != "" || len(o.Domains) > 0):
		return []string{"OSTLER_OIDC_ISSUER: the other OSTLER_OIDC_… are set, and mean nothing without it"}
	}
	return nil
}

// openIssuer gives the issuer that is configured, without asking it for anything; nil for none.
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
		_, err = fmt.Fprintf(p.out, "%s is linked to no issuer.\n", email)
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s is linked to no issuer any more, and signed out. Whoever has the e-mail there is linked when they sign in next.\n", email)
	return err
}
