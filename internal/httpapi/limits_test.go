package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
)

// repeat writes a piece n times, each with its number in place of #.
func repeat(n int, piece string) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.ReplaceAll(piece, "#", fmt.Sprint(i)))
	}
	return s.String()
}

func nest(n int, open, leaf, shut string) string {
	return strings.Repeat(open, n) + leaf + strings.Repeat(shut, n)
}

// bomb is a chain of fragments, each of which spreads the next one twice.
func bomb(n int, leaf string) string {
	return "{...F0}" + repeat(n, "fragment F# on Query{...G# ...G#}fragment G# on Query{...H#}") +
		func() string {
			s := ""
			for i := range n {
				next := fmt.Sprintf("...F%d", i+1)
				if i == n-1 {
					next = leaf
				}
				s += fmt.Sprintf("fragment H%d on Query{%s}", i, next)
			}
			return s
		}()
}

// attacks are documents that are cheap to send and dear to answer. Each must be refused, or answered cheaply.
func attacks() []attack {
	return []attack{
		{"fragment bomb 10", bomb(10, "serverInfo{name}"), "FIELDS"},
		{"fragment bomb 26", bomb(26, "serverInfo{name}"), "FIELDS"},
		{"fragment bomb 200", bomb(200, "__typename"), "TOKENS"},
		{"fragment cycle", "{...A}fragment A on Query{...B}fragment B on Query{...A}", codeValidationFailed},
		{"fragment of itself", "{...A}fragment A on Query{...A}", codeValidationFailed},
		{"cycle through fields", "{viewer{org{...A}}}fragment A on Org{defaultHarness{parent{...B}}}fragment B on Harness{parent{...B}}", codeValidationFailed},
		{"chain of 400 fragments", "{...F0}" + chain(400), "DEPTH"},
		{"chain of 400 fragments that nothing uses", "{__typename}" + chain(400), "DEPTH"},
		{"chain of 51 fragments", "{...F0}" + chain(51), "DEPTH"},
		{"chain of 50 fragments", "{...F0}" + chain(50), ""},
		{"layers of fragments", "{...F0_0}" + layers(17, 8), "FIELDS"},
		{"layers of fragments that nothing uses", "{__typename}" + layers(17, 8), "FIELDS"},
		{"3000 unused fragments", "{__typename}" + repeat(480, "fragment F# on Query{__typename}"), codeValidationFailed},
		{"101 aliases", "{" + repeat(101, "a#:__typename ") + "}", "ALIASES"},
		{"20000 aliases", "{" + repeat(20_000, "a#:__typename ") + "}", "BYTES"},
		{"one alias, other arguments, x540", "{" + repeat(540, `a:node(id:"#"){id} `) + "}", "TOKENS"},
		{"one alias, other arguments, x300", "{" + repeat(300, `a:node(id:"#"){id} `) + "}", "ALIASES"},
		{"conflicting names x900", "{viewer{user{" + repeat(900, "a:name a:email ") + "}}}", "TOKENS"},
		{"conflicting arguments x550, no alias", `{session(id:1){` + repeat(550, `file(path:"#"){path} `) + "}}", "TOKENS"},
		{"conflicting arguments x400, no alias", `{session(id:1){` + repeat(400, `file(path:"#"){path} `) + "}}", codeValidationFailed},
		{"same field x900", "{viewer{user{" + repeat(900, "name ") + "}}}", codeUnauthenticated},
		{"same field x10000", "{viewer{user{" + repeat(10_000, "name ") + "}}}", "TOKENS"},
		{"same object x300", "{viewer{" + repeat(300, "user{name} ") + "}}", codeUnauthenticated},
		{"300 fragments in one place", "{viewer{" + repeat(300, "...F# ") + "}}" + repeat(300, "fragment F# on Viewer{user{id}}"), codeUnauthenticated},
		{"51 directives", "{" + repeat(51, "__typename @include(if:true) ") + "}", "DIRECTIVES"},
		{"unknown directives x60", "{__typename " + repeat(60, "@a# ") + "}", "DIRECTIVES"},
		{"unknown directives x5000", "{__typename " + repeat(5000, "@a# ") + "}", "TOKENS"},
		{"directives of the operation", "query " + repeat(51, "@a# ") + "{__typename}", "DIRECTIVES"},
		{"51 root fields", "{" + repeat(51, "__typename ") + "}", "ROOTS"},
		{"51 root fields by fragments", "{" + strings.Repeat("...A ", 17) + "}fragment A on Query{__typename serverInfo{name} __typename}", "ROOTS"},
		{"depth 16", "{viewer{org{defaultHarness{" + nest(12, "parent{", "id", "}") + "}}}}", "DEPTH"},
		{"depth 15", "{viewer{org{defaultHarness{" + nest(11, "parent{", "id", "}") + "}}}}", codeUnauthenticated},
		{"depth by fragments", "{viewer{org{defaultHarness{...A}}}}fragment A on Harness{" + nest(7, "parent{", "...B", "}") + "}fragment B on Harness{" + nest(7, "parent{", "id", "}") + "}", "DEPTH"},
		{"depth 200", "{viewer{org{defaultHarness{" + nest(200, "parent{", "id", "}") + "}}}}", "DEPTH"},
		{"depth 20000", nest(1900, "{a", "", "}"), codeParseFailed},
		{"200000 braces", strings.Repeat("{", 200_000), "BYTES"},
		{"60000 braces", strings.Repeat("{", 60_000), codeParseFailed},
		{"lists in an argument", "{node(id:" + nest(30_000, "[", "", "]") + "){id}}", codeParseFailed},
		{"lists in an argument x900", "{node(id:" + nest(900, "[", "", "]") + "){id}}", codeValidationFailed},
		{"first 0", "{agents(first:0){nodes{id}}}", "PAGE"},
		{"first -5", "{agents(first:-5){nodes{id}}}", "PAGE"},
		{"first 101", "{agents(first:101){nodes{id}}}", "PAGE"},
		{"first 1000000", "{agents(first:1000000){nodes{id}}}", "PAGE"},
		{"first 99999999999", "{agents(first:99999999999){nodes{id}}}", "PAGE"},
		{"first 99999999999999999999", "{agents(first:99999999999999999999){nodes{id}}}", codeBadUserInput},
		{"first in a fragment", "{agents{...A}}fragment A on AgentConnection{nodes{sessions(first:500){nodes{id}}}}", "PAGE"},
		{"last 101", "{session(id:1){messages(last:101){nodes{id}}}}", "PAGE"},
		{"lists in lists", "{agents(first:100){nodes{sessions(first:100){nodes{turns(first:100){nodes{id}}}}}}}", "COST"},
		{"unpaged lists in lists", "{viewer{orgs{defaultHarness{chain{chain{chain{chain{id}}}}}}}}", "COST"},
		{"lists by fragments", "{agents(first:100){...A}}fragment A on AgentConnection{nodes{sessions(first:100){...B}}}fragment B on SessionConnection{edges{node{...C}}}fragment C on Session{id title tags status usage{inputTokens}}", "COST"},
		{"introspection of introspection", "{__schema{types{fields{type{fields{type{fields{type{name}}}}}}}}}", codeValidationFailed},
		{"introspection, aliased", "{" + repeat(40, "a#:__schema{types{fields{name args{name} type{name}}}} ") + "}", "COST"},
		{"a long name", "{" + strings.Repeat("a", 60_000) + "}", codeValidationFailed},
		{"a text with NUL", "{node(id:\"\\u0000\"){id}}", codeBadUserInput},
		{"a raw NUL", "{node(id:\"\x00\"){id}}", codeParseFailed},
		{"overflow in another argument", "{session(id:1){events(first:1,kinds:[99999999999999999999]){nodes{id}}}}", codeBadUserInput},
	}
}

// layers is a lattice of fragments: each spreads all of the next layer.
func layers(deep, wide int) string {
	var s strings.Builder
	for i := range deep {
		for j := range wide {
			fmt.Fprintf(&s, "fragment F%d_%d on Query{", i, j)
			for k := range wide {
				if i+1 < deep {
					fmt.Fprintf(&s, "...F%d_%d ", i+1, k)
				}
			}
			s.WriteString("serverInfo{name}}")
		}
	}
	return s.String()
}

func chain(n int) string {
	var s strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&s, "fragment F%d on Query{...F%d}", i, i+1)
	}
	fmt.Fprintf(&s, "fragment F%d on Query{__typename}", n-1)
	return s.String()
}

type attack struct {
	name, document string
	// want is a code, or the limit that extensions.limit names; empty when the document is harmless.
	want string
}

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
	for _, c := range attacks() {
		t.Run(c.name, func(t *testing.T) {
			a := b.query(c.document, nil)
			if got := outcome(a); got != c.want {
				t.Errorf("got %q, want %q: %.300s", got, c.want, a.body)
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
