// Package model holds the types of the API. They are never rows of the database.
package model

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// MarshalInt writes GraphQL's Int.
func MarshalInt(i int) graphql.Marshaler { return graphql.MarshalInt(i) }

// UnmarshalInt reads GraphQL's Int, which has 32 bits.
func UnmarshalInt(v any) (int, error) {
	n, err := wholeNumber(v)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%v is not an Int: want a whole number of 32 bits", v)
	}
	return int(n), nil
}

// MarshalInt64 writes an Int64.
func MarshalInt64(i int64) graphql.Marshaler { return graphql.MarshalInt64(i) }

// UnmarshalInt64 reads an Int64, of which 53 bits are allowed.
func UnmarshalInt64(v any) (int64, error) {
	n, err := wholeNumber(v)
	if err != nil || n < -(1<<53) || n > 1<<53 {
		return 0, fmt.Errorf("%v is not an Int64: want a whole number of up to 53 bits", v)
	}
	return n, nil
}

func wholeNumber(v any) (int64, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case int64:
		return v, nil
	case json.Number:
		return strconv.ParseInt(v.String(), 10, 64)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v), nil
		}
	}
	return 0, fmt.Errorf("%T is not a whole number", v)
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalTime writes a Time.
func MarshalTime(t models.Millis) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(AppendTime(make([]byte, 0, len(timeFormat)+2), t)) })
}

// AppendTime writes a Time behind b.
func AppendTime(b []byte, t models.Millis) []byte {
	b = append(b, '"')
	b = t.Time().AppendFormat(b, timeFormat)
	return append(b, '"')
}

// UnmarshalTime reads a Time.
func UnmarshalTime(v any) (models.Millis, error) {
	s, ok := v.(string)
	if !ok {
		return 0, fmt.Errorf("%v is not a Time: want a string in RFC 3339, e.g. \"2026-01-31T12:00:00Z\"", v)
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a Time: want RFC 3339, e.g. \"2026-01-31T12:00:00Z\"", s)
	}
	return models.MillisOf(t), nil
}

// MarshalJSON writes any JSON value as it is stored.
func MarshalJSON(j models.JSON) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		if len(j) == 0 {
			_, _ = io.WriteString(w, "null")
			return
		}
		_, _ = w.Write(j)
	})
}

// UnmarshalJSON reads any JSON value.
func UnmarshalJSON(v any) (models.JSON, error) {
	doc, err := jsonx.Encode(withEmptyLists(v))
	if err != nil {
		return nil, fmt.Errorf("not a JSON value: %w", err)
	}
	return models.JSON(doc), nil
}

// withEmptyLists makes lists of what gqlparser gives for empty lists in a document: slices that are nil, which JSON has as null.
func withEmptyLists(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, inner := range v {
			list[i] = withEmptyLists(inner)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, inner := range v {
			object[name] = withEmptyLists(inner)
		}
		return object
	}
	return v
}
