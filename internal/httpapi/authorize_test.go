package httpapi

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
)

// resolve runs the middleware for one field as the executor does. ran tells whether the resolver was reached.
func resolve(a *authorizer, principal *auth.Principal, object string, field *ast.FieldDefinition, value any) (result any, ran bool, err error) {
	ctx := auth.WithPrincipal(context.Background(), principal)
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{
		Object: object,
		Field:  graphql.CollectedField{Field: &ast.Field{Name: field.Name, Alias: field.Name, Definition: field}},
	})
	result, err = a.field(ctx, func(context.Context) (any, error) {
		ran = true
		return value, nil
	})
	return result, ran, err
}

func errorCode(err error) string {
	if e, ok := err.(*gqlerror.Error); ok {
		code, _ := e.Extensions["code"].(string)
		return code
	}
	return ""
}

// TestWholeSchemaIsGuarded walks every field of every type. It counts, so that a walk that finds nothing is seen.
func TestWholeSchemaIsGuarded(t *testing.T) {
	t.Parallel()
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	a, err := newAuthorizer(schema, true)
	if err != nil {
		t.Fatal(err)
	}
	var roots, edges, abstract, fields, nodes, exempt int
	nothing := &auth.Principal{}
	for _, name := range sortedKeys(schema.Types) {
		def := schema.Types[name]
		if def.Kind != ast.Object || strings.HasPrefix(name, "__") {
			continue
		}
		if slices.Contains(def.Interfaces, "Node") {
			nodes++
			if def.Directives.ForName("auth") == nil {
				t.Errorf("%s can be fetched by id but carries no @auth", name)
			}
		}
		root := def == schema.Query || def == schema.Mutation || def == schema.Subscription
		for _, field := range def.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			where := name + "." + field.Name
			guarded, public := field.Directives.ForName("auth") != nil, field.Directives.ForName("public") != nil
			result := schema.Types[field.Type.Name()]
			switch {
			case root:
				roots++
				if guarded == public {
					t.Errorf("%s carries both or none of @auth and @public", where)
				}
				_, ran, err := resolve(a, nil, name, field, nil)
				if guarded && (ran || errorCode(err) != codeUnauthenticated) {
					t.Errorf("%s without a principal: ran %v, %v", where, ran, err)
				}
				_, ran, err = resolve(a, nothing, name, field, nil)
				if guarded && (ran || errorCode(err) != codeForbidden) {
					t.Errorf("%s without a permission: ran %v, %v", where, ran, err)
				}
				if public && !ran {
					t.Errorf("%s is public but was refused: %v", where, err)
				}
			case provenBySignIn[where]:
				exempt++
			case guarded, result.Kind == ast.Object && result.Directives.ForName("auth") != nil:
				if guarded {
					fields++
				} else {
					edges++
				}
				for _, p := range []*auth.Principal{nil, nothing} {
					value, ran, err := resolve(a, p, name, field, "value")
					if ran || value != nil {
						t.Errorf("%s was read without its permission", where)
					}
					if field.Type.NonNull == (err == nil) {
						t.Errorf("%s: a denied edge is null, or an error where null can't be: got %v", where, err)
					}
				}
			case result.Kind == ast.Interface || result.Kind == ast.Union:
				for _, possible := range schema.GetPossibleTypes(result) {
					if possible.Directives.ForName("auth") != nil {
						abstract++
						t.Errorf("%s holds a guarded type behind an interface: extend this test by values of it", where)
					}
				}
			}
			if _, ran, err := resolve(a, everything(), name, field, nil); !ran || err != nil {
				t.Errorf("%s is refused to who may do everything: %v", where, err)
			}
		}
	}
	if exempt != len(provenBySignIn) {
		t.Errorf("%d edges are exempt, the list has %d", exempt, len(provenBySignIn))
	}
	if roots < 30 || edges < 30 || fields < 3 || nodes < 9 {
		t.Error("the walk missed most of the schema")
	}
	t.Logf("checked %d root fields, %d edges to guarded types, %d guarded fields, %d exempt edges, %d types with ids", roots, edges, fields, exempt, nodes)
}

