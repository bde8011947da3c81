package httpapi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/apiclient/attacks"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

const init1 = `{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`

// Where each thing is tested that gqlgen's own transport gets wrong, and that every server of graphql-transport-ws must get
// right. The four that hurt most are tested against the binary, too, in e2e.
//
//	no subprotocol, another one             4406   TestCloseCodes
//	connection_init twice                   4429   TestCloseCodes
//	subscribe before connection_init        4401   TestCloseCodes
//	no connection_init in time              4408   TestSocketTimes/no_init
//	connection_init refused                 4403   TestCloseCodes; e2e: use.mjs, TestRealClients
//	its payload is not an object            4400   TestCloseCodes; what it holds: TestBrokenHandshakesLeakNothing
//	invalid JSON, unknown type, binary      4400   TestCloseCodes
//	subscribe without an id or a payload    4400   TestCloseCodes
//	an id that is live                      4409   TestCloseCodes
//	a validation error                      error, and no complete: TestSocketOperations
//	ping before connection_init             pong   TestSocketOperations
//	the token ends, the membership goes     4403   TestSocketTimes; e2e: TestStreamsOfThoseWhoLose
//	a peer that stops reading               cut off: TestSocketTimes/stopped_reading, TestReadersThatStopReading
//	a peer that stops within a message      cut off: TestStuckPeerIsCutOff
//	no pong                                 4408   TestSocketTimes/no_pong
//	the 201st operation                     error: TestOperationsPerSocket
//	a message of 1.5 MB                     1009   TestCloseCodes
//	another origin                          403    TestHandshakeOrigins; e2e: TestOtherOrigins
//	the server stops                        1012   TestStopClosesSockets
//	10 000 broken handshakes                       TestBrokenHandshakesLeakNothing

// TestCloseCodes sends what a client must not send, and checks what it is told.
func TestCloseCodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.feed()
	for _, c := range []struct {
		name   string
		frames []string
		code   websocket.StatusCode
	}{
		{"invalid JSON", []string{`{"type`}, 4400},
		{"not an object", []string{`[]`}, 4400},
		{"two objects", []string{init1 + init1}, 4400},
		{"case of names", []string{`{"TYPE":"connection_init"}`}, 4400},
		{"no type", []string{`{}`}, 4400},
		{"unknown type", []string{`{"type":"start"}`}, 4400},
		{"a type that only servers send", []string{init1, `{"type":"next","id":"1"}`}, 4400},
		{"init payload is text", []string{`{"type":"connection_init","payload":"x"}`}, 4400},
		{"init payload is a list", []string{`{"type":"connection_init","payload":[]}`}, 4400},
		{"token is a number", []string{`{"type":"connection_init","payload":{"Authorization":5}}`}, 4400},
		{"init without a token", []string{`{"type":"connection_init"}`}, 4403},
		{"init with a bad token", []string{`{"type":"connection_init","payload":{"Authorization":"Bearer bad"}}`}, 4403},
		{"init with another scheme", []string{`{"type":"connection_init","payload":{"Authorization":"Basic good"}}`}, 4403},
		{"init twice", []string{init1, init1}, 4429},
		{"subscribe before init", []string{subscribeFrame}, 4401},
		{"subscribe without an id", []string{init1, `{"type":"subscribe","payload":{"query":"{__typename}"}}`}, 4400},
		{"subscribe with an empty id", []string{init1, `{"type":"subscribe","id":"","payload":{"query":"{__typename}"}}`}, 4400},
		{"subscribe with a number as id", []string{init1, `{"type":"subscribe","id":1,"payload":{"query":"{__typename}"}}`}, 4400},
		{"subscribe with a long id", []string{init1, `{"type":"subscribe","id":"` + strings.Repeat("x", 129) + `","payload":{"query":"{__typename}"}}`}, 4400},
		{"subscribe without a payload", []string{init1, `{"type":"subscribe","id":"1"}`}, 4400},
		{"subscribe with text as payload", []string{init1, `{"type":"subscribe","id":"1","payload":"x"}`}, 4400},
		{"subscribe without a query", []string{init1, `{"type":"subscribe","id":"1","payload":{}}`}, 4400},
		{"variables are a list", []string{init1, `{"type":"subscribe","id":"1","payload":{"query":"{__typename}","variables":[]}}`}, 4400},
		{"a live id again", []string{init1, subscribeFrame, subscribeFrame}, 4409},
		{"complete without an id", []string{init1, `{"type":"complete"}`}, 4400},
		{"ping payload is text", []string{`{"type":"ping","payload":"x"}`}, 4400},
		{"not UTF-8", []string{"{\"type\":\"\xff\"}"}, 4400},
		{"too large", []string{init1, `{"type":"ping","payload":{"a":"` + strings.Repeat("x", 1_500_000) + `"}}`}, websocket.StatusMessageTooBig},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := b.dial()
			for _, f := range c.frames {
				if err := socket.conn.Write(t.Context(), websocket.MessageText, []byte(f)); err != nil {
					break // the server has closed already
				}
			}
			socket.expectClose(c.code)
		})
	}
	t.Run("binary", func(t *testing.T) {
		socket := b.dial()
		if err := socket.conn.Write(t.Context(), websocket.MessageBinary, []byte(init1)); err != nil {
			t.Fatal(err)
		}
		socket.expectClose(4400)
	})
	for _, protocols := range [][]string{nil, {"graphql-ws"}} {
		socket, _ := b.tryDial(protocols)
		socket.expectClose(4406)
	}
}

