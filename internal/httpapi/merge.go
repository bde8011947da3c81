package httpapi

import (
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
)

// mergeRule is the specification's "field selection merging": fields that answer under one name must be the same
// field with the same arguments, or at least have the same shape where no object can have both.
//
// The library compares every pair of such fields, which takes seconds and hundreds of megabytes for a document of a
// few kilobytes. Being the same is an equivalence, so it is enough to compare each field with the first of its group.
var mergeRule = validator.Rule{
	Name: "OverlappingFieldsCanBeMerged",
	RuleFunc: func(events *validator.Events, addError validator.AddErrFunc) {
		events.OnOperation(func(_ *validator.Walker, op *ast.OperationDefinition) {
			m := merging{addError: addError}
			m.sameShape(m.collect(nil, op.SelectionSet, map[string]bool{}))
			m.sameField(m.collect(nil, op.SelectionSet, map[string]bool{}))
		})
	},
}

type merging struct {
	addError validator.AddErrFunc
	failed   bool
}

// collect lists the fields of a selection, with its fragments written out; each fragment once.
func (m *merging) collect(fields []*ast.Field, set ast.SelectionSet, seen map[string]bool) []*ast.Field {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			fields = append(fields, sel)
		case *ast.InlineFragment:
			fields = m.collect(fields, sel.SelectionSet, seen)
		case *ast.FragmentSpread:
			if sel.Definition != nil && !seen[sel.Name] {
				seen[sel.Name] = true
				fields = m.collect(fields, sel.Definition.SelectionSet, seen)
			}
		}
	}
	return fields
}

// byName groups fields by the name that they answer under, in the order of the document.
func byName(fields []*ast.Field) [][]*ast.Field {
	at := make(map[string]int, len(fields))
	groups := make([][]*ast.Field, 0, len(fields))
	for _, f := range fields {
		i, ok := at[f.Alias]
		if !ok {
			i = len(groups)
			at[f.Alias] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

func (m *merging) below(group []*ast.Field) []*ast.Field {
	var fields []*ast.Field
	seen := map[string]bool{}
	for _, f := range group {
		fields = m.collect(fields, f.SelectionSet, seen)
	}
	return fields
}

// sameShape compares what the fields of one name answer with, for all objects alike.
func (m *merging) sameShape(fields []*ast.Field) {
	for _, group := range byName(fields) {
		first := group[0]
		for _, f := range group[1:] {
			if f.Definition != nil && first.Definition != nil && !equalShape(first, f) {
				m.conflict(first, f, fmt.Sprintf("they return conflicting types %s and %s", first.Definition.Type, f.Definition.Type))
				return
			}
		}
		if below := m.below(group); len(below) > 0 && !m.failed {
			m.sameShape(below)
		}
	}
}

func equalShape(a, b *ast.Field) bool {
	ta, tb := a.Definition.Type, b.Definition.Type
	for {
		if ta.NonNull != tb.NonNull || (ta.Elem == nil) != (tb.Elem == nil) {
			return false
		}
		if ta.Elem == nil {
			break
		}
		ta, tb = ta.Elem, tb.Elem
	}
	leafA, leafB := len(a.SelectionSet) == 0, len(b.SelectionSet) == 0
	return leafA == leafB && (!leafA || ta.NamedType == tb.NamedType)
}

// sameField compares name and arguments of fields that one object can have together: those of the same object type,
// and those of interfaces and unions with everybody's.
func (m *merging) sameField(fields []*ast.Field) {
	for _, group := range byName(fields) {
		for _, common := range byParent(group) {
			first := common[0]
			for _, f := range common[1:] {
				if reason := difference(first, f); reason != "" {
					m.conflict(first, f, reason)
					return
				}
			}
			if below := m.below(common); len(below) > 0 && !m.failed {
				m.sameField(below)
			}
		}
	}
}

func byParent(group []*ast.Field) [][]*ast.Field {
	if len(group) == 1 {
		return [][]*ast.Field{group}
	}
	var abstract []*ast.Field
	var objects [][]*ast.Field
	at := map[*ast.Definition]int{}
	for _, f := range group {
		if f.ObjectDefinition == nil || f.ObjectDefinition.Kind != ast.Object {
			abstract = append(abstract, f)
			continue
		}
		i, ok := at[f.ObjectDefinition]
		if !ok {
			i = len(objects)
			at[f.ObjectDefinition] = i
			objects = append(objects, nil)
		}
		objects[i] = append(objects[i], f)
	}
	if len(objects) == 0 {
		return [][]*ast.Field{abstract}
	}
	if len(abstract) > 0 {
		for i := range objects {
			objects[i] = slices.Concat(abstract, objects[i])
		}
	}
	return objects
}

func difference(a, b *ast.Field) string {
	if a.Name != b.Name {
		return fmt.Sprintf("%q and %q are different fields", a.Name, b.Name)
	}
	if len(a.Arguments) != len(b.Arguments) {
		return "they have differing arguments"
	}
	for _, arg := range a.Arguments {
		other := b.Arguments.ForName(arg.Name)
		if other == nil || !equalValue(arg.Value, other.Value) {
			return "they have differing arguments"
		}
	}
	return ""
}

func equalValue(a, b *ast.Value) bool {
	if a.Kind != b.Kind || a.Raw != b.Raw || len(a.Children) != len(b.Children) {
		return false
	}
	for i, child := range a.Children {
		if child.Name != b.Children[i].Name || !equalValue(child.Value, b.Children[i].Value) {
			return false
		}
	}
	return true
}

// conflict reports one conflict per operation and phase: one is enough to refuse the document.
func (m *merging) conflict(a, b *ast.Field, reason string) {
	if m.failed {
		return
	}
	m.failed = true
	m.addError(
		validator.Message("Fields %q conflict because %s. Use different aliases on the fields to fetch both if this was intentional.",
			a.Alias, reason),
		func(err *gqlerror.Error) {
			for _, f := range []*ast.Field{a, b} {
				if f.Position != nil {
					err.Locations = append(err.Locations, gqlerror.Location{Line: f.Position.Line, Column: f.Position.Column})
				}
			}
		},
	)
}
