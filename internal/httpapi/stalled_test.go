package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// pipes is a network without buffers: what a peer does not read, the server still holds.
type pipes struct {
	made   chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newPipes() *pipes {
	p := &pipes{made: make(chan net.Conn)}
	p.closed, p.close = context.WithCancel(context.Background())
	return p
}

func (p *pipes) dial(context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	p.made <- far
	return near, nil
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.made:
		return conn, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// many is one socket with many subscriptions, each of a session of its own.
type many struct {
	*wire
	t        *testing.T
	sessions []models.SessionID
	// got is the sequence that each has, and caughtUp whether it has all that there was.
	got      []int64
	caughtUp []bool
	size     int
}

const manySubscriptions = 20

// openMany opens the socket, in a bubble of synctest. The sessions have so many events of so many bytes.
func openMany(t *testing.T, size, count int) *many {
	network := newPipes()
	d := startDelivery(t, network, func(cfg *Config, _ *Dependencies) { cfg.Sockets.SweepEvery = -1 })
	d.dial = network.dial
	m := &many{t: t, size: size, got: make([]int64, manySubscriptions), caughtUp: make([]bool, manySubscriptions)}
	for range manySubscriptions {
		session := models.NewID[models.SessionEntity]()
		m.sessions = append(m.sessions, session)
		for n := range int64(count) {
			d.tape.record(titled(d, session, n+1, size))
		}
	}
	m.wire = d.open()
	for i, session := range m.sessions {
		m.ask(i, session)
	}
	return m
}

func titled(d *delivery, session models.SessionID, sequence int64, size int) models.Event {
	return models.Event{
		OrgID: d.org, SessionID: session, Sequence: sequence, ID: models.NewID[models.EventEntity](),
		Kind: models.EventSessionTitleChanged, Data: models.JSON(`{"title":"` + strings.Repeat("x", size) + `"}`),
	}
}

// bearable checks what the socket holds once nothing moves any more: of events, and of what was made of them.
func (m *many) bearable() {
	m.t.Helper()
	synctest.Wait()
	all := m.server.open.all()
	if len(all) != 1 {
		m.t.Fatalf("the server has %d sockets", len(all))
	}
	outbox := all[0].(*socket).outbox
	outbox.mu.Lock()
	waiting := outbox.bytes
	outbox.mu.Unlock()
	held := m.tape.held()
	most := stalledBytes + m.size
	if m.size > 96<<10 {
		most = 3 * m.size // one that waits to be written, one of the log, one that is live, and what is around them
		most += 4 << 10
	}
	if waiting+held > most || waiting == 0 {
		m.t.Fatalf("the socket holds %d bytes of events and %d that wait to be written, want some and at most %d", held, waiting, most)
	}
}

// read reads one frame and returns whose it is. What a subscription gets must be the next of its session.
func (m *many) read() (id int) {
	m.t.Helper()
	var f struct {
		ID      string
		Type    string
		Payload struct {
			Data struct {
				SessionEvents struct {
					Kind     string
					Sequence int64
				}
			}
		}
	}
	text := m.readFrame()
	if err := json.Unmarshal(text, &f); err != nil || f.Type != "next" {
		m.t.Fatalf("got %.200s, %v", text, err)
	}
	id, _ = strconv.Atoi(f.ID)
	switch e := f.Payload.Data.SessionEvents; {
	case e.Kind == "CAUGHT_UP" && !m.caughtUp[id]:
		m.caughtUp[id] = true
	case e.Sequence == m.got[id]+1:
		m.got[id]++
	default:
		m.t.Fatalf("subscription %d got %.200s after %d", id, text, m.got[id])
	}
	return id
}

func (m *many) readFrame() []byte {
	m.t.Helper()
	read := func(n uint64) []byte {
		part := make([]byte, n)
		if _, err := io.ReadFull(m.in, part); err != nil {
			m.t.Fatal(err)
		}
		return part
	}
	size := uint64(read(2)[1])
	switch size {
	case 126:
		size = uint64(binary.BigEndian.Uint16(read(2)))
	case 127:
		size = binary.BigEndian.Uint64(read(8))
	}
	return read(size)
}

// TestWhatASocketHoldsThatIsNotRead has one with many subscriptions stall as it replays, and as it follows what is live. Once it is
// read, all get everything, and in a replay none gets ahead of others by more than two pages.
func TestWhatASocketHoldsThatIsNotRead(t *testing.T) {
	for _, size := range []int{1 << 10, 20 << 10, 64 << 10, 300 << 10} {
		const page = 96 << 10
		count := int64(4*page/size + 4)
		t.Run(fmt.Sprintf("replay of events of %d KiB", size>>10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := openMany(t, size, int(count))
				m.bearable()
				for n := 0; slices.Contains(m.caughtUp, false); n++ {
					m.read()
					if n < 2*manySubscriptions {
						m.bearable() // it may stall anywhere
					}
					synctest.Wait()
					// Who was first may have had a page, and another, before there was a line.
					least, most := slices.Min(m.got), slices.Max(m.got)
					if ahead := 2 * int64(max(1, page/size)); most-least > ahead {
						t.Fatalf("one subscription has %d events when another has %d: more than two pages, %d", most, least, ahead)
					}
				}
				if slices.Min(m.got) != count {
					t.Fatalf("the subscriptions got %v of %d", m.got, count)
				}
			})
		})
		t.Run(fmt.Sprintf("live events of %d KiB", size>>10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := openMany(t, size, 0)
				for range m.sessions {
					m.read()
				}
				for n := range count {
					for _, session := range m.sessions {
						m.hub.Publish(m.org, session, []models.Event{m.tape.record(titled(m.delivery, session, n+1, size))})
					}
					if n == 0 || n == count/2 {
						m.bearable()
					}
				}
				m.bearable()
				for slices.Min(m.got) < count {
					m.read()
				}
			})
		})
	}
}

