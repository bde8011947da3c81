package tools_test

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
)

// Rules: H9.
func TestNameGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"read_file", "read_file", true},
		{"read_file", "read_files", false},
		{"read_file", "Read_file", false},
		{"read_*", "read_file", true},
		{"read_*", "read_", true},
		{"read_*", "read", false},
		{"*", "anything", true},
		{"a|b*|c", "b2", true},
		{"a|b*|c", "c", true},
		{"a|b*|c", "c2", false},
		{"a|*", "z", true},
	} {
		g, f := tools.ParseNameGlob(c.glob)
		if f != nil {
			t.Fatal(f)
		}
		if g.Match(c.name) != c.want {
			t.Errorf("%s matches %s: %v", c.glob, c.name, !c.want)
		}
	}
	for _, bad := range []string{"", "|", "a|", "a||b", "a*b", "**", "a b", "a?", "a.b", "ä", strings.Repeat("a", 65), strings.Repeat("a|", 300) + "a", "\x00"} {
		if _, f := tools.ParseNameGlob(bad); f == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, f := tools.ParseNameGlobs([]string{"a", "b c"}); f == nil || f.Path[0] != "1" {
		t.Errorf("got %v", f)
	}
	if (tools.NameGlobs{}).Match("a") {
		t.Error("no glob matches something")
	}
}

func FuzzNameGlob(f *testing.F) {
	for _, s := range [][2]string{{"*", "a"}, {"read_*|b", "read_file"}, {"a|b", "b"}, {"a*b", ""}, {"", ""}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		g, bad := tools.ParseNameGlob(text)
		if bad != nil {
			return
		}
		// The plain meaning: some alternative is the name, or a beginning of it that ends in a star.
		want := false
		for a := range strings.SplitSeq(text, "|") {
			want = want || a == name || a[len(a)-1] == '*' && strings.HasPrefix(name, a[:len(a)-1])
		}
		if g.Match(name) != want {
			t.Errorf("%q matches %q: %v", text, name, !want)
		}
	})
}
