package httpapi

import (
	"bytes"
	"math"
	"sync"
)

// outbox is what waits to be written to one socket. Who puts waits while it is full; that ends when the socket does,
// at the latest after the write timeout.
type outbox struct {
	capacity int
	// start is called when there is something to write and nobody writes. It must not wait.
	start func()

	mu     sync.Mutex
	frames []*bytes.Buffer
	bytes  int
	// added and written are how many bytes ever were.
	added, written int64
	closed         bool
	// writing is set from a call of start until take finds nothing.
	writing bool
	space   sync.Cond // there is room
	// drained counts how often await could have returned.
	drained int
}

const noLimit = math.MaxInt

func newOutbox(capacity int, start func()) *outbox {
	o := &outbox{capacity: capacity, start: start}
	o.space.L = &o.mu
	return o
}

// put adds a frame. One frame is always let in, however large. It reports false when the frame is not sent any more:
// the socket is closed, or wanted says no. wanted is asked once there is room.
func (o *outbox) put(frame *bytes.Buffer, wanted func() bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waitFor(frame.Len())
	if o.closed || wanted != nil && !wanted() {
		return false
	}
	o.add(frame)
	return true
}

// reserve waits for room for a frame of about that size that is yet to be made, and counts it as waiting until done or putReserved is
// called: no more are made at once than may wait.
func (o *outbox) reserve(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waitFor(size)
	o.bytes += size
}

// putReserved is put for a frame for which so many bytes are reserved: it doesn't wait.
func (o *outbox) putReserved(frame *bytes.Buffer, size int, wanted func() bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || !wanted() {
		o.free(size)
		return false
	}
	o.bytes -= size
	o.add(frame)
	o.space.Broadcast() // it may be smaller than that
	return true
}

func (o *outbox) waitFor(size int) {
	for !o.closed && o.bytes > 0 && o.bytes+size > o.capacity {
		o.space.Wait()
	}
}

// await waits until there is room for more than is waiting, so that nobody asks for an event whose answer can't be sent yet, and keeps
// it. It returns at once when the socket is closed. All who wait go on together: those who then share a log get in line for it, and none of
// them is left behind by one who is quicker.
func (o *outbox) await() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for had := o.drained; !o.closed && o.bytes > o.capacity/2 && o.drained == had; {
		o.space.Wait()
	}
}

// offer is put for those who must not wait: false when there is no room.
func (o *outbox) offer(frame *bytes.Buffer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.bytes > 0 && o.bytes+frame.Len() > o.capacity {
		return false
	}
	o.add(frame)
	return true
}

func (o *outbox) add(frame *bytes.Buffer) {
	o.frames = append(o.frames, frame)
	o.bytes += frame.Len()
	o.added += int64(frame.Len())
	if !o.writing {
		o.writing = true
		o.start()
	}
}

// take returns the next frame, if it has at most limit bytes; nil when there is none, or the outbox is closed. Without a
// limit, nil means that the writer is to end: another one is started when there is more. The frame counts as waiting
// until done is called.
func (o *outbox) take(limit int) *bytes.Buffer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.frames) == 0 {
		o.writing = limit != noLimit
		return nil
	}
	frame := o.frames[0]
	if frame.Len() > limit {
		return nil
	}
	o.frames[0] = nil
	if o.frames = o.frames[1:]; len(o.frames) == 0 {
		o.frames = nil // a socket at rest holds no memory for its queue
	}
	return frame
}

// flushed waits until all that was put has been written, or the outbox is closed.
func (o *outbox) flushed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for added := o.added; !o.closed && o.written < added; {
		o.space.Wait()
	}
}

// sent is done for frames that were written.
func (o *outbox) sent(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written += int64(size)
	o.free(size)
}

// done makes room that was taken or reserved free.
func (o *outbox) done(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free(size)
}

func (o *outbox) free(size int) {
	if o.bytes -= size; o.bytes <= o.capacity/2 {
		o.drained++
	}
	o.space.Broadcast()
}

// close drops what waits and wakes everybody.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.frames = nil
	o.space.Broadcast()
}
