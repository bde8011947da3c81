package main

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// link is a way from a node to a server that can be cut: nothing passes while it is cut, and nobody is told, as with a cable that is
// pulled out.
type link struct {
	addr string

	listener net.Listener
	target   string

	mu    sync.Mutex
	open  map[net.Conn]net.Conn
	whole chan struct{} // closed while the link is whole
}

// newLink listens on a free loopback port and passes connections on to target, host:port.
func newLink(ctx context.Context, target string) (*link, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("make a link to %s: %w", target, err)
	}
	l := &link{addr: listener.Addr().String(), listener: listener, target: target, open: map[net.Conn]net.Conn{}, whole: make(chan struct{})}
	close(l.whole)
	go l.accept()
	return l, nil
}

// cut stops everything that is on the way, in both directions.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = make(chan struct{})
}

// mend lets traffic pass again. With reset the connections that were open are broken instead, as they are when the network had
// forgotten them.
func (l *link) mend(reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reset {
		for a, b := range l.open {
			_, _ = a.Close(), b.Close()
		}
		clear(l.open)
	}
	close(l.whole)
}

// close ends the link and its connections.
func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for a, b := range l.open {
		_, _ = a.Close(), b.Close()
	}
	select {
	case <-l.whole:
	default:
		close(l.whole)
	}
}

func (l *link) wait() {
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	<-whole
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.connect(client)
	}
}

func (l *link) connect(client net.Conn) {
	l.wait()
	server, err := net.Dial("tcp", l.target) //nolint:noctx // close ends it
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.open[client] = server
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.pass(server, client) })
	both.Go(func() { l.pass(client, server) })
	both.Wait()
	l.mu.Lock()
	delete(l.open, client)
	l.mu.Unlock()
}

// pass copies until either side ends, and ends both.
func (l *link) pass(to, from net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		l.wait()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
}
