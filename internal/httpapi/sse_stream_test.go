package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

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
	// The fragment adds nothing, but what it is in has to be executed.
	document := fmt.Sprintf(`subscription { sessionEvents(sessionId: %q, after: 0) { kind sequence data ... on SessionStarted { kind } } }`, session)
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
			r.expect(fmt.Sprintf("id: %s\nevent: next\ndata: %s\n", d.place(session, i+1), answer))
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

// place returns the id that an event stream has behind an event.
func (d *delivery) place(session models.SessionID, sequence int64) string {
	d.tape.mu.Lock()
	defer d.tape.mu.Unlock()
	return events.FormatPlace(sequence, events.MarkOf(&d.tape.sessions[session][sequence-1]))
}

// TestEventStreamsKnowTheirPlaceAgain resumes where the client was, unless another event is there by now: the database was restored.
func TestEventStreamsKnowTheirPlaceAgain(t *testing.T) {
	d := newDelivery(t)
	session := models.NewID[models.SessionEntity]()
	for i := range int64(3) {
		d.publish(session, i+1, "a")
	}
	document := fmt.Sprintf(`subscription { sessionEvents(sessionId: %q, after: 0) { sequence } }`, session)
	open := func(last string) *eventReader {
		return (&eventReader{bench: &bench{T: t}}).open("http://"+d.addr, document, with(resumeHeader, last))
	}
	answer := func(place string, sequence int) string {
		return fmt.Sprintf("id: %s\nevent: next\ndata: {\"data\":{\"sessionEvents\":{\"sequence\":%d}}}\n", place, sequence)
	}
	second, third := d.place(session, 2), d.place(session, 3)
	r := open(second)
	r.expect(answer(third, 3))
	r.expect(answer(third, 3)) // CAUGHT_UP is behind the same event
	open(third).expect(answer(third, 3))
	open("3").expect(answer("3", 3)) // of an earlier version
	open("3" + second[1:]).expectCode(codeBadUserInput)
	open("4" + second[1:]).expectCode(codeBadUserInput)
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
