package egress_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mayLeave are the files that make clients or connections of their own, and why; a name that ends in a slash stands for a whole package.
var mayLeave = map[string]string{
	"internal/egress/":                "it is there for that",
	"internal/llm/wire/client.go":     "puts bounds around the client that it is given, which is this one",
	"internal/llm/gemini/driver.go":   "puts the SDK's form around the client that it is given",
	"internal/apiclient/":             "tests and benchmarks only",
	"internal/llm/wiretest/":          "tests only",
	"internal/auth/oidc/transport.go": "goes to the issuer that the operator has configured, often in a private network, and for no organization",
	"internal/auth/oidc/oidctest/":    "tests only",
}

// All that leaves on behalf of an organization goes by this package's client: nobody else makes one, uses Go's own, or dials.
func TestWhoLeaves(t *testing.T) {
	t.Parallel()
	ways := map[string]bool{
		"http.Client": true, "http.Transport": true, "http.DefaultClient": true, "http.DefaultTransport": true, "http.Get": true, "http.Post": true,
		"http.PostForm": true, "http.Head": true, "net.Dial": true, "net.DialTimeout": true, "net.Dialer": true, "net.DialTCP": true,
		"net.DialUDP": true, "net.DialIP": true, "tls.Dial": true, "tls.Dialer": true, "tls.DialWithDialer": true,
	}
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	for _, dir := range []string{"internal", "cmd", "graph"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasPrefix(path, "graph/generated/") || strings.Contains(path, "/testdata/") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			// A pointer to a client is one that was given; what counts is who makes one.
			given := map[ast.Node]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				if star, ok := n.(*ast.StarExpr); ok {
					given[star.X] = true
				}
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || given[sel] {
					return true
				}
				pkg, ok := sel.X.(*ast.Ident)
				if !ok || !ways[pkg.Name+"."+sel.Sel.Name] {
					return true
				}
				name := path
				if _, ok := mayLeave[name]; !ok {
					name = path[:strings.LastIndex(path, "/")+1]
				}
				if _, ok := mayLeave[name]; !ok {
					t.Errorf("%s uses %s.%s: use the client of internal/egress", path, pkg.Name, sel.Sel.Name)
				}
				seen[name] = true
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range mayLeave {
		if !seen[name] {
			t.Errorf("%s makes no client: take it off the list", name)
		}
	}
}
