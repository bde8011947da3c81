package httpapi

import (
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// enough is where counts stop growing. It is far above every limit and far below an overflow.
const enough = 1 << 40

// fragmentNesting is how many fragments may be within one another. Validation follows each fragment to its end, so that it takes the square
// of their number: a chain of 400 took 7 MB and, on a busy machine, 180 ms.
const fragmentNesting = 50

func add(a, b int) int { return min(a+b, enough) }

func multiply(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	if a > enough/b {
		return enough
	}
	return a * b
}

// tooComplex refuses a document that is over a limit, named as in the schema's list of error codes.
func tooComplex(limit string, maximum int) *gqlerror.Error {
	e := coded(codeTooComplex, "The document exceeds the limit of "+strconv.Itoa(maximum)+" "+strings.ToLower(limit)+". Request less at once.")
	return overLimit(e, limit, int64(maximum))
}

// overLimit names the limit that an error is about, and its measure.
func overLimit(e *gqlerror.Error, limit string, maximum int64) *gqlerror.Error {
	e.Extensions["limit"], e.Extensions["maximum"] = limit, maximum
	return e
}

// measure refuses what would be expensive to validate. It needs no schema, and looks at each node of the document
// once: what fragments add up to is remembered.
func (l Limits) measure(doc *ast.QueryDocument) *gqlerror.Error {
	var c nodeCount
	for _, op := range doc.Operations {
		c.directives += len(op.Directives)
		for _, v := range op.VariableDefinitions {
			c.directives += len(v.Directives)
			c.value(v.DefaultValue)
		}
		c.arguments(op.Directives)
		c.selection(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		c.directives += len(f.Directives)
		c.arguments(f.Directives)
		c.selection(f.SelectionSet)
	}
	switch {
	case c.fields > l.Fields:
		return tooComplex("FIELDS", l.Fields)
	case c.aliases > l.Aliases:
		return tooComplex("ALIASES", l.Aliases)
	case c.directives > l.Directives:
		return tooComplex("DIRECTIVES", l.Directives)
	case c.bad != nil:
		return c.bad
	}
	s := shapes{fragments: map[string]*ast.FragmentDefinition{}, known: map[string]shape{}, open: map[string]bool{}}
	for _, f := range doc.Fragments {
		if s.fragments[f.Name] == nil {
			s.fragments[f.Name] = f
		}
	}
	for _, op := range doc.Operations {
		shape := s.of(op.SelectionSet)
		switch {
		case s.cycle != "":
			return coded(codeValidationFailed, clipMessage("Fragment \""+s.cycle+"\" spreads itself."))
		case shape.depth > l.Depth:
			return tooComplex("DEPTH", l.Depth)
		case shape.fields > l.Fields:
			return tooComplex("FIELDS", l.Fields)
		case shape.top > l.RootFields:
			return tooComplex("ROOTS", l.RootFields)
		}
	}
	for _, f := range doc.Fragments { // those that nothing uses, too: validation walks each of them to its end
		shape := s.ofFragment(f.Name)
		switch {
		case shape.fields > l.Fields:
			return tooComplex("FIELDS", l.Fields)
		case shape.nested > fragmentNesting:
			e := tooComplex("DEPTH", fragmentNesting)
			e.Message = "The document has more than " + strconv.Itoa(fragmentNesting) + " nested fragments. Nest fewer."
			return e
		}
	}
	return nil
}

// nodeCount counts what stands in the document, used or not.
type nodeCount struct {
	fields, aliases, directives int
	bad                         *gqlerror.Error
}

func (c *nodeCount) selection(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			c.fields++
			if sel.Alias != sel.Name {
				c.aliases++
			}
			c.directives += len(sel.Directives)
			c.arguments(sel.Directives)
			for _, a := range sel.Arguments {
				c.value(a.Value)
			}
			c.selection(sel.SelectionSet)
		case *ast.InlineFragment:
			c.directives += len(sel.Directives)
			c.arguments(sel.Directives)
			c.selection(sel.SelectionSet)
		case *ast.FragmentSpread:
			c.directives += len(sel.Directives)
			c.arguments(sel.Directives)
		}
	}
}

func (c *nodeCount) arguments(directives ast.DirectiveList) {
	for _, d := range directives {
		if d.Name == "defer" && c.bad == nil {
			c.bad = coded(codeValidationFailed, "This server does not support @defer.")
		}
		for _, a := range d.Arguments {
			c.value(a.Value)
		}
	}
}

// value refuses literals that would only fail once the operation runs.
func (c *nodeCount) value(v *ast.Value) {
	if v == nil || c.bad != nil {
		return
	}
	switch v.Kind {
	case ast.IntValue:
		if _, err := strconv.ParseInt(v.Raw, 10, 64); err != nil {
			c.bad = coded(codeBadUserInput, "A number in the document is too large.")
		}
	case ast.FloatValue:
		if _, err := strconv.ParseFloat(v.Raw, 64); err != nil {
			c.bad = coded(codeBadUserInput, "A number in the document is too large.")
		}
	case ast.StringValue, ast.BlockValue:
		if strings.IndexByte(v.Raw, 0) >= 0 {
			c.bad = nulCharacter()
		}
	}
	for _, child := range v.Children {
		c.value(child.Value)
	}
}

func nulCharacter() *gqlerror.Error {
	return coded(codeBadUserInput, "A text contains a NUL character, which can't be stored.")
}

// shape is what a selection adds up to, with its fragments written out.
type shape struct {
	depth, fields int
	// top is the number of fields that the selection itself has, without those below them.
	top int
	// nested is how many fragments are within one another.
	nested int
}

type shapes struct {
	fragments map[string]*ast.FragmentDefinition
	known     map[string]shape
	open      map[string]bool
	cycle     string
}

func (s *shapes) of(set ast.SelectionSet) shape {
	var sum shape
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			below := s.of(sel.SelectionSet)
			sum.top = add(sum.top, 1)
			sum.fields = add(sum.fields, add(1, below.fields))
			if isIntrospection(sel.Name) { // the standard query is deep; its cost is what bounds it
				below.depth = 0
			}
			sum.depth = max(sum.depth, 1+below.depth)
			sum.nested = max(sum.nested, below.nested)
		case *ast.InlineFragment:
			sum.merge(s.of(sel.SelectionSet))
		case *ast.FragmentSpread:
			sum.merge(s.ofFragment(sel.Name))
		}
	}
	return sum
}

func (s *shapes) ofFragment(name string) shape {
	if known, ok := s.known[name]; ok {
		return known
	}
	def := s.fragments[name]
	if def == nil {
		return shape{}
	}
	if s.open[name] {
		s.cycle = name
		return shape{}
	}
	s.open[name] = true
	result := s.of(def.SelectionSet)
	result.nested++
	delete(s.open, name)
	s.known[name] = result
	return result
}

func (s *shape) merge(o shape) {
	s.top = add(s.top, o.top)
	s.fields = add(s.fields, o.fields)
	s.depth = max(s.depth, o.depth)
	s.nested = max(s.nested, o.nested)
}

func isIntrospection(field string) bool { return field == "__schema" || field == "__type" }
