package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unusual are words that only their author knew, with the field's words. They are rejected as parts of identifiers; see glossary.md.
var unusual = []struct{ word, better string }{
	{`^(rooms?|hadRoom)$|^(room|Room)For|(Has|Keep|Make)Room`, "capacity, headroom or quota"},
	{`[Gg]limpse|[Ff]oreseen`, "preview"},
	{`^inVain$|^hopeless$`, "unaffordable, unreachable, permanent"},
	{`Riddle`, "unknown failure"},
	{`^witness$`, "marker"},
	{`^soil(ed)?$`, "unread, pending"},
	{`^twins$`, "pair"},
	{`^spoke$`, "begun"},
}

// phrases are rejected in comments.
var phrases = []struct{ phrase, better string }{
	{`\bby and by\b`, "gradually"},
	{`^//\s*\w+ gives (the|a|an) `, "returns"},
	{`\btells (whether|that) `, "reports whether"},
	{`\bsoil(s|ed)?\b`, "mark as unread"},
	{`\bglimpse\b`, "preview"},
}

func TestWordsAreTheFields(t *testing.T) {
	identifiers, comments := make([]*regexp.Regexp, len(unusual)), make([]*regexp.Regexp, len(phrases))
	for i, u := range unusual {
		identifiers[i] = regexp.MustCompile(u.word)
	}
	for i, p := range phrases {
		comments[i] = regexp.MustCompile(p.phrase)
	}
	files := token.NewFileSet()
	for _, root := range []string{"../internal", "../cmd", "../graph"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(files, path, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil || ast.IsGenerated(file) {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					for i, re := range identifiers {
						if re.MatchString(id.Name) {
							t.Errorf("%s: %s: better say %s", files.Position(id.Pos()), id.Name, unusual[i].better)
						}
					}
				}
				return true
			})
			for _, group := range file.Comments {
				for _, c := range group.List {
					for i, re := range comments {
						if found := re.FindString(c.Text); found != "" {
							t.Errorf("%s: %q: better say %s", files.Position(c.Pos()), found, phrases[i].better)
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
