package httpapi

import (
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/ostler-dev/ostler/graph/generated"
)

func TestASubscriptionSelectsOneField(t *testing.T) {
	v := newDocumentValidator(generated.NewExecutableSchema(generated.Config{}).Schema(), 5, false)
	for document, valid := range map[string]bool{
		`subscription { sessionEvents(sessionId: "x") { kind } }`:                                                                                                          true,
		`subscription { a: sessionEvents(sessionId: "x") { kind } }`:                                                                                                       true,
		`subscription { sessionEvents(sessionId: "x") { kind } sessionEvents(sessionId: "x") { id } }`:                                                                     true,
		`subscription { sessionEvents(sessionId: "x") { kind } b: sessionEvents(sessionId: "x") { kind } }`:                                                                false,
		`subscription { ...F ... on Subscription { b: sessionEvents(sessionId: "x") { kind } } } fragment F on Subscription { a: sessionEvents(sessionId: "x") { kind } }`: false,
	} {
		doc, err := parser.ParseQuery(&ast.Source{Input: document})
		if err != nil {
			t.Fatal(err)
		}
		if errs := v.validate(doc); (len(errs) == 0) != valid {
			t.Errorf("%s: %v", document, errs)
		}
	}
}
