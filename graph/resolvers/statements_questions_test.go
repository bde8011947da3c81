package resolvers_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/ostler-dev/ostler/graph/generated"
)

// fixed are what the program makes up by itself, of whatever length: nothing that grows leads through it.
var fixed = map[string]bool{
	"Query.capabilities": true, "Query.knownModels": true, "Query.previewEffectiveConfig": true, "Session.effectiveConfig": true,
	"Query.serverInfo": true, "Query.verifyAudit": true, "Harness.capabilities": true, "Agent.capabilities": true,
}

// partial are lists of objects that have less than others of their type: these are asked for where they have everything. The failed turns of an
// organization are turns like those of a session, and wait for nothing any more.
var partial = map[string]bool{"Query.failedTurns": true}

// question asks for one field of all objects at the end of a path, at least one step of which is a list.
type question struct {
	steps     []step
	owner     string
	field     string
	selection string
}

// step leads from an object to others.
type step struct {
	field, arguments string
	// connection has its objects in nodes.
	connection, list bool
}

func (s step) open() string {
	text := s.field
	if s.arguments != "" {
		text += "(" + s.arguments + ")"
	}
	if s.connection {
		return text + " { nodes { "
	}
	return text + " { "
}

func (s step) shut() string {
	if s.connection {
		return " } }"
	}
	return " }"
}

func (q question) text() string {
	text := q.selection
	for _, s := range slices.Backward(q.steps) {
		text = s.open() + text + s.shut()
	}
	return "{ " + text + " }"
}

func (q question) name() string {
	var path []string
	for _, s := range q.steps {
		path = append(path, s.field)
	}
	return strings.Join(append(path, q.field), ".")
}

// count returns how many objects the field was asked of, and how many of them had something.
func (q question) count(v any, at int) (parents, answers int) {
	if list, ok := v.([]any); ok {
		for _, item := range list {
			p, a := q.count(item, at)
			parents, answers = parents+p, answers+a
		}
		return parents, answers
	}
	object, ok := v.(map[string]any)
	if !ok {
		return 0, 0
	}
	if at == len(q.steps) {
		if hasSomething(object[q.field]) {
			return 1, 1
		}
		return 1, 0
	}
	next := object[q.steps[at].field]
	if q.steps[at].connection && next != nil {
		next = next.(map[string]any)["nodes"]
	}
	return q.count(next, at+1)
}

func hasSomething(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		if nodes, ok := v["nodes"].([]any); ok {
			return len(nodes) > 0
		}
	}
	return true
}

// questions are all that the schema gives: for each type the shortest paths to lists of it, one through a single list (siblings) and one
// through two (cousins), and at the end of each path every field.
func questions(session string) []question {
	b := questioner{schema: generated.NewExecutableSchema(generated.Config{}).Schema(), arguments: map[string]string{
		"Query.session": fmt.Sprintf("id: %q", session), "Session.file": `path: "/workspace/f0"`,
		"Session.match":     `search: "x"`,
		"Query.budgetCheck": fmt.Sprintf("sessionId: %q", session),
		"Query.operations":  `from: "1970-01-01T00:00:00Z", to: "1970-01-02T00:00:00Z"`,
		"Query.usage":       `groupBy: [MODEL, AGENT, USER, SESSION], from: "1970-01-01T00:00:00Z", to: "1970-01-02T00:00:00Z"`,
	}}
	type place struct {
		of    *ast.Definition
		steps []step
		lists int
	}
	reached := map[string]bool{}
	var out []question
	for queue := []place{{of: b.schema.Query}}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		if here.lists > 0 {
			out = append(out, question{here.steps, here.of.Name, "__typename", b.leaves(here.of)})
		}
		for _, f := range here.of.Fields {
			next, target := b.step(here.of, f)
			if target == nil {
				continue
			}
			name := here.of.Name + "." + f.Name
			if here.lists > 0 {
				out = append(out, question{here.steps, here.of.Name, f.Name, b.selection(f, next, target)})
			}
			if fixed[name] || partial[name] || perParent[name] && here.lists > 0 {
				continue
			}
			lists := here.lists
			if next.list {
				lists++
			}
			key := fmt.Sprint(target.Name, " ", lists)
			if lists > 2 || reached[key] || len(here.steps) > 3 {
				continue
			}
			reached[key] = true
			queue = append(queue, place{target, append(slices.Clone(here.steps), next), lists})
		}
	}
	return out
}

type questioner struct {
	schema *ast.Schema
	// arguments are those that fields can't be asked without.
	arguments map[string]string
}

// step follows a field to the objects behind it; nil when there are none, or when it can't be asked without arguments.
func (b questioner) step(of *ast.Definition, f *ast.FieldDefinition) (step, *ast.Definition) {
	s := step{field: f.Name, arguments: b.arguments[of.Name+"."+f.Name], list: f.Type.Elem != nil}
	target := b.schema.Types[f.Type.Name()]
	if nodes := target.Fields.ForName("nodes"); nodes != nil && nodes.Type.Elem != nil {
		s.connection, s.list = true, true
		s.arguments = strings.TrimPrefix(s.arguments+", first: 100", ", ")
		target = b.schema.Types[nodes.Type.Name()]
	}
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil && !strings.Contains(s.arguments, a.Name+":") {
			return s, nil
		}
	}
	if target.Kind != ast.Object && target.Kind != ast.Interface || strings.HasPrefix(target.Name, "__") {
		return s, nil
	}
	return s, target
}

// selection asks for a field with the leaves of what it leads to.
func (b questioner) selection(f *ast.FieldDefinition, s step, target *ast.Definition) string {
	leaves := b.leaves(target)
	if !s.connection {
		return s.open() + leaves + s.shut()
	}
	text := s.open() + leaves + " } edges { cursor node { " + leaves + " } } pageInfo { hasNextPage endCursor }"
	if b.schema.Types[f.Type.Name()].Fields.ForName("totalCount") != nil {
		text += " totalCount"
	}
	return text + " }"
}

// leaves are the fields of a type that lead nowhere.
func (b questioner) leaves(of *ast.Definition) string {
	names := []string{"__typename"}
	for _, f := range of.Fields {
		if t := b.schema.Types[f.Type.Name()]; t.IsLeafType() && len(f.Arguments) == 0 && !strings.HasPrefix(f.Name, "__") {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, " ")
}
