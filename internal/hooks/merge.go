package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/ostler-dev/ostler/internal/jsonx"
)

// object decodes a JSON object, with numbers as they were written.
func object(doc json.RawMessage) (map[string]any, error) {
	v, err := value(doc)
	if err != nil {
		return nil, err
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it must be an object")
	}
	return members, nil
}

func value(doc json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return v, check(v, 0)
}

// check refuses what can't be stored: too deep, or with NUL characters.
func check(v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	hasNUL := func(s string) bool { return strings.Contains(s, "\x00") }
	switch v := v.(type) {
	case string:
		if hasNUL(v) {
			return errors.New("it contains a NUL character")
		}
	case []any:
		for _, e := range v {
			if err := check(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			if hasNUL(k) {
				return errors.New("it contains a NUL character")
			}
			if err := check(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// merge applies a merge patch (RFC 7396) to a document; an empty document is none. The result is canonical JSON of at most
// limit bytes; 0 for no limit.
func merge(doc json.RawMessage, patch any, limit int) (json.RawMessage, error) {
	var target any
	if len(doc) > 0 {
		dec := json.NewDecoder(bytes.NewReader(doc))
		dec.UseNumber()
		if err := dec.Decode(&target); err != nil {
			return nil, fmt.Errorf("decode what is patched: %w", err)
		}
	}
	b, err := json.Marshal(mergeValue(target, patch))
	if err != nil {
		return nil, err
	}
	out, err := jsonx.Canonical(b)
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(out) > limit {
		return nil, fmt.Errorf("it would have %d bytes; at most %d are allowed", len(out), limit)
	}
	return out, nil
}

// mergeValue is the procedure of RFC 7396, section 2. It changes nothing that it is given.
func mergeValue(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	into, ok := target.(map[string]any)
	if !ok {
		into = nil
	}
	merged := make(map[string]any, len(into)+len(members))
	maps.Copy(merged, into)
	for name, v := range members {
		if v == nil {
			delete(merged, name)
			continue
		}
		merged[name] = mergeValue(merged[name], v)
	}
	return merged
}
