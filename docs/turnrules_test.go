package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// turnRule is a row of turn-rules.md.
type turnRule struct {
	id, rule, note string
	tests          []string
}

var (
	ruleRow  = regexp.MustCompile(`(?m)^\| ([A-Z]\d+) \| (.*) \| (.*) \| (.*?) ?\|$`)
	ruleTest = regexp.MustCompile("^`(\\w+\\.Test\\w+)`$")
	ruleLine = regexp.MustCompile(`(?m)^Rules: (.*)\.$`)
)

func turnRules(t *testing.T) []turnRule {
	t.Helper()
	b, err := os.ReadFile("turn-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []turnRule
	for _, m := range ruleRow.FindAllStringSubmatch(string(b), -1) {
		r := turnRule{id: m[1], rule: m[2], note: strings.TrimSpace(m[4])}
		for name := range strings.SplitSeq(m[3], ", ") {
			if name == "—" {
				continue
			}
			found := ruleTest.FindStringSubmatch(name)
			if found == nil {
				t.Errorf("%s: %q is not the name of a test", r.id, name)
				continue
			}
			r.tests = append(r.tests, found[1])
		}
		list = append(list, r)
	}
	if rows := strings.Count(string(b), "\n| ") - 2*strings.Count(string(b), "\n| --- |"); len(list) != rows || rows < 100 {
		t.Fatalf("%d of %d rows can be read", len(list), rows)
	}
	return list
}

// testComments gives the comments of all test functions, by the directory's last part and their name. Of two directories with one such
// part both are kept.
func testComments(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "node_modules" || name == ".git" || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				name := filepath.Base(filepath.Dir(path)) + "." + fn.Name.Name
				found[name] = append(found[name], fn.Doc.Text())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestTurnRules holds the table of the rules of turns and the tests together: each test that a rule names is there and names the rule, and
// each rule that a test names has a row that names the test.
func TestTurnRules(t *testing.T) {
	t.Parallel()
	comments := testComments(t)
	named := map[string][]string{}
	for name, texts := range comments {
		for _, text := range texts {
			if m := ruleLine.FindStringSubmatch(text); m != nil {
				named[name] = append(named[name], strings.Split(m[1], ", ")...)
			} else if strings.Contains(text, "Rules:") {
				t.Errorf("%s: its rules can't be read", name)
			}
		}
	}
	ids := map[string]bool{}
	for _, r := range turnRules(t) {
		if ids[r.id] {
			t.Errorf("there are two rules %s", r.id)
		}
		ids[r.id] = true
		if len(r.rule) < 10 || (len(r.tests) == 0 && r.note == "") {
			t.Errorf("%s has no test and doesn't say why", r.id)
		}
		for _, name := range r.tests {
			switch {
			case len(comments[name]) == 0:
				t.Errorf("%s names %s, which isn't there", r.id, name)
			case len(comments[name]) > 1:
				t.Errorf("%s names %s, of which there are %d", r.id, name, len(comments[name]))
			case !slices.Contains(named[name], r.id):
				t.Errorf("%s names %s, which doesn't name it: add it to the line \"Rules:\" of its comment", r.id, name)
			}
			named[name] = slices.DeleteFunc(named[name], func(id string) bool { return id == r.id })
		}
	}
	for name, rest := range named {
		for _, id := range rest {
			t.Errorf("%s names %s, whose row doesn't name it, or names it twice", name, id)
		}
	}
}
