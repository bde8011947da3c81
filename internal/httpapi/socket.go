package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
)

const subprotocol = "graphql-transport-ws"

// The close codes of graphql-transport-ws, and the two of WebSocket itself that its clients take as "come again".
const (
	closeBadRequest     websocket.StatusCode = 4400
	closeUnauthorized   websocket.StatusCode = 4401
	closeForbidden      websocket.StatusCode = 4403
	closeBadSubprotocol websocket.StatusCode = 4406
	closeTimeout        websocket.StatusCode = 4408
	closeDuplicateID    websocket.StatusCode = 4409
	closeTooManyInits   websocket.StatusCode = 4429
	closeTooManySockets websocket.StatusCode = 4429
	closeRestart                             = websocket.StatusServiceRestart
	closeTryAgainLater                       = websocket.StatusTryAgainLater
)

func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// capture keeps the connection that a handshake takes over. Messages are written to it directly, several at once, and a
// peer that is stuck can be cut off: the library writes one by one, and only offers to wait.
type capture struct {
	http.ResponseWriter
	conn net.Conn
}

const (
	// readBuffer is for the heads of frames, and for small messages with them.
	readBuffer = 512
	// controlBuffer holds a control frame, which is all that the library writes.
	controlBuffer = 256
)

// Hijack implements http.Hijacker. The buffers of the HTTP server are much larger than sockets need.
func (c *capture) Hijack() (conn net.Conn, rw *bufio.ReadWriter, err error) {
	conn, rw, err = http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c.conn = conn
	rw.Writer = bufio.NewWriterSize(conn, controlBuffer)
	if rw.Reader.Buffered() == 0 {
		rw.Reader = bufio.NewReaderSize(conn, readBuffer)
	}
	return conn, rw, nil
}

// upgrade makes a socket of a request. It returns at once: the socket has goroutines of its own, so that it doesn't
// hold the memory of the request.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.writeErrors(w, mediaJSON, http.StatusServiceUnavailable, coded(codeUnavailable, "The server is stopping."))
		return
	}
	if !s.ownOrigin(r) {
		s.writeErrors(w, mediaJSON, http.StatusForbidden, coded(codeForbidden, "WebSockets from other origins are not allowed."))
		return
	}
	captured := &capture{ResponseWriter: w}
	conn, err := websocket.Accept(captured, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // the origin was checked, more strictly
	})
	if err != nil {
		return // Accept has answered
	}
	socket := newSocket(s, conn, captured.conn, r)
	if !s.open.start(socket) {
		_ = captured.conn.Close()
	}
}

// socket is one WebSocket. A goroutine reads; others write, and run operations, while there is something to do.
type socket struct {
	server *Server
	conn   *websocket.Conn
	raw    net.Conn
	info   *auth.RequestInfo
	outbox *outbox
	// allowance bounds what its subscriptions hold together.
	allowance events.Allowance
	opened    time.Time

	// ctx ends with the socket.
	ctx    context.Context
	cancel context.CancelFunc
	// given is the credential that came with the handshake; connection_init may bring another.
	given, givenTransport string
	// cookies is true when those of a sign-in came with the handshake.
	cookies bool
	// token is the one in use. It is written once, before the socket is acknowledged.
	token, transport string

	closeOnce  sync.Once
	closed     atomic.Int32
	goroutines sync.WaitGroup
	// flushing is held while messages are written, or the end of them.
	flushing sync.Mutex
	// writing is when the piece that is being written was begun, in Unix nanoseconds; 0 when none is. answering is the same of all that is
	// written with it.
	writing, answering atomic.Int64

	mu          sync.Mutex
	initialized bool
	principal   *auth.Principal // set once acknowledged
	// leave reports that it has ended; nil when it was not let in.
	leave        func()
	pingedAt     time.Time
	awaitingPong bool
	checkedAt    time.Time
	operations   map[string]*socketOperation
	started      int
}

