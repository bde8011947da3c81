package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/apiclient/attacks"
)

var asEvents = with("Accept", "text/event-stream")

// TestAnswersAsEvents asks for what is answered once.
func TestAnswersAsEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.events = func(context.Context) (<-chan model.Event, error) { return nil, notFound }
	const complete = "event: complete\ndata:\n\n"
	next := func(json string) string { return "event: next\ndata: " + json + "\n\n" + complete }
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string // all of it, or a part of it behind a …
		change                   []func(*http.Request)
	}{
		{"a query", "POST", "", `{"query":"{viewer{org{id}}}"}`, 200, next(`{"data":{"viewer":{"org":{"id":"org_1"}}}}`), nil},
		{"a query by GET", "GET", "?query={viewer{org{id}}}", ``, 200, next(`{"data":{"viewer":{"org":{"id":"org_1"}}}}`), nil},
		{"a mutation", "POST", "", `{"query":"mutation{signIn(input:{email:\"a\",password:\"b\"}){tokens{org{id}}}}"}`, 200, next(`{"data":{"signIn":{"tokens":{"org":{"id":"org_1"}}}}}`), nil},
		{"a mutation by GET", "GET", `?query=mutation{signOut{ok}}`, ``, 405, "…Mutations need POST", nil},
		{"an invalid document", "POST", "", `{"query":"{nope}"}`, 200, "…" + codeValidationFailed, nil},
		{"a document over a limit", "POST", "", `{"query":"{viewer{org{defaultHarness{` + attacks.Nest(12, "parent{", "id", "}") + `}}}}"}`, 200, `…"limit":"DEPTH"`, nil},
		{"no document", "POST", "", `{}`, 400, "…no document", nil},
		{"no JSON", "POST", "", `nope`, 400, "…not a GraphQL request", nil},
		{"a large body", "POST", "", strings.Repeat("x", 1<<20+1), 413, "…" + codePayloadTooLarge, nil},
		{"nobody", "POST", "", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, 200, "…" + codeUnauthenticated, []func(*http.Request){with("Authorization", "")}},
		{"without permission", "POST", "", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, 200, "…" + codeForbidden, []func(*http.Request){with("Authorization", "Bearer nothing")}},
		{"refused by the resolver", "POST", "", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, 200, "…" + codeNotFound, nil},
		{"a wrong place to resume at", "POST", "", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, 200, "…Last-Event-ID", []func(*http.Request){with("Last-Event-ID", "abc")}},
		{"a negative place to resume at", "POST", "", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, 200, "…Last-Event-ID", []func(*http.Request){with("Last-Event-ID", "-1")}},
		{"a place beyond all", "POST", "", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, 200, "…Last-Event-ID", []func(*http.Request){with("Last-Event-ID", "2147483648")}},
		{"a reservation", "PUT", "", ``, 400, "…single connection mode", nil},
		{"a reserved stream", "GET", "?token=x", ``, 400, "…", nil},
		{"a reserved stream with a query", "GET", "?token=x&query={__typename}", ``, 400, "…single connection mode", nil},
		{"an operation for a reserved stream", "POST", "", `{"query":"{__typename}"}`, 400, "…single connection mode", []func(*http.Request){with("X-GraphQL-Event-Stream-Token", "x")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := "/graphql" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(c.path)
			a := b.do(c.method, path, c.body, append([]func(*http.Request){asEvents, signedIn}, c.change...)...)
			part, isPart := strings.CutPrefix(c.want, "…")
			if a.status != c.status || !isPart && a.body != c.want || !strings.Contains(a.body, part) {
				t.Errorf("got %d %s", a.status, a.body)
			}
			stream := strings.HasPrefix(a.header.Get("Content-Type"), mediaEvents)
			if stream != (c.status == 200) || stream && !strings.HasSuffix(a.body, complete) {
				t.Errorf("got %s: %s", a.header.Get("Content-Type"), a.body)
			}
			if stream && (a.header.Get("X-Accel-Buffering") != "no" || a.header.Get("Cache-Control") != "no-store") {
				t.Errorf("proxies may keep it: %v", a.header)
			}
		})
	}
}

// TestWhoGetsEvents negotiates as the clients do.
func TestWhoGetsEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.events = func(context.Context) (<-chan model.Event, error) {
		events := make(chan model.Event)
		close(events)
		return events, nil
	}
	const (
		query        = `{"query":"{__typename}"}`
		subscription = `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`
		urql         = "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
	)
	for _, c := range []struct {
		accept, body string
		status       int
		media        string
	}{
		{"", query, 200, mediaJSON},
		{"*/*", query, 200, mediaJSON},
		{urql, query, 200, mediaGraphQL},
		{"text/event-stream", query, 200, mediaEvents},
		{"text/event-stream, application/json;q=0.5", query, 200, mediaEvents},
		{"text/event-stream;q=0.5, application/json", query, 200, mediaJSON},
		{"text/event-stream;q=0", query, 406, mediaJSON},
		{"text/*", query, 406, mediaJSON},
		{"", subscription, 400, mediaJSON},
		{"*/*", subscription, 400, mediaJSON},
		{"application/json", subscription, 400, mediaJSON},
		{"text/event-stream", subscription, 200, mediaEvents},
		{"text/event-stream, multipart/mixed", subscription, 200, mediaEvents},
		{urql, subscription, 200, mediaEvents},
	} {
		a := b.do("POST", "/graphql", c.body, signedIn, with("Accept", c.accept))
		if a.status != c.status || !strings.HasPrefix(a.header.Get("Content-Type"), c.media+";") {
			t.Errorf("%q of %s: got %d %s", c.accept, c.body, a.status, a.header.Get("Content-Type"))
		}
	}
}

func TestOriginsOfEventStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path, body = "/graphql?query=%7B__typename%7D", `{"query":"{__typename}"}`
	cookie, bearer := with("Cookie", "ostler_access=good"), signedIn
	from := func(origin string) func(*http.Request) { return with("Origin", origin) }
	for _, c := range []struct {
		name   string
		method string
		change []func(*http.Request)
		status int
	}{
		{"a program", "GET", []func(*http.Request){bearer}, 200},
		{"a program with the header and an origin", "GET", []func(*http.Request){bearer, from("http://ostler.test")}, 200},
		{"another origin", "GET", []func(*http.Request){bearer, from("http://evil.test")}, 403},
		{"a cookie and no origin", "GET", []func(*http.Request){cookie}, 403},
		{"a cookie and the null origin", "GET", []func(*http.Request){cookie, from("null")}, 403},
		{"a cookie and another origin", "GET", []func(*http.Request){cookie, from("http://evil.test")}, 403},
		{"a cookie and the host that was asked", "GET", []func(*http.Request){cookie, from(b.url)}, 403},
		{"a cookie and the own origin", "GET", []func(*http.Request){cookie, from("http://ostler.test")}, 200},
		{"a cookie by POST", "POST", []func(*http.Request){cookie, from("http://ostler.test")}, 200},
		{"a cookie by POST from elsewhere", "POST", []func(*http.Request){cookie, from("http://evil.test")}, 403},
	} {
		where, what := path, ""
		if c.method == "POST" {
			where, what = "/graphql", body
		}
		if a := b.do(c.method, where, what, append(c.change, asEvents)...); a.status != c.status {
			t.Errorf("%s: got %d %s, want %d", c.name, a.status, a.body, c.status)
		}
	}
	b.stub.events = func(context.Context) (<-chan model.Event, error) { return nil, notFound }
	subscribe := "/graphql?query=" + url.QueryEscape(`subscription{sessionEvents(sessionId:1){id}}`)
	both := with("Accept", "application/json, text/event-stream")
	if a := b.do("GET", subscribe, "", cookie, both); a.status != 403 {
		t.Errorf("a client that takes both: got %d", a.status)
	}
	if a := b.do("GET", path, "", cookie, both); a.status != 200 {
		t.Errorf("a query that is answered with JSON: got %d", a.status)
	}
}

// TestResumeGoesBeforeTheDocument has clients that come back with the id of their last event.
func TestResumeGoesBeforeTheDocument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.events = func(context.Context) (<-chan model.Event, error) {
		events := make(chan model.Event)
		close(events)
		return events, nil
	}
	var after []any
	b.stub.after = func(p any) { after = append(after, p) }
	for _, c := range []struct {
		document, last string
		want           any
	}{
		{`subscription{sessionEvents(sessionId:1){id}}`, ``, nil},
		{`subscription{sessionEvents(sessionId:1,after:3){id}}`, ``, 3},
		{`subscription{sessionEvents(sessionId:1,after:3){id}}`, `7`, 7},
		{`subscription{sessionEvents(sessionId:1){id}}`, `7`, 7},
		{`subscription($x:Int=4){sessionEvents(after:$x,sessionId:1){id}}`, ``, 4},
		{`subscription($x:Int=4){sessionEvents(after:$x,sessionId:1){id}}`, `0`, 0},
		{`subscription{...F} fragment F on Subscription{... on Subscription{e:sessionEvents(sessionId:1,after:3){...G}}} fragment G on Event{id}`, `8`, 8},
		{`subscription{orgEvents{id}}`, `abc`, "abc"},
		{`subscription{orgEvents(after:"x"){id}}`, `7`, "7"},
	} {
		for range 2 { // the document is shared: the second request must find it as it was
			after = nil
			if a := b.query(c.document, nil, signedIn, asEvents, with("Last-Event-ID", c.last)); a.status != 200 || a.body != completeEvent {
				t.Errorf("%s: got %d %s", c.document, a.status, a.body)
			}
			if len(after) > 1 || len(after) == 0 && c.want != nil || len(after) == 1 && after[0] != c.want {
				t.Errorf("%s after %q: the resolver was asked for %v, want %v", c.document, c.last, after, c.want)
			}
		}
	}
	b.query(`{__typename}`, nil, signedIn, asEvents, with("Last-Event-ID", "nonsense"))
	if a := b.query(`{__typename}`, nil, signedIn, asEvents, with("Last-Event-ID", "nonsense")); !strings.Contains(a.body, "Query") {
		t.Errorf("a query with a place to resume at: %s", a.body)
	}
}

func TestLineBreaksInAnswers(t *testing.T) {
	buf := (&buffers{}).get()
	writeNext(buf, "7\nevent: complete", &graphql.Response{Data: []byte("{\n\"a\":\r\n\"b\\n\"\r}")})
	if want := "event: next\ndata: {\"data\":{ \"a\":  \"b\\n\" }}\n\n"; buf.String() != want {
		t.Errorf("got %q, want %q", buf.String(), want)
	}
}
