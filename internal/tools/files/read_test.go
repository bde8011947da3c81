package files_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/tools"
)

type part struct {
	Path, Content, Encoding, Unit string
	Offset                        int
	tools.Cut
	Error struct{ Code, Message string }
}

// readAll follows nextOffset to the end, as the hint says.
func readAll(tb testing.TB, t *rapid.T, content string, limit int) string {
	tb.Helper()
	tb = fataler{TB: tb, t: t}
	call := with(tb, map[string]string{"/workspace/f": content})
	var out strings.Builder
	arguments := object{"path": "f"}
	for range len(content) + 2 {
		if limit > 0 {
			arguments["limit"] = limit
		}
		p := decoded[part](tb, invoke(tb, call, "read_file", arguments))
		piece := p.Content
		if p.Encoding == tools.EncodingBase64 {
			b, err := base64.StdEncoding.DecodeString(piece)
			if err != nil {
				t.Fatal(err)
			}
			piece = string(b)
		}
		if p.Truncated != (p.Reason != "") || (p.Truncated && (p.BytesReturned != len(piece) || p.BytesTotal != len(content) || piece == "")) {
			t.Fatalf("the part is cut so: %+v with %d bytes", p.Cut, len(piece))
		}
		out.WriteString(piece)
		if !p.Truncated {
			return out.String()
		}
		arguments["offset"], arguments["unit"] = p.NextOffset, p.Unit
	}
	t.Fatal("it goes on and on")
	return ""
}

// fataler lets helpers of testing.TB run inside rapid.
type fataler struct {
	testing.TB
	t *rapid.T
}

func (f fataler) Helper()                           {}
func (f fataler) Fatal(args ...any)                 { f.t.Fatal(args...) }
func (f fataler) Fatalf(format string, args ...any) { f.t.Fatalf(format, args...) }

func TestReadingInPartsGivesTheWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "line\n", "é", "🗝", "\n", "\x01", "\"\\", "\x00", "\xff", "long " + strings.Repeat("x", 70_000) + "\n"})
		content := strings.Repeat(strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(rt, "pieces"), ""), rapid.IntRange(1, 3).Draw(rt, "times"))
		limit := rapid.SampledFrom([]int{0, 1, 2, 30_000}).Draw(rt, "limit")
		if limit > 0 && limit < 10 && len(content) > 1000 {
			limit = 0
		}
		if got := readAll(t, rt, content, limit); got != content {
			rt.Fatalf("%d bytes came back as %d", len(content), len(got))
		}
	})
}

func TestReadingLargeFiles(t *testing.T) {
	lines := strings.Repeat("a line of text\n", 10_000)
	call := with(t, map[string]string{
		"/workspace/lines": lines, "/workspace/long": "short\n" + strings.Repeat("é", 100_000) + "\nlast",
		"/workspace/bin": strings.Repeat("\x00", 200_000),
	})
	p := decoded[part](t, invoke(t, call, "read_file", object{"path": "lines"}))
	if !p.Truncated || p.Reason != tools.ReasonSize || p.NextOffset < 3000 || !strings.HasSuffix(p.Content, "text\n") {
		t.Errorf("lines: %+v", p.Cut)
	}
	p = decoded[part](t, invoke(t, call, "read_file", object{"path": "lines", "offset": p.NextOffset, "limit": 2}))
	if p.Content != "a line of text\na line of text\n" || p.Reason != tools.ReasonLimit {
		t.Errorf("more lines: %q %+v", p.Content, p.Cut)
	}
	p = decoded[part](t, invoke(t, call, "read_file", object{"path": "long"}))
	if p.Content != "short\n" || p.NextOffset != 1 || p.Unit != "lines" {
		t.Errorf("before the long line: %q %+v", p.Content, p.Cut)
	}
	p = decoded[part](t, invoke(t, call, "read_file", object{"path": "long", "offset": 1}))
	if p.Unit != "bytes" || p.Offset != 6 || !strings.Contains(p.ResumeHint, "Line 2 is too long") || !utf8.ValidString(p.Content) || p.NextOffset != 6+len(p.Content) {
		t.Errorf("the long line: %+v", p.Cut)
	}
	p = decoded[part](t, invoke(t, call, "read_file", object{"path": "long", "offset": 7, "limit": 1, "unit": "bytes"}))
	if p.Content != "é" || p.Offset != 6 || p.NextOffset != 8 {
		t.Errorf("inside a character: %q %+v", p.Content, p)
	}
	p = decoded[part](t, invoke(t, call, "read_file", object{"path": "bin"}))
	if p.Unit != "bytes" || p.NextOffset < 40_000 || p.Reason != tools.ReasonSize {
		t.Errorf("binary: %+v", p.Cut)
	}
}

func TestReadManySharesTheRoom(t *testing.T) {
	contents := map[string]string{"/workspace/small": "small"}
	paths := []string{"small"}
	for i := range 19 {
		name := fmt.Sprintf("big%02d", i)
		contents["/workspace/"+name] = strings.Repeat("\"line\"\n", 50_000)
		paths = append(paths, name)
	}
	out := decoded[struct{ Files []part }](t, invoke(t, with(t, contents), "read_many_files", object{"paths": paths}))
	if len(out.Files) != 20 || out.Files[0].Content != "small" {
		t.Fatalf("there are %d files", len(out.Files))
	}
	for _, f := range out.Files[1:] {
		if !f.Truncated || len(f.Content) < 1000 || f.NextOffset == 0 {
			t.Errorf("%s has %d bytes: %+v", f.Path, len(f.Content), f.Cut)
		}
	}
	// Paths as long as they may be, of characters that JSON escapes, leave little room but don't break it.
	contents, paths = map[string]string{}, nil
	for i := range 20 {
		path := fmt.Sprintf("/workspace/%02d", i)
		for len(path)+len("/")+250 <= tools.MaxPathBytes {
			path += "/" + strings.Repeat(`"`, 250)
		}
		contents[path] = strings.Repeat("x\n", 40_000)
		paths = append(paths, path)
	}
	out = decoded[struct{ Files []part }](t, invoke(t, with(t, contents), "read_many_files", object{"paths": paths}))
	for _, f := range out.Files {
		if !f.Truncated || f.Content == "" {
			t.Errorf("it has %d bytes: %+v", len(f.Content), f.Cut)
		}
	}
}

func TestListingLargeDirectories(t *testing.T) {
	contents := map[string]string{}
	for i := range 1200 {
		contents[fmt.Sprintf("/workspace/%04d-%s", i, strings.Repeat("x", 100))] = ""
	}
	call := with(t, contents)
	type listing struct {
		Entries []struct{ Path string }
		tools.Cut
	}
	seen, offset, pages := map[string]bool{}, 0, 0
	for pages < 20 {
		pages++
		l := decoded[listing](t, invoke(t, call, "list_directory", object{"offset": offset}))
		for _, e := range l.Entries {
			seen[e.Path] = true
		}
		if !l.Truncated {
			break
		}
		offset = l.NextOffset
	}
	if len(seen) != 1200 || pages < 3 || pages > 5 {
		t.Errorf("%d entries on %d pages", len(seen), pages)
	}
	short := map[string]string{}
	for i := range 501 {
		short[fmt.Sprintf("/workspace/%d", i)] = ""
	}
	l := decoded[listing](t, invoke(t, with(t, short), "list_directory", object{}))
	if len(l.Entries) != 500 || l.Reason != tools.ReasonItems || l.NextOffset != 500 {
		t.Errorf("%d entries: %+v", len(l.Entries), l.Cut)
	}
}
