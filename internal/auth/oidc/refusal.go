package oidc

import "fmt"

// Refusal is why nobody was signed in. Its text is what the sign-in page is told: never a word of the issuer's.
type Refusal string

// The refusals.
const (
	// Unavailable: the issuer did not answer, or not in time.
	Unavailable Refusal = "oidc_unavailable"
	// StateLost: this browser has not begun this sign-in, or too long ago, or has finished it before.
	StateLost Refusal = "oidc_state"
	// Declined: the person or the issuer said no.
	Declined Refusal = "oidc_declined"
	// Failed: what the issuer answered proves nothing.
	Failed Refusal = "oidc_failed"
	// NoEmail: the issuer gives no e-mail, or doesn't say that it verified it.
	NoEmail Refusal = "oidc_email"
	// WrongDomain: the e-mail is of no domain that the operator allows.
	WrongDomain Refusal = "oidc_domain"
	// NotInvited: nobody here has this e-mail, or whoever has it belongs to no organization.
	NotInvited Refusal = "oidc_not_invited"
	// BadInvitation: the invitation was used or revoked, or is too old, or is for somebody else.
	BadInvitation Refusal = "oidc_invitation"
	// NeedsPassword: the e-mail belongs to an account with a password, which must be given once.
	NeedsPassword Refusal = "oidc_confirm"
	// OtherIdentity: the e-mail belongs to an account that another person of this issuer signs in to.
	OtherIdentity Refusal = "oidc_other_identity"
)

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// because returns a refusal with what the log should know. Text of the issuer's is clipped and quoted.
func (r Refusal) because(format string, args ...any) error {
	for i, a := range args {
		switch a := a.(type) {
		case error:
			args[i] = quote(a.Error())
		case string:
			args[i] = quote(a)
		}
	}
	return fmt.Errorf("%w: %s", r, fmt.Sprintf(format, args...))
}

// maxQuoted bounds what of the issuer's text is logged.
const maxQuoted = 300

func quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return fmt.Sprintf("%q", s)
}
