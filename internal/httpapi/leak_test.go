package httpapi

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/sampletest"
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
		func() { b.halfHandshake("") },                                        // gone without a byte
		func() { b.resets("") },                                               // the same, without a goodbye
		func() { b.resets(upgrade("13", "dGhlIHNhbXBsZSBub25jZQ==")) },        // within the upgrade
		func() { b.halfHandshake(clientHello) },                               // TLS where there is none
		func() { b.told("\x00\xff\x13\x37 garbage\r\n\r\n", "HTTP/1.1 400") }, // nothing at all
		func() { b.told(upgrade("12", "dGhlIHNhbXBsZSBub25jZQ=="), "HTTP/1.1 400") },
		func() { b.told(upgrade("13", "short"), "HTTP/1.1 400") },
		func() { b.told(upgrade("13", "dGhlIHNhbXBsZSBub25jZQ==")+"\x81\xfe\x00\x7e\x01\x02", "HTTP/1.1 101") }, // cut within a frame's mask
		func() {
			b.told(upgrade("13", "dGhlIHNhbXBsZSBub25jZQ==")+"\x81\x9e\x01\x02\x03\x04abc", "HTTP/1.1 101")
		}, // within its text
		func() { b.told(upgrade("13", "dGhlIHNhbXBsZSBub25jZQ==")+"\x81\x05hello", "HTTP/1.1 101") },            // a frame that is not masked
		func() { b.told(upgrade("13", "dGhlIHNhbXBsZSBub25jZQ==")+"\xf3\x80\x00\x00\x00\x00", "HTTP/1.1 101") }, // one with bits that nobody knows
		func() {
			b.told(upgrade("13", "dGhlIHNhbXBsZSBub25jZQ==")+"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", "HTTP/1.1 101")
		}, // of 9 exabytes
	})
}

// clientHello is how TLS 1.2 begins.
const clientHello = "\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03" + "0123456789abcdef0123456789abcdef" + "\x00\x00\x04\x00\x2f\x00\xff\x01\x00"

// upgrade is a request for a socket.
func upgrade(version, key string) string {
	return "GET /graphql HTTP/1.1\r\nHost: ostler.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: " + subprotocol +
		"\r\nSec-WebSocket-Version: " + version + "\r\nSec-WebSocket-Key: " + key + "\r\n\r\n"
}

// told sends bytes, reads the beginning of the answer, and leaves.
func (b *bench) told(request, want string) {
	b.Helper()
	conn := b.raw()
	_, _ = io.WriteString(conn, request)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		b.Fatalf("%.60q was answered with %q, %v, want %s", request, got, err, want)
	}
	_ = conn.Close()
}

// resets sends bytes and cuts the connection as a machine does that is gone: with a reset.
func (b *bench) resets(request string) {
	b.Helper()
	conn := b.raw()
	_, _ = io.WriteString(conn, request)
	_ = conn.SetLinger(0)
	_ = conn.Close()
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
	// send closes the connection once as much of the answer has come as is asked for.
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
	settled := func(goroutines int) bool {
		return len(b.server.open.all()) == 0 && runtime.NumGoroutine() <= goroutines
	}
	// The last ones are about to end; those that leaked never do.
	wait := func(goroutines int) {
		for giveUp := time.Now().Add(patience); !settled(goroutines) && time.Now().Before(giveUp); runtime.Gosched() {
		}
	}
	wait(1 << 30)
	goroutines, files := runtime.NumGoroutine(), descriptors()
	times := sampletest.Number(b.T, "broken handshakes", 200, 1000)
	if s := os.Getenv("OSTLER_HANDSHAKES"); s != "" {
		var err error
		if times, err = strconv.Atoi(s); err != nil || times < 1 {
			b.Fatalf("OSTLER_HANDSHAKES is %q: want a number above 0", s)
		}
	}
	for i := range times {
		ways[i%len(ways)]()
	}
	// A connection that waits for its next request may be there once more or once less.
	const slack = 8
	wait(goroutines + slack)
	after := descriptors()
	if !settled(goroutines+slack) || after > files+slack {
		b.Errorf("%d descriptors and %d goroutines before, %d and %d after %d broken connections; %d are open",
			files, goroutines, after, runtime.NumGoroutine(), times, len(b.server.open.all()))
	}
	b.Logf("S8: %d descriptors and %d goroutines before %d broken connections of %d kinds, %d and %d after",
		files, goroutines, times, len(ways), after, runtime.NumGoroutine())
}
