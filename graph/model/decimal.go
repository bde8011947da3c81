package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/models"
)

// maxDecimal bounds how many characters a Decimal has.
const maxDecimal = 40

// MarshalDecimal writes a Decimal, without zeros at its end.
func MarshalDecimal(d decimal.Decimal) graphql.Marshaler { return graphql.MarshalString(d.String()) }

// UnmarshalDecimal reads a Decimal: digits, with a point or without. Exponents are refused, as few characters of them make a number that
// nothing can hold. What a field takes is for the field to check.
func UnmarshalDecimal(v any) (decimal.Decimal, error) {
	var s string
	switch v := v.(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	case int64:
		s = strconv.FormatInt(v, 10)
	default:
		return decimal.Decimal{}, fmt.Errorf("%v is not a Decimal: want a string, e.g. \"0.0125\"", v)
	}
	if len(s) > maxDecimal {
		return decimal.Decimal{}, fmt.Errorf("a Decimal has at most %d characters; this one has %d", maxDecimal, len(s))
	}
	d, err := decimal.NewFromString(s)
	if err != nil || strings.ContainsAny(s, "eE") {
		return decimal.Decimal{}, fmt.Errorf("%q is not a Decimal: want a decimal number such as \"0.0125\"", s)
	}
	return d, nil
}

// Dollars returns an amount of dollars as a Decimal.
func Dollars(n models.Nanos) decimal.Decimal { return decimal.New(int64(n), -9) }

// DollarsPtr is Dollars for what may not be known.
func DollarsPtr(n *models.Nanos) *decimal.Decimal {
	if n == nil {
		return nil
	}
	d := Dollars(*n)
	return &d
}
