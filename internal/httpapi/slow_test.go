package httpapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
)

// stalledBytes is what one stalled connection may hold of the server's memory.
const stalledBytes = 256 << 10

// liveBytes returns what the process holds once the garbage is gone.
func liveBytes() int64 {
	for range 4 { // each time stacks get smaller
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// askForStream subscribes to all events of a session, by an event stream.
func (d *delivery) askForStream(conn net.Conn, session models.SessionID) {
	body := `{"query":` + quote(fmt.Sprintf(`subscription{sessionEvents(sessionId:%q,after:0){kind sequence data}}`, session)) + `}`
	_, _ = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: ostler.test\r\nAuthorization: Bearer good\r\nAccept: text/event-stream\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// TestReadersThatStopReading has a hundred of them beside one that reads. The publisher waits for nobody, what a stalled
// connection holds is bounded, and it is cut off.
func TestReadersThatStopReading(t *testing.T) {
	const readers, published = 100, 1000
	title := strings.Repeat("x", 2000)
	for _, c := range []struct {
		name string
		// stall opens a subscription of the session and never reads it.
		stall func(d *delivery, session models.SessionID)
	}{
		{"sockets", func(d *delivery, session models.SessionID) {
			w := d.open()
			_ = w.conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			w.subscribe(1, session)
		}},
		{"event streams", func(d *delivery, session models.SessionID) {
			conn, err := new(net.Dialer).DialContext(d.Context(), "tcp", d.addr)
			if err != nil {
				d.Fatal(err)
			}
			d.Cleanup(func() { _ = conn.Close() })
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			d.askForStream(conn, session)
			if _, err := io.ReadFull(conn, make([]byte, 15)); err != nil { // the status line: it is subscribed
				d.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			times := clock.NewManual(start)
			d := newDelivery(t, func(cfg *Config, deps *Dependencies) {
				deps.Clock, cfg.Sockets.SweepEvery = times, -1
				cfg.Sockets.WriteTimeout = time.Hour // by the clock of the test; what writes to an event stream looks at the machine's
			})
			session := models.NewID[models.SessionEntity]()
			reader := d.open()
			reader.subscribe(1, session)
			for range readers {
				c.stall(d, session)
			}
			before := liveBytes()
			for n := range int64(published) {
				d.publish(session, n+1, title)
				if got := string(reader.receive()); !strings.Contains(got, fmt.Sprintf(`"sequence":%d,`, n+1)) {
					t.Fatalf("the reader got %.200s, want event %d", got, n+1)
				}
			}
			if held := (liveBytes() - before) / readers; held > stalledBytes {
				t.Errorf("a stalled connection holds %d bytes, want at most %d", held, stalledBytes)
			}
			if open := len(d.server.open.all()); open != readers+1 {
				t.Fatalf("%d connections are open, want all", open)
			}
			if c.name == "sockets" {
				times.Advance(time.Hour)
				for len(d.server.open.all()) > 1 {
					d.server.open.sweep(times.Now())
					runtime.Gosched()
				}
				return
			}
			// Nothing but the write timeout ends a write, except for the end of the server.
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := d.server.Stop(ctx); err == nil {
				t.Error("the server stopped without cutting the stalled connections off")
			}
		})
	}
}
