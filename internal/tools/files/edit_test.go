package files_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/tools"
)

type edited struct {
	Path, Hash, PreviousHash, Diff string
	Size                           int
	Replaced                       int
	DiffTruncated                  bool
}

func TestEditFile(t *testing.T) {
	const before = "package a\n\nfunc One() {}\n\nfunc Two() {}\n"
	call := with(t, map[string]string{"/workspace/a.go": before})
	got := decoded[edited](t, invoke(t, call, "edit_file", object{
		"path":          "a.go",
		"expected_hash": hash(before),
		"replacements":  []object{{"old": "One", "new": "Uno"}, {"old": "func ", "new": "func Un", "all": true}},
	}))
	const after = "package a\n\nfunc UnUno() {}\n\nfunc UnTwo() {}\n"
	want := edited{
		Path: "/workspace/a.go", Hash: hash(after), PreviousHash: hash(before), Size: len(after), Replaced: 3,
		Diff: "--- /workspace/a.go\n+++ /workspace/a.go\n@@ -1,5 +1,5 @@\n package a\n \n-func One() {}\n+func UnUno() {}\n \n-func Two() {}\n+func UnTwo() {}\n",
	}
	if got != want {
		t.Errorf("it gives\n%+v\nwant\n%+v", got, want)
	}
	if c := contentOf(t, call, "/workspace/a.go"); c != after {
		t.Errorf("the file is %q", c)
	}
}

func TestEditFileRefuses(t *testing.T) {
	const before = "one\ntwo\none\naaa\n"
	contents := map[string]string{"/workspace/a": before, "/workspace/bin": "\x00", "/workspace/crlf": "x\r\ny\r\n"}
	replace := func(pairs ...string) []object {
		var all []object
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, object{"old": pairs[i], "new": pairs[i+1]})
		}
		return all
	}
	cases := map[string]struct {
		arguments object
		want      []string
	}{
		"twice":           {object{"path": "a", "replacements": replace("one", "1")}, []string{"ambiguous_match: ", "replacements[0].old", "more than once", "lines 1, 3", "set all"}},
		"overlapping":     {object{"path": "a", "replacements": replace("aa", "b")}, []string{"ambiguous_match: ", "lines 4, 4"}},
		"missing":         {object{"path": "a", "replacements": replace("two", "2", "three", "3")}, []string{"match_not_found: ", "replacements[1].old", "Earlier replacements"}},
		"missing all":     {object{"path": "a", "replacements": []object{{"old": "three", "new": "3", "all": true}}}, []string{"match_not_found: "}},
		"line ends":       {object{"path": "crlf", "replacements": replace("x\ny", "z")}, []string{"match_not_found: ", `\r\n`}},
		"no change":       {object{"path": "a", "replacements": replace("two", "2", "2", "two")}, []string{"no_change: "}},
		"not text":        {object{"path": "bin", "replacements": replace("x", "y")}, []string{"not_text: "}},
		"no file":         {object{"path": "none", "replacements": replace("x", "y")}, []string{"not_found: "}},
		"directory":       {object{"path": ".", "replacements": replace("x", "y")}, []string{"is_directory: "}},
		"hash":            {object{"path": "a", "expected_hash": hash("x"), "replacements": replace("two", "2")}, []string{"conflict: ", hash(before), "Read the file again"}},
		"no replacements": {object{"path": "a", "replacements": []object{}}, []string{"replacements must have at least 1"}},
		"empty old":       {object{"path": "a", "replacements": replace("", "x")}, []string{"replacements[0].old must have at least 1"}},
		"no new":          {object{"path": "a", "replacements": []object{{"old": "x"}}}, []string{"replacements[0].new is required"}},
		"path":            {object{"path": "../a", "replacements": replace("x", "y")}, []string{"invalid_path: "}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			call := with(t, contents)
			r := invoke(t, call, "edit_file", c.arguments)
			for _, part := range c.want {
				if !strings.Contains(r.ToolError, part) {
					t.Errorf("the error %q doesn't say %q", r.ToolError, part)
				}
			}
			if contentOf(t, call, "/workspace/a") != before {
				t.Error("the file was changed")
			}
		})
	}
}

// A short text replaced everywhere by a long one multiplies: it is refused before it is made.
func TestEditFileDoesNotExplode(t *testing.T) {
	call := with(t, map[string]string{"/workspace/a": strings.Repeat("a", 1<<20), "/workspace/big": strings.Repeat("a", 5<<20)})
	r := invoke(t, call, "edit_file", object{"path": "a", "replacements": []object{{"old": "a", "new": strings.Repeat("b", 1<<19), "all": true}}})
	if !strings.HasPrefix(r.ToolError, "too_large: ") {
		t.Errorf("it gives %+v", r)
	}
	r = invoke(t, call, "edit_file", object{"path": "big", "replacements": []object{{"old": "x", "new": "y"}}})
	if !strings.HasPrefix(r.ToolError, "too_large: ") {
		t.Errorf("a large file gives %+v", r)
	}
}

