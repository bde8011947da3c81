package main

import (
	"crypto/rand"
	"strconv"
	"sync"
)

type sessionID [16]byte

func newSessionID() sessionID {
	var id sessionID
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// session is the state of a session: what is in the database, but for who listens.
type session struct {
	id    sessionID
	model model

	mu           sync.Mutex
	lastSequence int64
	busy         bool
	readers      []*reader
}

// reader is a client's stream: bytes to be written, and a signal that there are some.
type reader struct {
	mu      sync.Mutex
	pending []byte
	signal  chan struct{}
}

func (r *reader) write(frames []byte) {
	r.mu.Lock()
	r.pending = append(r.pending, frames...)
	r.mu.Unlock()
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// take swaps what is pending against an empty buffer.
func (r *reader) take(empty []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := r.pending
	r.pending = empty[:0]
	return full
}

func (s *session) subscribe() *reader {
	r := &reader{signal: make(chan struct{}, 1)}
	s.mu.Lock()
	s.readers = append(s.readers, r)
	s.mu.Unlock()
	return r
}

func (s *session) unsubscribe(gone *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.readers {
		if r == gone {
			s.readers = append(s.readers[:i], s.readers[i+1:]...)
			return
		}
	}
}

// publish sends durable events to the session's readers, rendered once.
func (s *session) publish(c *commit) {
	var frames []byte
	for i, e := range c.events {
		frames = append(frames, "id: "...)
		frames = strconv.AppendInt(frames, c.after+int64(i)+1, 10)
		frames = append(frames, "\nevent: "...)
		frames = append(frames, e.kind...)
		frames = append(frames, "\ndata: "...)
		frames = append(frames, e.data...)
		frames = append(frames, "\n\n"...)
	}
	s.send(frames)
}

// publishDelta sends a piece of the model's text, which is not kept.
func (s *session) publishDelta(offset int, text string) {
	frame := append([]byte(nil), "event: OUTPUT_DELTA\ndata: {\"offset\":"...)
	frame = strconv.AppendInt(frame, int64(offset), 10)
	frame = append(frame, ",\"delta\":"...)
	frame = strconv.AppendQuoteToASCII(frame, text)
	frame = append(frame, "}\n\n"...)
	s.send(frame)
}

func (s *session) send(frames []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.readers {
		r.write(frames)
	}
}
