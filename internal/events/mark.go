package events

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// Mark tells an event from another one at the same place: the log of a database that was restored from a backup grows past the places that
// clients know, and has other events there. The zero value is that of no known event.
type Mark [8]byte

// MarkOf returns the mark of a durable event.
func MarkOf(e *models.Event) Mark { return Mark(e.ID[8:]) } // the random half

// FormatPlace writes a place in the log of a session; see ParsePlace.
func FormatPlace(sequence int64, m Mark) string {
	s := strconv.FormatInt(sequence, 10)
	if m != (Mark{}) {
		s += "." + base64.RawURLEncoding.EncodeToString(m[:])
	}
	return s
}

// ParsePlace reads what FormatPlace has written, or a sequence alone. It reports false for anything else.
func ParsePlace(s string) (sequence int64, m Mark, ok bool) {
	number, mark, marked := strings.Cut(s, ".")
	sequence, err := strconv.ParseInt(number, 10, 64)
	if err != nil || sequence < 0 || !marked {
		return sequence, m, err == nil && sequence >= 0
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(mark)
	if err != nil || len(b) != len(m) {
		return 0, m, false
	}
	return sequence, Mark(b), true
}