// TestALiveSubscriptionDoesNotWaitForReplays has one on a socket whose others replay.
func TestALiveSubscriptionDoesNotWaitForReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, count = 20 << 10, 30
		m := openMany(t, size, 0)
		for range m.sessions {
			m.read()
		}
		live := m.sessions[0]
		for i, session := range m.sessions[1:] {
			m.send(fmt.Sprintf(`{"id":"%d","type":"complete"}`, i+1))
			synctest.Wait()
			for n := range int64(count) {
				m.tape.record(titled(m.delivery, session, n+1, size))
			}
			m.caughtUp[i+1] = false
			m.ask(i+1, session)
		}
		synctest.Wait()
		m.hub.Publish(m.org, live, []models.Event{m.tape.record(titled(m.delivery, live, 1, size))})
		synctest.Wait() // else it is up to the scheduler who is first
		before := 0
		for m.read() != 0 {
			before++
			synctest.Wait()
		}
		if most := 2*m.server.cfg.Sockets.QueueBytes/size + 1; before > most {
			t.Errorf("%d events of replays came before one that is live, want at most %d", before, most)
		}
		if !slices.Contains(m.caughtUp, false) {
			t.Error("no replay was left to wait for")
		}
		for slices.Contains(m.caughtUp, false) {
			m.read()
		}
	})
}

// TestReplaysGoOnWithoutTheOneThatLeaves completes the subscription that holds a page while the socket stalls, and one that waits.
func TestReplaysGoOnWithoutTheOneThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, count = 20 << 10, 30
		m := openMany(t, size, count)
		synctest.Wait()
		m.send(`{"id":"7","type":"complete"}`) // it waits
		first := m.read()
		m.send(fmt.Sprintf(`{"id":"%d","type":"complete"}`, first))
		m.bearable()
		m.caughtUp[first], m.caughtUp[7] = true, true
		for slices.Contains(m.caughtUp, false) {
			m.read()
		}
		for i, n := range m.got {
			if (n == count) != (i != first && i != 7) {
				t.Errorf("subscription %d got %d of %d", i, n, count)
			}
		}
	})
}

// TestALargeMessageMayTakeItsTime has readers of one who are slow, as a telephone far out is. Who reads 64 KiB within the write timeout is
// waited for, however long the whole takes; who reads less is cut off.
func TestALargeMessageMayTakeItsTime(t *testing.T) {
	const size = 512 << 10
	for name, request := range map[string]func(d *delivery, session models.SessionID) net.Conn{
		"socket": func(d *delivery, session models.SessionID) net.Conn {
			w := d.open()
			w.ask(1, session)
			return w.conn
		},
		"event stream": func(d *delivery, session models.SessionID) net.Conn {
			conn, err := d.dial(d.Context())
			if err != nil {
				d.Fatal(err)
			}
			d.askForStream(conn, session)
			return conn
		},
	} {
		for pace, whole := range map[int]bool{16 << 10: true, 8 << 10: false} { // bytes per second
			t.Run(fmt.Sprintf("%s, %d bytes per second", name, pace), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					network := newPipes()
					d := startDelivery(t, network)
					d.dial = network.dial
					session := models.NewID[models.SessionEntity]()
					d.tape.record(titled(d, session, 1, size))
					conn := request(d, session)
					defer conn.Close()
					got := 0
					for piece := make([]byte, pace); got < size; <-time.After(time.Second) {
						n, err := io.ReadFull(conn, piece)
						if got += n; err != nil {
							break
						}
					}
					if (got >= size) != whole {
						t.Errorf("the reader got %d bytes of %d", got, size)
					}
				})
			})
		}
	}
}
