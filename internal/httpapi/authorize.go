package httpapi

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
)

// fieldRule is what the schema's @auth and @public say about one field of one object type. Fields that nothing is
// said about have none.
type fieldRule struct {
	root bool
	// public is @public on a root field.
	public bool
	// field is what @auth on the field itself requires.
	field *auth.Permission
	// object is what @auth on the type of the field's values requires.
	object *auth.Permission
	// possible is the same for fields whose values are of several types, by goName of the type's name; every possible type is
	// in it, those without @auth with nil.
	possible map[string]*auth.Permission
	nonNull  bool
	// introspection is __schema or __type.
	introspection bool
}

// authorizer enforces @auth and @public for every field of every operation. Nothing else does: gqlgen's own
// runtime directives are switched off for the two.
type authorizer struct {
	// byDefinition has an entry for every field of the schema, so that most fields cost one look-up. Fields of
	// interfaces have no entry: their rule depends on the object.
	byDefinition map[*ast.FieldDefinition]*fieldRule
	// byName is for the rest: "Type.field".
	byName        map[string]*fieldRule
	roots         map[string]bool
	introspection bool
}

// provenBySignIn are the edges that are read by whoever just proved to be that user, before there is a principal, or to hold that key.
var provenBySignIn = map[string]bool{"TokenPair.org": true, "TokenPair.user": true, "Viewer.apiKey": true}

// newAuthorizer reads the rules from the schema. A root field must carry exactly one of @auth and @public, and
// every type that can be fetched by id must carry @auth.
func newAuthorizer(schema *ast.Schema, introspection bool) (*authorizer, error) {
	a := &authorizer{
		byDefinition:  map[*ast.FieldDefinition]*fieldRule{},
		byName:        map[string]*fieldRule{},
		roots:         map[string]bool{},
		introspection: introspection,
	}
	for _, def := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		if def != nil {
			a.roots[def.Name] = true
		}
	}
	for _, def := range schema.Types {
		if def.Kind != ast.Object {
			continue
		}
		if own, err := requirement(def.Directives); err != nil {
			return nil, fmt.Errorf("type %s: %w", def.Name, err)
		} else if own == nil && implements(def, "Node") {
			return nil, fmt.Errorf("type %s can be fetched by id, so it must carry @auth", def.Name)
		}
		for _, field := range def.Fields {
			name := def.Name + "." + field.Name
			rule, err := a.ruleOf(schema, def, field)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", name, err)
			}
			a.byDefinition[field] = rule
			a.byName[name] = rule
		}
	}
	return a, nil
}

func (a *authorizer) ruleOf(schema *ast.Schema, parent *ast.Definition, field *ast.FieldDefinition) (*fieldRule, error) {
	rule := &fieldRule{root: a.roots[parent.Name], nonNull: field.Type.NonNull}
	var err error
	if rule.field, err = requirement(field.Directives); err != nil {
		return nil, err
	}
	rule.public = field.Directives.ForName("public") != nil
	rule.introspection = rule.root && strings.HasPrefix(field.Name, "__")
	if rule.root && !rule.introspection && rule.public == (rule.field != nil) {
		return nil, fmt.Errorf("a root field carries exactly one of @auth and @public")
	}
	if !provenBySignIn[parent.Name+"."+field.Name] {
		if err := rule.readResult(schema, schema.Types[field.Type.Name()]); err != nil {
			return nil, err
		}
	}
	if parent == schema.Subscription && rule.possible != nil {
		return nil, fmt.Errorf("events of types with @auth in an interface are not supported: put @auth on the field")
	}
	if !rule.root && rule.field == nil && rule.object == nil && rule.possible == nil {
		return nil, nil
	}
	return rule, nil
}

func (r *fieldRule) readResult(schema *ast.Schema, result *ast.Definition) error {
	if result == nil {
		return nil
	}
	var err error
	switch result.Kind {
	case ast.Object:
		r.object, err = requirement(result.Directives)
	case ast.Interface, ast.Union:
		guarded := false
		possible := map[string]*auth.Permission{}
		for _, def := range schema.GetPossibleTypes(result) {
			name := goName(def.Name)
			if _, taken := possible[name]; taken {
				return fmt.Errorf("the names of two types that are %s differ in case alone", result.Name)
			}
			if possible[name], err = requirement(def.Directives); err != nil {
				return err
			}
			guarded = guarded || possible[name] != nil
		}
		if guarded {
			r.possible = possible
		}
	}
	return err
}

func requirement(directives ast.DirectiveList) (*auth.Permission, error) {
	d := directives.ForName("auth")
	if d == nil {
		return nil, nil
	}
	arg := d.Arguments.ForName("requires")
	if arg == nil {
		return nil, fmt.Errorf("@auth without a permission")
	}
	p, ok := auth.ParsePermission(arg.Value.Raw)
	if !ok {
		return nil, fmt.Errorf("@auth requires %q, which is not a permission", arg.Value.Raw)
	}
	return &p, nil
}

func implements(def *ast.Definition, name string) bool {
	for _, i := range def.Interfaces {
		if i == name {
			return true
		}
	}
	return false
}

