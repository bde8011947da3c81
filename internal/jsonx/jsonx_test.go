package jsonx_test

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/jsonx"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	if got := string(jsonx.MustEncode(map[string]string{"a": "<&>"})); got != `{"a":"<&>"}` {
		t.Errorf("got %s", got)
	}
	if doc, err := jsonx.Encode(func() {}); err == nil {
		t.Errorf("got %s", doc)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true}, {"", "null", false}, {`{"a":1,"b":[]}`, ` {"b":[ ],"a":1.0}`, true}, {"[1,2]", "[2,1]", false}, {"{", "{", true}, {"{", "[", false}, {"{", "1", false},
	} {
		if got := jsonx.Same([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

func TestHasNUL(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{
		`"\u0000"`: true, `{"\u0000":1}`: true, `"\\u0000"`: false, `"\\\u0000"`: true, `"\u0001"`: false, `""`: false, `"\u000`: false,
	} {
		if jsonx.HasNUL([]byte(doc)) != want {
			t.Errorf("%s: want %v", doc, want)
		}
	}
}
