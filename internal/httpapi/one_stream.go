package httpapi

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// oneStreamRule lets a subscription select one field. The library's rule tells fields apart by their names, so that it lets the
// same field through twice, under two aliases.
var oneStreamRule = validator.Rule{Name: "OneStream", RuleFunc: func(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnOperation(func(_ *validator.Walker, op *ast.OperationDefinition) {
		if op.Operation != ast.Subscription {
			return
		}
		keys := map[string]bool{}
		responseKeys(op.SelectionSet, keys, map[string]bool{})
		if len(keys) > 1 {
			addError(validator.Message("A subscription must select one field; start one for each stream."))
		}
	})
}}

// responseKeys collects under which names a selection answers, fragments included.
func responseKeys(set ast.SelectionSet, keys, visited map[string]bool) {
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			keys[s.Alias] = true
		case *ast.InlineFragment:
			responseKeys(s.SelectionSet, keys, visited)
		case *ast.FragmentSpread:
			if s.Definition != nil && !visited[s.Name] {
				visited[s.Name] = true
				responseKeys(s.Definition.SelectionSet, keys, visited)
			}
		}
	}
}
