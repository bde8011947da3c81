package httpapi

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestHTTP2 asks as a proxy does that speaks HTTP/2 with the server, without TLS: an event stream and what is asked meanwhile share one
// connection. On the same port clients of HTTP/1 open their sockets.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events, _ := b.feed()
	var connections atomic.Int64
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	send := func(ctx context.Context, method, path, body string, change ...func(*http.Request)) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append([]func(*http.Request){signedIn, with("Content-Type", "application/json")}, change...) {
			f(r)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ProtoMajor != 2 {
			t.Errorf("%s %s: got an answer over %s", method, path, resp.Proto)
		}
		return resp
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	stream := send(ctx, http.MethodPost, "/graphql", `{"query":"subscription{sessionEvents(sessionId:1){id}}"}`, asEvents)
	defer stream.Body.Close()
	reader := &eventReader{bench: b, body: stream.Body, in: bufio.NewReader(stream.Body)}
	for _, id := range []string{"evt_1", "evt_2"} {
		events <- event(id)
		reader.expect("event: next\ndata: {\"data\":{\"sessionEvents\":{\"id\":\"" + id + "\"}}}\n")
		_ = send(t.Context(), http.MethodPost, "/graphql", `{"query":"{viewer{org{id}}}"}`).Body.Close()
		_ = send(t.Context(), http.MethodGet, "/", "").Body.Close()
		// A body that is refused closes nothing that others use.
		refused := send(t.Context(), http.MethodPost, "/graphql", strings.Repeat(" ", 1<<21))
		_ = refused.Body.Close()
		if refused.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a body that is too large gets %s", refused.Status)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("all of it took %d connections", n)
	}

	events, _ = b.feed()
	c := b.dial().hello()
	c.send(subscribeFrame)
	events <- event("evt_3")
	c.expect("next")
}
