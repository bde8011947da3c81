package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/shares"
)

const (
	// bodyPlace is how many bytes of a body that is being read one place of Server.bodies stands for.
	bodyPlace = 64 << 10
	// wholeImages is how many of the largest images may be held in memory at once, on this node.
	wholeImages = 8
	// strangerBodies is how many bodies are read at once from callers without a credential, and networkBodies from one network. Each
	// has bodyPlace bytes at most.
	strangerBodies = 256
	networkBodies  = 32
	// leastRate is how many bytes per second a client sends or reads at least. One that is slower is cut off as soon as it has used
	// up Config.StallTimeout.
	leastRate = 16 << 10
)

// errBodiesFull refuses a body because there is no memory for it, or because its sender holds too much.
var errBodiesFull = errors.New("too many request bodies are arriving at once")

// newBodies bounds the memory of bodies that arrive. An organization can always send one image of the largest size.
func newBodies(imageBytes int64) *shares.Shares[models.OrgID] {
	image := bodyPlaces(imageBytes + 1)
	return &shares.Shares[models.OrgID]{Places: wholeImages * image, Least: image}
}

func bodyPlaces(bytes int64) int { return int((bytes + bodyPlace - 1) / bodyPlace) }

// holdBody takes memory for a body of a request at /graphql before it is read; release must be called when the body is not needed any
// more. Small bodies of callers with a credential cost nothing. most is how many bytes the body may have.
func (s *Server) holdBody(ctx context.Context, length int64) (most int64, release func(), err error) {
	p := auth.FromContext(ctx)
	most = s.cfg.Limits.BodyBytes
	if p == nil {
		network := auth.Network(auth.RequestFrom(ctx).Address)
		if !s.strangerBodies.Try(network, 1) {
			return 0, nil, errBodiesFull
		}
		return min(most, bodyPlace), func() { s.strangerBodies.Leave(network, 1) }, nil
	}
	if length >= 0 && length <= bodyPlace || length > most {
		return most, func() {}, nil
	}
	if length < 0 {
		length = most
	}
	org, n := p.OrgID, bodyPlaces(length)
	if !s.bodies.Try(org, n) {
		return 0, nil, errBodiesFull
	}
	return most, func() { s.bodies.Leave(org, n) }, nil
}

// readWhole reads a body of an organization of at most so many bytes. It holds memory only for what has arrived, so that a body that
// drips keeps nobody out; release must be called when the body is not needed any more, unless there is an error.
func (s *Server) readWhole(w http.ResponseWriter, r *http.Request, org models.OrgID, most int64) (body []byte, release func(), err error) {
	if r.ContentLength > most {
		return nil, nil, &http.MaxBytesError{Limit: most}
	}
	held := 0
	leave := func() { s.bodies.Leave(org, held) }
	defer func() {
		if err != nil {
			leave()
		}
	}()
	from := &pacedReader{from: http.MaxBytesReader(w, r.Body, most), control: http.NewResponseController(w), pace: s.newPace()}
	for {
		if len(body) == cap(body) {
			size := min(max(2*int64(cap(body)), bodyPlace), most+1) // one more shows the end
			n := bodyPlaces(size) - held
			if !s.bodies.Try(org, n) {
				return nil, nil, errBodiesFull
			}
			held += n
			body = append(make([]byte, 0, size), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			// Left in place, it would end the request while the body is worked on.
			_ = from.control.SetReadDeadline(time.Time{})
			_ = from.control.SetWriteDeadline(time.Now().Add(s.cfg.AnswerTimeout)) // from now on
			return body, leave, nil
		}
		if err != nil {
			return nil, nil, err //nolint:wrapcheck // the caller tells a body that is too large from one that breaks off
		}
	}
}

// pace bounds how long a client may keep the server waiting: for StallTimeout, and a second more for each leastRate bytes.
type pace struct{ left, most time.Duration }

func (s *Server) newPace() pace { return pace{s.cfg.StallTimeout, s.cfg.StallTimeout} }

// deadline is when the client must have sent or read something.
func (p *pace) deadline() time.Time { return time.Now().Add(p.left) }

// took counts n bytes that have taken a time.
func (p *pace) took(since time.Time, n int) {
	p.left = min(p.most, max(0, p.left-time.Since(since))+time.Duration(n)*time.Second/leastRate)
}

// pacedReader ends a body whose sender is too slow.
type pacedReader struct {
	from    io.Reader
	control *http.ResponseController
	pace    pace
}

// Read implements io.Reader.
func (p *pacedReader) Read(b []byte) (int, error) {
	begun := time.Now()
	_ = p.control.SetReadDeadline(p.pace.deadline()) // a recorder in a test has none
	n, err := p.from.Read(b)
	p.pace.took(begun, n)
	return n, err //nolint:wrapcheck // a reader must give io.EOF as it is
}

// pacedWriter ends an answer whose reader is too slow.
type pacedWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	pace    pace
}

func (s *Server) paced(w http.ResponseWriter) *pacedWriter {
	return &pacedWriter{w, http.NewResponseController(w), s.newPace()}
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	begun := time.Now()
	_ = p.control.SetWriteDeadline(p.pace.deadline()) // a recorder in a test has none
	n, err := p.ResponseWriter.Write(b)
	p.pace.took(begun, n)
	return n, err //nolint:wrapcheck // a writer's own
}
