package files_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
)

type found struct {
	Matches []struct {
		Path          string
		Line          int
		Text          string
		Before, After []string
	}
	FilesSearched int
	FilesSkipped  struct{ Binary, TooLarge int }
	tools.Cut
}

// places returns the matches in short: path below the workspace, and line.
func (f found) places() string {
	var all []string
	for _, m := range f.Matches {
		all = append(all, fmt.Sprintf("%s:%d", strings.TrimPrefix(m.Path, "/workspace/"), m.Line))
	}
	return strings.Join(all, " ")
}

func TestGrepFiles(t *testing.T) {
	contents := map[string]string{
		"/workspace/a.go":         "package a\r\n\r\nfunc One() {}\r\n",
		"/workspace/b.txt":        "one\nTWO\nthree\nfour",
		"/workspace/src/c.go":     "package c\nfunc Three() {}\n",
		"/workspace/src/x/d.go":   "package d\n",
		"/workspace/src/x/e.test": "func\n",
		"/workspace/bin":          "func\x00",
		"/workspace/big":          strings.Repeat("func\n", 1<<20),
		"/outputs/o":              "func\n",
	}
	cases := []struct{ arguments, want string }{
		{`{"pattern":"func"}`, "a.go:3 src/c.go:2 src/x/e.test:1"},
		{`{"pattern":"^func \\w+\\(\\) \\{\\}$"}`, "a.go:3 src/c.go:2"},
		{`{"pattern":"FUNC"}`, ""},
		{`{"pattern":"FUNC","ignore_case":true,"path":"src"}`, "src/c.go:2 src/x/e.test:1"},
		{`{"pattern":"two|thr","ignore_case":true}`, "b.txt:2 b.txt:3 src/c.go:2"},
		{`{"pattern":"package","glob":"*.go"}`, "a.go:1 src/c.go:1 src/x/d.go:1"},
		{`{"pattern":"package","glob":"src/*.go"}`, "src/c.go:1"},
		{`{"pattern":"package","glob":"./src/**/*.go"}`, "src/c.go:1 src/x/d.go:1"},
		{`{"pattern":"package","glob":"**/x/*"}`, "src/x/d.go:1"},
		{`{"pattern":"package","glob":"/workspace/src/**"}`, "src/c.go:1 src/x/d.go:1"},
		{`{"pattern":"package","path":"src","glob":"x/*.go"}`, "src/x/d.go:1"},
		{`{"pattern":"package","glob":"[a-c].{go,txt}"}`, "a.go:1 src/c.go:1"},
		{`{"pattern":"package","glob":"[!a].go"}`, "src/c.go:1 src/x/d.go:1"},
		{`{"pattern":"package","glob":"?.GO"}`, ""},
		{`{"pattern":"three","path":"b.txt"}`, "b.txt:3"},
		{`{"pattern":"three","path":"b.txt","glob":"*.go"}`, ""},
		{`{"pattern":"func","path":"/outputs"}`, "/outputs/o:1"},
		{`{"pattern":"four$"}`, "b.txt:4"},
		{`{"pattern":"","glob":"*.go"}`, "pattern must have at least 1"},
		{`{"pattern":"(","path":"src"}`, "invalid_pattern: The pattern is not valid RE2"},
		{`{"pattern":"a)(b","ignore_case":true}`, "invalid_pattern: "},
		{`{"pattern":"(?=x)"}`, "invalid_pattern: "},
		{`{"pattern":"((a{90}){90}){90}"}`, "invalid_pattern: "},
		{`{"pattern":"` + strings.Repeat("a{999}", 100) + `"}`, "invalid_pattern: The pattern is too complex"},
		{`{"pattern":"` + strings.Repeat("a", 1025) + `"}`, "pattern must have at most 1024"},
		{`{"pattern":"` + strings.Repeat("é", 600) + `"}`, "invalid_pattern: The pattern has 1200 bytes"},
		{`{"pattern":"a","glob":"[a"}`, "invalid_glob: "},
		{`{"pattern":"a","glob":"[]"}`, "invalid_glob: "},
		{`{"pattern":"a","glob":"[z-a]"}`, "invalid_glob: "},
		{`{"pattern":"a","glob":"{a"}`, "invalid_glob: "},
		{`{"pattern":"a","glob":"{a,{b}}"}`, "invalid_glob: "},
		{`{"pattern":"a","path":"none"}`, "not_found: "},
		{`{"pattern":"a","path":"../"}`, "invalid_path: "},
		{`{"pattern":"a","context_lines":11}`, "context_lines must be at most 10"},
		{`{"pattern":"a","max_matches":0}`, "max_matches must be at least 1"},
		{`{"path":"."}`, "pattern is required"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%.80s", c.arguments), func(t *testing.T) {
			r := invoke(t, with(t, contents), "grep_files", c.arguments)
			if r.Failed() {
				if c.want == "" || !strings.Contains(r.ToolError, c.want) {
					t.Errorf("it fails with %q, want %q", r.ToolError, c.want)
				}
				return
			}
			if got := decoded[found](t, r); got.places() != c.want {
				t.Errorf("it finds %q, want %q", got.places(), c.want)
			}
		})
	}
	got := decoded[found](t, invoke(t, with(t, contents), "grep_files", `{"pattern":"func"}`))
	if got.FilesSearched != 5 || got.FilesSkipped.Binary != 1 || got.FilesSkipped.TooLarge != 1 || got.Truncated {
		t.Errorf("it counts %+v", got)
	}
}