func (a *authorizer) rule(fc *graphql.FieldContext) *fieldRule {
	if rule, ok := a.byDefinition[fc.Field.Definition]; ok {
		return rule
	}
	return a.byName[fc.Object+"."+fc.Field.Name]
}

// guards reports whether the field has a rule, on any of the types that it may be asked of.
func (a *authorizer) guards(types *ast.Schema, field *ast.Field) bool {
	for _, def := range types.GetPossibleTypes(field.ObjectDefinition) {
		if a.byName[def.Name+"."+field.Name] != nil {
			return true
		}
	}
	return false
}

// field is the middleware of every field.
func (a *authorizer) field(ctx context.Context, next graphql.Resolver) (any, error) {
	fc := graphql.GetFieldContext(ctx)
	rule := a.rule(fc)
	if rule == nil {
		if a.roots[fc.Object] { // a root field that the schema doesn't know can't happen; if it does, it is closed
			return nil, coded(codeForbidden, "This field is not accessible.")
		}
		return next(ctx)
	}
	principal := auth.FromContext(ctx)
	if denied := a.refuse(principal, rule, fc.Field.Name); denied != nil {
		return nil, denied
	}
	if !a.readable(principal, rule) {
		return nil, rule.denied(principal)
	}
	result, err := next(ctx)
	if err != nil || result == nil || rule.possible == nil {
		return result, err
	}
	return rule.filter(principal, result)
}

// refuse returns the error of a root field that the caller has no right to; nil for all other fields.
func (a *authorizer) refuse(principal *auth.Principal, rule *fieldRule, name string) *gqlerror.Error {
	switch {
	case !rule.root || rule.public:
		return nil
	case rule.introspection:
		if a.introspection && principal != nil || name == "__type" { // __type is nullable: see readable
			return nil
		}
		if a.introspection {
			return unauthenticated()
		}
		return coded(codeForbidden, "Introspection is disabled on this server.")
	case principal == nil:
		return unauthenticated()
	case !principal.Can(*rule.field):
		return forbidden(*rule.field)
	}
	return nil
}

// refuseField is refuse for errors that arise before the middleware runs.
func (a *authorizer) refuseField(principal *auth.Principal, fc *graphql.FieldContext) *gqlerror.Error {
	rule := a.rule(fc)
	if rule == nil {
		return nil
	}
	if denied := a.refuse(principal, rule, fc.Field.Name); denied != nil {
		return denied
	}
	if !a.readable(principal, rule) {
		return forbidden(rule.missing(principal))
	}
	return nil
}

// readable reports whether the field may be resolved at all, as far as is known before it is.
func (a *authorizer) readable(principal *auth.Principal, rule *fieldRule) bool {
	if rule.introspection {
		return a.introspection && principal != nil
	}
	return (rule.field == nil || principal.Can(*rule.field)) && (rule.object == nil || principal.Can(*rule.object))
}

func (r *fieldRule) missing(principal *auth.Principal) auth.Permission {
	if r.field != nil && !principal.Can(*r.field) {
		return *r.field
	}
	return *r.object
}

// denied is how a field below the root that may not be read ends: as null, or as an error where null can't be.
func (r *fieldRule) denied(principal *auth.Principal) error {
	if !r.nonNull || r.introspection {
		return nil
	}
	if principal == nil {
		return unauthenticated()
	}
	return forbidden(r.missing(principal))
}

// filter removes values of types that the principal may not read. A Go type that is none of the possible types is
// refused, because nothing is known about it.
func (r *fieldRule) filter(principal *auth.Principal, result any) (any, error) {
	v := reflect.ValueOf(result)
	if v.Kind() == reflect.Slice {
		return r.filterList(principal, v)
	}
	if r.allows(principal, v) {
		return result, nil
	}
	if r.nonNull {
		return nil, coded(codeForbidden, "You lack the permission to read this object.")
	}
	return nil, nil
}

func (r *fieldRule) filterList(principal *auth.Principal, list reflect.Value) (any, error) {
	kept := list
	for i := range list.Len() {
		item := list.Index(i)
		if item.Kind() == reflect.Interface {
			if item.IsNil() {
				continue
			}
			item = item.Elem()
		}
		if r.allows(principal, item) {
			continue
		}
		if kept == list { // the resolver's own slice is not ours to change
			kept = reflect.MakeSlice(list.Type(), list.Len(), list.Len())
			reflect.Copy(kept, list)
		}
		kept.Index(i).SetZero()
	}
	return kept.Interface(), nil
}

func (r *fieldRule) allows(principal *auth.Principal, v reflect.Value) bool {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	needed, known := r.possible[goName(t.Name())]
	return known && (needed == nil || principal.Can(*needed))
}

// goName makes one name of a type's in the schema and in Go, where ApiKey is APIKey.
func goName(name string) string { return strings.ToLower(name) }

func unauthenticated() *gqlerror.Error {
	return coded(codeUnauthenticated, "Sign in first: this needs a valid access token or API key.")
}

func forbidden(p auth.Permission) *gqlerror.Error {
	return coded(codeForbidden, "You lack the permission "+p.String()+" in this organization.")
}
