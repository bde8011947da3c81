// Package pgproxy stands between a program and PostgreSQL and counts round trips: how often the program waited for an
// answer. Statements and commits are PostgreSQL's own to count; round trips are not.
package pgproxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Proxy is a running proxy.
type Proxy struct {
	Addr string

	listener net.Listener
	target   string
	trips    atomic.Int64

	mu          sync.Mutex
	connections []net.Conn
}

// Start listens on a free loopback port and passes connections on to target, host:port. They must not be encrypted.
func Start(ctx context.Context, target string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p := &Proxy{Addr: listener.Addr().String(), listener: listener, target: target}
	go p.accept()
	return p, nil
}

// RoundTrips counts since the start: simple queries, and syncs and flushes, which end what was sent together.
func (p *Proxy) RoundTrips() int64 { return p.trips.Load() }

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.connections {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target) //nolint:noctx // Close ends it
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.connections = append(p.connections, client, server)
		p.mu.Unlock()
		go func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		}()
		go func() {
			_ = p.forward(server, client)
			_ = server.Close()
		}()
	}
}

// forward copies what the client sends as it comes, and counts messages beside.
func (p *Proxy) forward(server io.Writer, client io.Reader) error {
	counter := &counter{trips: &p.trips}
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if n > 0 {
			counter.see(buffer[:n])
			if _, err := server.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// counter follows the frontend's side of the protocol: a startup message without a type, then messages of a type and
// a length.
type counter struct {
	trips   *atomic.Int64
	started bool
	header  []byte
	skip    int // bytes of the present message that are still to come
}

func (c *counter) see(data []byte) {
	const lengthBytes = 4
	for len(data) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(data))
			c.skip -= n
			data = data[n:]
			continue
		}
		c.header = append(c.header, data[0])
		data = data[1:]
		size := lengthBytes
		if c.started {
			size++
		}
		if len(c.header) < size {
			continue
		}
		c.skip = int(binary.BigEndian.Uint32(c.header[size-lengthBytes:])) - lengthBytes
		if c.started {
			switch c.header[0] {
			case 'Q', 'S', 'H': // Query, Sync, Flush
				c.trips.Add(1)
			}
		}
		c.started = true
		c.header = c.header[:0]
	}
}
