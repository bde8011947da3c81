package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// persisted is a request in the form of automatic persisted queries; without a text it asks for what is there.
func persisted(text, hash string) map[string]any {
	req := map[string]any{"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}}}
	if text != "" {
		req["query"] = text
	}
	return req
}

// member lets another token in, for another organization.
func (b *bench) member(token string) {
	p := owner()
	p.OrgID = models.NewID[models.OrgEntity]()
	b.people.set(token, p)
}

func TestPersistedDocumentsOnEveryTransport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("other")
	for i, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) {
			text := fmt.Sprintf("query Q%d{viewer{org{id}}}", i)
			hash := hashOf(text)
			want := func(what string, a answer, code string) {
				t.Helper()
				if a.code() != code || a.hasData != (code == "") {
					t.Errorf("%s: got %s, want %q", what, a.body, code)
				}
			}
			want("unknown", tr.ask(b, persisted("", hash), "good"), codeNotPersisted)
			want("another text", tr.ask(b, persisted("{viewer{user{id}}}", hash), "good"), codeBadUserInput)
			want("it left nothing", tr.ask(b, persisted("", hash), "good"), codeNotPersisted)
			want("together with the document", tr.ask(b, persisted(text, hash), "good"), "")
			want("by its hash", tr.ask(b, persisted("", hash), "good"), "")
			want("by its id", tr.ask(b, map[string]any{"documentId": "sha256:" + hash}, "good"), "")
			want("another organization", tr.ask(b, persisted("", hash), "other"), codeNotPersisted)
			want("in capitals", tr.ask(b, persisted("", strings.ToUpper(hash)), "good"), codeNotPersisted)
			want("by another kind of id", tr.ask(b, map[string]any{"documentId": hash}, "good"), codeBadUserInput)
			want("two hashes", tr.ask(b, map[string]any{"documentId": "sha256:" + hash, "extensions": persisted("", hashOf(""))["extensions"]}, "good"), codeBadUserInput)
			for what, extension := range map[string]any{
				"text": "x", "no hash": map[string]any{"version": 1}, "another version": map[string]any{"version": 2, "sha256Hash": hash},
				"a number": map[string]any{"version": 1, "sha256Hash": 7}, "no version": map[string]any{"sha256Hash": hash},
			} {
				want(what, tr.ask(b, map[string]any{"query": text, "extensions": map[string]any{"persistedQuery": extension}}, "good"), codeBadUserInput)
			}

			// What is not good is not kept, and what depends on the variables is looked at each time.
			bad := fmt.Sprintf("query Q%d{nope}", i)
			want("invalid", tr.ask(b, persisted(bad, hashOf(bad)), "good"), codeValidationFailed)
			want("invalid, by its hash", tr.ask(b, persisted("", hashOf(bad)), "good"), codeNotPersisted)
			pages := fmt.Sprintf("query Q%d($n:Int){agents(first:$n){nodes{sessions(first:$n){nodes{id title status tags locale}}}}}", i)
			small, large := persisted(pages, hashOf(pages)), persisted("", hashOf(pages))
			small["variables"], large["variables"] = map[string]any{"n": 2}, map[string]any{"n": 100}
			want("small pages", tr.ask(b, small, "good"), "")
			want("large pages", tr.ask(b, large, "good"), codeTooComplex)
		})
	}
}

