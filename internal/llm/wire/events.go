package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxEvent bounds one event of a stream, in bytes. It leaves room for a whole answer that comes at once.
const MaxEvent = 16 << 20

// Event is one server-sent event.
type Event struct {
	// Name is empty where the server gives none.
	Name string
	// Data is valid until the next event is read.
	Data []byte
}

// Events reads server-sent events. It is stricter than browsers are: a line that has no place in a stream is an error, since
// what it stood for would be missing in the answer.
type Events struct {
	r    *bufio.Reader
	data []byte
}

// NewEvents reads events from body. alive is called whenever bytes come, before what they hold is known: comments, pings and
// pieces of long events are signs of life too.
func NewEvents(body io.Reader, alive func()) *Events {
	return &Events{r: bufio.NewReaderSize(&pulse{r: body, alive: alive}, 16<<10)}
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

// Next gives the next event that has data. At the end of the stream the error is io.EOF, and io.ErrUnexpectedEOF when the stream
// ends within an event. What is no event stream gives an *Unreadable.
func (e *Events) Next() (Event, error) {
	name, begun, size := "", false, 0
	e.data = e.data[:0]
	for {
		line, err := e.line(&size)
		switch {
		case len(line) > 0 && line[0] == '{' && !begun:
			return e.bare(line)
		case errors.Is(err, io.EOF) && (begun || len(line) > 0):
			return Event{}, io.ErrUnexpectedEOF
		case err != nil:
			return Event{}, err
		case len(line) == 0 && len(e.data) > 0:
			return Event{Name: name, Data: e.data}, nil
		case len(line) == 0:
			name, begun, size = "", false, 0
			continue
		}
		begun = true
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		case "event":
			name = string(value)
		case "", "id", "retry":
			// A comment, or what only browsers need.
		default:
			return Event{}, Unreadablef("a line of the stream is no server-sent event")
		}
	}
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
	return Event{}, Unreadablef("a line of the stream is no server-sent event")
}

// line reads a line without its end. One that the end of the stream cuts off is given with io.EOF. size counts the bytes of the
// event so far.
func (e *Events) line(size *int) ([]byte, error) {
	var long []byte
	for {
		piece, err := e.r.ReadSlice('\n')
		if *size += len(piece); *size > MaxEvent {
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
		return bytes.TrimSuffix(bytes.TrimSuffix(piece, []byte("\n")), []byte("\r")), err
	}
}
