package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/ostler-dev/ostler/graph/generated"
)

// surface makes operations from the schema that reach every field of every type, and every place that takes an id. What is added to
// the schema is in them by itself; where a value can't be made up, the test fails and says what to fill in: see surface_values_test.go.
type surface struct {
	t      *testing.T
	schema *ast.Schema
	// ids gives an id of the caller's own by its kind.
	ids map[string]string
}

func newSurface(t *testing.T, ids map[string]string) *surface {
	return &surface{t: t, schema: generated.NewExecutableSchema(generated.Config{}).Schema(), ids: ids}
}

// step is one field on the way from the root.
type step struct {
	parent string
	field  *ast.FieldDefinition
	// on is the type of the value, which is one of several where the field is of an interface or a union.
	on string
	// args are those of the field as the document has them, with their brackets.
	args string
}

func (s step) coordinate() string { return s.parent + "." + s.field.Name }

// provenBySignIn are the edges that show whoever proves to be somebody their own: see internal/httpapi.
var provenBySignIn = []string{"TokenPair.org", "TokenPair.user", "Viewer.apiKey"}

// needs returns what the schema says that the step needs: the field first, then the type of its values.
func (s *surface) needs(at step) (field, value string) {
	if d := at.field.Directives.ForName("auth"); d != nil {
		field = d.Arguments.ForName("requires").Value.Raw
	}
	if d := s.schema.Types[at.on].Directives.ForName("auth"); d != nil && !slices.Contains(provenBySignIn, at.coordinate()) {
		value = d.Arguments.ForName("requires").Value.Raw
	}
	return field, value
}

// operation is one that a caller may try.
type operation struct {
	kind  string // query, mutation or subscription
	steps []step
	// selects is what is selected at the last step, and covers the fields in all of it, as Type.field.
	selects string
	covers  []string
}

func (o operation) root() step { return o.steps[0] }

// String returns the document.
func (o operation) String() string {
	var b strings.Builder
	b.WriteString(o.kind + o.declares() + " {")
	for i, s := range o.steps {
		b.WriteString(" " + s.field.Name + s.args)
		last := i == len(o.steps)-1
		if last && o.selects == "" {
			break
		}
		b.WriteString(" { __typename")
		if s.on != s.field.Type.Name() {
			b.WriteString(" ... on " + s.on + " {")
		}
		if last {
			b.WriteString(o.selects)
		}
	}
	for i := len(o.steps) - 1; i >= 0; i-- {
		s := o.steps[i]
		if i == len(o.steps)-1 && o.selects == "" {
			continue
		}
		if s.on != s.field.Type.Name() {
			b.WriteString(" }")
		}
		b.WriteString(" }")
	}
	return b.String() + " }"
}

// declares returns the declaration of $id where the operation has a hole for one.
func (o operation) declares() string {
	for _, s := range o.steps {
		if strings.Contains(s.args, "$id") {
			return "($id: ID!)"
		}
	}
	return ""
}

func (o operation) path() string {
	var names []string
	for _, s := range o.steps {
		names = append(names, s.field.Name)
	}
	return o.kind + " " + strings.Join(names, ".")
}

func leaf(def *ast.Definition) bool { return def.Kind == ast.Scalar || def.Kind == ast.Enum }

// roots returns an operation for every field of Query, Mutation and Subscription, the public ones aside, with as much selected as fits.
func (s *surface) roots() (guarded, public []operation) {
	for kind, def := range map[string]*ast.Definition{"query": s.schema.Query, "mutation": s.schema.Mutation, "subscription": s.schema.Subscription} {
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			o := operation{kind: kind, steps: []step{{parent: def.Name, field: f, on: f.Type.Name(), args: s.arguments(def.Name, f, "")}}}
			for depth := 2; ; depth-- {
				o.covers = []string{o.root().coordinate()}
				o.selects = s.selection(s.schema.Types[f.Type.Name()], depth, &o.covers)
				if len(o.covers) < 400 {
					break // the server takes twice as many, with their __typename
				}
			}
			if f.Directives.ForName("public") != nil {
				public = append(public, o)
			} else {
				guarded = append(guarded, o)
			}
		}
	}
	order := func(a, b operation) int { return strings.Compare(a.path(), b.path()) }
	slices.SortFunc(guarded, order)
	slices.SortFunc(public, order)
	return guarded, public
}

// selection selects the fields of a type, and those of what they lead to.
func (s *surface) selection(def *ast.Definition, depth int, covers *[]string) string {
	if leaf(def) {
		return ""
	}
	text := " __typename"
	for _, f := range def.Fields {
		result := s.schema.Types[f.Type.Name()]
		if strings.HasPrefix(f.Name, "__") || !leaf(result) && depth == 0 {
			continue
		}
		*covers = append(*covers, def.Name+"."+f.Name)
		text += " " + f.Name + s.arguments(def.Name, f, "")
		if !leaf(result) {
			text += " {" + s.selection(result, depth-1, covers) + " }"
		}
	}
	return text
}

