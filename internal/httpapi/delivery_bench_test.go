package httpapi

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/resolvers"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// delivery is a server with the real resolvers of events, whose sockets are opened without a client library: what is
// measured is the server.
type delivery struct {
	testing.TB
	tape   *tape
	hub    *events.Hub
	server *Server
	addr   string
	dial   func(ctx context.Context) (net.Conn, error)
	org    models.OrgID
	people *people
}

func newDelivery(tb testing.TB, change ...func(*Config, *Dependencies)) *delivery {
	tb.Helper()
	d := startDelivery(tb, nil, change...)
	d.dial = func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", d.addr) }
	return d
}

// startDelivery has the server listen elsewhere than on a port, unless listener is nil.
func startDelivery(tb testing.TB, on net.Listener, change ...func(*Config, *Dependencies)) *delivery {
	tb.Helper()
	bus, log := events.NewLocalBus(), &tape{sessions: map[models.SessionID][]models.Event{}}
	hub := events.NewHub(events.Config{Log: log, Bus: bus})
	principal := owner()
	principal.OrgID, principal.ExpiresAt = models.NewID[models.OrgEntity](), time.Now().Add(time.Hour)
	people := &people{tokens: map[string]*auth.Principal{"good": principal}}
	cfg := Config{PublicURL: "http://ostler.test"}
	deps := Dependencies{
		Logger:        slog.New(slog.DiscardHandler),
		Schema:        generated.NewExecutableSchema(generated.Config{Resolvers: &resolvers.Resolver{Events: hub}}),
		Authenticator: people,
		Dashboard:     fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	}
	for _, f := range change {
		f(&cfg, &deps)
	}
	server, err := New(cfg, deps)
	if err != nil {
		tb.Fatal(err)
	}
	listener := httptest.NewUnstartedServer(server.Handler())
	if on != nil {
		_ = listener.Listener.Close()
		listener.Listener = on
	}
	listener.Config.ConnContext = server.http.ConnContext
	listener.Start()
	tb.Cleanup(func() {
		hub.Stop()
		if err := server.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
		listener.Close()
		_ = bus.Close()
	})
	return &delivery{TB: tb, tape: log, hub: hub, server: server, addr: listener.Listener.Addr().String(), org: principal.OrgID, people: people}
}

// wire is the client's end of a socket.
type wire struct {
	*delivery
	conn net.Conn
	in   *bufio.Reader
}

func (d *delivery) open() *wire {
	d.Helper()
	conn, err := d.dial(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = conn.Close() })
	w := &wire{d, conn, bufio.NewReaderSize(conn, 4096)}
	_, _ = io.WriteString(conn, "GET /graphql HTTP/1.1\r\nHost: ostler.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: "+subprotocol+"\r\n\r\n")
	for line := ""; line != "\r\n"; {
		if line, err = w.in.ReadString('\n'); err != nil {
			d.Fatal(err)
		}
	}
	w.send(init1)
	w.receive()
	return w
}

// send writes a frame, masked with zeros.
func (w *wire) send(text string) {
	w.Helper()
	head := binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(text)))
	if _, err := w.conn.Write(append(append(head, 0, 0, 0, 0), text...)); err != nil {
		w.Fatal(err)
	}
}

// receive reads a frame. Its text is only good until the next call.
func (w *wire) receive() []byte {
	w.Helper()
	head, err := w.in.Peek(4)
	if err != nil {
		w.Fatal(err)
	}
	skip, size := 2, int(head[1])
	if size == 126 {
		skip, size = 4, int(binary.BigEndian.Uint16(head[2:]))
	}
	_, _ = w.in.Discard(skip)
	text, err := w.in.Peek(size)
	if err != nil {
		w.Fatal(err)
	}
	_, _ = w.in.Discard(size)
	return text
}

