// Package contract holds core.graphqls, the part of the API that clients may rely on, and the test that the schema of this
// version fits into it.
package contract_test

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/ostler-dev/ostler/graph/generated"
)

//go:embed core.graphqls
var core string

// TestTheSchemaFitsTheContract compares what is built so far with what is promised. The schema may lack parts of the contract,
// which are logged, and may add to it; where both have something, it is the same.
func TestTheSchemaFitsTheContract(t *testing.T) {
	t.Parallel()
	contract, err := gqlparser.LoadSchema(&ast.Source{Name: "core.graphqls", Input: core})
	if err != nil {
		t.Fatal(err)
	}
	c := compare(contract, generated.NewExecutableSchema(generated.Config{}).Schema())
	for _, b := range c.broken {
		t.Error(b)
	}
	if c.both == 0 {
		t.Error("nothing was compared")
	}
	t.Logf("%d names of the contract are built, %d are missing:\n%s", c.both, len(c.missing), strings.Join(c.missing, "\n"))
}

// TestBreakingChangesAreSeen makes each kind of breaking change to a small contract, and each kind of change that is allowed.
func TestBreakingChangesAreSeen(t *testing.T) {
	t.Parallel()
	const promised = `
		directive @auth(requires: P!) on FIELD_DEFINITION | OBJECT
		enum P { READ WRITE }
		interface Node { id: ID! }
		type A implements Node @auth(requires: READ) { id: ID! name: String list(first: Int = 20, kind: P!): [String!]! }
		type B { x: Int! }
		union U = A | B
		input I { a: String! b: Int = 5 c: [ID!] }
		input One @oneOf { text: String }
		type Query { a(i: I): A @auth(requires: READ) u: U }`
	for name, test := range map[string]struct {
		old, new string
		breaks   bool
	}{
		"another type":               {"name: String", "name: Int", true},
		"no longer null":             {"name: String", "name: String!", true},
		"may be null now":            {"x: Int!", "x: Int", true},
		"a list of what may be null": {"[String!]!", "[String]!", true},
		"an argument less":           {"list(first: Int = 20, kind: P!)", "list(kind: P!)", false},
		"another default":            {"first: Int = 20", "first: Int = 10", true},
		"no default":                 {"first: Int = 20", "first: Int", true},
		"an argument retyped":        {"kind: P!", "kind: String!", true},
		"an argument made optional":  {"kind: P!", "kind: P", true},
		"a new required argument":    {"list(first: Int = 20, kind: P!)", "list(first: Int = 20, kind: P!, more: Int!)", true},
		"a new optional argument":    {"list(first: Int = 20, kind: P!)", "list(first: Int = 20, kind: P!, more: Int)", false},
		"a new field":                {"name: String", "name: String other: Int", false},
		"a new required input field": {"a: String!", "a: String! z: Int!", true},
		"a new optional input field": {"a: String!", "a: String! z: Int", false},
		"an input field retyped":     {"c: [ID!]", "c: [ID]", true},
		"an input's other default":   {"b: Int = 5", "b: Int = 6", true},
		"a value more":               {"READ WRITE", "READ WRITE DELETE", false},
		"a value less":               {"enum P { READ WRITE }", "enum P { READ }", false},
		"a member less":              {"A | B", "A", false},
		"another kind of type":       {"union U = A | B", "interface U { id: ID! }", true},
		"no interface":               {"type A implements Node", "type A", true},
		"another permission":         {"A @auth(requires: READ) u", "A @auth(requires: WRITE) u", true},
		"no permission on a field":   {"A @auth(requires: READ) u", "A u", true},
		"no permission on a type":    {"type A implements Node @auth(requires: READ)", "type A implements Node", true},
		"no longer one of":           {"input One @oneOf", "input One", true},
	} {
		load := func(sdl string) *ast.Schema {
			s, err := gqlparser.LoadSchema(&ast.Source{Input: sdl})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return s
		}
		if !strings.Contains(promised, test.old) {
			t.Fatalf("%s: the contract has no %q", name, test.old)
		}
		c := compare(load(promised), load(strings.Replace(promised, test.old, test.new, 1)))
		if breaks := len(c.broken) > 0; breaks != test.breaks {
			t.Errorf("%s: broken %v, want %v: %v", name, breaks, test.breaks, c.broken)
		}
	}
}

