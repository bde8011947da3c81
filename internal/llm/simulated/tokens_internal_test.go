package simulated

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func tokenize(s string) []string {
	var list []string
	for s != "" {
		n := tokenLen(s)
		list = append(list, s[:n])
		s = s[n:]
	}
	return list
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"Hello, world!", []string{"Hello", ",", " world", "!"}},
		{"extraordinary idea", []string{"extrao", "rdinar", "y", " idea"}},
		{"an extraordinary", []string{"an", " extra", "ordina", "ry"}},
		{"a\n\n  b ", []string{"a", "\n\n  ", "b", " "}},
		{`{"path":"/a"}`, []string{`{"`, "path", `":"/`, "a", `"}`}},
		{"größe übergröße", []string{"größe", " überg", "röße"}},
		{"日本語のテキスト", []string{"日本語のテキ", "スト"}},
		{"🎉🎉 ok", []string{"🎉🎉", " ok"}},
		{"\xff\xfe", []string{"\xff\xfe"}},
	} {
		if got := tokenize(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: want %q, got %q", c.text, c.want, got)
		}
		if got := countTokens(c.text); got != len(c.want) {
			t.Errorf("%q: want %d, got %d", c.text, len(c.want), got)
		}
	}
}

func TestTokensAreWholeAndShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		list := tokenize(s)
		if strings.Join(list, "") != s {
			t.Fatalf("%q don't make %q", list, s)
		}
		for _, token := range list {
			if n := utf8.RuneCountInString(token); n == 0 || n > maxTokenRunes || !utf8.ValidString(token) {
				t.Fatalf("bad token %q", token)
			}
		}
	})
}

func TestLoremHasTheTokensAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3_000).Draw(t, "n")
		if got := countTokens(lorem(n)); got != n {
			t.Fatalf("want %d, got %d", n, got)
		}
	})
}
