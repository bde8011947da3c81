package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/text/unicode/norm"
)

const maxSubject = 255

// Answer is what the browser brings back from the issuer.
type Answer struct {
	Code, State string
	// Error is set instead of a code.
	Error string
	// Issuer is who answers; many issuers don't say.
	Issuer string
}

// Identity is a person as the issuer knows them. The e-mail is verified, and of a domain that is allowed.
type Identity struct {
	Issuer, Subject string
	Email           string
	// Name may be empty.
	Name string
}

// Redeem exchanges what a browser brought back for the person behind it. What goes wrong is a Refusal.
func (c *Client) Redeem(ctx context.Context, a Attempt, answer Answer) (Identity, error) {
	var who Identity
	at, err := c.discover(ctx)
	if err != nil {
		return who, err
	}
	if answer.Issuer != c.cfg.Issuer && (answer.Issuer != "" || at.namesItself) {
		return who, Failed.because("the answer comes from the issuer %s", answer.Issuer)
	}
	switch answer.Error {
	case "":
	case "access_denied", "login_required", "interaction_required", "consent_required", "account_selection_required":
		return who, Declined.because("the issuer says %s", answer.Error)
	case "server_error", "temporarily_unavailable":
		return who, Unavailable.because("the issuer says %s", answer.Error)
	default:
		return who, Failed.because("the issuer says %s", answer.Error)
	}
	if answer.Code == "" {
		return who, Failed.because("the answer has no code")
	}
	ctx = gooidc.ClientContext(ctx, c.http)
	token, err := at.oauth.Exchange(ctx, answer.Code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return who, exchangeFailed(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return who, Failed.because("the issuer returned no ID token")
	}
	id, err := at.verifier.Verify(ctx, raw)
	if err != nil {
		return who, Failed.because("%s", err)
	}
	said, err := c.claims(id, a.Nonce)
	if err != nil {
		return who, err
	}
	if said.Email == "" {
		if said, err = moreClaims(ctx, at, token, id.Subject, said); err != nil {
			return who, err
		}
	}
	if err := c.checkEmail(said); err != nil {
		return who, err
	}
	return Identity{Issuer: c.cfg.Issuer, Subject: id.Subject, Email: said.Email, Name: said.Name}, nil
}

// exchangeFailed tells an issuer that can't from one that won't. What it answered stays out of the log, but for its code of the error.
func exchangeFailed(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	_, unreachable := errors.AsType[*url.Error](err)
	switch {
	case unreachable:
		return Unavailable.because("redeem the code: %s", err)
	case !ok:
		return Failed.because("redeem the code: %s", err)
	case refused.Response != nil && refused.Response.StatusCode >= http.StatusInternalServerError:
		return Unavailable.because("redeem the code: %s", refused.Response.Status)
	default:
		return Failed.because("redeem the code: the issuer says %s", refused.ErrorCode)
	}
}

type claims struct {
	Email           string `json:"email"`
	EmailVerified   truth  `json:"email_verified"`
	Name            string `json:"name"`
	AuthorizedParty string `json:"azp"`
}

// truth is true for true, and for "true", as some issuers write it. Everything else is false.
type truth bool

// UnmarshalJSON implements json.Unmarshaler.
func (t *truth) UnmarshalJSON(b []byte) error {
	*t = string(b) == `true` || string(b) == `"true"`
	return nil
}

// claims checks what the verifier leaves open.
func (c *Client) claims(id *gooidc.IDToken, nonce string) (claims, error) {
	var said claims
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1 {
		return said, Failed.because("the ID token belongs to another sign-in")
	}
	if err := id.Claims(&said); err != nil {
		return said, Failed.because("read the ID token: %s", err)
	}
	// A token for several parties must have been made for this one.
	if said.AuthorizedParty != c.cfg.ClientID && (said.AuthorizedParty != "" || len(id.Audience) > 1) {
		return said, Failed.because("the ID token was issued for %s", said.AuthorizedParty)
	}
	if id.Subject == "" || len(id.Subject) > maxSubject || !utf8.ValidString(id.Subject) || strings.ContainsFunc(id.Subject, unicode.IsControl) {
		return said, Failed.because("the ID token has no usable subject")
	}
	return said, nil
}

// moreClaims asks for what the ID token doesn't tell, where the issuer keeps it elsewhere.
func moreClaims(ctx context.Context, at *issuer, token *oauth2.Token, subject string, said claims) (claims, error) {
	if at.provider.UserInfoEndpoint() == "" {
		return said, nil
	}
	info, err := at.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return said, Failed.because("request the user's information: %s", err)
	}
	if info.Subject != subject {
		return said, Failed.because("the issuer's user information is about another user")
	}
	name := said.Name
	said.EmailVerified = false // of which e-mail?
	if err := info.Claims(&said); err != nil {
		return said, Failed.because("read the user's information: %s", err)
	}
	if name != "" {
		said.Name = name
	}
	return said, nil
}

// checkEmail lets in only an e-mail that the issuer has verified, of a domain that the operator allows.
func (c *Client) checkEmail(said claims) error {
	local, domain, ok := strings.Cut(said.Email, "@")
	if !ok || local == "" || domain == "" || strings.Contains(domain, "@") || changesLetters(said.Email) {
		return NoEmail.because("the issuer returned the e-mail %s", said.Email)
	}
	if !said.EmailVerified {
		return NoEmail.because("the issuer has not verified the e-mail")
	}
	// Compared byte by byte: a name with a letter that looks like another one is another name.
	if len(c.cfg.Domains) > 0 && !slices.ContainsFunc(c.cfg.Domains, func(d string) bool { return isDomain(domain) && strings.EqualFold(d, domain) }) {
		return WrongDomain.because("the domain is %s", domain)
	}
	return nil
}

// changesLetters reports whether an e-mail has letters that are those of another e-mail once they are in lower case, as accounts are
// found: K (the sign for kelvin) becomes k, İ becomes i. Whoever owns such an address owns none of the accounts of the other one.
func changesLetters(email string) bool {
	for _, r := range email {
		if r < utf8.RuneSelf {
			continue
		}
		for _, low := range strings.ToLower(norm.NFC.String(string(r))) {
			if low < utf8.RuneSelf {
				return true
			}
		}
	}
	return false
}
