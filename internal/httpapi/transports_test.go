package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/apiclient/attacks"
)

// transport sends a request in one of the ways that there are, and returns its one answer.
type transport struct {
	name string
	ask  func(b *bench, req map[string]any, token string) answer
}

func transports() []transport {
	post := func(change ...func(*http.Request)) func(*bench, map[string]any, string) answer {
		return func(b *bench, req map[string]any, token string) answer {
			b.Helper()
			return b.do(http.MethodPost, "/graphql", asJSON(req), append(change, with("Authorization", "Bearer "+token))...).ofEvents(b)
		}
	}
	get := func(change ...func(*http.Request)) func(*bench, map[string]any, string) answer {
		return func(b *bench, req map[string]any, token string) answer {
			b.Helper()
			values := url.Values{}
			for name, v := range req {
				if s, ok := v.(string); ok {
					values.Set(name, s)
				} else {
					values.Set(name, asJSON(v))
				}
			}
			return b.do(http.MethodGet, "/graphql?"+values.Encode(), "", append(change, with("Authorization", "Bearer "+token))...).ofEvents(b)
		}
	}
	return []transport{
		{"POST", post()},
		{"GET", get()},
		{"SSE by POST", post(asEvents)},
		{"SSE by GET", get(asEvents)},
		{"WebSocket", func(b *bench, req map[string]any, token string) answer {
			b.Helper()
			c := b.dial()
			c.send(`{"type":"connection_init","payload":{"Authorization":"Bearer ` + token + `"}}`)
			c.expect("connection_ack")
			return c.ask(req)
		}},
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// ask runs one operation on a socket.
func (c *client) ask(req map[string]any) answer {
	c.Helper()
	c.send(`{"type":"subscribe","id":"q","payload":` + asJSON(req) + `}`)
	_, data, err := c.conn.Read(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		c.Fatalf("%s: %v", data, err)
	}
	a := answer{status: http.StatusOK, body: string(f.Payload)}
	if f.Type == "error" {
		if err := json.Unmarshal(f.Payload, &a.errors); err != nil {
			c.Fatal(err)
		}
		return a
	}
	a.read(c.bench, f.Payload)
	c.expect("complete")
	return a
}

// ofEvents reads the answer out of an event stream, if it is one.
func (a answer) ofEvents(b *bench) answer {
	b.Helper()
	if data, ok := strings.CutPrefix(a.body, "event: next\ndata: "); ok {
		data, _, _ = strings.Cut(data, "\n")
		a.body = data
		a.read(b, []byte(data))
	}
	return a
}

func TestLimitsHoldOnEveryTransport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) {
			limits := map[string]bool{}
			for _, c := range attacks.All() {
				want := c.Want
				switch {
				case want == codeUnauthenticated || want == "":
					continue // they are let in: what becomes of them is not the limits' business
				case strings.Contains(tr.name, "GET") && strings.Contains(c.Document, "\x00"):
					want = codeBadUserInput // NUL is refused before the document is looked at
				}
				a := tr.ask(b, map[string]any{"query": c.Document}, "good")
				if got := outcome(a); got != want {
					t.Errorf("%s: got %q, want %q: %.300s", c.Name, got, want, a.body)
				}
				if limit, ok := a.errorExtension("limit"); ok {
					limits[limit] = true
					if maximum, _ := a.errors[0].Extensions["maximum"].(float64); maximum < 1 {
						t.Errorf("%s: the limit has no measure: %s", c.Name, a.body)
					}
				}
				if len(a.errors) > 5 {
					t.Errorf("%s: %d errors", c.Name, len(a.errors))
				}
			}
			for _, limit := range []string{"BYTES", "TOKENS", "DEPTH", "FIELDS", "ALIASES", "DIRECTIVES", "ROOTS", "COST", "PAGE"} {
				if !limits[limit] {
					t.Errorf("nothing was over the limit %s", limit)
				}
			}
			// Limits that depend on the variables, and the number of errors.
			a := tr.ask(b, map[string]any{"query": "query($n:Int){agents(first:$n){nodes{id}}}", "variables": map[string]any{"n": 101}}, "good")
			if outcome(a) != "PAGE" {
				t.Errorf("101 in a variable: %s", a.body)
			}
			if a := tr.ask(b, map[string]any{"query": "{" + attacks.Repeat(20, "nope# ") + "}"}, "good"); len(a.errors) != 5 || a.code() != codeValidationFailed {
				t.Errorf("20 errors: got %d: %s", len(a.errors), a.body)
			}
			if a := tr.ask(b, map[string]any{"query": "{agents(first:7){nodes{id}}}", "extensions": map[string]any{"cost": true}}, "good"); a.cost["requested"] != 9.0 || a.cost["limit"] != 50_000.0 {
				t.Errorf("the cost: %s", a.body)
			}
			// Introspection has a price of its own.
			if a := tr.ask(b, map[string]any{"query": "{" + attacks.Repeat(40, "a#:__schema{types{fields{name args{name} type{name}}}} ") + "}"}, "good"); outcome(a) != "COST" || a.errors[0].Extensions["maximum"] != 450_000.0 {
				t.Errorf("introspection: %.300s", a.body)
			}
		})
	}
}

func TestBodiesAndMessagesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	large := `{"query":"` + strings.Repeat(" ", 1<<20) + `"}`
	for _, change := range [][]func(*http.Request){{signedIn}, {signedIn, asEvents}} {
		if a := b.do(http.MethodPost, "/graphql", large, change...); a.status != 413 || outcome(a) != "BODY" || a.errors[0].Extensions["maximum"] != float64(1<<20) {
			t.Errorf("got %d %.300s", a.status, a.body)
		}
	}
	c := b.dial().hello()
	c.send(`{"type":"subscribe","id":"1","payload":` + large + `}`)
	c.expectClose(1009)
}

func TestOperationsEndInTimeOnEveryTransport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.engine.limits.OperationTimeout = 1
	b.stub.viewer = func(ctx context.Context) (*model.Viewer, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, tr := range transports() {
		if a := tr.ask(b, map[string]any{"query": "{viewer{org{id}}}"}, "good"); a.code() != codeTimeout || outcome(a) != "TIME" || a.errors[0].Extensions["maximum"] != 10.0 {
			t.Errorf("%s: %s", tr.name, a.body)
		}
	}
}

func TestProductionHidesTheSchemaOnEveryTransport(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Introspection, c.Suggestions = false, false })
	for _, tr := range transports() {
		if a := tr.ask(b, map[string]any{"query": "{__schema{queryType{name}}}"}, "good"); a.code() != codeForbidden {
			t.Errorf("%s: %s", tr.name, a.body)
		}
		if a := tr.ask(b, map[string]any{"query": "{serverInfo{nam}}"}, "good"); strings.Contains(a.body, "Did you mean") || a.code() != codeValidationFailed {
			t.Errorf("%s: %s", tr.name, a.body)
		}
	}
}

func TestFailuresAreHiddenOnEveryTransport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, tr := range transports() {
		b.stub.viewer = failWith(errSecret)
		a := tr.ask(b, map[string]any{"query": "{viewer{org{id}}}"}, "good")
		if id, _ := a.errorExtension("requestId"); a.code() != codeInternal || id == "" || strings.Contains(a.body, "secret") || !strings.Contains(b.log.String(), id) {
			t.Errorf("%s: %s", tr.name, a.body)
		}
		b.stub.viewer = func(context.Context) (*model.Viewer, error) { panic("secret") }
		if a := tr.ask(b, map[string]any{"query": "{viewer{org{id}}}"}, "good"); a.code() != codeInternal || strings.Contains(a.body, "secret") || b.meter.panics() != i+1 {
			t.Errorf("%s, a panic, the %d.: %s", tr.name, b.meter.panics(), a.body)
		}
	}
}
