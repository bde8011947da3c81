// Package docs holds the guides. Its tests check that the examples in them fit the program.
package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/ostler-dev/ostler/graph/generated"
)

// guides are all pages, by their path from here.
func guides(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "examples/*/README.md", "../README.md", "../CHANGELOG.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			pages[f] = string(b)
		}
	}
	return pages
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks gives the fenced blocks of a page in one language, with the line that each begins at.
func blocks(page, language string) map[int]string {
	found := map[int]string{}
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		if page[m[2]:m[3]] == language {
			found[1+strings.Count(page[:m[4]], "\n")] = page[m[4]:m[5]]
		}
	}
	return found
}

func TestGraphQLExamples(t *testing.T) {
	t.Parallel()
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	n := 0
	for file, page := range guides(t) {
		for line, text := range blocks(page, "graphql") {
			n++
			if _, err := gqlparser.LoadQueryWithRules(schema, text, nil); err != nil {
				t.Errorf("%s:%d: %v", file, line, err)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d examples were found", n)
	}
}

func TestJSONExamples(t *testing.T) {
	t.Parallel()
	for file, page := range guides(t) {
		for line, text := range blocks(page, "json") {
			// What is left out is written as an ellipsis.
			text = strings.NewReplacer("[…]", "[]", "{…}", "{}", ":…", ":null").Replace(text)
			if !json.Valid([]byte(text)) {
				t.Errorf("%s:%d is not JSON", file, line)
			}
		}
	}
}

// TestScriptExamples validates the documents in the scripts of examples: those in quotes that look like operations.
func TestScriptExamples(t *testing.T) {
	t.Parallel()
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	operation := regexp.MustCompile("['`](\\s*(?:mutation|query|subscription)?\\s*(?:\\([^)]*\\)\\s*)?\\{[^'`]*\\})['`]")
	n := 0
	for _, file := range []string{"examples/first-turn/run.sh", "examples/first-turn/events.mjs"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range operation.FindAllStringSubmatch(string(b), -1) {
			if _, err := parser.ParseQuery(&ast.Source{Input: m[1]}); err != nil {
				continue // a line of the shell's or of JavaScript
			}
			n++
			if _, err := gqlparser.LoadQueryWithRules(schema, m[1], nil); err != nil {
				t.Errorf("%s: %v in %s", file, err, m[1])
			}
		}
	}
	if n != 6 {
		t.Errorf("%d operations were found, want 6", n)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinks looks for the files that pages link to, and that links to headings have their heading.
func TestLinks(t *testing.T) {
	t.Parallel()
	for file, page := range guides(t) {
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			target := filepath.Join(filepath.Dir(file), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
				continue
			}
			if m[2] == "" {
				continue
			}
			b, err := os.ReadFile(target)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(anchors(string(b)), m[2]+"\n") {
				t.Errorf("%s links to %s, which has no heading %s", file, m[1], m[2])
			}
		}
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

func anchors(page string) string {
	var b strings.Builder
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N} -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		b.WriteString("#" + strings.ReplaceAll(text, " ", "-") + "\n")
	}
	return b.String()
}

// paths are files and directories of the repository as pages name them.
var paths = regexp.MustCompile("`((?:cmd|graph|internal|web|bench|docs|scripts|e2e|tools)/[A-Za-z0-9_./-]*)`")

// TestPaths looks for the files that pages speak of.
func TestPaths(t *testing.T) {
	t.Parallel()
	for file, page := range guides(t) {
		for _, m := range paths.FindAllStringSubmatch(page, -1) {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s speaks of %s: %v", file, m[1], err)
			}
		}
	}
}

// TestLimits compares the table of limits in api.md with the server's own words where they are the same number.
func TestLimits(t *testing.T) {
	t.Parallel()
	page := guides(t)["api.md"]
	source, err := os.ReadFile("../internal/httpapi/config.go")
	if err != nil {
		t.Fatal(err)
	}
	for row, line := range map[string]string{
		"| tokens of the document | 4000 |":            "orDefault(&l.Tokens, 4000)",
		"| depth | 15 |":                               "orDefault(&l.Depth, 15)",
		"| fields, fragments written out | 1000 |":     "orDefault(&l.Fields, 1000)",
		"| aliases | 100 |":                            "orDefault(&l.Aliases, 100)",
		"| directives | 50 |":                          "orDefault(&l.Directives, 50)",
		"| root fields | 50 |":                         "orDefault(&l.RootFields, 50)",
		"times its `first` | 50 000 |":                 "orDefault(&l.Cost, 50_000)",
		"| page size | 100 |":                          "orDefault(&l.PageSize, 100)",
		"| time of a query or mutation | 10 s |":       "orDefault(&l.OperationTimeout, 10*time.Second)",
		"| operations at once on a socket | 200 |":     "orDefault(&s.Operations, 200)",
		"| document | 64 KiB |":                        "orDefault(&l.DocumentBytes, 64<<10)",
		"body of a request, message on a socket | 1 M": "orDefault(&l.BodyBytes, 1<<20)",
	} {
		if !strings.Contains(page, row) || !strings.Contains(string(source), line) {
			t.Errorf("api.md and the server disagree about %q", row)
		}
	}
}
