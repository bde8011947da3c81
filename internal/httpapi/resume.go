package httpapi

import (
	"math"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/events"
)

// resumeArgument is the argument of subscriptions that tells where a stream begins.
const resumeArgument = "after"

// resume returns the subscription with another `after`: that of the client's Last-Event-ID. It goes before what the document
// and the variables say, because EventSource repeats the request that it began with. A subscription without such an
// argument stays as it is. mark is that of the event, where the argument has no place for it.
func (e *engine) resume(op *operation, position string) (*operation, events.Mark, *gqlerror.Error) {
	r := resumption{types: e.types, position: position}
	set := r.selection(op.context.Operation.SelectionSet)
	if r.bad != nil || !r.done {
		return op, r.mark, r.bad
	}
	// The document is shared with others, so the way to the argument is made anew.
	definition, resumed := *op.context.Operation, *op
	definition.SelectionSet = set
	resumed.context = e.execution(op.context.RawQuery, op.context.Doc, &definition, op.context.Variables, op.context.Extensions)
	return &resumed, r.mark, nil
}

type resumption struct {
	types    *ast.Schema
	position string
	// mark is what the position has beside the argument's value.
	mark events.Mark
	done bool
	bad  *gqlerror.Error
}

// selection copies the root selection of a subscription as far as it has to be different.
func (r *resumption) selection(set ast.SelectionSet) ast.SelectionSet {
	out := make(ast.SelectionSet, 0, len(set))
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			out = append(out, r.field(sel))
		case *ast.InlineFragment:
			fragment := *sel
			fragment.SelectionSet = r.selection(sel.SelectionSet)
			out = append(out, &fragment)
		case *ast.FragmentSpread: // gqlgen looks the fragment up in the document, so it is put in its place
			out = append(out, &ast.InlineFragment{
				TypeCondition: sel.Definition.TypeCondition, Directives: sel.Directives, Position: sel.Position,
				ObjectDefinition: sel.ObjectDefinition, SelectionSet: r.selection(sel.Definition.SelectionSet),
			})
		}
	}
	return out
}

func (r *resumption) field(f *ast.Field) *ast.Field {
	if f.Definition == nil {
		return f
	}
	argument := f.Definition.Arguments.ForName(resumeArgument)
	if argument == nil {
		return f
	}
	value := &ast.Value{Raw: r.position, Kind: ast.StringValue, ExpectedType: argument.Type, Definition: r.types.Types[argument.Type.Name()]}
	if argument.Type.Name() == "Int" {
		n, mark, ok := events.ParsePlace(r.position)
		if !ok || n > math.MaxInt32 {
			r.bad = coded(codeBadUserInput, "Last-Event-ID does not belong to this stream. It must be the id of an event that this stream delivered.")
			return f
		}
		value.Kind, value.Raw, r.mark = ast.IntValue, strconv.FormatInt(n, 10), mark
	}
	resumed := *f
	resumed.Arguments = ast.ArgumentList{{Name: resumeArgument, Value: value, Position: f.Position}}
	for _, a := range f.Arguments {
		if a.Name != resumeArgument {
			resumed.Arguments = append(resumed.Arguments, a)
		}
	}
	r.done = true
	return &resumed
}
