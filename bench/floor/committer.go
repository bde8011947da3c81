package main

import (
	"fmt"
	"sync"
)

// event is a row of the log.
type event struct {
	kind string
	data string
}

// commit is what must become durable together: events of one session that follow its sequence after.
type commit struct {
	session *session
	after   int64
	events  []event
	done    chan struct{} // gets a value when the events are durable and published
}

// eventLog makes batches of commits durable, each batch in one transaction.
type eventLog interface {
	// writers returns one function per connection that may write at the same time.
	writers() []func(batch []*commit) error
	createSessions(ids []sessionID) error
	close() error
}

// maxBatch bounds how many commits share a transaction.
const maxBatch = 500

// committer gathers whatever waits into one transaction per writer; it never waits for more.
type committer struct {
	log     eventLog
	waiting chan *commit
	ended   sync.WaitGroup
}

// newCommitter starts a flusher per writer. A failed transaction is the end of the run: failed is told.
func newCommitter(log eventLog, failed func(error)) *committer {
	c := &committer{log: log, waiting: make(chan *commit, maxBatch)}
	for _, write := range log.writers() {
		c.ended.Go(func() { c.flush(write, failed) })
	}
	return c
}

func (c *committer) flush(write func([]*commit) error, failed func(error)) {
	batch := make([]*commit, 0, maxBatch)
	for first := range c.waiting {
		batch = append(batch[:0], first)
	gather:
		for len(batch) < maxBatch {
			select {
			case next, open := <-c.waiting:
				if !open {
					break gather
				}
				batch = append(batch, next)
			default:
				break gather
			}
		}
		if err := write(batch); err != nil {
			failed(fmt.Errorf("commit %d appends: %w", len(batch), err))
			return
		}
		for _, done := range batch {
			done.session.publish(done)
			done.done <- struct{}{}
		}
	}
}

func (c *committer) stop() {
	close(c.waiting)
	c.ended.Wait()
}