func newSocket(s *Server, conn *websocket.Conn, raw net.Conn, r *http.Request) *socket {
	info := s.requestInfo(r)
	info.Socket = true
	info.SetCookies = func(auth.TokenCookies) bool { return false }
	socket := &socket{
		server: s, conn: conn, raw: raw, info: info,
		opened:     s.deps.Clock.Now(),
		operations: map[string]*socketOperation{},
	}
	socket.outbox = newOutbox(s.cfg.Sockets.QueueBytes, func() { socket.goroutines.Go(socket.write) })
	socket.given, socket.givenTransport = credential(r)
	socket.cookies = hasTokenCookie(r)
	socket.ctx, socket.cancel = context.WithCancel(context.Background())
	conn.SetReadLimit(min(s.cfg.Limits.BodyBytes, bodyPlace)) // until it is known who is there
	return socket
}

// run ends when the socket and all of its operations have.
func (s *socket) run() {
	if s.conn.Subprotocol() != subprotocol {
		s.close(closeBadSubprotocol, "Subprotocol not acceptable")
	} else {
		s.read()
	}
	s.abandon()
	s.stopOperations()
	s.goroutines.Wait()
	if s.leave != nil {
		s.leave()
	}
	s.server.log.LogAttrs(s.ctx, slog.LevelInfo, "socket closed",
		slog.String("request_id", s.info.ID), slog.String("address", s.info.Address),
		slog.Int("code", int(s.closed.Load())), slog.Int("operations", s.started),
		slog.Duration("duration", s.server.deps.Clock.Now().Sub(s.opened)))
}

// read handles one message after the other until the connection ends.
func (s *socket) read() {
	handled := make(chan bool, 1)
	for {
		kind, reader, err := s.conn.Reader(context.Background()) // ended by close, not by a context
		if err != nil {
			return
		}
		buf := s.server.buffers.get()
		_, err = buf.ReadFrom(reader)
		ok := false
		switch {
		case errors.Is(err, websocket.ErrMessageTooBig):
			s.close(websocket.StatusMessageTooBig, "Message too large")
		case err != nil:
		case kind != websocket.MessageText:
			s.close(closeBadRequest, "Only text messages are accepted")
		default:
			// Elsewhere, since a stack that has grown stays large, and this one lives as long as the socket.
			s.goroutines.Go(func() { handled <- s.receive(buf.Bytes()) })
			ok = <-handled
		}
		s.server.buffers.put(buf)
		if !ok {
			return
		}
	}
}

// maxWrite is how many bytes of small frames are written at once. One that is larger goes alone, and is not copied.
const maxWrite = 16 << 10

// write sends what is in the outbox, until it is empty.
func (s *socket) write() {
	out := s.server.buffers.get()
	defer s.server.buffers.put(out)
	for frame := s.outbox.take(noLimit); frame != nil; frame = s.outbox.take(noLimit) {
		out.Reset()
		size := frame.Len()
		writeHead(out, frame.Bytes())
		var err error
		if size > maxWrite {
			err = s.flush(out.Bytes(), frame.Bytes())
			s.server.buffers.put(frame)
		} else {
			out.Write(frame.Bytes())
			s.server.buffers.put(frame)
			for frame = s.outbox.take(maxWrite - out.Len()); frame != nil; frame = s.outbox.take(maxWrite - out.Len()) {
				size += frame.Len()
				writeHead(out, frame.Bytes())
				out.Write(frame.Bytes())
				s.server.buffers.put(frame)
			}
			err = s.flush(out.Bytes())
		}
		s.outbox.sent(size)
		if err != nil {
			s.abandon()
			return
		}
	}
}

// maxPiece is how many bytes must leave within the write timeout: a large message may take longer, if it goes on.
const maxPiece = 64 << 10

