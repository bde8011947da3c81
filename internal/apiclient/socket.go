package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// maxMessage bounds what one message of the server may take, in bytes.
const maxMessage = 8 << 20

// Socket is a connection with the protocol graphql-transport-ws. One goroutine may read, another write.
type Socket struct {
	Conn *websocket.Conn

	buffer bytes.Buffer
}

// Frame is a message of graphql-transport-ws.
type Frame struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Dial opens a socket; nothing has been said on it yet. The response is that of the handshake, and may be there with an error, too.
func (c *Client) Dial(ctx context.Context, header http.Header) (*Socket, *http.Response, error) {
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.URL, "http")+"/graphql", &websocket.DialOptions{
		Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: header,
	})
	if err != nil {
		return nil, res, err
	}
	conn.SetReadLimit(maxMessage)
	return &Socket{Conn: conn}, res, nil
}

// Connect opens a socket, says who calls, and waits for the acknowledgement.
func (c *Client) Connect(ctx context.Context) (*Socket, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	s, res, err := c.Dial(ctx, nil) //nolint:bodyclose // it is no body but the socket
	if err != nil {
		if res != nil {
			err = fmt.Errorf("%w (%s)", err, res.Status)
		}
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	if err = s.Init(ctx, c.Token); err == nil {
		var f Frame
		if f, err = s.Read(ctx); err == nil && f.Type != "connection_ack" {
			err = fmt.Errorf("got %s instead of connection_ack", f.Type)
		}
	}
	if err != nil {
		_ = s.Conn.CloseNow()
		return nil, fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	return s, nil
}

// Init says who calls; nobody without a token.
func (s *Socket) Init(ctx context.Context, token string) error {
	f := Frame{Type: "connection_init"}
	if token != "" {
		payload, err := json.Marshal(map[string]string{"Authorization": "Bearer " + token})
		if err != nil {
			return err
		}
		f.Payload = payload
	}
	return s.Write(ctx, f)
}

// Subscribe starts an operation under an id.
func (s *Socket) Subscribe(ctx context.Context, id, query string, variables map[string]any) error {
	payload, err := Document(query, variables)
	if err != nil {
		return err
	}
	return s.Write(ctx, Frame{ID: id, Type: "subscribe", Payload: payload})
}

// Write sends a message.
func (s *Socket) Write(ctx context.Context, f Frame) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return s.Conn.Write(ctx, websocket.MessageText, b)
}

// Read returns the next message.
func (s *Socket) Read(ctx context.Context) (f Frame, err error) {
	b, err := s.Next(ctx)
	if err == nil {
		err = json.Unmarshal(b, &f) // which copies the payload
	}
	return f, err
}

// Next returns the next message as it came. It is valid until the next call.
func (s *Socket) Next(ctx context.Context) ([]byte, error) {
	_, reader, err := s.Conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	s.buffer.Reset()
	_, err = s.buffer.ReadFrom(reader)
	return s.buffer.Bytes(), err
}