// Whoever changed the file between read and commit is not overwritten.
func TestEditFileComparesAtCommit(t *testing.T) {
	call := with(t, map[string]string{"/workspace/a": "one"})
	decoded[edited](t, invoke(t, call, "edit_file", object{"path": "a", "replacements": []object{{"old": "one", "new": "two"}}}))
	if err := call.Files.Seed(t.Context(), tools.File{Path: "/workspace/a"}, []byte("theirs")); err != nil {
		t.Fatal(err)
	}
	if err := call.Files.Commit(t.Context()); err == nil {
		t.Error("the edit commits over a change that it hasn't seen")
	}
}

func TestLargeDiffsAreCut(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	call := with(t, map[string]string{"/workspace/a": b.String(), "/workspace/b": b.String(), "/workspace/n": strings.Repeat("\n", 1<<20)})
	got := decoded[edited](t, invoke(t, call, "edit_file", object{"path": "a", "replacements": []object{{"old": "line", "new": "row", "all": true}}}))
	if !got.DiffTruncated || len(got.Diff) < 20_000 || got.Replaced != 20_000 || !strings.HasSuffix(got.Diff, "\n") {
		t.Errorf("a diff of %d bytes, cut %v, %d replaced", len(got.Diff), got.DiffTruncated, got.Replaced)
	}
	// Two small changes far apart are two small hunks.
	got = decoded[edited](t, invoke(t, call, "edit_file", object{"path": "b", "replacements": []object{
		{"old": "line 10\n", "new": "row 10\n"}, {"old": "line 19990\n", "new": ""},
	}}))
	want := "@@ -8,7 +8,7 @@\n line 7\n line 8\n line 9\n-line 10\n+row 10\n line 11\n line 12\n line 13\n" +
		"@@ -19988,7 +19988,6 @@\n line 19987\n line 19988\n line 19989\n-line 19990\n line 19991\n line 19992\n line 19993\n"
	if !strings.HasSuffix(got.Diff, want) || got.DiffTruncated {
		t.Errorf("the diff is\n%s\nwant\n%s", got.Diff, want)
	}
	got = decoded[edited](t, invoke(t, call, "edit_file", object{"path": "n", "replacements": []object{{"old": "\n", "new": "\n\n", "all": true}}}))
	if !got.DiffTruncated {
		t.Error("a diff of a million lines is whole")
	}
}

// apply is what patch does with a unified diff.
func apply(t *rapid.T, before, diff string) string {
	lines := strings.SplitAfter(before, "\n")
	var out strings.Builder
	at := 0
	var last byte
	body := strings.SplitAfter(diff, "\n")[2:]
	for i := range body {
		l := body[i]
		if l == "" {
			continue
		}
		text := l[1:]
		if i+1 < len(body) && strings.HasPrefix(body[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch last = l[0]; last {
		case '@':
			var start, count int
			if n, _ := fmt.Sscanf(l, "@@ -%d,%d", &start, &count); n == 1 {
				count = 1
			}
			if count > 0 {
				start--
			}
			for ; at < start; at++ {
				out.WriteString(lines[at])
			}
		case ' ', '-':
			if lines[at] != text {
				t.Fatalf("the diff has %q where the file has %q:\n%s", text, lines[at], diff)
			}
			if last == ' ' {
				out.WriteString(text)
			}
			at++
		case '+':
			out.WriteString(text)
		case '\\':
		default:
			t.Fatalf("the diff has the line %q", l)
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}

func TestDiffsApply(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb := fataler{TB: t, t: rt}
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d\n", "e\n", "unique 1\n", "unique 2\n", "-- x\n", "end"})
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), "")
		})
		before, after := text.Draw(rt, "before"), text.Draw(rt, "after")
		if before == "" || before == after {
			rt.Skip()
		}
		call := with(tb, map[string]string{"/workspace/f": before})
		replacements := []object{{"old": before, "new": after}}
		if rapid.Bool().Draw(rt, "part") {
			replacements = []object{{"old": line.Draw(rt, "old"), "new": line.Draw(rt, "new"), "all": true}}
		}
		r := invoke(tb, call, "edit_file", object{"path": "f", "replacements": replacements})
		if r.Failed() {
			rt.Skip()
		}
		got := decoded[edited](tb, r)
		if want := contentOf(tb, call, "/workspace/f"); apply(rt, before, got.Diff) != want || got.Hash != hash(want) {
			rt.Fatalf("applied to %q the diff gives %q, want %q:\n%s", before, apply(rt, before, got.Diff), want, got.Diff)
		}
	})
}