func TestHandshakeOrigins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := cookieHeader("ostler_access=good")
	for _, c := range []struct {
		name   string
		dial   func() (*client, int)
		status int
	}{
		{"a program", func() (*client, int) { return b.tryDial([]string{subprotocol}) }, 101},
		{"own origin", func() (*client, int) { return b.tryDial([]string{subprotocol}, origin("http://ostler.test")) }, 101},
		{"the host that was asked", func() (*client, int) { return b.tryDial([]string{subprotocol}, origin(b.url)) }, 101},
		{"another origin", func() (*client, int) { return b.tryDial([]string{subprotocol}, origin("http://evil.test")) }, 403},
		{"null", func() (*client, int) { return b.tryDial([]string{subprotocol}, origin("null")) }, 403},
		{"cookie, own origin", func() (*client, int) { return b.tryDial([]string{subprotocol}, good, origin("http://ostler.test")) }, 101},
		{"cookie, own origin with its port", func() (*client, int) { return b.tryDial([]string{subprotocol}, good, origin("http://ostler.test:80")) }, 101},
		{"cookie, no origin", func() (*client, int) { return b.tryDial([]string{subprotocol}, good) }, 403},
		{"cookie, the host that was asked", func() (*client, int) { return b.tryDial([]string{subprotocol}, good, origin(b.url)) }, 403},
		{"cookie, another scheme", func() (*client, int) { return b.tryDial([]string{subprotocol}, good, origin("https://ostler.test")) }, 403},
		{"cookie, another port", func() (*client, int) { return b.tryDial([]string{subprotocol}, good, origin("http://ostler.test:81")) }, 403},
		{"refresh cookie alone", func() (*client, int) { return b.tryDial([]string{subprotocol}, cookieHeader("ostler_refresh=r")) }, 403},
		{"somebody else's cookie", func() (*client, int) { return b.tryDial([]string{subprotocol}, cookieHeader("other=1")) }, 101},
	} {
		if _, status := c.dial(); status != c.status {
			t.Errorf("%s: got %d, want %d", c.name, status, c.status)
		}
	}
	socket := b.dial(good, origin("http://ostler.test"))
	socket.send(`{"type":"connection_init"}`)
	socket.expect("connection_ack")
	bad := b.dial(good, origin("http://ostler.test"))
	bad.send(`{"type":"connection_init","payload":{"Authorization":"Bearer bad"}}`)
	bad.expectClose(4403)
}