func everything() *auth.Principal { return &auth.Principal{Permissions: ^auth.Permissions(0)} }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestNodeIsJudgedByItsType reads every type that has an id through Query.node.
func TestNodeIsJudgedByItsType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	values := map[string]model.Node{
		"User": &model.User{ID: "user_1"}, "Org": &model.Org{ID: "org_1"}, "Agent": &model.Agent{ID: "agent_1"},
		"Harness": &model.Harness{ID: "harn_1"}, "Provider": &model.Provider{ID: "prov_1"}, "Model": &model.Model{ID: "model_1"},
		"Session": &model.Session{ID: "sess_1"}, "Turn": &model.Turn{ID: "turn_1"}, "Message": &model.Message{ID: "msg_1"},
		"Wait": &model.Wait{ID: "wait_1"}, "ApiKey": &model.APIKey{ID: "key_1"},
		"Membership": &model.Membership{ID: "mship_1"}, "AuditEntry": &model.AuditEntry{ID: "audit_1"}, "Invitation": &model.Invitation{ID: "inv_1"},
		"Webhook": &model.Webhook{ID: "hook_1"}, "Budget": &model.Budget{ID: "bdgt_1"}, "LedgerEntry": &model.LedgerEntry{ID: "ldgr_1"},
	}
	schema := b.server.engine.types
	for _, def := range schema.GetPossibleTypes(schema.Types["Node"]) {
		value, ok := values[def.Name]
		if !ok {
			t.Errorf("%s is new: add it to this test", def.Name)
			continue
		}
		needed, err := requirement(def.Directives)
		if err != nil || needed == nil {
			t.Fatal(def.Name, err)
		}
		b.stub.node = func(string) model.Node { return value }
		b.people.set("just", &auth.Principal{Permissions: auth.PermissionsOf(auth.OrgRead, *needed), ExpiresAt: start.AddDate(1, 0, 0)})
		b.people.set("other", &auth.Principal{Permissions: ^auth.PermissionsOf(*needed) | auth.PermissionsOf(auth.OrgRead), ExpiresAt: start.AddDate(1, 0, 0)})
		if a := b.query(`{node(id:"x"){__typename id}}`, nil, with("Authorization", "Bearer just")); !strings.Contains(a.body, `"`+def.Name+`"`) {
			t.Errorf("%s with %s: %s", def.Name, needed, a.body)
		}
		if *needed == auth.OrgRead { // what node itself needs
			continue
		}
		if a := b.query(`{node(id:"x"){__typename id}}`, nil, with("Authorization", "Bearer other")); a.body != `{"data":{"node":null}}` {
			t.Errorf("%s without %s: %s", def.Name, needed, a.body)
		}
	}
}

func TestListsOfNodesAreFiltered(t *testing.T) {
	t.Parallel()
	needed := auth.CatalogRead
	rule := &fieldRule{possible: map[string]*auth.Permission{goName("Agent"): &needed, goName("Org"): nil}}
	list := []model.Node{&model.Agent{ID: "a"}, &model.Org{ID: "o"}, nil, &model.Session{ID: "unknown to the rule"}}
	got, err := rule.filter(&auth.Principal{}, list)
	if err != nil {
		t.Fatal(err)
	}
	kept := got.([]model.Node)
	if kept[0] != nil || kept[1] == nil || kept[2] != nil || kept[3] != nil {
		t.Errorf("got %v", kept)
	}
	if list[0] == nil {
		t.Error("the resolver's own slice was changed")
	}
}

func TestSchemaWithoutRulesIsRefused(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"a root without rule":   `type Query { a: Int }`,
		"a root with both":      `type Query { a: Int @public @auth(requires: ORG_READ) }`,
		"an unknown permission": `type Query { a: Int @auth(requires: NOPE) }`,
		"a node without rule":   `type Query { a: T @public } interface Node { id: ID! } type T implements Node { id: ID! }`,
	} {
		if _, err := newAuthorizer(parseSchema(t, source), false); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// BenchmarkLeaf is the middleware's share of a field that nothing is said about.
func BenchmarkLeaf(b *testing.B) {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	a, err := newAuthorizer(schema, false)
	if err != nil {
		b.Fatal(err)
	}
	field := schema.Types["Session"].Fields.ForName("title")
	ctx := graphql.WithFieldContext(context.Background(), &graphql.FieldContext{
		Object: "Session",
		Field:  graphql.CollectedField{Field: &ast.Field{Name: field.Name, Definition: field}},
	})
	next := func(context.Context) (any, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		_, _ = a.field(ctx, next)
	}
}
