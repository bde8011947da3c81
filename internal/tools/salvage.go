package tools

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/jsonx"
)

// maxUnwraps bounds how many wrappings Salvage takes off: a fence around a string, and the like.
const maxUnwraps = 4

// Salvage mends arguments that a model wrote almost right, where only one meaning is possible: it takes off a byte order
// mark, a Markdown fence, one semicolon after the end and the quotes of a JSON string that holds the object, and leaves out
// commas before a closing bracket. It never completes what was cut off, since nobody knows what was to follow. ok tells
// that the arguments were no JSON object and repaired is one; else nothing can, or has to, be mended.
func Salvage(raw json.RawMessage) (repaired json.RawMessage, ok bool) {
	if len(raw) > MaxArgumentsBytes || isObject(raw) {
		return nil, false
	}
	text := []byte(raw)
	for range maxUnwraps {
		text = trim(text)
		inner, unwrapped := unwrap(text)
		if !unwrapped {
			break
		}
		text = inner
	}
	text = trim(text)
	if isObject(text) {
		return bytes.Clone(text), true
	}
	text = dropTrailingCommas(text)
	if isObject(text) {
		return text, true
	}
	return nil, false
}

// isObject reports whether a document is one JSON object that decodeArguments takes.
func isObject(doc []byte) bool {
	v, err := jsonx.Normalized(doc)
	if err != nil {
		return false
	}
	_, ok := v.(map[string]any)
	return ok
}

func trim(text []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\uFEFF")))
}

// unwrap takes off one wrapping.
func unwrap(text []byte) ([]byte, bool) {
	if inner, ok := unfence(text); ok {
		return inner, true
	}
	// Decoding replaces bytes that are no UTF-8, which would change what was written.
	if len(text) > 1 && text[0] == '"' && utf8.Valid(text) {
		var s string
		if json.Unmarshal(text, &s) == nil {
			return []byte(s), true
		}
	}
	// A brace or a quote before it: what is to the left is whole.
	if rest, ok := bytes.CutSuffix(text, []byte(";")); ok {
		if rest = trim(rest); bytes.HasSuffix(rest, []byte("}")) || bytes.HasSuffix(rest, []byte(`"`)) || bytes.HasSuffix(rest, []byte("```")) {
			return rest, true
		}
	}
	return nil, false
}

// unfence takes off a Markdown fence: three backticks, optionally json, and three backticks at the end.
func unfence(text []byte) ([]byte, bool) {
	const fence = "```"
	s, opened := strings.CutPrefix(string(text), fence)
	if !opened {
		return nil, false
	}
	s, closed := strings.CutSuffix(s, fence)
	if !closed {
		return nil, false
	}
	if language := "json"; len(s) >= len(language) && strings.EqualFold(s[:len(language)], language) {
		s = s[len(language):]
	}
	return []byte(s), true
}

// dropTrailingCommas leaves out each comma after a value that only whitespace divides from a closing bracket.
func dropTrailingCommas(text []byte) []byte {
	out := make([]byte, 0, len(text))
	inString, escaped := false, false
	// comma is where in out a comma stands that nothing but whitespace has followed; -1 for none.
	comma := -1
	for _, c := range text {
		switch {
		case inString:
			inString = escaped || c != '"'
			escaped = !escaped && c == '\\'
		case c == ',':
			// After a bracket that opens, or after another comma, a value is missing: that is no trailing comma.
			before := bytes.TrimRight(out, " \t\r\n")
			comma = -1
			if len(before) > 0 && !strings.ContainsRune("[{,:", rune(before[len(before)-1])) {
				comma = len(out)
			}
		case c == '}' || c == ']':
			if comma >= 0 {
				out = append(out[:comma], out[comma+1:]...)
			}
			comma = -1
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		default:
			inString = c == '"'
			comma = -1
		}
		out = append(out, c)
	}
	return out
}
