package contract_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/ostler-dev/ostler/graph/generated"
)

// TestDeprecationsSayWhyAndUntilWhen holds the schema to its rule: what is deprecated names what to use, and the date after which
// it may be gone.
func TestDeprecationsSayWhyAndUntilWhen(t *testing.T) {
	t.Parallel()
	_, wrong := deprecations(generated.NewExecutableSchema(generated.Config{}).Schema())
	for _, w := range wrong {
		t.Error(w)
	}

	planted, err := gqlparser.LoadSchema(&ast.Source{Input: `
		enum E { A B @deprecated C @deprecated(reason: "Use A. Removed after 2027-02-28.") }
		input I { a: Int b: Int @deprecated(reason: "2027-01-31") }
		type Query {
			good: E @deprecated(reason: "Use better. Removed after 2027-01-31.")
			none: E @deprecated
			undated: E @deprecated(reason: "Use better.")
			undue: E @deprecated(reason: "Use better. Removed after 2027-02-31.")
			argument(i: I, old: Int @deprecated(reason: "")): E
		}`})
	if err != nil {
		t.Fatal(err)
	}
	n, wrong := deprecations(planted)
	var places []string
	for _, w := range wrong {
		place, _, _ := strings.Cut(w, " ")
		places = append(places, place)
	}
	if want := []string{"E.B", "I.b", "Query.none", "Query.undated", "Query.undue", "Query.argument(old)"}; n != 8 || !slices.Equal(places, want) {
		t.Errorf("%d deprecations, of which wrong are %v, want %v", n, places, want)
	}
}

var date = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)

// deprecations counts them and tells which ones are incomplete.
func deprecations(schema *ast.Schema) (n int, wrong []string) {
	check := func(place string, list ast.DirectiveList) {
		d := list.ForName("deprecated")
		if d == nil {
			return
		}
		n++
		reason := ""
		if a := d.Arguments.ForName("reason"); a != nil {
			reason = a.Value.Raw
		}
		day := date.FindString(reason)
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			wrong = append(wrong, place+" is deprecated without a date like 2027-01-31")
		} else if len(strings.Fields(reason)) < 3 {
			wrong = append(wrong, place+" is deprecated without a reason")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Types)) {
		def := schema.Types[name]
		if def.BuiltIn {
			continue
		}
		for _, v := range def.EnumValues {
			check(name+"."+v.Name, v.Directives)
		}
		for _, f := range def.Fields {
			check(name+"."+f.Name, f.Directives)
			for _, a := range f.Arguments {
				check(name+"."+f.Name+"("+a.Name+")", a.Directives)
			}
		}
	}
	return n, wrong
}