// subscribe returns when the stream is live. The session has no events yet.
func (w *wire) subscribe(id int, session models.SessionID) {
	w.Helper()
	w.ask(id, session)
	if got := string(w.receive()); !strings.Contains(got, "CAUGHT_UP") {
		w.Fatalf("got %s", got)
	}
}

// ask subscribes to all events of a session.
func (w *wire) ask(id int, session models.SessionID) {
	w.Helper()
	w.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"subscription($id: ID!, $after: Int) { sessionEvents(sessionId: $id, after: $after) { kind sequence data } }","variables":{"id":%q,"after":0}}}`, id, session))
}

const eventData = `{"toolCallId":"call_0123456789","toolName":"get_time","success":true,"result":{"time":"2026-11-20T12:00:00Z","zone":"UTC"},"durationMs":3}`

// cpuTime is what the process has used: on a busy machine it says more than the time that passed.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkDelivery measures events from the commit to the subscriber's end of the connection; ns/event and allocs are
// per delivered event.
func BenchmarkDelivery(b *testing.B) {
	const batch = 4
	for _, shape := range []struct{ sessions, subscribers int }{{1, 1}, {32, 1}, {1, 1000}} {
		b.Run(fmt.Sprintf("%d sessions with %d subscribers", shape.sessions, shape.subscribers), func(b *testing.B) {
			d := newDelivery(b)
			sessions := make([]models.SessionID, shape.sessions)
			rounds := make([]chan struct{}, 0, shape.sessions*shape.subscribers)
			done := make(chan struct{}, cap(rounds))
			for i := range sessions {
				sessions[i] = models.NewID[models.SessionEntity]()
				for range shape.subscribers {
					w := d.open()
					w.subscribe(1, sessions[i])
					round := make(chan struct{})
					rounds = append(rounds, round)
					go func() {
						for range round {
							for range batch {
								w.receive()
							}
							done <- struct{}{}
						}
					}()
				}
			}
			sequence := int64(0)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			cpu := cpuTime(b)
			for b.Loop() {
				for _, round := range rounds {
					round <- struct{}{}
				}
				for _, session := range sessions {
					list := make([]models.Event, batch)
					for i := range list {
						list[i] = models.Event{OrgID: d.org, SessionID: session, Sequence: sequence + int64(i) + 1, ID: models.NewID[models.EventEntity](),
							Kind: models.EventToolCompleted, Data: models.JSON(eventData), OccurredAt: 1}
					}
					d.hub.Publish(d.org, session, list)
				}
				sequence += batch
				for range rounds {
					<-done
				}
			}
			runtime.ReadMemStats(&after)
			delivered := float64(b.N * batch * len(rounds))
			b.ReportMetric(float64(cpuTime(b)-cpu)/delivered, "cpu-ns/event")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/delivered, "ns/event")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/delivered, "allocs/event")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/delivered, "B/event")
			for _, round := range rounds {
				close(round)
			}
		})
	}
}

// BenchmarkIdleStreams measures what sockets and subscriptions at rest hold, each subscription of another session.
func BenchmarkIdleStreams(b *testing.B) {
	const sockets, further = 500, 8
	live := func() float64 {
		for range 8 { // each time stacks get smaller
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc + m.StackInuse)
	}
	for b.Loop() {
		d := newDelivery(b)
		before := live()
		open := make([]*wire, sockets)
		for i := range open {
			open[i] = d.open()
		}
		connected := live()
		for _, w := range open {
			w.subscribe(0, models.NewID[models.SessionEntity]())
		}
		first := live()
		for _, w := range open {
			for n := range further {
				w.subscribe(1+n, models.NewID[models.SessionEntity]())
			}
		}
		all := live()
		const client = 4096 // its buffer
		b.ReportMetric((connected-before)/sockets-client, "B/socket")
		b.ReportMetric((first-connected)/sockets, "B/first")
		b.ReportMetric((all-first)/(sockets*further), "B/further")
		runtime.KeepAlive(open)
	}
}