// TestPersistedDocumentsAreParsedOnce counts, since a second time would take as long as the first.
func TestPersistedDocumentsAreParsedOnce(t *testing.T) {
	t.Parallel()
	const ours, theirs = "{viewer{org{id}}}", "{viewer{org{name}}}"
	b := setup(t, func(c *Config) { c.Trusted = map[string]string{hashOf(ours): ours} })
	e := b.server.engine
	ctx := auth.WithPrincipal(context.Background(), owner())
	parsed := 0
	parse := func(text string) (*document, gqlerror.List) {
		parsed++
		return e.parseDocument(text)
	}
	for _, c := range []struct {
		name string
		req  *request
		want int
	}{
		{"a text", &request{query: theirs, documentID: "sha256:" + hashOf(theirs)}, 1},
		{"its hash", &request{documentID: "sha256:" + hashOf(theirs)}, 1},
		{"the text alone", &request{query: theirs}, 1},
		{"a trusted hash", &request{documentID: "sha256:" + hashOf(ours)}, 2},
		{"a trusted hash again", &request{documentID: "sha256:" + hashOf(ours)}, 2},
		{"a trusted text", &request{query: ours}, 2},
	} {
		text, leave, err := e.documents.find(ctx, c.req)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if _, errs := e.documents.parse(ctx, text, parse); len(errs) != 0 {
			t.Fatal(c.name, errs)
		}
		if leave {
			e.documents.leave(ctx, c.req, text)
		}
		if parsed != c.want {
			t.Errorf("after %s: parsed %d times, want %d", c.name, parsed, c.want)
		}
	}
}

// TestTrustedDocumentsAlone has a server that takes nothing but its dashboard's documents from cookie sessions.
func TestTrustedDocumentsAlone(t *testing.T) {
	t.Parallel()
	const ours, theirs = "query Ours{viewer{org{id}}}", "query Theirs{viewer{org{id}}}"
	const stream = "subscription Stream{sessionEvents(sessionId:1){id}}"
	trusted := map[string]string{hashOf(ours): ours, hashOf(stream): stream}
	b := setup(t, func(c *Config) { c.Trusted, c.TrustedOnly = trusted, true })
	b.stub.events = func(context.Context) (<-chan model.Event, error) {
		events := make(chan model.Event)
		close(events)
		return events, nil
	}
	byText := func(text string) map[string]any { return map[string]any{"query": text} }
	byID := func(text string) map[string]any { return map[string]any{"documentId": "sha256:" + hashOf(text)} }
	requests := []struct {
		name    string
		req     map[string]any
		trusted bool
	}{
		{"a text of the dashboard", byText(ours), true},
		{"an id of the dashboard", byID(ours), true},
		{"a hash of the dashboard", persisted("", hashOf(ours)), true},
		{"a hash and its text", persisted(ours, hashOf(ours)), true},
		{"another text", byText(theirs), false},
		{"the same with a space", byText(ours + " "), false},
		{"another text with its hash", persisted(theirs, hashOf(theirs)), false},
		{"an unknown hash", persisted("", hashOf(theirs)), false},
		{"introspection", byText("{__schema{queryType{name}}}"), false},
		{"what needs nobody", byText("{serverInfo{name}}"), false},
		{"what can't be parsed", byText("{"), false},
	}
	// A key leaves the document under its hash first: that must not open it to cookies.
	if a := b.do(http.MethodPost, "/graphql", asJSON(persisted(theirs, hashOf(theirs))), signedIn); a.code() != "" {
		t.Fatal(a.body)
	}
	cookie := "ostler_access=good"
	origin := with("Origin", "http://ostler.test")
	for _, caller := range []struct {
		name   string
		change func(*http.Request)
		bound  bool
	}{
		{"a cookie", with("Cookie", cookie), true},
		{"a cookie that is no good", with("Cookie", "ostler_access=bad"), true},
		{"the refresh token's cookie", with("Cookie", "ostler_refresh=r"), true},
		{"a bad token beside a cookie", func(r *http.Request) { r.Header.Set("Cookie", cookie); r.Header.Set("Authorization", "Bearer bad") }, true},
		{"a proxy's scheme beside a cookie", func(r *http.Request) { r.Header.Set("Cookie", cookie); r.Header.Set("Authorization", "Basic eA==") }, true},
		{"a token", signedIn, false},
		{"a token beside a cookie", func(r *http.Request) { r.Header.Set("Cookie", cookie); signedIn(r) }, false},
		{"another's cookie", with("Cookie", "theme=dark"), false},
		{"nobody", with("X", "y"), false},
	} {
		for _, c := range requests {
			for i, change := range [][]func(*http.Request){{caller.change}, {caller.change, origin, asEvents}} {
				a := b.do(http.MethodPost, "/graphql", asJSON(c.req), change...).ofEvents(b)
				if refused := a.code() == codeNotTrusted; refused != (caller.bound && !c.trusted) {
					t.Errorf("%s, %s (%d): got %s", caller.name, c.name, i, a.body)
				}
			}
			if c.req["query"] == nil || c.req["extensions"] != nil {
				continue
			}
			path := "/graphql?query=" + strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(c.req["query"]), " ", "%20"), "{", "%7B")
			if a := b.do(http.MethodGet, path, "", caller.change); (a.code() == codeNotTrusted) != (caller.bound && !c.trusted) {
				t.Errorf("%s, %s, GET: got %s", caller.name, c.name, a.body)
			}
		}
	}

	// Sockets, whose handshake brings the cookie.
	withCookie := func(h http.Header) { h.Set("Cookie", cookie); h.Set("Origin", "http://ostler.test") }
	for _, socket := range []struct {
		name, init string
		bound      bool
	}{
		{"a cookie", `{"type":"connection_init"}`, true},
		{"a token beside a cookie", `{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`, false},
	} {
		c := b.dial(withCookie)
		c.send(socket.init)
		c.expect("connection_ack")
		for _, r := range requests {
			if a := c.ask(r.req); (a.code() == codeNotTrusted) != (socket.bound && !r.trusted) {
				t.Errorf("socket, %s, %s: got %s", socket.name, r.name, a.body)
			}
		}
		c.send(`{"type":"subscribe","id":"s","payload":` + asJSON(byID(stream)) + `}`)
		c.expect("complete")
		c.send(`{"type":"subscribe","id":"s","payload":` + asJSON(byText(stream+" ")) + `}`)
		if f := c.expect(map[bool]string{true: "error", false: "complete"}[socket.bound]); socket.bound && !strings.Contains(string(f.Payload), codeNotTrusted) {
			t.Errorf("socket, %s: %s", socket.name, f.Payload)
		}
	}
}

