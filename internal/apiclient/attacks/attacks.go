// Package attacks has documents that are cheap to send and dear to answer: for the tests that show that they are refused, and for the figure that
// shows what each costs.
package attacks

import (
	"fmt"
	"strings"
)

// The codes that some of them are refused with.
const (
	badUserInput     = "BAD_USER_INPUT"
	parseFailed      = "GRAPHQL_PARSE_FAILED"
	validationFailed = "GRAPHQL_VALIDATION_FAILED"
)

// Unauthenticated is what is wanted of documents that are refused to nobody in particular: who is signed in is answered.
const Unauthenticated = "UNAUTHENTICATED"

// Attack is a document.
type Attack struct {
	Name, Document string
	// Want is a code, or the limit that extensions.limit names, for who is not signed in; empty when the document is harmless.
	Want string
}

// Repeat writes a piece n times, each with its number in place of #.
func Repeat(n int, piece string) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.ReplaceAll(piece, "#", fmt.Sprint(i)))
	}
	return s.String()
}

// Nest opens something n times around a leaf.
func Nest(n int, open, leaf, shut string) string {
	return strings.Repeat(open, n) + leaf + strings.Repeat(shut, n)
}

// bomb is a chain of fragments, each of which spreads the next one twice.
func bomb(n int, leaf string) string {
	return "{...F0}" + Repeat(n, "fragment F# on Query{...G# ...G#}fragment G# on Query{...H#}") +
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

// All returns the documents. Each must be refused, or answered cheaply.
func All() []Attack {
	return []Attack{
		{"fragment bomb 10", bomb(10, "serverInfo{name}"), "FIELDS"},
		{"fragment bomb 26", bomb(26, "serverInfo{name}"), "FIELDS"},
		{"fragment bomb 200", bomb(200, "__typename"), "TOKENS"},
		{"fragment cycle", "{...A}fragment A on Query{...B}fragment B on Query{...A}", validationFailed},
		{"fragment of itself", "{...A}fragment A on Query{...A}", validationFailed},
		{"cycle through fields", "{viewer{org{...A}}}fragment A on Org{defaultHarness{parent{...B}}}fragment B on Harness{parent{...B}}", validationFailed},
		{"chain of 400 fragments", "{...F0}" + chain(400), "DEPTH"},
		{"chain of 400 fragments that nothing uses", "{__typename}" + chain(400), "DEPTH"},
		{"chain of 51 fragments", "{...F0}" + chain(51), "DEPTH"},
		{"chain of 50 fragments", "{...F0}" + chain(50), ""},
		{"layers of fragments", "{...F0_0}" + layers(17, 8), "FIELDS"},
		{"layers of fragments that nothing uses", "{__typename}" + layers(17, 8), "FIELDS"},
		{"3000 unused fragments", "{__typename}" + Repeat(480, "fragment F# on Query{__typename}"), validationFailed},
		{"101 aliases", "{" + Repeat(101, "a#:__typename ") + "}", "ALIASES"},
		{"20000 aliases", "{" + Repeat(20_000, "a#:__typename ") + "}", "BYTES"},
		{"one alias, other arguments, x540", "{" + Repeat(540, `a:node(id:"#"){id} `) + "}", "TOKENS"},
		{"one alias, other arguments, x300", "{" + Repeat(300, `a:node(id:"#"){id} `) + "}", "ALIASES"},
		{"conflicting names x900", "{viewer{user{" + Repeat(900, "a:name a:email ") + "}}}", "TOKENS"},
		{"conflicting arguments x550, no alias", `{session(id:1){` + Repeat(550, `file(path:"#"){path} `) + "}}", "TOKENS"},
		{"conflicting arguments x400, no alias", `{session(id:1){` + Repeat(400, `file(path:"#"){path} `) + "}}", validationFailed},
		{"same field x900", "{viewer{user{" + Repeat(900, "name ") + "}}}", Unauthenticated},
		{"same field x10000", "{viewer{user{" + Repeat(10_000, "name ") + "}}}", "TOKENS"},
		{"same object x300", "{viewer{" + Repeat(300, "user{name} ") + "}}", Unauthenticated},
		{"300 fragments in one place", "{viewer{" + Repeat(300, "...F# ") + "}}" + Repeat(300, "fragment F# on Viewer{user{id}}"), Unauthenticated},
		{"51 directives", "{" + Repeat(51, "__typename @include(if:true) ") + "}", "DIRECTIVES"},
		{"unknown directives x60", "{__typename " + Repeat(60, "@a# ") + "}", "DIRECTIVES"},
		{"unknown directives x5000", "{__typename " + Repeat(5000, "@a# ") + "}", "TOKENS"},
		{"directives of the operation", "query " + Repeat(51, "@a# ") + "{__typename}", "DIRECTIVES"},
		{"51 root fields", "{" + Repeat(51, "__typename ") + "}", "ROOTS"},
		{"51 root fields by fragments", "{" + strings.Repeat("...A ", 17) + "}fragment A on Query{__typename serverInfo{name} __typename}", "ROOTS"},
		{"depth 16", "{viewer{org{defaultHarness{" + Nest(12, "parent{", "id", "}") + "}}}}", "DEPTH"},
		{"depth 15", "{viewer{org{defaultHarness{" + Nest(11, "parent{", "id", "}") + "}}}}", Unauthenticated},
		{"depth by fragments", "{viewer{org{defaultHarness{...A}}}}fragment A on Harness{" + Nest(7, "parent{", "...B", "}") + "}fragment B on Harness{" + Nest(7, "parent{", "id", "}") + "}", "DEPTH"},
		{"depth 200", "{viewer{org{defaultHarness{" + Nest(200, "parent{", "id", "}") + "}}}}", "DEPTH"},
		{"depth 20000", Nest(1900, "{a", "", "}"), parseFailed},
		{"200000 braces", strings.Repeat("{", 200_000), "BYTES"},
		{"60000 braces", strings.Repeat("{", 60_000), parseFailed},
		{"lists in an argument", "{node(id:" + Nest(30_000, "[", "", "]") + "){id}}", parseFailed},
		{"lists in an argument x900", "{node(id:" + Nest(900, "[", "", "]") + "){id}}", validationFailed},
		{"first 0", "{agents(first:0){nodes{id}}}", "PAGE"},
		{"first -5", "{agents(first:-5){nodes{id}}}", "PAGE"},
		{"first 101", "{agents(first:101){nodes{id}}}", "PAGE"},
		{"first 1000000", "{agents(first:1000000){nodes{id}}}", "PAGE"},
		{"first 99999999999", "{agents(first:99999999999){nodes{id}}}", "PAGE"},
		{"first 99999999999999999999", "{agents(first:99999999999999999999){nodes{id}}}", badUserInput},
		{"first in a fragment", "{agents{...A}}fragment A on AgentConnection{nodes{sessions(first:500){nodes{id}}}}", "PAGE"},
		{"last 101", "{session(id:1){messages(last:101){nodes{id}}}}", "PAGE"},
		{"lists in lists", "{agents(first:100){nodes{sessions(first:100){nodes{turns(first:100){nodes{id}}}}}}}", "COST"},
		{"unpaged lists in lists", "{viewer{orgs{defaultHarness{chain{chain{chain{chain{id}}}}}}}}", "COST"},
		{"lists by fragments", "{agents(first:100){...A}}fragment A on AgentConnection{nodes{sessions(first:100){...B}}}fragment B on SessionConnection{edges{node{...C}}}fragment C on Session{id title tags status usage{inputTokens}}", "COST"},
		{"introspection of introspection", "{__schema{types{fields{type{fields{type{fields{type{name}}}}}}}}}", validationFailed},
		{"introspection, aliased", "{" + Repeat(40, "a#:__schema{types{fields{name args{name} type{name}}}} ") + "}", "COST"},
		{"a long name", "{" + strings.Repeat("a", 60_000) + "}", validationFailed},
		{"a text with NUL", "{node(id:\"\\u0000\"){id}}", badUserInput},
		{"a raw NUL", "{node(id:\"\x00\"){id}}", parseFailed},
		{"overflow in another argument", "{session(id:1){events(first:1,kinds:[99999999999999999999]){nodes{id}}}}", badUserInput},
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
