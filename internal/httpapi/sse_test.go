package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
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
		{"a document over a limit", "POST", "", `{"query":"{viewer{org{defaultHarness{` + nest(12, "parent{", "id", "}") + `}}}}"}`, 200, `…"limit":"DEPTH"`, nil},
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

// eventReader is the client's end of an event stream.
type eventReader struct {
	*bench
	body io.ReadCloser
	in   *bufio.Reader
}

// follow opens an event stream; change may alter the request.
func (b *bench) follow(document string, change ...func(*http.Request)) *eventReader {
	b.Helper()
	return (&eventReader{bench: b}).open(b.url, document, change...)
}

func (r *eventReader) open(address, document string, change ...func(*http.Request)) *eventReader {
	r.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address+"/graphql", strings.NewReader(`{"query":`+quote(document)+`}`))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, f := range append([]func(*http.Request){asEvents, signedIn}, change...) {
		f(req)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 {
		r.Fatalf("got %s", res.Status)
	}
	r.body, r.in = res.Body, bufio.NewReader(res.Body)
	return r
}

// event reads up to the next empty line.
func (r *eventReader) event() (string, error) {
	var event strings.Builder
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return event.String() + line, err
		}
		if line == "\n" {
			return event.String(), nil
		}
		event.WriteString(line)
	}
}

func (r *eventReader) expect(want string) {
	r.Helper()
	if got, err := r.event(); err != nil || got != want {
		r.Fatalf("got %q %v, want %q", got, err, want)
	}
}

// expectCut wants the connection to break, so that no client takes it for the end of the stream.
func (r *eventReader) expectCut() {
	r.Helper()
	if got, err := r.event(); got != "" || err != io.ErrUnexpectedEOF {
		r.Fatalf("got %q %v, want the connection cut", got, err)
	}
}

func (r *eventReader) expectCode(code string) {
	r.Helper()
	if got, err := r.event(); err != nil || !strings.HasPrefix(got, "event: next\ndata: {\"errors\":[") || !strings.Contains(got, `"code":"`+code+`"`) {
		r.Fatalf("got %q %v, want an event with %s", got, err, code)
	}
}

const sessionOne = `subscription{sessionEvents(sessionId:1){id}}`

// TestHowEventStreamsEnd moves the clock instead of waiting. Its subscriptions only have a channel.
func TestHowEventStreamsEnd(t *testing.T) {
	t.Parallel()
	one := "event: next\ndata: {\"data\":{\"sessionEvents\":{\"id\":\"evt_1\"}}}\n"
	begin := func(t *testing.T) (*bench, *eventReader, chan model.Event, <-chan struct{}) {
		b := setup(t)
		events, ended := b.feed()
		r := b.follow(sessionOne)
		events <- event("evt_1")
		r.expect(one)
		return b, r, events, ended
	}
	t.Run("completed", func(t *testing.T) {
		_, r, events, _ := begin(t)
		close(events)
		r.expect("event: complete\ndata:\n")
		if rest, err := r.event(); err != io.EOF || rest != "" {
			t.Errorf("behind the end came %q %v", rest, err)
		}
	})
	t.Run("with an error", func(t *testing.T) {
		b := setup(t)
		b.stub.events = func(ctx context.Context) (<-chan model.Event, error) {
			auth.EndStream(ctx, &lagged)
			events := make(chan model.Event)
			close(events)
			return events, nil
		}
		r := b.follow(sessionOne)
		r.expectCode(codeLagged)
		r.expect("event: complete\ndata:\n")
	})
	t.Run("panic", func(t *testing.T) {
		b := setup(t)
		b.stub.events = func(context.Context) (<-chan model.Event, error) { panic("secret") }
		r := b.follow(sessionOne)
		r.expectCode(codeInternal)
		r.expect("event: complete\ndata:\n")
	})
	t.Run("the source stops", func(t *testing.T) {
		b := setup(t)
		b.stub.events = func(ctx context.Context) (<-chan model.Event, error) {
			auth.EndStream(ctx, &gqlerror.Error{Message: "Stopping.", Extensions: map[string]any{"code": codeUnavailable}})
			events := make(chan model.Event)
			close(events)
			return events, nil
		}
		b.follow(sessionOne).expectCut()
	})
	t.Run("token ends", func(t *testing.T) {
		b, r, _, ended := begin(t)
		b.sweep(15 * time.Minute)
		r.expectCode(codeUnauthenticated)
		r.expectCut()
		<-ended
	})
	t.Run("membership removed", func(t *testing.T) {
		b, r, events, ended := begin(t)
		b.people.set("good", nil)
		b.sweep(time.Second)
		events <- event("evt_1") // not looked at again yet
		r.expect(one)
		b.sweep(time.Second)
		r.expectCode(codeUnauthenticated)
		r.expectCut()
		<-ended
	})
	t.Run("permission lost", func(t *testing.T) {
		b, r, _, ended := begin(t)
		less := owner()
		less.Permissions = auth.RolePermissions(models.RoleViewer, false)
		b.people.set("good", less)
		b.sweep(2 * time.Second)
		r.expectCode(codeUnauthenticated)
		r.expectCut()
		<-ended
	})
	t.Run("still good", func(t *testing.T) {
		b, r, events, _ := begin(t)
		b.people.asked = make(chan string, 1)
		b.sweep(2 * time.Second)
		if token := <-b.people.asked; token != "good" {
			t.Errorf("asked for %q", token)
		}
		events <- event("evt_1")
		r.expect(one)
	})
	t.Run("silence", func(t *testing.T) {
		b, r, events, _ := begin(t)
		for range 3 {
			b.sweep(15 * time.Second)
			r.expect(":\n")
		}
		b.sweep(14 * time.Second)
		events <- event("evt_1")
		r.expect(one)
		b.sweep(14 * time.Second) // something was written since
		events <- event("evt_1")
		r.expect(one)
	})
	t.Run("server stops", func(t *testing.T) {
		b, r, _, ended := begin(t)
		if err := b.server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		r.expectCut()
		<-ended
		if a := b.query(sessionOne, nil, signedIn, asEvents); a.status != 503 {
			t.Errorf("a stream on a stopped server: %d", a.status)
		}
	})
	t.Run("client leaves", func(t *testing.T) {
		b, r, _, ended := begin(t)
		_ = r.body.Close()
		<-ended
		for len(b.server.open.all()) > 0 {
			runtime.Gosched()
		}
	})
	t.Run("stopped reading", func(t *testing.T) {
		b := setup(t, func(c *Config) { c.Sockets.WriteTimeout = time.Millisecond })
		large := strings.Repeat("x", 20_000)
		ended := make(chan struct{})
		b.stub.events = func(ctx context.Context) (<-chan model.Event, error) {
			events := make(chan model.Event)
			go func() {
				defer close(ended)
				for {
					select {
					case events <- event(large):
					case <-ctx.Done():
						return
					}
				}
			}()
			return events, nil
		}
		b.follow(sessionOne)
		<-ended
	})
}

