package httpapi

import (
	"encoding/json"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// unpagedList is how many items a list without `first` and `last` is taken to have.
const unpagedList = 20

// cost is the price of an operation: one per field, and what is below a list as often as the list has items.
type cost struct {
	// requested is the cost of the operation without its introspection, which has a budget of its own.
	requested     int
	introspection int
}

// revisionPrice is what each revision of a page costs beside its fields: it is read whole, prompts included, whatever is selected of it.
const revisionPrice = 50

// modelViewPrice is what a view of what a model was sent costs beside its fields: the conversation is read for it.
const modelViewPrice = 1_000

// auditCheckPrice is what a check of the audit log costs: it reads up to 10 000 entries.
const auditCheckPrice = 10_000

// pricing walks one operation. Fragments are priced once per page size that they are spread under, of which there
// are at most as many as PageSize, so the work is linear in the document.
type pricing struct {
	limits    Limits
	types     *ast.Schema
	variables map[string]any
	// known is false while the document is looked at without variables.
	known    bool
	constant bool
	memo     map[pricedFragment]cost
	bad      *gqlerror.Error
}

type pricedFragment struct {
	name string
	page int
	meta bool
}

// priceOf prices an operation. Without variables it only says whether the price is constant, and what it is then.
func priceOf(limits Limits, types *ast.Schema, op *ast.OperationDefinition, variables map[string]any) (_ cost, _ *gqlerror.Error, constant bool) {
	p := pricing{limits: limits, types: types, variables: variables, known: variables != nil, constant: true}
	sum := p.selection(op.SelectionSet, 0, false)
	if p.bad != nil || !p.known && !p.constant {
		return cost{}, p.bad, false
	}
	if sum.requested > limits.Cost {
		return cost{}, overBudget(limits.Cost, sum.requested), false
	}
	if sum.introspection > limits.IntrospectionCost {
		return cost{}, overBudget(limits.IntrospectionCost, sum.introspection), false
	}
	return sum, nil, p.constant
}

func overBudget(maximum, requested int) *gqlerror.Error {
	e := tooComplex("COST", maximum)
	e.Extensions["requested"] = requested
	return e
}

// selection prices the fields of an object. page is the size of the connection that the object is, 0 for any other;
// meta is true below __schema and __type. An object has one type, so of fragments on several types the most expensive one counts.
func (p *pricing) selection(set ast.SelectionSet, page int, meta bool) cost {
	var sum cost
	var byType map[string]cost
	fragment := func(condition string, c cost) {
		if on := p.types.Types[condition]; on == nil || on.Kind != ast.Object {
			sum.plus(c)
			return
		}
		if byType == nil {
			byType = map[string]cost{}
		}
		c.plus(byType[condition])
		byType[condition] = c
	}
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			sum.plus(p.field(sel, page, meta))
		case *ast.InlineFragment:
			fragment(sel.TypeCondition, p.selection(sel.SelectionSet, page, meta))
		case *ast.FragmentSpread:
			if sel.Definition != nil {
				fragment(sel.Definition.TypeCondition, p.fragment(sel, page, meta))
			}
		}
	}
	var most cost
	for _, c := range byType {
		most.requested = max(most.requested, c.requested)
		most.introspection = max(most.introspection, c.introspection)
	}
	sum.plus(most)
	return sum
}

func (p *pricing) fragment(spread *ast.FragmentSpread, page int, meta bool) cost {
	key := pricedFragment{spread.Name, page, meta}
	if c, ok := p.memo[key]; ok {
		return c
	}
	c := p.selection(spread.Definition.SelectionSet, page, meta)
	if p.memo == nil {
		p.memo = map[pricedFragment]cost{}
	}
	p.memo[key] = c
	return c
}

func (p *pricing) field(f *ast.Field, page int, meta bool) cost {
	if f.Definition == nil {
		return cost{}
	}
	meta = meta || isIntrospection(f.Name)
	own := p.pageSize(f)
	below := p.selection(f.SelectionSet, own, meta)
	if f.Definition.Type.NamedType == "RevisionConnection" {
		below.requested = add(below.requested, multiply(own, revisionPrice))
	}
	if f.Definition.Type.NamedType == "ModelView" {
		below.requested = add(below.requested, modelViewPrice)
	}
	if f.Definition.Type.NamedType == "AuditCheck" {
		below.requested = add(below.requested, auditCheckPrice)
	}
	if f.Definition.Type.Elem != nil {
		times := unpagedList
		switch {
		case meta:
			times = p.metaList(f.Name)
		case own > 0:
			times = own
		case page > 0:
			times = page
		}
		below.requested = multiply(below.requested, times)
		below.introspection = multiply(below.introspection, times)
	}
	if meta {
		below.introspection = add(below.introspection, 1)
	} else {
		below.requested = add(below.requested, 1)
	}
	return below
}

// metaList is how many items a list of the introspection has, about.
func (p *pricing) metaList(field string) int {
	switch field {
	case "types":
		return len(p.types.Types)
	case "directives":
		return len(p.types.Directives)
	case "args":
		return 2
	case "interfaces", "locations":
		return 2
	}
	return 8
}

func (c *cost) plus(o cost) {
	c.requested = add(c.requested, o.requested)
	c.introspection = add(c.introspection, o.introspection)
}

// pageSize returns the `first` or `last` of a field, the larger when both are set; their default when none is; 0 when
// the field has neither.
func (p *pricing) pageSize(f *ast.Field) int {
	size, fallback := 0, 0
	for _, def := range f.Definition.Arguments {
		if def.Name != "first" && def.Name != "last" || def.Type.NamedType != "Int" {
			continue
		}
		fallback = max(fallback, unpagedList)
		if def.DefaultValue != nil {
			if n, err := strconv.Atoi(def.DefaultValue.Raw); err == nil {
				fallback = max(fallback, n)
			}
		}
		if arg := f.Arguments.ForName(def.Name); arg != nil {
			size = max(size, p.argument(def.Name, arg.Value))
		}
	}
	if size > 0 {
		return size
	}
	return fallback
}

func (p *pricing) argument(name string, value *ast.Value) int {
	if value.Kind == ast.Variable {
		p.constant = false
		if !p.known {
			return 1
		}
	}
	given, err := value.Value(p.variables)
	if err == nil && given == nil {
		return 0
	}
	n, ok := wholeNumber(given)
	if err != nil || !ok || n < 1 || n > int64(p.limits.PageSize) {
		if p.bad == nil {
			p.bad = overLimit(coded(codeBadUserInput, "`"+name+"` must be a whole number from 1 to "+strconv.Itoa(p.limits.PageSize)+"."),
				"PAGE", int64(p.limits.PageSize))
			p.bad.Locations = []gqlerror.Location{{Line: value.Position.Line, Column: value.Position.Column}}
		}
		return 1
	}
	return int(n)
}

func wholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}
