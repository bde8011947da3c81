package events_test

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ostler-dev/ostler/internal/events"
)

// startNATS starts a server in this process, on a port of its own choice unless one is given.
func startNATS(t *testing.T, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server doesn't start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func connect(t *testing.T, url string, options ...nats.Option) *events.NATSBus {
	t.Helper()
	connected := make(chan struct{}, 1)
	b, err := events.ConnectNATS(events.NATSConfig{URL: url, Name: t.Name(), Options: options})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	defer b.OnReconnect(func() { connected <- struct{}{} })()
	if !b.Connected() {
		<-connected
	}
	return b
}

// TestBuses holds every bus to the same contract. pair gives the bus of one process and that of another; they are the
// same where there is only one.
func TestBuses(t *testing.T) {
	buses := map[string]func(t *testing.T) (events.Bus, events.Bus){
		"local": func(t *testing.T) (events.Bus, events.Bus) {
			b := events.NewLocalBus()
			t.Cleanup(func() { _ = b.Close() })
			return b, b
		},
		"nats": func(t *testing.T) (events.Bus, events.Bus) {
			s := startNATS(t, server.RANDOM_PORT)
			return connect(t, s.ClientURL()), connect(t, s.ClientURL())
		},
	}
	for name, pair := range buses {
		t.Run(name, func(t *testing.T) {
			for _, c := range busContract() {
				t.Run(c.name, func(t *testing.T) {
					a, b := pair(t)
					c.test(t, a, b)
				})
			}
		})
	}
}

type busCase struct {
	name string
	test func(t *testing.T, a, b events.Bus)
}

// listener notes what it hears.
type listener struct {
	mu    sync.Mutex
	heard []string
	news  chan struct{}
}

func listen() *listener { return &listener{news: make(chan struct{}, 1)} }

