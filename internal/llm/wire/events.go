package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxEvent bounds one event of a stream, in bytes. The last event of some protocols repeats the whole answer, in which many characters
// may be escaped.
const MaxEvent = 32 << 20

// Event is one server-sent event.
type Event struct {
	// Name is empty where the server gives none.
	Name string
	// Data is valid until the next event is read.
	Data []byte
}

// Events reads server-sent events.
type Events struct {
	r       *bufio.Reader
	lenient bool
	begun   bool
	// What has come of the present event: whether it has a line, its name, its data, and the bytes of all its lines.
	open bool
	name string
	data []byte
	size int
}

// NewEvents reads events from body. alive is called whenever bytes come, before what they hold is known: comments, pings and
// pieces of long events are signs of life too.
func NewEvents(body io.Reader, t Tolerance, alive func()) *Events {
	return &Events{r: bufio.NewReaderSize(&pulse{r: body, alive: alive}, 16<<10), lenient: t == Lenient}
}

// pulse tells when bytes come.
type pulse struct {
	r     io.Reader
	alive func()
}

func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.alive()
	}
	return n, err
}

// Next returns the next event that has data. At the end of the stream the error is io.EOF, and io.ErrUnexpectedEOF when the stream
// ends within an event. For what is no event stream it returns an *Unreadable.
func (e *Events) Next() (Event, error) {
	e.reset()
	for {
		line, err := e.line()
		if len(line) > 0 && line[0] == '{' && !e.open {
			return e.bare(line)
		}
		if errors.Is(err, io.EOF) {
			return e.end(line)
		}
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if len(e.data) > 0 {
				return Event{Name: e.name, Data: e.data}, nil
			}
			e.reset()
			continue
		}
		if err := e.field(line); err != nil {
			return Event{}, err
		}
	}
}

func (e *Events) reset() { e.open, e.name, e.data, e.size = false, "", e.data[:0], 0 }

// field takes a line of an event.
func (e *Events) field(line []byte) error {
	e.open = true
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	name := string(field)
	if name == "error" && e.lenient {
		// llama.cpp's way to tell an error.
		e.name, name = name, "data"
	}
	switch name {
	case "data":
		if len(e.data) > 0 {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	case "event":
		e.name = string(value)
	case "", "id", "retry":
		// A comment, or what only browsers need.
	default:
		if !e.lenient {
			return Unreadablef("a line of the stream is not a server-sent event")
		}
	}
	return nil
}

// end returns how a stream ended whose last line has no end.
func (e *Events) end(line []byte) (Event, error) {
	if len(line) > 0 {
		if !e.lenient {
			return Event{}, io.ErrUnexpectedEOF
		}
		if err := e.field(line); err != nil {
			return Event{}, err
		}
	}
	switch {
	case !e.open:
		return Event{}, io.EOF
	case e.lenient && len(e.data) == 0:
		return Event{}, io.EOF
	case e.lenient && (string(e.data) == Done || json.Valid(e.data)):
		return Event{Name: e.name, Data: e.data}, nil
	}
	return Event{}, io.ErrUnexpectedEOF
}

// bare reads a JSON document that stands in the stream without being an event: some servers report an error so. It is the last
// thing that they send.
func (e *Events) bare(line []byte) (Event, error) {
	doc := bytes.Clone(line)
	rest, err := io.ReadAll(io.LimitReader(e.r, maxRefusal))
	if doc = append(append(doc, '\n'), rest...); json.Valid(doc) {
		return Event{Data: doc}, nil
	}
	if err != nil {
		return Event{}, fmt.Errorf("read the stream: %w", err)
	}
	return Event{}, Unreadablef("a line of the stream is not a server-sent event")
}

// line reads a line without its end. One that the end of the stream cuts off is given with io.EOF.
func (e *Events) line() ([]byte, error) {
	var long []byte
	for {
		piece, err := e.r.ReadSlice('\n')
		if e.size += len(piece); e.size > MaxEvent {
			return nil, Unreadablef("an event of the stream is longer than %d bytes", MaxEvent)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, piece...)
			continue
		}
		if long != nil {
			piece = append(long, piece...)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the stream: %w", err)
		}
		if !e.begun {
			e.begun = true
			piece = bytes.TrimPrefix(piece, []byte("\ufeff"))
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(piece, []byte("\n")), []byte("\r")), err
	}
}
