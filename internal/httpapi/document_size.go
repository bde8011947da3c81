package httpapi

import "github.com/vektah/gqlparser/v2/ast"

// nodeBytes is about what a part of a parsed document takes. A text can be much shorter than what it stands for.
const nodeBytes = 256

// nodesOf counts the parts of a document: fields, fragments, arguments, values, directives, variables.
func nodesOf(doc *ast.QueryDocument) int {
	n := 0
	for _, op := range doc.Operations {
		n += 1 + nodesOfDirectives(op.Directives) + nodesOfSelection(op.SelectionSet)
		for _, v := range op.VariableDefinitions {
			n += 2 + nodesOfDirectives(v.Directives) + nodesOfValue(v.DefaultValue)
		}
	}
	for _, f := range doc.Fragments {
		n += 1 + nodesOfDirectives(f.Directives) + nodesOfSelection(f.SelectionSet)
	}
	return n
}

func nodesOfSelection(set ast.SelectionSet) int {
	n := 0
	for _, s := range set {
		n++
		switch s := s.(type) {
		case *ast.Field:
			n += nodesOfArguments(s.Arguments) + nodesOfDirectives(s.Directives) + nodesOfSelection(s.SelectionSet)
		case *ast.InlineFragment:
			n += nodesOfDirectives(s.Directives) + nodesOfSelection(s.SelectionSet)
		case *ast.FragmentSpread:
			n += nodesOfDirectives(s.Directives)
		}
	}
	return n
}

func nodesOfDirectives(list ast.DirectiveList) int {
	n := 0
	for _, d := range list {
		n += 1 + nodesOfArguments(d.Arguments)
	}
	return n
}

func nodesOfArguments(list ast.ArgumentList) int {
	n := 0
	for _, a := range list {
		n += 1 + nodesOfValue(a.Value)
	}
	return n
}

func nodesOfValue(v *ast.Value) int {
	if v == nil {
		return 0
	}
	n := 1
	for _, c := range v.Children {
		n += 1 + nodesOfValue(c.Value)
	}
	return n
}
