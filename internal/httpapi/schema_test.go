package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// parseSchema reads a schema that uses @auth and @public without declaring them.
func parseSchema(t *testing.T, source string) *ast.Schema {
	t.Helper()
	const directives = `directive @auth(requires: Permission!) on FIELD_DEFINITION | OBJECT
directive @public on FIELD_DEFINITION
enum Permission { ORG_READ NOPE }
`
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "test", Input: directives + source})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
