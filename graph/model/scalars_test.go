package model_test

import (
	"encoding/json"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/jsonx"
)

// A value that is written into a document is the same JSON as one that comes in a variable.
func TestJSONInDocumentsIsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`[]`, `{"to":[]}`, `{"a":[[]],"b":{},"c":""}`, `[[],[1]]`, `{"a":{"b":[{"c":[]}]}}`, `null`, `{"a":null}`} {
		var variable any
		if err := json.Unmarshal([]byte(value), &variable); err != nil {
			t.Fatal(err)
		}
		doc, err := parser.ParseQuery(&ast.Source{Input: "query($v: JSON) { f(of: " + literal(variable) + ") }"})
		if err != nil {
			t.Fatal(err)
		}
		written, err := doc.Operations[0].SelectionSet[0].(*ast.Field).Arguments[0].Value.Value(nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, v := range map[string]any{"a literal": written, "a variable": variable} {
			if got, err := model.UnmarshalJSON(v); err != nil || string(got) != value {
				t.Errorf("%s: %s is %s: %v", what, value, got, err)
			}
		}
	}
}

// literal writes a value as GraphQL does.
func literal(v any) string {
	switch v := v.(type) {
	case []any:
		text := "["
		for _, inner := range v {
			text += literal(inner) + " "
		}
		return text + "]"
	case map[string]any:
		text := "{"
		for name, inner := range v {
			text += name + ": " + literal(inner) + " "
		}
		return text + "}"
	}
	return string(jsonx.MustEncode(v))
}