func TestSocketOperations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events, ended := b.feed()
	c := b.dial()
	c.send(`{"type":"ping"}`)
	c.expect("pong")
	c.send(`{"type":"ping","payload":{"n":1}}`)
	if f := c.expect("pong"); string(f.Payload) != `{"n":1}` {
		t.Errorf("pong: %s", f.Payload)
	}
	c.hello()

	c.send(`{"id":"q","type":"subscribe","payload":{"query":"{viewer{org{id}}}"}}`)
	if f := c.expect("next"); f.ID != "q" || string(f.Payload) != `{"data":{"viewer":{"org":{"id":"org_1"}}}}` {
		t.Errorf("query: %s", f.Payload)
	}
	c.expect("complete")
	c.send(`{"id":"q","type":"subscribe","payload":{"query":"mutation{signIn(input:{email:\"a\",password:\"b\"}){tokens{org{id}}}}"}}`)
	c.expect("next")
	c.expect("complete")
	c.send(`{"id":"q","type":"subscribe","payload":{"query":"{nope}"}}`)
	if f := c.expect("error"); f.Payload[0] != '[' || !strings.Contains(string(f.Payload), codeValidationFailed) {
		t.Errorf("error: %s", f.Payload)
	}
	c.send(`{"id":"q","type":"subscribe","payload":{"query":"` + strings.TrimSpace(strings.Repeat("{a ", 20)) + `"}}`)
	c.expect("error") // and no complete: the next frame is another operation's
	c.send(`{"id":"deep","type":"subscribe","payload":{"query":"{viewer{org{defaultHarness{` + attacks.Nest(12, "parent{", "id", "}") + `}}}}"}}`)
	if f := c.expect("error"); !strings.Contains(string(f.Payload), `"limit":"DEPTH"`) {
		t.Errorf("limits hold here too: %s", f.Payload)
	}
	c.send(`{"id":"q","type":"subscribe","payload":{"query":"{__typename}","variables":{"a":"\u0000"}}}`)
	c.expect("error")

	c.send(subscribeFrame)
	for i := range 3 {
		events <- event(fmt.Sprint("evt_", i))
		if f := c.expect("next"); f.ID != "1" || string(f.Payload) != fmt.Sprintf(`{"data":{"sessionEvents":{"id":"evt_%d"}}}`, i) {
			t.Errorf("event: %s", f.Payload)
		}
	}
	c.send(`{"id":"1","type":"complete"}`)
	c.send(`{"id":"unknown","type":"complete"}`)
	<-ended
	events, _ = b.feed()
	c.send(subscribeFrame) // the id is free again
	events <- event("evt_9")
	c.expect("next")
	close(events)
	if f := c.expect("complete"); f.ID != "1" {
		t.Errorf("complete: %+v", f)
	}
}

func TestHowStreamsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.dial().hello()
	b.stub.events = func(context.Context) (<-chan model.Event, error) { return nil, notFound }
	c.send(subscribeFrame)
	if f := c.expect("error"); !strings.Contains(string(f.Payload), codeNotFound) {
		t.Errorf("refused by the resolver: %s", f.Payload)
	}
	b.stub.events = func(ctx context.Context) (<-chan model.Event, error) {
		auth.EndStream(ctx, &lagged)
		events := make(chan model.Event)
		close(events)
		return events, nil
	}
	c.send(subscribeFrame)
	if f := c.expect("error"); !strings.Contains(string(f.Payload), `"lastSequence":7`) || !strings.Contains(string(f.Payload), codeLagged) {
		t.Errorf("ended by the resolver: %s", f.Payload)
	}
	b.stub.events = func(context.Context) (<-chan model.Event, error) { panic("secret") }
	c.send(subscribeFrame)
	if f := c.expect("error"); !strings.Contains(string(f.Payload), codeInternal) || strings.Contains(string(f.Payload), "secret") {
		t.Errorf("panic: %s", f.Payload)
	}
	b.people.set("weak", &auth.Principal{ExpiresAt: start.Add(time.Hour)})
	weak := b.dial()
	weak.send(`{"type":"connection_init","payload":{"Authorization":"Bearer weak"}}`)
	weak.expect("connection_ack")
	weak.send(subscribeFrame)
	if f := weak.expect("error"); !strings.Contains(string(f.Payload), codeForbidden) {
		t.Errorf("without permission: %s", f.Payload)
	}
}

var lagged = *func() *gqlerror.Error {
	e := coded(codeLagged, "Too slow.")
	e.Extensions["lastSequence"] = 7
	return e
}()

