package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/apiclient/attacks"
)

func outcome(a answer) string {
	if limit, ok := a.errorExtension("limit"); ok {
		return limit
	}
	return a.code()
}

func (a answer) errorExtension(name string) (string, bool) {
	if len(a.errors) == 0 {
		return "", false
	}
	s, ok := a.errors[0].Extensions[name].(string)
	return s, ok
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range attacks.All() {
		t.Run(c.Name, func(t *testing.T) {
			who := func(*http.Request) {}
			if len(c.Document) > bodyPlace-1000 { // strangers may not even send that
				who = signedIn
			}
			a := b.query(c.Document, nil, who)
			if got := outcome(a); got != c.Want {
				t.Errorf("got %q, want %q: %.300s", got, c.Want, a.body)
			}
			if len(a.errors) > 5 || len(a.body) > 4000 {
				t.Errorf("%d errors in %d bytes", len(a.errors), len(a.body))
			}
		})
	}
	if n := b.meter.panics(); n != 0 {
		t.Error("something panicked: ", b.log.String())
	}
}

func TestPageSizeVariables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var got *int
	b.stub.agents = func(first *int) *model.AgentConnection {
		got = first
		return &model.AgentConnection{PageInfo: &model.PageInfo{}}
	}
	const document = "query($n:Int){agents(first:$n){nodes{id}}}"
	for _, n := range []any{0, -5, 101, 1_000_000, json.Number("99999999999"), json.Number("1e9"), 1.5, "5"} {
		if a := b.query(document, map[string]any{"n": n}, signedIn); a.code() != codeBadUserInput || a.hasData {
			t.Errorf("first %v: %s", n, a.body)
		}
	}
	if a := b.query(document, map[string]any{"n": 7}, signedIn); a.code() != "" || got == nil || *got != 7 {
		t.Errorf("first 7: %s", a.body)
	}
	if a := b.query("query($n:Int=101){agents(first:$n){nodes{id}}}", nil, signedIn); a.code() != codeBadUserInput {
		t.Errorf("a default of 101: %s", a.body)
	}
	nested := "query($a:Int,$b:Int){agents(first:$a){nodes{sessions(first:$b){nodes{id title status tags locale}}}}}"
	if a := b.query(nested, map[string]any{"a": 100, "b": 100}, signedIn); outcome(a) != "COST" {
		t.Errorf("100 x 100: %s", a.body)
	}
	if a := b.query(nested, map[string]any{"a": 100, "b": 10}, signedIn); a.code() != "" {
		t.Errorf("100 x 10: %s", a.body)
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	e := setup(t).server.engine
	for document, want := range map[string]int{
		"{serverInfo{name}}": 2,
		"{agents(first:10){nodes{id name} pageInfo{hasNextPage} totalCount}}": 1 + (1 + 10*2) + 2 + 1,
		"{agents{nodes{id}}}":                                              1 + (1 + 20*1),
		"{agents(first:10){edges{cursor node{id}}}}":                       1 + 1 + 10*3,
		"{agents(first:10){...A}}fragment A on AgentConnection{nodes{id}}": 1 + 1 + 10,
		"{session(id:1){messages(last:5){nodes{id}}}}":                     1 + 1 + 1 + 5,
		"{session(id:1){tags}}":                                            2,
		"{agent(id:1){history(first:10){nodes{number}}}}":                  1 + 1 + 10*50 + 1 + 10,
		"{viewer{orgs{id}}}":                                               1 + 1 + 20,
		"{__schema{types{name}}}":                                          0,
		// One object has one type.
		"{node(id:1){id ...on Session{title} ...on Agent{name tags}}}":                       1 + 1 + 2,
		"{node(id:1){...on Agent{id} ...A ...on Session{id}}} fragment A on Agent{name}":     1 + 2,
		"{node(id:1){...N ...on Session{id}}} fragment N on Node{id ...on Agent{name tags}}": 1 + 1 + 2 + 1,
	} {
		doc, errs := e.parseDocument(document)
		if len(errs) != 0 {
			t.Errorf("%s: %v", document, errs)
			continue
		}
		if got := doc.costs[doc.query.Operations[0]].requested; got != want {
			t.Errorf("%s costs %d, want %d", document, got, want)
		}
	}
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	development := setup(t)
	production := setup(t, func(c *Config) { c.Introspection, c.Suggestions = false, false })
	const schema, named = "{__schema{queryType{name}}}", `{__type(name:"Org"){name}}`
	for _, c := range []struct {
		name     string
		bench    *bench
		document string
		change   func(*http.Request)
		code     string
		data     string
	}{
		{"development, signed in", development, schema, signedIn, "", `{"__schema":{"queryType":{"name":"Query"}}}`},
		{"development, signed in, type", development, named, signedIn, "", `{"__type":{"name":"Org"}}`},
		{"development, nobody", development, schema, with("X", "y"), codeUnauthenticated, `{"__schema":null}`},
		{"development, nobody, type", development, named, with("X", "y"), "", `{"__type":null}`},
		{"production", production, schema, signedIn, codeForbidden, `{"__schema":null}`},
		{"production, type", production, named, signedIn, "", `{"__type":null}`},
		{"the standard query", development, introspectionQuery, signedIn, "", ""},
	} {
		a := c.bench.query(c.document, nil, c.change)
		if a.code() != c.code || c.data != "" && string(a.data) != c.data {
			t.Errorf("%s: %.300s", c.name, a.body)
		}
	}
	const typo = "{serverInfo{nam}}"
	if a := development.query(typo, nil); !strings.Contains(a.body, "Did you mean") {
		t.Errorf("development: %s", a.body)
	}
	if a := production.query(typo, nil); strings.Contains(a.body, "Did you mean") || strings.Contains(a.body, "version") {
		t.Errorf("production: %s", a.body)
	}
}

