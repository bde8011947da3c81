package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// errNotObject and its like tell what is wrong with a body, never what is in it: bodies hold secrets.
var (
	errNotUTF8   = errors.New("it is not UTF-8")
	errNotObject = errors.New("it is not one JSON object")
	errTrailing  = errors.New("something follows the JSON object")
)

// decodeObject reads one JSON object, with the names of its members exactly as they are written, each at most once,
// and nothing behind it. encoding/json alone would take QUERY for query and the last of two values.
func decodeObject(body []byte, member func(name string, value json.RawMessage) error) error {
	if !utf8.Valid(body) {
		return errNotUTF8
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errNotObject
	}
	var seen map[string]bool
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return errNotObject
		}
		if seen == nil {
			seen = make(map[string]bool, 4)
		}
		if seen[name] {
			return errors.New("it has a duplicate member")
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return errNotObject
		}
		if err := member(name, value); err != nil {
			return err
		}
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return errNotObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// decodeRequest reads a GraphQL request. Members that it doesn't know are passed over, as the specification of
// GraphQL over HTTP asks.
func decodeRequest(body []byte) (*request, error) {
	req := &request{}
	err := decodeObject(body, req.set)
	return req, err
}

func (r *request) set(name string, value json.RawMessage) (err error) {
	switch name {
	case "query":
		r.query, err = decodeString(name, value)
	case "documentId":
		r.documentID, err = decodeString(name, value)
	case "operationName":
		r.operationName, err = decodeString(name, value)
	case "variables":
		r.variables, err = decodeMap(name, value)
	case "extensions":
		r.extensions, err = decodeMap(name, value)
	}
	return err
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }

func decodeString(name string, value json.RawMessage) (string, error) {
	var s string
	if isNull(value) {
		return "", nil
	}
	if json.Unmarshal(value, &s) != nil {
		return "", fmt.Errorf("`%s` must be a string", name)
	}
	return s, nil
}

func decodeMap(name string, value json.RawMessage) (map[string]any, error) {
	if isNull(value) {
		return nil, nil
	}
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&m) != nil || m == nil {
		return nil, fmt.Errorf("`%s` must be an object", name)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // possible in an address only
		return nil, fmt.Errorf("`%s` must be one object", name)
	}
	for k, v := range m {
		n, err := normalize(v)
		if err != nil {
			return nil, err
		}
		m[k] = n
	}
	return m, nil
}

// normalize makes int64 of whole numbers, which the coercion of variables then can tell from strings. Fractions keep
// their digits, because a Decimal must not go through a float. It refuses NUL.
func normalize(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 {
			return nil, nulCharacter()
		}
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n, nil
		}
		if f, err := v.Float64(); err != nil || math.IsInf(f, 0) {
			return nil, errors.New("a number is too large")
		}
	case []any:
		for i := range v {
			if v[i], err = normalize(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if strings.IndexByte(k, 0) >= 0 {
				return nil, nulCharacter()
			}
			if v[k], err = normalize(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
