package orgs

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ostler-dev/ostler/internal/fault"
)

// Lengths, in characters.
const (
	maxEmailLength = 254
	maxNameLength  = 200
	maxSlugLength  = 63
	maxAgentLength = 500
)

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// cleanEmail trims an e-mail and returns the key that it is unique by. Its errors are fault.Invalid without a path.
func cleanEmail(email string) (clean, key string, err error) {
	if !isText(email) {
		return "", "", fault.New(fault.Invalid, "The e-mail contains characters that are not valid text.")
	}
	email = strings.TrimSpace(email)
	if utf8.RuneCountInString(email) > maxEmailLength {
		return "", "", fault.New(fault.Invalid, "The e-mail is too long: at most %d characters are allowed.", maxEmailLength)
	}
	local, domain, ok := strings.Cut(email, "@")
	if !ok || local == "" || domain == "" || strings.Contains(domain, "@") || strings.ContainsFunc(email, unicode.IsSpace) {
		return "", "", errNoEmail()
	}
	return email, strings.ToLower(norm.NFC.String(email)), nil
}

func errNoEmail() *fault.Error {
	return fault.New(fault.Invalid, "This is not an e-mail address: write it as name@example.com.")
}

// cleanName trims a name. Its errors are fault.Invalid without a path.
func cleanName(name string) (string, error) {
	if !isText(name) {
		return "", fault.New(fault.Invalid, "The name contains characters that are not valid text.")
	}
	name = strings.TrimSpace(name)
	if name == "" {
		return "", fault.New(fault.Invalid, "The name is empty. Enter one.")
	}
	if utf8.RuneCountInString(name) > maxNameLength {
		return "", fault.New(fault.Invalid, "The name is too long: at most %d characters are allowed.", maxNameLength)
	}
	return name, nil
}

// isText refuses invalid UTF-8 and control characters, the NUL byte among them, which PostgreSQL can't store.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// clip makes a header fit for a column: valid UTF-8, no control characters, not too long.
func clip(s string) string {
	if len(s) > 4*maxAgentLength {
		s = s[:4*maxAgentLength]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxAgentLength {
		return string(runes[:maxAgentLength])
	}
	return s
}

// checkSlug tells what is wrong with a slug that somebody chose.
func checkSlug(slug string) error {
	if len(slug) > maxSlugLength || !slugForm.MatchString(slug) {
		return fault.New(fault.Invalid, "A slug has 1 to %d lowercase letters, digits and single hyphens between them.", maxSlugLength)
	}
	return nil
}

// slugOf makes a slug from a name: its letters without accents and its digits, and hyphens for all else. Empty when
// nothing of the name is left.
func slugOf(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
			// The accent of the letter before it.
		default:
			gap = true
		}
		if b.Len() >= maxSlugLength {
			break
		}
	}
	slug := b.String()
	if len(slug) > maxSlugLength {
		slug = slug[:maxSlugLength]
	}
	return strings.Trim(slug, "-")
}
