package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestDecimal(t *testing.T) {
	for in, want := range map[any]string{
		"0.0125": "0.0125", "12": "12", "1.50": "1.5", "-3": "-3", ".5": "0.5", int64(7): "7", json.Number("0.1"): "0.1",
		"9223372036854775808": "9223372036854775808", "0." + strings.Repeat("0", 37) + "1": "0." + strings.Repeat("0", 37) + "1",
	} {
		d, err := model.UnmarshalDecimal(in)
		if err != nil {
			t.Errorf("%v: %v", in, err)
			continue
		}
		var b strings.Builder
		model.MarshalDecimal(d).MarshalGQL(&b)
		if b.String() != `"`+want+`"` {
			t.Errorf("%v: got %s, want %s", in, b.String(), want)
		}
	}
	for _, in := range []any{
		"", "1e9", "1E2", json.Number("1e400000000"), "NaN", "Inf", "-Infinity", "0x10", "1_000", "1,5", " 1", "1 ", "--1", "1.2.3", "١",
		0.5, true, nil, []any{"1"}, strings.Repeat("9", 41),
	} {
		if d, err := model.UnmarshalDecimal(in); err == nil {
			t.Errorf("%v: got %s, want an error", in, d)
		} else if len(err.Error()) > 200 {
			t.Errorf("%v: the message has %d bytes", in, len(err.Error()))
		}
	}
}

func TestDollars(t *testing.T) {
	for in, want := range map[models.Nanos]string{0: "0", 1: "0.000000001", 3_000_000_000: "3", -1_500_000_000: "-1.5"} {
		if got := model.Dollars(in).String(); got != want {
			t.Errorf("%d: got %s, want %s", in, got, want)
		}
	}
	if model.DollarsPtr(nil) != nil {
		t.Error("an unknown price became an amount")
	}
}
