package jsonx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of a JSON document that Canonical takes. They keep what follows – schemas, hashes, databases, browsers – from
// being handed something that only a machine would write.
const (
	maxJSONDepth     = 128
	maxNumberLiteral = 400
)

// Canonical returns the one form of a JSON document: two documents that mean the same have the same bytes. It follows
// RFC 8785: no whitespace, members sorted by the UTF-16 units of their names, the shortest escapes, numbers as
// ECMAScript writes a double (1.0 and 1e0 are 1; -0 is 0). It departs from it in two points. An integer that is
// written without fraction and exponent keeps all its digits, because a double would silently change ids above 2^53.
// And of members with one name the last one counts, as encoding/json has it, where the RFC leaves it open.
// Numbers beyond the range of a double, documents nested deeper than 128 and invalid UTF-8 are refused; an unpaired
// surrogate escape becomes U+FFFD.
func Canonical(doc []byte) (json.RawMessage, error) {
	v, err := Normalized(doc)
	if err != nil {
		return nil, err
	}
	return AppendCanonical(make([]byte, 0, len(doc)), v), nil
}

// Normalized decodes a document within the limits of Canonical; its numbers are json.Number in canonical form.
func Normalized(doc []byte) (any, error) {
	if !utf8.Valid(doc) {
		return nil, errors.New("it is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("it ends too early")
		}
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after its end")
	}
	return normalize(v, 0)
}

func normalize(v any, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxJSONDepth)
	}
	var err error
	switch v := v.(type) {
	case json.Number:
		return normalizeNumber(v)
	case []any:
		for i := range v {
			if v[i], err = normalize(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = normalize(v[k], depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func normalizeNumber(n json.Number) (json.Number, error) {
	s := string(n)
	if len(s) > maxNumberLiteral {
		return "", fmt.Errorf("a number in it has more than %d digits", maxNumberLiteral)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		if len(s) > 40 {
			s = s[:40] + "…"
		}
		return "", fmt.Errorf("the number %s is out of range", s)
	}
	if f == 0 {
		return "0", nil
	}
	if !strings.ContainsAny(s, ".eE") {
		return n, nil
	}
	return json.Number(formatDouble(f)), nil
}

// formatDouble writes a finite number as ECMAScript's Number.prototype.toString does.
func formatDouble(f float64) string {
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	// Go writes two digits of exponent at least, ECMAScript as few as there are.
	mantissa, exponent, _ := strings.Cut(s, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// AppendCanonical appends the canonical form of a value that comes from Normalized.
func AppendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return AppendString(b, v)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendCanonical(b, e)
		}
		return append(b, ']')
	case map[string]any:
		return appendObject(b, v)
	default:
		// Only what encoding/json decodes into any comes here.
		panic(fmt.Sprintf("canonical JSON of %T", v))
	}
}

func appendObject(b []byte, v map[string]any) []byte {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.SortFunc(names, compareUTF16)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, name)
		b = append(b, ':')
		b = AppendCanonical(b, v[name])
	}
	return append(b, '}')
}

// compareUTF16 orders as RFC 8785 wants it. It differs from the order of bytes only where a character beyond the
// basic plane meets one of U+E000 to U+FFFF.
func compareUTF16(x, y string) int {
	for len(x) > 0 && len(y) > 0 {
		rx, nx := utf8.DecodeRuneInString(x)
		ry, ny := utf8.DecodeRuneInString(y)
		if rx != ry {
			return cmp.Compare(firstUnit(rx), firstUnit(ry))*2 + cmp.Compare(rx, ry)
		}
		x, y = x[nx:], y[ny:]
	}
	return cmp.Compare(len(x), len(y))
}

func firstUnit(r rune) rune {
	if r > 0xFFFF {
		high, _ := utf16.EncodeRune(r)
		return high
	}
	return r
}

const hexDigits = "0123456789abcdef"

// AppendString appends a JSON string with the escapes of RFC 8785: only what must be escaped.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			if c < 0x20 {
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
				continue
			}
			b = append(b, c)
		}
	}
	return append(b, '"')
}