// introspectionQuery is graphql-js's, as tools send it.
const introspectionQuery = `query IntrospectionQuery{__schema{description queryType{name kind} mutationType{name kind} subscriptionType{name kind}
types{...FullType} directives{name description isRepeatable locations args(includeDeprecated:true){...InputValue}}}}
fragment FullType on __Type{kind name description specifiedByURL isOneOf
fields(includeDeprecated:true){name description args(includeDeprecated:true){...InputValue} type{...TypeRef} isDeprecated deprecationReason}
inputFields(includeDeprecated:true){...InputValue} interfaces{...TypeRef} enumValues(includeDeprecated:true){name description isDeprecated deprecationReason} possibleTypes{...TypeRef}}
fragment InputValue on __InputValue{name description type{...TypeRef} defaultValue isDeprecated deprecationReason}
fragment TypeRef on __Type{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name}}}}}}}}}}`

// TestMerging compares the rule of ours with what the specification says of its examples.
func TestMerging(t *testing.T) {
	t.Parallel()
	e := setup(t).server.engine
	for document, ok := range map[string]bool{
		"{viewer{user{name name}}}":                                                                          true,
		"{viewer{user{name name:email}}}":                                                                    false,
		"{viewer{user{id} user{name}}}":                                                                      true,
		"{a:agent(id:1){id} a:agent(id:2){id}}":                                                              false,
		"{a:agent(id:1){id} a:agent(id:1){name}}":                                                            true,
		"query($i:ID!){a:agent(id:$i){id} a:agent(id:$i){name}}":                                             true,
		"query($i:ID!){a:agent(id:$i){id} a:agent(id:1){name}}":                                              false,
		"{viewer{org{id}} viewer{org{id:name}}}":                                                             false,
		"{node(id:1){... on Agent{x:name} ... on Harness{x:name}}}":                                          true,
		"{node(id:1){... on Agent{x:name} ... on Harness{x:revision}}}":                                      false,
		"{node(id:1){... on Agent{x:name} ... on Harness{x:displayName}}}":                                   true,
		"{node(id:1){... on Agent{x:name} ... on Agent{x:displayName}}}":                                     false,
		"{node(id:1){x:id ... on Agent{x:name}}}":                                                            false,
		"{node(id:1){... on Agent{x:defaultModel{y:id}} ... on Session{x:agent{y:id}}}}":                     true,
		"{node(id:1){... on Agent{x:defaultModel{y:id}} ... on Session{x:agent{y:name}}}}":                   false,
		"{node(id:1){... on Agent{x:sessions{y:nodes{id}}} ... on Session{x:turns{y:pageInfo{endCursor}}}}}": false,
		"{viewer{...A ...B}}fragment A on Viewer{user{x:id}}fragment B on Viewer{user{x:name}}":              false,
		"{viewer{...A ...B}}fragment A on Viewer{user{x:id}}fragment B on Viewer{user{x:id}}":                true,
		"{agents(first:1){nodes{id}} agents(first:2){nodes{id}}}":                                            false,
		`{sessions(filter:{tag:"a"}){nodes{id}} sessions(filter:{tag:"b"}){nodes{id}}}`:                      false,
	} {
		_, errs := e.parseDocument(document)
		if (len(errs) == 0) != ok {
			t.Errorf("%s: %v", document, errs)
		}
	}
}