func TestGrepContext(t *testing.T) {
	call := with(t, map[string]string{"/workspace/a": "1\n2\nhit\n4\nhit\n6\n7\n"})
	r := invoke(t, call, "grep_files", `{"pattern":"hit","context_lines":2}`)
	want := `{"matches":[{"path":"/workspace/a","line":3,"text":"hit","before":["1","2"],"after":["4","hit"]},` +
		`{"path":"/workspace/a","line":5,"text":"hit","before":["hit","4"],"after":["6","7"]}],` +
		`"filesSearched":1,"filesSkipped":{"binary":0,"tooLarge":0},"truncated":false}`
	if string(r.JSON) != want {
		t.Errorf("it gives\n%s\nwant\n%s", r.JSON, want)
	}
	if r := invoke(t, call, "grep_files", `{"pattern":"none"}`); !strings.HasPrefix(string(r.JSON), `{"matches":[],`) {
		t.Errorf("without a match it gives %s", r.JSON)
	}
}

func TestGrepLimits(t *testing.T) {
	lines := strings.Repeat("a match in a line of some length\n", 5000)
	many := map[string]string{}
	for i := range 10_001 {
		many[fmt.Sprintf("/workspace/%d", i)] = ""
	}
	long := strings.Repeat("é", 5000) + "needle" + strings.Repeat("é", 5000)
	// Begun with ^x the patterns cost no time, but they count for what they could cost.
	cases := map[string]struct {
		contents  map[string]string
		arguments object
		matches   int
		reason    string
	}{
		"default":       {map[string]string{"/workspace/a": lines}, object{"pattern": "match"}, 100, tools.ReasonItems},
		"asked for":     {map[string]string{"/workspace/a": lines}, object{"pattern": "match", "max_matches": 7}, 7, tools.ReasonItems},
		"exactly":       {map[string]string{"/workspace/a": "xa\nxb\n"}, object{"pattern": "x", "max_matches": 2}, 2, ""},
		"too many":      {many, object{"pattern": "x"}, 0, tools.ReasonItems},
		"work":          {map[string]string{"/workspace/a": strings.Repeat(strings.Repeat("a", 2000)+"\n", 1000)}, object{"pattern": "^x([ab]{1,30}){1,10}c"}, 0, tools.ReasonBudget},
		"long line":     {map[string]string{"/workspace/a": long}, object{"pattern": "needle"}, 1, ""},
		"one long line": {map[string]string{"/workspace/a": strings.Repeat("ab", 1<<20)}, object{"pattern": "^x([ab]{1,30}){1,10}c"}, 0, tools.ReasonBudget},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := decoded[found](t, invoke(t, with(t, c.contents), "grep_files", c.arguments))
			if len(got.Matches) != c.matches || got.Reason != c.reason || got.Truncated != (c.reason != "") || (got.ResumeHint != "") != got.Truncated {
				t.Errorf("it gives %d matches, %+v", len(got.Matches), got.Cut)
			}
			for _, m := range got.Matches {
				if len(m.Text) > 450 || strings.ContainsRune(m.Text, '\uFFFD') {
					t.Errorf("a line of %d bytes: %q", len(m.Text), m.Text)
				}
			}
		})
	}
	got := decoded[found](t, invoke(t, with(t, cases["long line"].contents), "grep_files", object{"pattern": "needle"}))
	if !strings.Contains(got.Matches[0].Text, "éneedleé") {
		t.Errorf("the excerpt is %q", got.Matches[0].Text)
	}
	got = decoded[found](t, invoke(t, with(t, map[string]string{"/workspace/a": strings.Repeat(strings.Repeat("\"", 399)+"\n", 5000)}), "grep_files",
		object{"pattern": ".", "context_lines": 10, "max_matches": 1000}))
	if got.Reason != tools.ReasonSize || len(got.Matches) < 2 {
		t.Errorf("large results: %d matches, %+v", len(got.Matches), got.Cut)
	}
}
