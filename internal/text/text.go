// Package text decides what text the databases can both store, valid UTF-8 without NUL characters, and cuts it.
package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/fault"
)

// Storable reports whether both databases can store s.
func Storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// StorableBytes is Storable for bytes.
func StorableBytes(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// Cut returns the longest beginning of s that has at most limit bytes and splits no character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Clean returns s with U+FFFD in place of each NUL and each byte of invalid UTF-8. Pieces that were cleaned and joined are what was joined and
// cleaned, as long as no character was split.
func Clean(s string) string {
	if Storable(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == 0 {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Check returns a fault.Invalid error at path when s can't be stored or has more than limit characters.
func Check(s string, limit int, path ...string) error {
	var problem string
	switch {
	case !utf8.ValidString(s):
		problem = "The text is not valid UTF-8."
	case strings.IndexByte(s, 0) >= 0:
		problem = "The text contains a NUL character; remove it."
	default:
		n := utf8.RuneCountInString(s)
		if n <= limit {
			return nil
		}
		return fault.New(fault.Invalid, "The text has %d characters; at most %d are allowed.", n, limit).At(path...)
	}
	return fault.New(fault.Invalid, "%s", problem).At(path...)
}

// CheckOptional is Check; nil is fine.
func CheckOptional(s *string, limit int, path ...string) error {
	if s == nil {
		return nil
	}
	return Check(*s, limit, path...)
}
