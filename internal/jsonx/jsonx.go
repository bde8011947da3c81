// Package jsonx encodes JSON as this program writes it, and compares documents.
package jsonx

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns v as JSON in which <, > and & stay as they are: models and people read it better so, and it takes less room.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MustEncode is Encode for values that can't fail: plain structs, whose embedded JSON was checked where it came in. It panics otherwise.
func MustEncode(v any) []byte {
	doc, err := Encode(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return doc
}

// Same reports whether two documents mean the same. An empty one is the same as another empty one only; one that isn't JSON, as one with
// the same bytes.
func Same(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errA := Canonical(a)
	y, errB := Canonical(b)
	if errA != nil || errB != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x, y)
}

// HasNUL reports whether a valid document has a NUL character in its texts or names, where it is written as an escape.
func HasNUL(doc []byte) bool {
	for i := 0; i+6 <= len(doc); i++ {
		if doc[i] != '\\' {
			continue
		}
		if string(doc[i:i+6]) == `\u0000` {
			return true
		}
		i++ // what follows a backslash is no backslash that begins an escape
	}
	return false
}
