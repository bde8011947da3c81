package httpapi

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
)

// TestBrokenHandshakesLeakNothing is not parallel: it counts what the whole process holds.
func TestBrokenHandshakesLeakNothing(t *testing.T) {
	b := setup(t)
	leavesNothing(b, []func(){
		func() { b.broken(init1[:30], 0) },                                    // the JSON ends in the middle
		func() { b.broken(`{"type":"connection_init","payload":"x"}`, 4400) }, // gqlgen's own transport leaks this one
		func() { b.broken(`{"type":"connection_init","payload":[]}`, 4400) },
		func() { b.broken(`{"type":"connection_init"}`, 4403) },
		func() { b.broken(subscribeFrame, 4401) },
		func() { b.broken(`{"type":"connection_init"}`, 0) },                            // gone before the answer
		func() { b.broken("", 0) },                                                      // gone without a word
		func() { b.halfHandshake("GET /graphql HTTP/1.1\r\nHost: ostler.test\r\nUpg") }, // gone within the headers
		func() { b.tryDial([]string{subprotocol}, origin("http://evil.test")) },         // refused
		func() { c, _ := b.tryDial([]string{"graphql-ws"}); c.expectClose(4406) },
	})
}

// TestBrokenEventStreamsLeakNothing is its like for event streams.
func TestBrokenEventStreamsLeakNothing(t *testing.T) {
	b := setup(t)
	b.stub.events = func(ctx context.Context) (<-chan model.Event, error) {
		events := make(chan model.Event) // nothing ever happens
		return events, nil
	}
	const get = "GET /graphql?query=subscription%7BsessionEvents(sessionId:1)%7Bid%7D%7D HTTP/1.1\r\nHost: ostler.test\r\nAccept: text/event-stream\r\n"
	const post = "POST /graphql HTTP/1.1\r\nHost: ostler.test\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nAuthorization: Bearer good\r\n"
	body := `{"query":` + quote(sessionOne) + `}`
	// send gives up the connection once as much of the answer has come as is asked for.
	send := func(request, want string) func() {
		return func() {
			conn := b.raw()
			_, _ = io.WriteString(conn, request)
			if got := make([]byte, len(want)); want != "" {
				if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
					t.Fatalf("%q: got %q %v", request, got, err)
				}
			}
			_ = conn.Close()
		}
	}
	leavesNothing(b, []func(){
		send(get+"Authorization: Bearer good\r\n\r\n", ""),                                                        // gone before the answer
		send(get+"Authorization: Bearer good\r\n\r\n", "HTTP/1.1 200 OK"),                                         // gone within it
		send(get+"Authorization: Bearer good\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"), // with another request behind it
		send(get+"Authorization: Bearer bad\r\n\r\n", "HTTP/1.1 200 OK"),                                          // the refusal is an event
		send(get+"Cookie: "+accessCookie+"=good\r\n\r\n", "HTTP/1.1 403"),
		send(get+"Cookie: "+accessCookie+"=good\r\nOrigin: http://evil.test\r\n\r\n", "HTTP/1.1 403"),
		send(get+"Last-Event-ID: x\r\nAuthorization: Bearer good\r\n\r\n", "HTTP/1.1 200 OK"),
		send(post+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), "HTTP/1.1 200 OK"),
		send(post+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+1, body), ""), // the body ends too early
		send(post+"Content-Length: 5\r\n\r\n[1,2]", "HTTP/1.1 400"),
	})
}

// leavesNothing does all of it many times, and counts what the process holds before and after.
func leavesNothing(b *bench, ways []func()) {
	b.Helper()
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			b.Fatal("the descriptors of a process can't be counted here:", err)
		}
		return len(entries)
	}
	for _, way := range ways {
		way() // what is only made once is there
	}
	for len(b.server.open.all()) > 0 {
		runtime.Gosched()
	}
	goroutines, files := runtime.NumGoroutine(), descriptors()
	for i := range 10_000 {
		ways[i%len(ways)]()
	}
	// A connection that waits for its next request may be there once more or once less.
	const slack = 8
	for len(b.server.open.all()) > 0 || runtime.NumGoroutine() > goroutines+slack { // the last ones are about to end
		runtime.Gosched()
	}
	if after := descriptors(); after > files+slack {
		b.Errorf("%d descriptors before, %d after 10 000 broken connections", files, after)
	}
}
