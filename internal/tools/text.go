package tools

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/text"
)

// The encodings in which content of files is shown and taken.
const (
	EncodingText   = "text"
	EncodingBase64 = "base64"
)

// DecodeContent returns the content that is shown in an encoding; an empty one means text.
func DecodeContent(shown, encoding string) ([]byte, error) {
	switch encoding {
	case "", EncodingText:
		return []byte(shown), nil
	case EncodingBase64:
		content, err := base64.StdEncoding.DecodeString(shown)
		if err != nil {
			return nil, fmt.Errorf("content is not base64 (standard alphabet, padded): %w", err)
		}
		return content, nil
	default:
		return nil, fmt.Errorf("encoding %q is unknown; use %s or %s", encoding, EncodingText, EncodingBase64)
	}
}

// Shorten returns s, or its beginning and an ellipsis when it has more than limit bytes. It never splits a character.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return text.Cut(s, limit) + "…"
}

// EncodedLen returns how many bytes s takes inside a JSON string, as Success writes it.
func EncodedLen(s string) int {
	n := 0
	for _, r := range s {
		n += encodedRuneLen(r)
	}
	return n
}

// CutEncoded returns the longest beginning of s that takes at most budget bytes inside a JSON string.
func CutEncoded(s string, budget int) string {
	for i, r := range s {
		if budget -= encodedRuneLen(r); budget < 0 {
			return s[:i]
		}
	}
	return s
}

func encodedRuneLen(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < 0x20 || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
		// RuneError may stand for an invalid byte, which is written as an escape.
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

// oneLine makes text fit for one line that people read.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", " "), "\uFFFD")), " ")
	return Shorten(s, limit)
}
