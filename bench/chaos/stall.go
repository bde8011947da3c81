package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
)

const (
	// A fat session has a log of some 5 MB: more than the kernel's buffers between server and client hold.
	fatMessages = 24
	fatBytes    = 100 << 10
	// stallFor is how long a reader stays: less than the time after which the server gives it up.
	stallFor = 4 * time.Second
)

// fatten makes a session with long answers.
func (t *trial) fatten(ctx context.Context) (*conversation, error) {
	c, err := t.createSession(ctx, &load{})
	if err != nil {
		return nil, err
	}
	defer c.follower.close()
	script := `{"responses":[{"chunks":[{"text":"` + strings.Repeat("hay and oats ", fatBytes/13) + `"}]}]}`
	for i := range fatMessages {
		m := &message{key: fmt.Sprintf("%s-%d", c.id, i)}
		c.messages = append(c.messages, m)
		if err := t.send(ctx, c, m, script); err != nil {
			return nil, err
		}
		if err := c.follower.waitIdle(ctx, i+1); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// stalled are readers that ask for much and read nothing; when the server gives one up, or might soon, it comes again.
type stalled struct {
	stop chan struct{}
	all  sync.WaitGroup
	// opened counts the sockets, refused those that could not be opened.
	opened, refused atomic.Int64
}

func (t *trial) stall(ctx context.Context, c *conversation, count int) *stalled {
	s := &stalled{stop: make(chan struct{})}
	for i := range count {
		n := t.nodes[i%len(t.nodes)]
		s.all.Go(func() {
			// Not all at once, nor again and again at once.
			select {
			case <-s.stop:
				return
			case <-time.After(stallFor * time.Duration(i) / time.Duration(count)):
			}
			for ctx.Err() == nil {
				socket, err := t.subscribeTo(ctx, n, c)
				if err != nil {
					s.refused.Add(1)
				} else {
					s.opened.Add(1)
				}
				select {
				case <-s.stop:
				case <-time.After(stallFor):
				}
				if socket != nil {
					socket.Close()
				}
				select {
				case <-s.stop:
					return
				default:
				}
			}
		})
	}
	return s
}

func (s *stalled) end() {
	close(s.stop)
	s.all.Wait()
}

func (t *trial) subscribeTo(ctx context.Context, n *node, c *conversation) (*client.Socket, error) {
	api, err := t.people.at(ctx, n, c.org)
	if err != nil {
		return nil, err
	}
	socket, err := client.Dial(ctx, api)
	if err != nil {
		return nil, err
	}
	for i := range t.each {
		// Each from another event on: those who begin at one share what is read for them.
		if err := socket.Subscribe(ctx, strconv.Itoa(i), followed, map[string]any{"id": c.id, "after": i % fatMessages}); err != nil {
			return socket, err
		}
	}
	return socket, nil
}

// heap returns what all nodes hold: the least of some looks, as there is work going on.
func (t *trial) heap(ctx context.Context) (int64, error) {
	sum := int64(0)
	for _, n := range t.nodes {
		least := int64(0)
		for range 5 {
			v, err := n.ask(ctx)
			if err != nil {
				return 0, err
			}
			if least == 0 || v.heap < least {
				least = v.heap
			}
			wait(ctx, 50*time.Millisecond)
		}
		sum += least
	}
	return sum, nil
}
