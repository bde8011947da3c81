package httpapi

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// documentValidator runs the rules of the GraphQL specification. It differs from the library's own entry point in
// three ways: it stops at the first few errors, one rule is ours (see mergeRule), and the rules are chosen once.
type documentValidator struct {
	schema    *ast.Schema
	rules     []validator.Rule
	maxErrors int
}

func newDocumentValidator(schema *ast.Schema, maxErrors int, suggestions bool) *documentValidator {
	v := &documentValidator{schema: schema, maxErrors: maxErrors}
	v.rules = []validator.Rule{
		rules.FragmentsOnCompositeTypesRule,
		rules.KnownDirectivesRule,
		rules.KnownFragmentNamesRule,
		rules.KnownRootTypeRule,
		rules.LoneAnonymousOperationRule,
		rules.MaxIntrospectionDepth,
		rules.NoFragmentCyclesRule,
		rules.NoUndefinedVariablesRule,
		rules.NoUnusedFragmentsRule,
		rules.NoUnusedVariablesRule,
		mergeRule,
		rules.PossibleFragmentSpreadsRule,
		rules.ProvidedRequiredArgumentsRule,
		rules.SingleFieldSubscriptionsRule,
		oneStreamRule,
		rules.UniqueArgumentNamesRule,
		rules.UniqueDirectivesPerLocationRule,
		rules.UniqueFragmentNamesRule,
		rules.UniqueInputFieldNamesRule,
		rules.UniqueOperationNamesRule,
		rules.UniqueVariableNamesRule,
		rules.VariablesAreInputTypesRule,
		rules.VariablesInAllowedPositionRule,
	}
	if suggestions {
		return v.with(rules.FieldsOnCorrectTypeRule, rules.KnownArgumentNamesRule, rules.KnownTypeNamesRule,
			rules.ScalarLeafsRule, rules.ValuesOfCorrectTypeRule)
	}
	return v.with(rules.FieldsOnCorrectTypeRuleWithoutSuggestions, rules.KnownArgumentNamesRuleWithoutSuggestions,
		rules.KnownTypeNamesRuleWithoutSuggestions, rules.ScalarLeafsRuleWithoutSuggestions,
		rules.ValuesOfCorrectTypeRuleWithoutSuggestions)
}

func (v *documentValidator) with(more ...validator.Rule) *documentValidator {
	v.rules = append(v.rules, more...)
	return v
}

// stopValidation leaves the walk, which has no other way to end early.
type stopValidation struct{}

// validate returns at most maxErrors errors. Besides judging the document it ties it to the schema.
func (v *documentValidator) validate(doc *ast.QueryDocument) (errs gqlerror.List) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stopValidation); !ok {
				panic(r)
			}
		}
	}()
	events := &validator.Events{}
	for _, rule := range v.rules {
		rule.RuleFunc(events, func(options ...validator.ErrorOption) {
			err := &gqlerror.Error{Rule: rule.Name}
			for _, o := range options {
				o(err)
			}
			err.Message = clipMessage(err.Message)
			err.Extensions = map[string]any{"code": codeValidationFailed}
			errs = append(errs, err)
			if len(errs) >= v.maxErrors {
				panic(stopValidation{})
			}
		})
	}
	validator.Walk(v.schema, doc, events)
	return errs
}
