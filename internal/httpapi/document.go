package httpapi

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// document is a parsed and validated document. Nothing writes to it after it was made: operations share it.
type document struct {
	query *ast.QueryDocument
	// costs has the operations whose cost doesn't depend on variables.
	costs map[*ast.OperationDefinition]cost
	// shared has the subscriptions whose answers depend on nothing but the event.
	shared map[*ast.OperationDefinition]*renderers
}

// parseDocument goes from text to a document that may run, refusing as early as possible: each step is linear in what
// the step before let through.
func (e *engine) parseDocument(text string) (*document, gqlerror.List) {
	if len(text) > e.limits.DocumentBytes {
		return nil, gqlerror.List{tooComplex("BYTES", e.limits.DocumentBytes)}
	}
	query, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, e.limits.Tokens)
	if err != nil {
		return nil, gqlerror.List{e.parseError(err)}
	}
	if len(query.Operations) == 0 {
		return nil, gqlerror.List{coded(codeValidationFailed, "The document contains no operation.")}
	}
	if err := e.limits.measure(query); err != nil {
		return nil, gqlerror.List{err}
	}
	if errs := e.validator.validate(query); len(errs) != 0 {
		return nil, errs
	}
	d := &document{query: query, costs: map[*ast.OperationDefinition]cost{}, shared: map[*ast.OperationDefinition]*renderers{}}
	for _, op := range query.Operations {
		if c, err, constant := priceOf(e.limits, e.types, op, nil); err != nil {
			return nil, gqlerror.List{err}
		} else if constant {
			d.costs[op] = c
		}
		if e.shareable(op) {
			d.shared[op] = newRenderers()
		}
	}
	return d, nil
}

// parseError tells the token limit, for which the parser has no error of its own, from broken syntax.
func (e *engine) parseError(err error) *gqlerror.Error {
	parsed, ok := err.(*gqlerror.Error)
	if !ok {
		return coded(codeParseFailed, "The document can't be parsed.")
	}
	if len(parsed.Locations) == 0 { // only the token limit knows no place
		return tooComplex("TOKENS", e.limits.Tokens)
	}
	parsed.Message = clipMessage(parsed.Message)
	parsed.Extensions = map[string]any{"code": codeParseFailed}
	return parsed
}
