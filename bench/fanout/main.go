// Fanout is the floor of P4: the least program that sends the same bytes to many WebSockets. Each frame is made once, and a
// goroutine per processor writes it to its share of the sockets, one system call per socket for frames that are due together. It speaks just so much
// of graphql-transport-ws that the load generator's client takes it for a server.
//
//	GET  /graphql  upgrades, answers the first message with connection_ack, and reads whatever comes after it
//	POST /send     takes a JSON list of lists of texts, writes each list to every socket, in order, and then answers
package main

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // the WebSocket handshake is made with it
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

// handshakeGUID is what RFC 6455 appends to the client's key.
const handshakeGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do for the signal handler
	}
}

func run(ctx context.Context, addr string, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	s := &server{open: map[net.Conn]struct{}{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /graphql", s.socket)
	mux.HandleFunc("POST /send", s.send)
	httpServer := &http.Server{Handler: mux} //nolint:gosec // only the load generator calls it
	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(listener) }()
	fmt.Fprintln(out, "ready http://"+listener.Addr().String())
	select {
	case <-ctx.Done():
		err = httpServer.Close()
		s.close()
	case err = <-failed:
	}
	return err
}

// server holds the sockets that frames go to.
type server struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// socket upgrades a connection and reads it until it ends.
func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + handshakeGUID)) //nolint:gosec // see above
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	if err == nil {
		err = s.serve(conn, buffered.Reader)
	}
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		fmt.Fprintln(os.Stderr, "fanout: a socket:", err)
	}
}

func (s *server) serve(conn net.Conn, from *bufio.Reader) error {
	if _, err := from.ReadByte(); err != nil { // the first message has come: it can only be connection_init
		return err
	}
	if _, err := conn.Write(frame(`{"type":"connection_ack"}`)); err != nil {
		return err
	}
	s.mu.Lock()
	s.open[conn] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
	_, err := io.Copy(io.Discard, from)
	return err
}

// send writes texts to all sockets.
func (s *server) send(w http.ResponseWriter, r *http.Request) {
	var groups [][]string
	if err := json.NewDecoder(r.Body).Decode(&groups); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	frames := make([][]byte, len(groups))
	for i, group := range groups {
		for _, text := range group {
			frames[i] = append(frames[i], frame(text)...)
		}
	}
	workers := runtime.GOMAXPROCS(0)
	shares := make([][]net.Conn, workers)
	s.mu.Lock()
	i := 0
	for conn := range s.open {
		shares[i%workers] = append(shares[i%workers], conn)
		i++
	}
	s.mu.Unlock()
	var group sync.WaitGroup
	errs := make([]error, workers)
	for n, share := range shares {
		group.Go(func() { errs[n] = write(share, frames) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func write(conns []net.Conn, frames [][]byte) error {
	for _, f := range frames {
		for _, conn := range conns {
			if _, err := conn.Write(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		_ = conn.Close()
	}
}

// frame makes a text frame as servers send it: whole, and not masked.
func frame(text string) []byte {
	const final, textFrame, short, long = 0x80, 0x1, 126, 127
	b := []byte{final | textFrame}
	switch n := len(text); {
	case n < short:
		b = append(b, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, short), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, long), uint64(n))
	}
	return append(b, text...)
}
