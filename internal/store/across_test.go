package store_test

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

// mayCross are the files that may reach rows of all organizations, and why; a name that ends in a slash stands for a whole package.
var mayCross = map[string]string{
	"internal/queue/":                  "runners work for all organizations",
	"internal/commit/commit.go":        "a transaction holds commands of several organizations, each of which names its own",
	"internal/commit/simulation.go":    "the same, for simulations in tests",
	"internal/commit/expire.go":        "deletes expired idempotency keys",
	"internal/audit/chains.go":         "shortens and verifies the chains of all organizations",
	"internal/limits/rows.go":          "limits that were set lately, and what each process has taken of them",
	"internal/payments/due.go":         "finds payments that are due",
	"internal/secrets/rewrap.go":       "wraps all sealed values again after a rotation of the master key",
	"internal/sessions/due.go":         "finds overdue waits, and organizations with messages to index",
	"internal/budget/waiting/due.go":   "finds organizations with turns that wait for budgets",
	"internal/budget/books/changed.go": "finds budgets to check",
	"internal/waitmail/read.go":        "finds what waits for people of all organizations, and their addresses",
	"internal/webhooks/due.go":         "finds webhooks that are behind or due, and deletes old deliveries",
	"internal/orgs/":                   "people belong to no organization, and signing in comes before one is known",
	"internal/auth/keys.go":            "the keys of tokens belong to no organization",
	"internal/auth/rotate.go":          "the same",
	"internal/secrets/load.go":         "looks whether there is a sealed key before it makes a master key",
	"internal/secrets/verify.go":       "the master key belongs to no organization",
	"internal/catalog/builtin.go":      "a new version refreshes the built-in harnesses of all",
	"internal/catalog/builtin_orgs.go": "finds them",
	"internal/events/log.go":           "looks how far the logs of all sessions with subscribers go, by organization and session",
	"internal/events/log_feed.go":      "looks how far the feeds of all organizations with subscribers go",
	"bench/chaos/":                     "judges the whole database",
}

// Nobody else reads or writes across organizations: everything that does is listed.
func TestWhoCrossesOrganizations(t *testing.T) {
	crossing := map[string]bool{"ReadAcross": true, "WriteAcross": true, "QueryAcross": true, "DeleteAcross": true, "DueAcross": true, "CrossOrg": true}
	pools := map[string]bool{"Pool": true, "Writer": true, "Reader": true} // of a store.DB
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	for _, dir := range []string{"internal", "cmd", "graph", "bench/chaos"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if strings.HasPrefix(path, "internal/store/") || strings.HasPrefix(path, "graph/generated/") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || !crossing[sel.Sel.Name] && (!pools[sel.Sel.Name] || !strings.EqualFold(lastName(sel.X), "db")) {
					return true
				}
				name := path
				if _, ok := mayCross[name]; !ok {
					name = path[:strings.LastIndex(path, "/")+1]
				}
				if _, ok := mayCross[name]; !ok {
					t.Errorf("%s uses %s and so reaches the rows of all organizations; use Read, Write or Query with one, or move it to a small file and put that on the list here", path, sel.Sel.Name)
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
	for name := range mayCross {
		if !seen[name] {
			t.Errorf("%s doesn't cross organizations: take it off the list", name)
		}
	}
}

// lastName returns the last name of an expression like s.cfg.DB.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