// flush writes at once, so that nothing of the library's comes between. tick watches the time.
func (s *socket) flush(data ...[]byte) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if s.closed.Load() != 0 {
		return net.ErrClosed
	}
	defer s.writing.Store(0)
	s.answering.Store(s.server.deps.Clock.Now().UnixNano())
	for _, part := range data {
		for piece := range slices.Chunk(part, maxPiece) {
			s.writing.Store(s.server.deps.Clock.Now().UnixNano())
			if _, err := s.raw.Write(piece); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeHead appends what comes before a text message by RFC 6455: it is one frame, which servers don't mask.
func writeHead(out *bytes.Buffer, text []byte) {
	const finalText, size16, size64 = 0x81, 126, 127
	head := append(make([]byte, 0, 10), finalText)
	switch n := len(text); {
	case n < size16:
		head = append(head, byte(n))
	case n <= math.MaxUint16:
		head = binary.BigEndian.AppendUint16(append(head, size16), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, size64), uint64(n))
	}
	out.Write(head)
}

// send queues a frame for the writer.
func (s *socket) send(frame *bytes.Buffer, wanted func() bool) bool {
	if s.outbox.put(frame, wanted) {
		return true
	}
	s.server.buffers.put(frame)
	return false
}

func (s *socket) sendText(text string) {
	frame := s.server.buffers.get()
	frame.WriteString(text)
	s.send(frame, nil)
}

// offerText is sendText for those who must not wait. A full outbox drops the text: the write timeout is near then.
func (s *socket) offerText(text string) {
	frame := s.server.buffers.get()
	frame.WriteString(text)
	if !s.outbox.offer(frame) {
		s.server.buffers.put(frame)
	}
}

// close ends the socket with a code. The first one counts. It doesn't wait.
func (s *socket) close(code websocket.StatusCode, reason string) {
	s.closeOnce.Do(func() {
		s.closed.Store(int32(code)) //nolint:gosec // G115: close codes have four digits
		s.end()
		s.goroutines.Go(func() {
			// The library waits longer, and without end for a peer that stops in the middle of a message.
			cut := time.AfterFunc(s.server.cfg.Sockets.CloseTimeout, s.abort)
			defer cut.Stop()
			s.flushing.Lock() // nothing may follow a close frame
			defer s.flushing.Unlock()
			_ = s.conn.Close(code, reason) // the peer may be gone already
			s.abort()
		})
	})
}

// abandon ends a socket whose connection is broken or was closed by the peer.
func (s *socket) abandon() {
	s.closeOnce.Do(func() {
		s.closed.Store(int32(websocket.StatusAbnormalClosure))
		s.end()
		s.abort()
		_ = s.conn.CloseNow() // frees what the library holds
	})
}

func (s *socket) end() {
	s.cancel()
	s.outbox.close()
}

// abort cuts the connection.
func (s *socket) abort() { _ = s.raw.Close() }

// restart implements connection.
func (s *socket) restart() { s.close(closeRestart, "The server is restarting") }

// caller implements connection.
func (s *socket) caller() (ctx context.Context, token, transport string) {
	return auth.WithRequest(s.ctx, s.info), s.token, s.transport
}

// tick implements connection.
func (s *socket) tick(now time.Time) (recheck bool) {
	limits := s.server.cfg.Sockets
	if began := s.writing.Load(); began != 0 && (now.Sub(time.Unix(0, began)) >= limits.WriteTimeout ||
		now.Sub(time.Unix(0, s.answering.Load())) >= s.server.cfg.AnswerTimeout) {
		s.abort() // it stopped reading; a close frame would not get through either
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed.Load() != 0:
		return false
	case s.principal == nil:
		if now.Sub(s.opened) >= limits.InitTimeout {
			s.close(closeTimeout, "Connection initialisation timeout")
		}
		return false
	case hasEnded(s.principal, now):
		s.close(closeForbidden, "Token expired")
		return false
	case s.awaitingPong && now.Sub(s.pingedAt) >= limits.PongWithin:
		s.close(closeTimeout, "No pong")
		return false
	}
	if !s.awaitingPong && now.Sub(s.pingedAt) >= limits.PingEvery {
		s.pingedAt, s.awaitingPong = now, true
		s.offerText(`{"type":"ping"}`)
	}
	if now.Sub(s.checkedAt) >= limits.RecheckEvery {
		s.checkedAt = now
		return true
	}
	return false
}
