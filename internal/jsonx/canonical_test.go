package jsonx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/jsonx"
)

func TestCanonical(t *testing.T) {
	cases := []struct{ in, want string }{
		{` { "b" : 1 , "a" : [ true , null ] } `, `{"a":[true,null],"b":1}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`, `"€$\u000f\nA'B\"\\\\\"/"`},
		{`"\u2028<>&\u007f"`, "\"\u2028<>&\x7f\""},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\ud83d"`, "\"\uFFFD\""},
		// The sorting example of RFC 8785.
		{
			`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		},
		{`[1,1.0,1e0,10e-1,-0,0.0,-0.0e5]`, `[1,1,1,1,0,0,0]`},
		{`[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]`, `[333333333.3333333,1e+30,4.5,0.002,1e-27]`},
		{`[1e21,1e20,1e-6,1e-7,123456789012345678901234567890]`, `[1e+21,100000000000000000000,0.000001,1e-7,123456789012345678901234567890]`},
		{`[9007199254740993,-9007199254740993]`, `[9007199254740993,-9007199254740993]`},
		{`1e-999999`, `0`},
		{`1e999`, ``},
		{`1` + strings.Repeat("0", 400), ``},
		{`0.` + strings.Repeat("1", 500), ``},
		{``, ``},
		{`{`, ``},
		{`{} {}`, ``},
		{`{}x`, ``},
		{`{'a':1}`, ``},
		{`[01]`, ``},
		{`NaN`, ``},
		{"\"\xff\"", ``},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), ``},
		{strings.Repeat("[", 1_000_000), ``},
	}
	for _, c := range cases {
		got, err := jsonx.Canonical([]byte(c.in))
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("Canonical(%.60s) = %s, %v; want %s", c.in, got, err, c.want)
		}
	}
}

// document draws a JSON value of what encoding/json decodes into any.
func document() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any { return drawValue(t, 0) })
}

func drawValue(t *rapid.T, depth int) any {
	kinds := 6
	if depth > 3 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "constant")
	case 1:
		return json.Number(fmt.Sprint(rapid.Int64().Draw(t, "integer")))
	case 2:
		return rapid.Float64Range(-1e300, 1e300).Draw(t, "number")
	case 3:
		return rapid.String().Draw(t, "string")
	case 4:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range list {
			list[i] = drawValue(t, depth+1)
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(t, "members") {
			object[rapid.String().Draw(t, "name")] = drawValue(t, depth+1)
		}
		return object
	}
}

// scramble writes a value with members in any order, whitespace and needless escapes.
func scramble(b *bytes.Buffer, v any, r *rand.Rand) {
	space := func() { b.WriteString([]string{"", "", " ", "\n\t"}[r.IntN(4)]) }
	space()
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		b.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			scramble(b, name, r)
			b.WriteByte(':')
			scramble(b, v[name], r)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			scramble(b, e, r)
		}
		b.WriteByte(']')
	default:
		doc, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		// An a may be the last digit of an escape that is there already.
		if _, text := v.(string); text && !bytes.ContainsRune(doc, '\\') && r.IntN(2) == 0 {
			doc = bytes.ReplaceAll(doc, []byte("a"), []byte(`\u0061`))
		}
		b.Write(doc)
	}
	space()
}

func TestCanonicalDependsOnMeaningOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := document().Draw(t, "document")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var one, two bytes.Buffer
		scramble(&one, v, r)
		scramble(&two, v, r)
		a, err := jsonx.Canonical(one.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", one.Bytes(), err)
		}
		b, err := jsonx.Canonical(two.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", two.Bytes(), err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("one document, two forms:\n%s\n%s", a, b)
		}
		again, err := jsonx.Canonical(a)
		if err != nil || !bytes.Equal(again, a) {
			t.Fatalf("the form of %s is %s, %v", a, again, err)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1.5e3,"\u0000"]}`, `"\ud800"`, `-0.0`, `{"":{}}`, `[1e308,1e-308]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := jsonx.Canonical(in)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("Canonical(%q) = %q, which is not JSON", in, got)
		}
		if again, err := jsonx.Canonical(got); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("Canonical(%q) = %q, whose own form is %q, %v", in, got, again, err)
		}
	})
}