// TestTrustIsOffByDefault takes any document from cookies, and its own by their ids.
func TestTrustIsOffByDefault(t *testing.T) {
	t.Parallel()
	const ours = "query Ours{viewer{org{id}}}"
	b := setup(t, func(c *Config) { c.Trusted = map[string]string{hashOf(ours): ours} })
	cookie := with("Cookie", "ostler_access=good")
	for _, req := range []map[string]any{{"query": "{viewer{org{id}}}"}, {"documentId": "sha256:" + hashOf(ours)}} {
		if a := b.do(http.MethodPost, "/graphql", asJSON(req), cookie); a.code() != "" || !a.hasData {
			t.Errorf("%v: %s", req, a.body)
		}
	}
	// A token finds them as well: they are no secret, they are in the dashboard's scripts.
	if a := b.do(http.MethodPost, "/graphql", asJSON(persisted("", hashOf(ours))), signedIn); a.code() != "" {
		t.Error(a.body)
	}
}

// TestStrangersDoNotDriveOutPersistedDocuments fills the cache as nobody and as another organization.
func TestStrangersDoNotDriveOutPersistedDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Limits.PersistedDocumentBytes = 20_000 })
	b.member("mine")
	b.member("other")
	mine := with("Authorization", "Bearer mine")
	const text = "query Mine{viewer{org{id}}}"
	ask := func(text, hash string, change ...func(*http.Request)) answer {
		return b.do(http.MethodPost, "/graphql", asJSON(persisted(text, hash)), change...)
	}
	if a := ask(text, hashOf(text), mine); a.code() != "" {
		t.Fatal(a.body)
	}
	for i := range 100 {
		theirs := fmt.Sprintf("{serverInfo{name}}#%d", i)
		ask(theirs, hashOf(theirs))
		ask(theirs, hashOf(theirs), with("Authorization", "Bearer other"))
	}
	if a := ask("", hashOf(text), mine); a.code() != "" {
		t.Errorf("it is gone: %s", a.body)
	}
	if a := ask("", hashOf("{serverInfo{name}}#0")); a.code() != codeNotPersisted {
		t.Errorf("the cache has no bound: %s", a.body)
	}
}
