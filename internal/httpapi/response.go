package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// maxPooled keeps a rare large answer from holding its memory for ever.
const maxPooled = 64 << 10

// buffers are shared by the transports of a server.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *bytes.Buffer {
	if buf, ok := b.pool.Get().(*bytes.Buffer); ok {
		return buf
	}
	return new(bytes.Buffer)
}

func (b *buffers) put(buf *bytes.Buffer) {
	if buf.Cap() <= maxPooled {
		buf.Reset()
		b.pool.Put(buf)
	}
}

// encodeResponse writes a response around its data, which is JSON already. Without data there is no "data" at all:
// the request failed before anything ran.
func encodeResponse(buf *bytes.Buffer, resp *graphql.Response) {
	encodeAround(buf, resp, func() { buf.Write(resp.Data) })
}

// encodeAround is encodeResponse that leaves the data, where there is any, to its caller.
func encodeAround(buf *bytes.Buffer, resp *graphql.Response, data func()) {
	separator := byte('{')
	member := func(name string) {
		buf.WriteByte(separator)
		buf.WriteString(name)
		separator = ','
	}
	if len(resp.Errors) > 0 {
		member(`"errors":`)
		encodeJSON(buf, resp.Errors)
	}
	if resp.Data != nil {
		member(`"data":`)
		data()
	}
	if len(resp.Extensions) > 0 {
		member(`"extensions":`)
		encodeJSON(buf, resp.Extensions)
	}
	if separator == '{' {
		buf.WriteByte('{')
	}
	buf.WriteByte('}')
}

// encodeJSON writes what is known to be encodable: errors, extensions, ids.
func encodeJSON(buf *bytes.Buffer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte("null")
	}
	buf.Write(b)
}

func (s *Server) writeResponse(w http.ResponseWriter, media string, status int, resp *graphql.Response) {
	buf := s.buffers.get()
	defer s.buffers.put(buf)
	// The data, which may be large, is not copied.
	data := 0
	encodeAround(buf, resp, func() { data = buf.Len() })
	h := w.Header()
	h.Set("Content-Type", media+"; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(buf.Len()+len(resp.Data)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	for _, part := range [][]byte{buf.Bytes()[:data], resp.Data, buf.Bytes()[data:]} {
		if _, err := w.Write(part); err != nil {
			return // the client is gone
		}
	}
}

func (s *Server) writeErrors(w http.ResponseWriter, media string, status int, errs ...*gqlerror.Error) {
	s.writeResponse(w, media, status, &graphql.Response{Errors: errs})
}
