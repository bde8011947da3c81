package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// done is the data that ends a stream of Chat Completions.
const done = "[DONE]"

// maxEventBytes bounds one event. The last event of the Responses API repeats the whole answer, in which every character may be escaped.
const maxEventBytes = 32 << 20

var errEventTooLarge = &unreadableError{errors.New("an event of the stream is too large")}

// event is one event of a stream; without data it is only a sign of life.
type event struct {
	name string
	data []byte
}

// events reads a stream of server-sent events.
type events struct {
	r     *bufio.Reader
	line  []byte
	begun bool
	// What has come of the present event; given tells that it was given out.
	name  string
	data  []byte
	lines int
	given bool
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReaderSize(r, 16<<10)} }

// next gives the next event or comment. The data is valid until the next call. The error is io.EOF when the stream has ended between two
// events, and io.ErrUnexpectedEOF when it did so within one.
func (s *events) next() (event, error) {
	if s.given {
		s.name, s.data, s.lines, s.given = "", s.data[:0], 0, false
	}
	for {
		line, err := s.readLine(maxEventBytes - len(s.data))
		if len(line) == 0 && err != nil {
			return s.end(err)
		}
		if len(line) == 0 {
			if s.lines > 0 {
				return s.give(), nil
			}
			s.name = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "":
			return event{}, nil // a comment
		case "event":
			s.name = string(value)
		case "error":
			// llama.cpp's way to tell an error.
			s.name = "error"
			fallthrough
		case "data":
			if s.lines++; s.lines > 1 {
				s.data = append(s.data, '\n')
			}
			s.data = append(s.data, value...)
		}
		if err != nil {
			return s.end(err)
		}
	}
}

func (s *events) give() event {
	s.given = true
	return event{name: s.name, data: s.data}
}

// end tells how a stream ended. Some servers forget the empty line after their last event.
func (s *events) end(err error) (event, error) {
	switch {
	case !errors.Is(err, io.EOF):
		return event{}, err
	case s.lines == 0:
		return event{}, io.EOF
	case json.Valid(s.data) || string(s.data) == done:
		return s.give(), nil
	}
	return event{}, io.ErrUnexpectedEOF
}

// readLine reads a line without its end. The last line may lack one: then it comes with io.EOF.
func (s *events) readLine(limit int) ([]byte, error) {
	s.line = s.line[:0]
	for {
		piece, err := s.r.ReadSlice('\n')
		if len(s.line)+len(piece) > limit {
			return nil, errEventTooLarge
		}
		s.line = append(s.line, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !s.begun {
			s.begun = true
			s.line = bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf"))
		}
		return bytes.TrimRight(s.line, "\r\n"), err
	}
}
