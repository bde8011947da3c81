package tools_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/tools"
)

func TestNormalizePath(t *testing.T) {
	long := strings.Repeat("x", tools.MaxSegmentBytes)
	deep := tools.WorkspaceRoot + strings.Repeat("/"+long, 3)
	full := deep + "/" + strings.Repeat("y", tools.MaxPathBytes-len(deep)-1)
	cases := []struct{ in, want string }{
		{"notes.txt", "/workspace/notes.txt"},
		{".", "/workspace"},
		{"./a/./b", "/workspace/a/b"},
		{"a//b///c/", "/workspace/a/b/c"},
		{"/workspace", "/workspace"},
		{"/workspace/", "/workspace"},
		{"//workspace//a", "/workspace/a"},
		{"/outputs/call_1", "/outputs/call_1"},
		{"/.tasks/1/result.json", "/.tasks/1/result.json"},
		{"workspace/a", "/workspace/workspace/a"},
		{"...", "/workspace/..."},
		{"..a/b..", "/workspace/..a/b.."},
		{"~/x", "/workspace/~/x"},
		{"мой файл 🗝️.txt", "/workspace/мой файл 🗝️.txt"},
		{long, "/workspace/" + long},
		{full, full},
		{"", ""},
		{"/", ""},
		{"/etc/passwd", ""},
		{"/workspacex/a", ""},
		{"/Workspace/a", ""},
		{"/outputsx", ""},
		{"..", ""},
		{"../a", ""},
		{"a/../b", ""},
		{"/workspace/..", ""},
		{"/workspace/../etc", ""},
		{`a\b`, ""},
		{`..\..\x`, ""},
		{"a\x00b", ""},
		{"a\nb", ""},
		{"a\x7fb", ""},
		{"a\u0085b", ""},
		{"a\xffb", ""},
		{long + "x", ""},
		{full + "x", ""},
		{strings.Repeat("a/", 5000), ""},
	}
	for _, c := range cases {
		got, err := tools.NormalizePath(c.in)
		if c.want != "" {
			if err != nil || got != c.want {
				t.Errorf("NormalizePath(%q) = %q, %v; want %q", c.in, got, err, c.want)
			}
			continue
		}
		var p *tools.PathError
		if !errors.As(err, &p) || p.Code != tools.CodeInvalidPath || got != "" {
			t.Errorf("NormalizePath(%q) = %q, %v; want %s", c.in, got, err, tools.CodeInvalidPath)
			continue
		}
		if !utf8.ValidString(p.Message) || !strings.HasSuffix(p.Message, ".") || len(p.Message) > 700 {
			t.Errorf("NormalizePath(%q) has a message that isn't fit to be shown: %q", c.in, p.Message)
		}
	}
}

func FuzzNormalizePath(f *testing.F) {
	for _, seed := range []string{"a", "/workspace/a", "../x", "a/./b//c", "/.tasks", "\x00", "\xff", `\`, "/outputs/../workspace", strings.Repeat("a", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := tools.NormalizePath(in)
		if err != nil {
			var p *tools.PathError
			if got != "" || !errors.As(err, &p) || !utf8.ValidString(p.Message) || !utf8.ValidString(p.Path) {
				t.Fatalf("NormalizePath(%q) = %q, %#v", in, got, err)
			}
			return
		}
		if again, err := tools.NormalizePath(got); err != nil || again != got {
			t.Fatalf("NormalizePath(%q) = %q, which is not its own form: %q, %v", in, got, again, err)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || len(got) > tools.MaxPathBytes {
			t.Fatalf("NormalizePath(%q) = %q, which can't be stored", in, got)
		}
		segments := strings.Split(got, "/")
		if segments[0] != "" || !tools.IsRoot("/"+segments[1]) {
			t.Fatalf("NormalizePath(%q) = %q, which is below no root", in, got)
		}
		for _, s := range segments[1:] {
			if s == "" || s == "." || s == ".." || len(s) > tools.MaxSegmentBytes {
				t.Fatalf("NormalizePath(%q) = %q, which has the segment %q", in, got, s)
			}
		}
	})
}