// comparison is what became of a contract.
type comparison struct {
	both            int
	broken, missing []string
}

func compare(contract, schema *ast.Schema) *comparison {
	c := &comparison{}
	for _, name := range slices.Sorted(maps.Keys(contract.Types)) {
		if promised := contract.Types[name]; !promised.BuiltIn {
			c.definition(promised, schema.Types[name])
		}
	}
	for _, name := range []string{"auth", "public"} {
		promised, have := contract.Directives[name], schema.Directives[name]
		if promised == nil {
			continue
		}
		if have == nil {
			c.breaksf("@%s is gone", name)
			continue
		}
		c.arguments("@"+name, promised.Arguments, have.Arguments)
	}
	return c
}

func (c *comparison) breaksf(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

// has counts a name of the contract.
func (c *comparison) has(ok bool, name string) bool {
	if ok {
		c.both++
	} else {
		c.missing = append(c.missing, name)
	}
	return ok
}

func (c *comparison) definition(promised, have *ast.Definition) {
	if !c.has(have != nil, promised.Name) {
		return
	}
	if promised.Kind != have.Kind {
		c.breaksf("%s is a %s now, not a %s", promised.Name, have.Kind, promised.Kind)
		return
	}
	c.directives(promised.Name, promised.Directives, have.Directives)
	for _, i := range promised.Interfaces {
		if !slices.Contains(have.Interfaces, i) {
			c.breaksf("%s no longer implements %s", promised.Name, i)
		}
	}
	for _, v := range promised.EnumValues {
		c.has(have.EnumValues.ForName(v.Name) != nil, promised.Name+"."+v.Name)
	}
	for _, member := range promised.Types {
		c.has(slices.Contains(have.Types, member), promised.Name+" = "+member)
	}
	for _, field := range promised.Fields {
		if strings.HasPrefix(field.Name, "__") {
			continue
		}
		name := promised.Name + "." + field.Name
		found := have.Fields.ForName(field.Name)
		if !c.has(found != nil, name) {
			continue
		}
		c.same(name, field.Type, found.Type)
		c.defaults(name, field.DefaultValue, found.DefaultValue)
		c.directives(name, field.Directives, found.Directives)
		c.arguments(name, field.Arguments, found.Arguments)
	}
	if promised.Kind == ast.InputObject {
		for _, field := range have.Fields {
			if promised.Fields.ForName(field.Name) == nil && field.Type.NonNull && field.DefaultValue == nil {
				c.breaksf("%s.%s is new and required", promised.Name, field.Name)
			}
		}
	}
}

func (c *comparison) arguments(of string, promised, have ast.ArgumentDefinitionList) {
	for _, arg := range promised {
		name := of + "(" + arg.Name + ")"
		found := have.ForName(arg.Name)
		if !c.has(found != nil, name) {
			continue
		}
		c.same(name, arg.Type, found.Type)
		c.defaults(name, arg.DefaultValue, found.DefaultValue)
	}
	for _, arg := range have {
		if promised.ForName(arg.Name) == nil && arg.Type.NonNull && arg.DefaultValue == nil {
			c.breaksf("%s(%s) is new and required", of, arg.Name)
		}
	}
}

func (c *comparison) same(name string, promised, have *ast.Type) {
	if promised.String() != have.String() {
		c.breaksf("%s is %s now, not %s", name, have, promised)
	}
}

func (c *comparison) defaults(name string, promised, have *ast.Value) {
	if promised.String() != have.String() {
		c.breaksf("the default of %s is %q now, not %q", name, have.String(), promised.String())
	}
}

// directives compares those that are promises: who may read something, and that of an input exactly one field is given.
func (c *comparison) directives(name string, promised, have ast.DirectiveList) {
	text := func(list ast.DirectiveList, directive string) string {
		d := list.ForName(directive)
		if d == nil {
			return "nothing"
		}
		s := "@" + directive
		for _, a := range d.Arguments {
			s += " " + a.Name + " " + a.Value.String()
		}
		return s
	}
	for _, directive := range []string{"auth", "public", "oneOf"} {
		if a, b := text(promised, directive), text(have, directive); a != b {
			c.breaksf("%s carries %s now, not %s", name, b, a)
		}
	}
}