// walk returns queries that reach every type on the shortest way, one for all fields of it that nothing is said about, and one for each
// other one.
func (s *surface) walk() []operation {
	type place struct {
		def   *ast.Definition
		steps []step
	}
	var all []operation
	seen := map[string]bool{}
	queue := []place{{s.schema.Query, nil}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		plain := operation{kind: "query", steps: at.steps}
		for _, f := range at.def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			result := s.schema.Types[f.Type.Name()]
			coordinate := at.def.Name + "." + f.Name
			if leaf(result) && f.Directives.ForName("auth") == nil {
				plain.covers = append(plain.covers, coordinate)
				plain.selects += " " + f.Name + s.arguments(at.def.Name, f, "")
				continue
			}
			for _, possible := range s.possible(result) {
				next := step{parent: at.def.Name, field: f, on: possible.Name, args: s.arguments(at.def.Name, f, possible.Name)}
				way := append(slices.Clone(at.steps), next)
				o := operation{kind: "query", steps: way, covers: []string{coordinate}}
				if !leaf(result) {
					o.selects = " __typename"
				}
				all = append(all, o)
				if !leaf(result) && !seen[possible.Name] && s.through(possible.Name, o) {
					seen[possible.Name] = true
					queue = append(queue, place{possible, way})
				}
			}
		}
		if plain.selects != "" && len(plain.steps) > 0 {
			all = append(all, plain)
		}
	}
	return all
}

// ways are the ways to types that the shortest one leads to poor examples of.
var ways = map[string]string{"Message": ".messages.nodes"}

func (*surface) through(name string, o operation) bool {
	return strings.HasSuffix(o.path(), ways[name])
}

func (s *surface) possible(def *ast.Definition) []*ast.Definition {
	if def.Kind == ast.Interface || def.Kind == ast.Union {
		return s.schema.GetPossibleTypes(def)
	}
	return []*ast.Definition{def}
}

// missing returns the fields of the schema that none of the operations selects.
func (s *surface) missing(operations []operation) []string {
	have := map[string]bool{}
	for _, o := range operations {
		for _, c := range o.covers {
			have[c] = true
		}
	}
	var list []string
	for name, def := range s.schema.Types {
		if def.Kind != ast.Object || strings.HasPrefix(name, "__") {
			continue
		}
		for _, f := range def.Fields {
			if c := name + "." + f.Name; !strings.HasPrefix(f.Name, "__") && !have[c] {
				list = append(list, c)
			}
		}
	}
	slices.Sort(list)
	return list
}

// hole is a place that takes an id: as it is named in the schema, and an operation that asks with $id there.
type hole struct {
	coordinate string
	// kind is that of the ids that it takes, as in surface.ids; empty where it takes those of every kind.
	kind      string
	operation operation
}

// holes returns an operation for each argument and each field of an input that is an id, on each way that leads there.
func (s *surface) holes() []hole {
	var list []hole
	guarded, public := s.roots()
	for _, o := range slices.Concat(guarded, public, s.walk()) {
		last := len(o.steps) - 1
		if s.rootsOnly(o) {
			continue
		}
		at := o.steps[last]
		for _, arg := range at.field.Arguments {
			coordinate := fmt.Sprintf("%s(%s)", at.coordinate(), arg.Name)
			for _, place := range s.idsIn(arg.Type, coordinate, coordinate, nil) {
				h := hole{coordinate: place.coordinate, kind: s.kindOf(place.coordinate, at.field.Name), operation: o}
				h.operation.steps = slices.Clone(o.steps)
				h.operation.steps[last].args = s.argumentsAround(at.parent, at.field, place.path)
				list = append(list, h)
			}
		}
	}
	// The same place may be reached by the walk and as a root.
	slices.SortStableFunc(list, func(a, b hole) int { return strings.Compare(a.operation.String(), b.operation.String()) })
	return slices.CompactFunc(list, func(a, b hole) bool { return a.operation.String() == b.operation.String() })
}

// rootsOnly reports whether an operation of the walk is among the roots already, with more in it.
func (s *surface) rootsOnly(o operation) bool {
	return len(o.steps) == 1 && len(o.covers) <= 1 && o.selects == " __typename" && o.root().coordinate() != "Query.node" ||
		len(o.steps) == 1 && len(o.covers) > 0 && !slices.Contains(o.covers, o.root().coordinate())
}

// idPlace is where an id goes within an argument.
type idPlace struct{ coordinate, path string }

func (s *surface) idsIn(typ *ast.Type, coordinate, path string, within []string) []idPlace {
	def := s.schema.Types[typ.Name()]
	if def.Name == "ID" {
		return []idPlace{{coordinate, path}}
	}
	if def.Kind != ast.InputObject || slices.Contains(within, def.Name) {
		return nil
	}
	var list []idPlace
	for _, f := range def.Fields {
		list = append(list, s.idsIn(f.Type, def.Name+"."+f.Name, path+"."+f.Name, append(within, def.Name))...)
	}
	return slices.DeleteFunc(list, func(p idPlace) bool { return slices.Contains(namesOnly, p.coordinate) })
}
