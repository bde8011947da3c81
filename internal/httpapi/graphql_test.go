package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
)

const typename = `{"query":"{ __typename }"}`

func TestPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	huge := `{"query":"{ __typename }","variables":{"a":"` + strings.Repeat("secret", 200_000) + `"}}`
	graphQL := with("Accept", mediaGraphQL)
	for _, c := range []struct {
		name, body string
		change     func(*http.Request)
		status     int
		code       string
		media      string
	}{
		{"plain", typename, nil, 200, "", mediaJSON},
		{"any type is application/json", typename, with("Accept", "*/*"), 200, "", mediaJSON},
		{"the new type", typename, graphQL, 200, "", mediaGraphQL},
		{"both, equally liked", typename, with("Accept", "application/json, application/graphql-response+json"), 200, "", mediaGraphQL},
		{"q decides", typename, with("Accept", "application/graphql-response+json;q=0.5, application/json"), 200, "", mediaJSON},
		{"q=0 refuses", typename, with("Accept", "application/json;q=0, application/graphql-response+json;q=0"), 406, codeBadUserInput, mediaJSON},
		{"a type that we don't speak", typename, with("Accept", "text/html"), 406, codeBadUserInput, mediaJSON},
		{"charset", typename, with("Content-Type", "application/json; charset=UTF-8"), 200, "", mediaJSON},
		{"another charset", typename, with("Content-Type", "application/json; charset=latin1"), 415, codeBadUserInput, mediaJSON},
		{"no content type", typename, with("Content-Type", ""), 415, codeBadUserInput, mediaJSON},
		{"text", typename, with("Content-Type", "text/plain"), 415, codeBadUserInput, mediaJSON},
		{"form", "query=%7B__typename%7D", with("Content-Type", "application/x-www-form-urlencoded"), 415, codeBadUserInput, mediaJSON},
		{"multipart", typename, with("Content-Type", "multipart/form-data; boundary=x"), 415, codeBadUserInput, mediaJSON},
		{"compressed", typename, with("Content-Encoding", "gzip"), 415, codeBadUserInput, mediaJSON},
		{"empty body", "", nil, 400, codeBadUserInput, mediaJSON},
		{"broken JSON", `{"query`, nil, 400, codeBadUserInput, mediaJSON},
		{"two values", typename + typename, nil, 400, codeBadUserInput, mediaJSON},
		{"a batch", "[" + typename + "]", nil, 400, codeBadUserInput, mediaJSON},
		{"a member twice", `{"query":"{__typename}","query":"{__typename}"}`, nil, 400, codeBadUserInput, mediaJSON},
		{"names are exact", `{"QUERY":"{__typename}"}`, nil, 400, codeBadUserInput, mediaJSON},
		{"unknown members are passed over", `{"query":"{__typename}","id":7}`, nil, 200, "", mediaJSON},
		{"null members", `{"query":"{__typename}","variables":null,"operationName":null,"extensions":null}`, nil, 200, "", mediaJSON},
		{"not UTF-8", "{\"query\":\"{__typename}\xff\"}", nil, 400, codeBadUserInput, mediaJSON},
		{"a lone surrogate", `{"query":"{__typename}","variables":{"a":"\ud800"}}`, nil, 200, "", mediaJSON},
		{"NUL in a variable", `{"query":"{__typename}","variables":{"a":["\u0000"]}}`, nil, 400, codeBadUserInput, mediaJSON},
		{"NUL in the document", `{"query":"{node(id:\"\\u0000\"){id}}"}`, nil, 200, codeBadUserInput, mediaJSON},
		{"deep JSON", `{"query":"{__typename}","variables":{"a":` + strings.Repeat("[", 100_000) + `}}`, signedIn, 400, codeBadUserInput, mediaJSON},
		{"query is a number", `{"query":0}`, nil, 400, codeBadUserInput, mediaJSON},
		{"variables are a list", `{"query":"{__typename}","variables":[]}`, nil, 400, codeBadUserInput, mediaJSON},
		{"extensions are text", `{"query":"{__typename}","extensions":"x"}`, nil, 400, codeBadUserInput, mediaJSON},
		{"too large", huge, nil, 413, codePayloadTooLarge, mediaJSON},
		{"too large, new type", huge, graphQL, 413, codePayloadTooLarge, mediaGraphQL},
		{"broken document", `{"query":"{"}`, nil, 200, codeParseFailed, mediaJSON},
		{"broken document, new type", `{"query":"{"}`, graphQL, 400, codeParseFailed, mediaGraphQL},
		{"unknown field", `{"query":"{nope}"}`, nil, 200, codeValidationFailed, mediaJSON},
		{"unknown field, new type", `{"query":"{nope}"}`, graphQL, 400, codeValidationFailed, mediaGraphQL},
		{"wrong variable", `{"query":"query($id:ID!){node(id:$id){id}}","variables":{"id":null}}`, nil, 200, codeBadUserInput, mediaJSON},
		{"wrong variable, new type", `{"query":"query($id:ID!){node(id:$id){id}}","variables":{"id":null}}`, graphQL, 400, codeBadUserInput, mediaGraphQL},
		{"a number is no string", `{"query":"mutation($n:String!){createOrg(input:{name:$n}){org{id}}}","variables":{"n":5}}`, nil, 200, codeBadUserInput, mediaJSON},
		{"unknown operation", `{"query":"query A{__typename}","operationName":"B"}`, nil, 200, codeBadUserInput, mediaJSON},
		{"subscription", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, nil, 400, codeBadUserInput, mediaJSON},
		{"a hash that nobody has left a document under", `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"x"}}}`, nil, 200, codeNotPersisted, mediaJSON},
		{"defer", `{"query":"{... @defer {__typename}}"}`, nil, 200, codeValidationFailed, mediaJSON},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := b.do(http.MethodPost, "/graphql", c.body, func(r *http.Request) {
				if c.change != nil {
					c.change(r)
				}
			})
			if a.status != c.status || a.code() != c.code {
				t.Fatalf("got %d %q, want %d %q: %s", a.status, a.code(), c.status, c.code, a.body)
			}
			if got, _, _ := strings.Cut(a.header.Get("Content-Type"), ";"); got != c.media {
				t.Errorf("got the type %s, want %s", got, c.media)
			}
			if c.code != "" && a.hasData {
				t.Errorf("a refused request has data: %s", a.body)
			}
			if strings.Contains(a.body, "secret") {
				t.Error("the body came back")
			}
		})
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	get := func(values url.Values, change ...func(*http.Request)) answer {
		return b.do(http.MethodGet, "/graphql?"+values.Encode(), "", change...)
	}
	if a := get(url.Values{"query": {"query($n:String!){__type(name:$n){name}}"}, "variables": {`{"n":"Org"}`}}, signedIn); a.status != 200 ||
		!strings.Contains(a.body, `"name":"Org"`) {
		t.Errorf("query: %d %s", a.status, a.body)
	}
	if a := get(url.Values{"query": {"mutation{signOut{ok}}"}}, signedIn); a.status != 405 || a.hasData || a.header.Get("Allow") != "POST" {
		t.Errorf("mutation: %d %s", a.status, a.body)
	}
	if a := get(url.Values{}); a.status != 400 {
		t.Errorf("nothing: %d %s", a.status, a.body)
	}
	if a := get(url.Values{"query": {"{__typename}", "{__typename}"}}); a.status != 400 {
		t.Errorf("twice: %d %s", a.status, a.body)
	}
	if a := get(url.Values{"query": {"{__typename}"}, "variables": {"{}{}"}}); a.status != 400 {
		t.Errorf("trailing JSON: %d %s", a.status, a.body)
	}
	if a := b.do(http.MethodDelete, "/graphql", ""); a.status != 405 {
		t.Errorf("DELETE: %d %s", a.status, a.body)
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var seen *auth.Principal
	b.stub.viewer = func(ctx context.Context) (*model.Viewer, error) {
		seen = auth.FromContext(ctx)
		return &model.Viewer{Org: &model.Org{ID: "org_1"}}, nil
	}
	const viewer = "{viewer{org{id}}}"
	cookie := with("Cookie", "ostler_access=good; ostler_refresh=r")
	for _, c := range []struct {
		name      string
		change    func(*http.Request)
		code      string
		transport string
	}{
		{"token", signedIn, "", auth.TransportBody},
		{"scheme in lowercase", with("Authorization", "bearer good"), "", auth.TransportBody},
		{"cookie", cookie, "", auth.TransportCookie},
		{"nobody", with("X", "y"), codeUnauthenticated, ""},
		{"bad token", with("Authorization", "Bearer bad"), codeUnauthenticated, ""},
		{"bad cookie", with("Cookie", "ostler_access=bad"), codeUnauthenticated, ""},
		{"no permission", with("Authorization", "Bearer nothing"), codeForbidden, ""},
		{"a bad token beside a good cookie", func(r *http.Request) { cookie(r); r.Header.Set("Authorization", "Bearer bad") }, codeUnauthenticated, ""},
		{"a proxy's scheme beside a good cookie", func(r *http.Request) { cookie(r); r.Header.Set("Authorization", "Basic eA==") }, "", auth.TransportCookie},
	} {
		seen = nil
		a := b.query(viewer, nil, c.change)
		if a.code() != c.code || a.status != 200 {
			t.Errorf("%s: got %d %s", c.name, a.status, a.body)
		}
		if c.transport != "" && (seen == nil || seen.Transport != c.transport) {
			t.Errorf("%s: got the principal %+v", c.name, seen)
		}
		if c.transport == "" && seen != nil {
			t.Errorf("%s: the resolver ran", c.name)
		}
	}
	b.people.fail(errors.New("database is away"))
	if a := b.query(viewer, nil, signedIn); a.status != 503 || a.code() != codeUnavailable || a.hasData {
		t.Errorf("authenticator down: %d %s", a.status, a.body)
	}
}

func TestCookiesOfSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.query(`mutation{signIn(input:{email:"a",password:"b"}){tokens{org{id defaultHarness{id}} user{id}}}}`, nil)
	if a.body != `{"data":{"signIn":{"tokens":{"org":{"id":"org_1","defaultHarness":null},"user":{"id":"user_1"}}}}}` {
		t.Errorf("what the sign-in proves must be readable, and nothing more: %s", a.body)
	}
	cookies := a.header.Values("Set-Cookie")
	if len(cookies) != 2 {
		t.Fatalf("got %q", cookies)
	}
	for i, path := range []string{"; Path=/;", "; Path=/graphql;"} {
		for _, want := range []string{path, "; HttpOnly", "; SameSite=Lax", "; Secure"} {
			if !strings.Contains(cookies[i], want) {
				t.Errorf("%q lacks %q", cookies[i], want)
			}
		}
	}
	local := setup(t, func(c *Config) { c.PublicURL = "http://127.0.0.1:8080" })
	local.stub.signIn = func(ctx context.Context) (*model.AuthPayload, error) {
		auth.RequestFrom(ctx).SetCookies(auth.TokenCookies{})
		return &model.AuthPayload{UserErrors: []*model.UserError{}}, nil
	}
	a = local.query(`mutation{signIn(input:{email:"a",password:"b"}){userErrors{code}}}`, nil)
	for _, c := range a.header.Values("Set-Cookie") {
		if strings.Contains(c, "Secure") || !strings.Contains(c, "Max-Age=0") {
			t.Errorf("on loopback, removed: %q", c)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Limits.OperationTimeout = 1 })
	b.server.engine.limits.OperationTimeout = 1 << 40
	const viewer = "{viewer{org{id}}}"
	for _, c := range []struct {
		err   error
		code  string
		extra string
	}{
		{notFound, codeNotFound, ""},
		{fault.New(fault.Invalid, "no"), codeBadUserInput, ""},
		{fault.New(fault.Expired, "no"), codeUnauthenticated, ""},
		{&fault.Error{Code: fault.RateLimited, Message: "slow down", RetryAfterSeconds: 7}, codeRateLimited, `"retryAfterSeconds":7`},
		{coded(codeLagged, "too slow"), codeLagged, ""},
		{errors.New("pq: password of secret_user"), codeInternal, `"requestId"`},
	} {
		b.stub.viewer = failWith(c.err)
		a := b.query(viewer, nil, signedIn)
		if a.code() != c.code || !strings.Contains(a.body, c.extra) || strings.Contains(a.body, "secret") {
			t.Errorf("%v: got %s", c.err, a.body)
		}
		if len(a.errors) != 1 || len(a.errors[0].Path) != 1 || a.errors[0].Path[0] != "viewer" {
			t.Errorf("%v: got the errors %+v", c.err, a.errors)
		}
	}
	if !strings.Contains(b.log.String(), "secret_user") {
		t.Error("the cause is not in the log")
	}

	b.stub.viewer = func(context.Context) (*model.Viewer, error) { panic("secret panic") }
	a := b.query(viewer, nil, signedIn)
	if a.code() != codeInternal || strings.Contains(a.body, "secret") || !strings.Contains(b.log.String(), "TestErrors") {
		t.Errorf("panic: %s", a.body)
	}
	if a := b.query(`mutation{signOut{ok}}`, nil); a.code() != codeInternal { // the stub has none: a nil dereference
		t.Errorf("panic in a mutation: %s", a.body)
	}

	b.server.engine.limits.OperationTimeout = 1
	b.stub.viewer = func(ctx context.Context) (*model.Viewer, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if a := b.query(viewer, nil, signedIn); a.code() != codeTimeout {
		t.Errorf("timeout: %s", a.body)
	}
	if n := b.meter.panics(); n != 2 {
		t.Errorf("%d panics are counted, want 2", n)
	}
}

func TestArgumentErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const document = `query($s:SessionFilter){sessions(filter:$s){nodes{id}}}`
	bad := map[string]any{"s": map[string]any{"createdAfter": "yesterday"}}
	if a := b.query(document, bad, signedIn); a.code() != codeBadUserInput || !strings.Contains(a.body, "RFC 3339") {
		t.Errorf("got %s", a.body)
	}
	if a := b.query(document, bad); a.code() != codeUnauthenticated {
		t.Errorf("nobody: got %s", a.body)
	}
	if a := b.query(document, bad, with("Authorization", "Bearer nothing")); a.code() != codeForbidden {
		t.Errorf("without permission: got %s", a.body)
	}
}

func TestCostExtension(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if a := b.query("{serverInfo{name}}", nil); a.cost != nil {
		t.Errorf("nobody asked: %s", a.body)
	}
	if a := b.query("{serverInfo{name}}", nil, with(costHeader, "1")); a.cost["requested"] != 2.0 || a.cost["limit"] != 50_000.0 {
		t.Errorf("by header: %s", a.body)
	}
	// A check of the audit log reads thousands of entries.
	if a := b.query("{a:verifyAudit{ok} b:verifyAudit{ok}}", nil, with(costHeader, "1")); a.cost["requested"] != 20_004.0 {
		t.Errorf("of two checks: %s", a.body)
	}
	if a := b.do(http.MethodPost, "/graphql", `{"query":"{serverInfo{name}}","extensions":{"cost":true}}`); a.cost["requested"] != 2.0 {
		t.Errorf("by extension: %s", a.body)
	}
}