// sweep moves the clock on and lets the server look at it.
func (b *bench) sweep(d time.Duration) {
	b.clock.Advance(d)
	b.server.open.sweep(b.clock.Now())
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

// counting counts how often an answer is made of an event.
type counting struct {
	graphql.ExecutableSchema
	made atomic.Int64
}

func (c *counting) Exec(ctx context.Context) graphql.ResponseHandler {
	next := c.ExecutableSchema.Exec(ctx)
	return func(ctx context.Context) *graphql.Response {
		c.made.Add(1)
		return next(ctx)
	}
}

// TestTransportsShareAnswers has sockets and event streams with the same document.
func TestTransportsShareAnswers(t *testing.T) {
	schema := &counting{}
	d := newDelivery(t, func(_ *Config, deps *Dependencies) {
		schema.ExecutableSchema, deps.Schema = deps.Schema, schema
	})
	session := models.NewID[models.SessionEntity]()
	document := fmt.Sprintf(`subscription { sessionEvents(sessionId: %q, after: 0) { kind sequence data } }`, session)
	var sockets []*wire
	var streams []*eventReader
	for range 5 {
		w := d.open()
		w.send(`{"id":"x","type":"subscribe","payload":{"query":` + quote(document) + `}}`)
		w.expect(`{"id":"x","type":"next","payload":{"data":{"sessionEvents":{"kind":"CAUGHT_UP","sequence":0,"data":{}}}}}`)
		sockets = append(sockets, w)
		r := (&eventReader{bench: &bench{T: t}}).open("http://"+d.addr, document)
		r.expect("id: 0\nevent: next\ndata: {\"data\":{\"sessionEvents\":{\"kind\":\"CAUGHT_UP\",\"sequence\":0,\"data\":{}}}}\n")
		streams = append(streams, r)
	}
	before := schema.made.Load()
	const n = 20
	for i := range int64(n) {
		d.publish(session, i+1, "a")
		answer := fmt.Sprintf(`{"data":{"sessionEvents":{"kind":"SESSION_TITLE_CHANGED","sequence":%d,"data":{"title":"a"}}}}`, i+1)
		for _, w := range sockets {
			w.expect(`{"id":"x","type":"next","payload":` + answer + `}`)
		}
		for _, r := range streams {
			r.expect(fmt.Sprintf("id: %d\nevent: next\ndata: %s\n", i+1, answer))
		}
	}
	if made := schema.made.Load() - before; made != n {
		t.Errorf("%d events were made into %d answers", n, made)
	}
	for _, r := range streams {
		_ = r.body.Close()
	}
	for _, w := range sockets {
		_ = w.conn.Close()
	}
	for d.hub.Subscribers() > 0 {
		runtime.Gosched()
	}
}

// TestHubStopsEventStreams breaks them off, since another process goes on with them.
func TestHubStopsEventStreams(t *testing.T) {
	d := newDelivery(t)
	session := models.NewID[models.SessionEntity]()
	document := fmt.Sprintf(`subscription { sessionEvents(sessionId: %q, after: 0) { sequence } }`, session)
	r := (&eventReader{bench: &bench{T: t}}).open("http://"+d.addr, document)
	r.expect("id: 0\nevent: next\ndata: {\"data\":{\"sessionEvents\":{\"sequence\":0}}}\n")
	d.hub.Stop()
	r.expectCut()
	a := (&bench{T: t, url: "http://" + d.addr}).query(document, nil, signedIn, asEvents)
	if a.status != 503 || a.code() != codeUnavailable {
		t.Errorf("a stream of a hub that stopped: %d %s", a.status, a.body)
	}
}

func TestLineBreaksInAnswers(t *testing.T) {
	buf := (&buffers{}).get()
	writeNext(buf, "7\nevent: complete", &graphql.Response{Data: []byte("{\n\"a\":\r\n\"b\\n\"\r}")})
	if want := "event: next\ndata: {\"data\":{ \"a\":  \"b\\n\" }}\n\n"; buf.String() != want {
		t.Errorf("got %q, want %q", buf.String(), want)
	}
}