func TestOperationsPerSocket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stub.events = func(ctx context.Context) (<-chan model.Event, error) { return make(chan model.Event), nil }
	c := b.dial().hello()
	for i := range 200 {
		c.send(strings.Replace(subscribeFrame, `"1"`, fmt.Sprintf(`"s%d"`, i), 1))
	}
	c.send(subscribeFrame)
	if f := c.expect("error"); f.ID != "1" || !strings.Contains(string(f.Payload), codeRateLimited) || !strings.Contains(string(f.Payload), `"limit":"OPERATIONS","maximum":200`) {
		t.Errorf("the 201st: %+v", f)
	}
	c.send(`{"id":"s0","type":"complete"}`)
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"{__typename}"}}`)
	c.expect("next")
}

// TestSocketTimes moves the clock instead of waiting.
func TestSocketTimes(t *testing.T) {
	t.Parallel()
	sweep := func(b *bench, d time.Duration) {
		b.clock.Advance(d)
		b.server.open.sweep(b.clock.Now())
	}
	t.Run("no init", func(t *testing.T) {
		b := setup(t)
		c := b.dial()
		c.send(`{"type":"ping"}`)
		c.expect("pong") // so the server knows the socket, and since when
		sweep(b, 4*time.Second)
		c.send(`{"type":"ping"}`)
		c.expect("pong")
		sweep(b, time.Second)
		c.expectClose(4408)
	})
	t.Run("no pong", func(t *testing.T) {
		b := setup(t)
		c := b.dial().hello()
		sweep(b, 15*time.Second)
		c.expect("ping")
		c.send(`{"type":"pong"}`)
		c.send(`{"type":"ping"}`)
		c.expect("pong") // so the server has read ours
		sweep(b, 15*time.Second)
		c.expect("ping")
		sweep(b, 19*time.Second)
		c.send(`{"type":"ping"}`)
		c.expect("pong")
		sweep(b, time.Second)
		c.expectClose(4408)
	})
	t.Run("token ends", func(t *testing.T) {
		b := setup(t)
		events, ended := b.feed()
		c := b.dial().hello()
		c.send(subscribeFrame)
		events <- event("evt_1")
		c.expect("next")
		sweep(b, 15*time.Minute)
		c.expectClose(4403)
		<-ended
	})
	t.Run("membership removed", func(t *testing.T) {
		b := setup(t)
		events, ended := b.feed()
		c := b.dial().hello()
		c.send(subscribeFrame)
		events <- event("evt_1")
		c.expect("next")
		b.people.set("good", nil)
		sweep(b, time.Second)
		events <- event("evt_2")
		c.expect("next")
		sweep(b, time.Second)
		c.expectClose(4403)
		<-ended
	})
	t.Run("permission lost", func(t *testing.T) {
		b := setup(t)
		c := b.dial().hello()
		less := owner()
		less.Permissions = auth.RolePermissions(models.RoleViewer, false)
		b.people.set("good", less)
		sweep(b, 2*time.Second)
		c.expectClose(4403)
	})
	t.Run("authenticator away", func(t *testing.T) {
		b := setup(t)
		c := b.dial().hello()
		b.people.asked = make(chan string, 1)
		b.people.fail(errors.New("database is away"))
		sweep(b, 2*time.Second)
		<-b.people.asked
		c.send(`{"type":"ping"}`)
		c.expect("pong")
		other := b.dial()
		other.send(init1)
		other.expectClose(websocket.StatusTryAgainLater)
	})
	stopsReading := func(t *testing.T, change ...func(*Config)) {
		b := setup(t, change...)
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
		c := b.dial().hello()
		socket := b.theSocket()
		c.send(subscribeFrame)
		for stuck := false; !stuck; runtime.Gosched() {
			socket.outbox.mu.Lock()
			stuck = len(socket.outbox.frames) > 1 && socket.writing.Load() != 0
			if socket.outbox.bytes > b.server.cfg.Sockets.QueueBytes {
				t.Error("more waits than may")
			}
			socket.outbox.mu.Unlock()
		}
		for sweeps := 0; len(b.server.open.all()) > 0; runtime.Gosched() {
			if sweeps++; sweeps < 100 {
				sweep(b, 5*time.Second)
			}
		}
		<-ended
	}
	t.Run("stopped reading", func(t *testing.T) { stopsReading(t) })
	t.Run("reads each piece in time, and all too slowly", func(t *testing.T) {
		stopsReading(t, func(c *Config) { c.Sockets.WriteTimeout, c.AnswerTimeout = time.Hour, time.Minute })
	})
	t.Run("sweeps by itself", func(t *testing.T) {
		b := setup(t, func(c *Config) { c.Sockets.SweepEvery = time.Millisecond })
		c := b.dial()
		c.send(`{"type":"ping"}`)
		c.expect("pong")
		b.clock.Advance(time.Minute)
		c.expectClose(4408)
	})
}

func TestStopClosesSockets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ended := b.feed()
	c := b.dial().hello()
	c.send(subscribeFrame)
	c.send(`{"type":"ping"}`)
	c.expect("pong")
	stopped := make(chan error)
	go func() { stopped <- b.server.Stop(context.Background()) }()
	c.expectClose(1012)
	<-ended
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, status := b.tryDial([]string{subprotocol}); status != 503 {
		t.Errorf("a socket on a stopped server: %d", status)
	}
	if a := b.do("GET", "/readyz", ""); a.status != 503 {
		t.Errorf("readyz on a stopped server: %d", a.status)
	}
}

// TestStuckPeerIsCutOff sends the head of a long message, then nothing: a close handshake can't succeed.
func TestStuckPeerIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Sockets.CloseTimeout = time.Millisecond })
	c := b.dial().hello()
	w, err := c.conn.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(`{"type":`)); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour)
	b.server.open.sweep(b.clock.Now())
	for len(b.server.open.all()) > 0 {
		runtime.Gosched()
	}
}
