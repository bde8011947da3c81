package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/ostler-dev/ostler/graph/model"
)

// client is one WebSocket of a test.
type client struct {
	*bench
	conn *websocket.Conn
}

type frame struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// dial opens a socket with the protocol.
func (b *bench) dial(change ...func(http.Header)) *client {
	b.Helper()
	c, status := b.tryDial([]string{subprotocol}, change...)
	if c == nil {
		b.Fatalf("the handshake was refused with %d", status)
	}
	return c
}

func (b *bench) tryDial(protocols []string, change ...func(http.Header)) (*client, int) {
	b.Helper()
	header := http.Header{}
	for _, f := range change {
		f(header)
	}
	conn, resp, err := websocket.Dial(b.Context(), strings.Replace(b.url, "http", "ws", 1)+"/graphql",
		&websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
	if err != nil {
		if resp == nil {
			b.Fatal(err)
		}
		return nil, resp.StatusCode
	}
	b.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(8 << 20)
	return &client{b, conn}, resp.StatusCode
}

func (c *client) send(text string) {
	c.Helper()
	if err := c.conn.Write(c.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.Fatal(err)
	}
}

// expect reads one frame and checks its type.
func (c *client) expect(kind string) frame {
	c.Helper()
	_, data, err := c.conn.Read(c.Context())
	if err != nil {
		c.Fatalf("waiting for %s: %v", kind, err)
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		c.Fatalf("%s: %v", data, err)
	}
	if f.Type != kind {
		c.Fatalf("got %s, want %s", data, kind)
	}
	return f
}

// expectClose reads until the server closes the socket, and checks its code.
func (c *client) expectClose(code websocket.StatusCode) {
	c.Helper()
	for {
		_, _, err := c.conn.Read(context.Background())
		if err == nil {
			continue
		}
		var closed websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != code {
			c.Fatalf("got %v, want the code %d", err, code)
		}
		return
	}
}

// broken opens a socket that says one thing that it must not. It waits for a close code, or leaves at once without one.
func (b *bench) broken(frame string, code websocket.StatusCode) {
	b.Helper()
	c := b.dial()
	if frame != "" {
		c.send(frame)
	}
	if code != 0 {
		c.expectClose(code)
	}
	_ = c.conn.CloseNow()
}

// halfHandshake sends the beginning of a request and leaves.
func (b *bench) halfHandshake(head string) {
	b.Helper()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.WriteString(conn, head)
	_ = conn.Close()
}

// hello brings the socket to where operations are allowed.
func (c *client) hello() *client {
	c.Helper()
	c.send(`{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`)
	c.expect("connection_ack")
	return c
}

// feed returns the events of a subscription from a channel of the test.
func (b *bench) feed() (events chan model.Event, done <-chan struct{}) {
	events = make(chan model.Event)
	ended := make(chan struct{})
	b.stub.events = func(ctx context.Context) (<-chan model.Event, error) {
		out := make(chan model.Event)
		go func() {
			defer close(ended)
			defer close(out)
			for {
				select {
				case e, ok := <-events:
					if !ok {
						return
					}
					select {
					case out <- e:
					case <-ctx.Done():
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}()
		return out, nil
	}
	return events, ended
}

func event(id string) model.Event { return &model.CaughtUp{ID: id} }

const subscribeFrame = `{"id":"1","type":"subscribe","payload":{"query":"subscription{sessionEvents(sessionId:1){id}}"}}`

// theSocket waits for the server to know its one socket.
func (b *bench) theSocket() *socket {
	b.Helper()
	all := b.server.open.all()
	if len(all) != 1 {
		b.Fatalf("the server knows %d sockets", len(all))
	}
	return all[0].(*socket)
}

func origin(value string) func(http.Header) {
	return func(h http.Header) { h.Set("Origin", value) }
}

func cookieHeader(value string) func(http.Header) {
	return func(h http.Header) { h.Set("Cookie", value) }
}

var _ testing.TB = (*bench)(nil)