func (l *listener) hear(data []byte) {
	l.mu.Lock()
	l.heard = append(l.heard, string(data))
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// wait returns what was heard, once that is n messages.
func (l *listener) wait(n int) []string {
	for {
		l.mu.Lock()
		heard := slices.Clone(l.heard)
		l.mu.Unlock()
		if len(heard) >= n {
			return heard
		}
		<-l.news
	}
}

func subscribe(t *testing.T, b events.Bus, subject, queue string, l *listener) func() {
	t.Helper()
	var cancel func()
	var err error
	if queue == "" {
		cancel, err = b.Subscribe(subject, l.hear)
	} else {
		cancel, err = b.QueueSubscribe(subject, queue, l.hear)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cancel
}

func publish(t *testing.T, b events.Bus, subject, text string) {
	t.Helper()
	if err := b.Publish(subject, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func busContract() []busCase {
	return []busCase{
		{"all who listen hear a message, its sender too", func(t *testing.T, a, b events.Bus) {
			one, two, three := listen(), listen(), listen()
			subscribe(t, a, "x", "", one)
			subscribe(t, b, "x", "", two)
			subscribe(t, b, "x", "", three)
			publish(t, a, "x", "hello")
			for _, l := range []*listener{one, two, three} {
				if got := l.wait(1); got[0] != "hello" {
					t.Errorf("heard %q", got)
				}
			}
		}},
		{"one publisher's messages keep their order", func(t *testing.T, a, b events.Bus) {
			l := listen()
			subscribe(t, b, "x", "", l)
			var want []string
			for i := range 1000 {
				want = append(want, fmt.Sprint(i))
				publish(t, a, "x", want[i])
			}
			if got := l.wait(len(want)); !slices.Equal(got, want) {
				t.Errorf("heard %v", got)
			}
		}},
		{"other subjects are not heard", func(t *testing.T, a, b events.Bus) {
			l := listen()
			subscribe(t, b, "x.y", "", l)
			publish(t, a, "x", "no")
			publish(t, a, "x.yy", "no")
			publish(t, a, "x.y", "yes")
			if got := l.wait(1); got[0] != "yes" {
				t.Errorf("heard %q", got)
			}
		}},
		{"one of a queue hears a message", func(t *testing.T, a, b events.Bus) {
			shared, all := listen(), listen()
			subscribe(t, a, "x", "q", shared)
			subscribe(t, b, "x", "q", shared)
			subscribe(t, b, "x", "", all)
			for i := range 100 {
				publish(t, a, "x", fmt.Sprint(i))
			}
			publish(t, a, "x", "last")
			all.wait(101)
			got := shared.wait(101)
			slices.Sort(got)
			if len(slices.Compact(got)) != 101 {
				t.Errorf("heard %d different messages", len(slices.Compact(got)))
			}
		}},
		{"who has left hears nothing", func(t *testing.T, a, b events.Bus) {
			gone, stays := listen(), listen()
			cancel := subscribe(t, b, "x", "", gone)
			subscribe(t, b, "x", "", stays)
			publish(t, a, "x", "1")
			gone.wait(1)
			cancel()
			cancel()
			publish(t, a, "x", "2")
			stays.wait(2)
			if got := gone.wait(0); len(got) != 1 {
				t.Errorf("heard %q", got)
			}
		}},
		{"a member that left a queue gets none of its messages", func(t *testing.T, a, b events.Bus) {
			gone, stays := listen(), listen()
			cancel := subscribe(t, b, "x", "q", gone)
			subscribe(t, b, "x", "q", stays)
			cancel()
			for i := range 20 {
				publish(t, a, "x", fmt.Sprint(i))
			}
			stays.wait(20)
		}},
		{"publishers don't wait for listeners that are stuck", func(t *testing.T, a, b events.Bus) {
			stuck, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			cancel, err := b.Subscribe("x", func([]byte) {
				once.Do(func() { close(stuck) })
				<-release
			})
			if err != nil {
				t.Fatal(err)
			}
			publish(t, a, "x", "1")
			<-stuck
			// More than any queue holds: what doesn't fit is dropped, and that is all.
			for range 50_000 {
				_ = a.Publish("x", []byte("more"))
			}
			cancel()
			close(release)
		}},
		{"a listener may publish, subscribe and leave", func(t *testing.T, a, b events.Bus) {
			l := listen()
			subscribe(t, a, "answer", "", l)
			var cancel func()
			ready := make(chan struct{})
			cancel, err := b.Subscribe("question", func(data []byte) {
				<-ready
				cancel()
				_ = b.Publish("answer", append([]byte("re: "), data...))
			})
			if err != nil {
				t.Fatal(err)
			}
			close(ready)
			publish(t, a, "question", "why")
			if got := l.wait(1); got[0] != "re: why" {
				t.Errorf("heard %q", got)
			}
		}},
		{"a closed bus refuses", func(t *testing.T, a, _ events.Bus) {
			for range 2 {
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if a.Connected() {
				t.Error("it says that it is connected")
			}
			if err := a.Publish("x", nil); err != events.ErrBusClosed { //nolint:errorlint // never wrapped
				t.Errorf("publish: %v", err)
			}
			if _, err := a.Subscribe("x", func([]byte) {}); err != events.ErrBusClosed { //nolint:errorlint // never wrapped
				t.Errorf("subscribe: %v", err)
			}
		}},
	}
}

func TestTheBusComesBackAfterItsServer(t *testing.T) {
	first := startNATS(t, server.RANDOM_PORT)
	port := first.Addr().(*net.TCPAddr).Port
	gone := make(chan struct{})
	left := sync.OnceFunc(func() { close(gone) })
	b := connect(t, first.ClientURL(), nats.DisconnectErrHandler(func(*nats.Conn, error) { left() }))
	l := listen()
	subscribe(t, b, "x", "", l)
	back := make(chan struct{}, 8)

	first.Shutdown()
	first.WaitForShutdown()
	<-gone
	// From here on: a bus tells of its first connection, too, and that late.
	defer b.OnReconnect(func() { back <- struct{}{} })()
	startNATS(t, port)
	<-back
	if !b.Connected() {
		t.Error("it says that it is not connected")
	}
	publish(t, b, "x", "again")
	if got := l.wait(1); got[0] != "again" {
		t.Errorf("heard %q", got)
	}
}

func TestABusWaitsForAServerThatIsNotThereYet(t *testing.T) {
	b, err := events.ConnectNATS(events.NATSConfig{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if b.Connected() {
		t.Fatal("connected to nothing")
	}
	if _, err := b.Subscribe("x", func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish("x", []byte("lost")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestANonsensicalAddressIsRefused(t *testing.T) {
	if _, err := events.ConnectNATS(events.NATSConfig{URL: "nats://[::"}); err == nil {
		t.Fatal("want an error")
	}
}
