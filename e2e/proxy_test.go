package e2e

import (
	"io"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// cutter is a TCP proxy whose connections break off, each after as many bytes from the server as its seed says: in the
// middle of a frame, of an event, or of a handshake.
type cutter struct {
	url    string
	target string

	mu sync.Mutex
	// random and left tell after how many bytes a connection is cut, and how often that still happens.
	random *rand.Rand
	left   int
	cuts   int
}

// newCutter proxies to the address of a server; most is how many connections are cut.
func newCutter(t *testing.T, target string, seed uint64, most int) *cutter {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{
		url: "http://" + listener.Addr().String() + "/graphql", target: target,
		random: rand.New(rand.NewPCG(seed, 0)), left: most,
	}
	var running sync.WaitGroup
	open := map[net.Conn]struct{}{}
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			open[conn] = struct{}{}
			c.mu.Unlock()
			running.Go(func() {
				c.carry(conn)
				c.mu.Lock()
				delete(open, conn)
				c.mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		c.mu.Unlock()
		running.Wait()
	})
	return c
}

// life returns how many bytes a new connection may bring, and how it ends; 0 for as many as there are. Most are short, but
// fetch drops what was not read yet when a connection breaks, so some must be long enough for a client that is far behind.
func (c *cutter) life() (size int64, reset bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return 0, false
	}
	return int64(math.Exp2(16 * c.random.Float64())), c.random.IntN(2) == 0
}

func (c *cutter) carry(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		return // it is being started again
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	size, reset := c.life()
	if size == 0 {
		_, _ = io.Copy(conn, server)
		return
	}
	if _, err := io.CopyN(conn, server, size); err != nil {
		return // one of the two ended it before
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left > 0 {
		c.left--
	}
	c.cuts++
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}
