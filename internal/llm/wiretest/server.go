// Package wiretest plays a provider's server in tests of drivers: it sends recorded streams event by event, breaks them off where
// it is told to, and keeps what it was asked.
package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
)

// End tells how an answer ends.
type End int

// The ways in which an answer ends.
const (
	// Whole ends the answer as HTTP has it.
	Whole End = iota
	// Broken breaks the connection.
	Broken
	// Stalled sends nothing more and keeps the connection until the client closes it.
	Stalled
	// Absent breaks the connection before an answer begins.
	Absent
)

// Answer is what the server sends for one request.
type Answer struct {
	// Status is 200 when it is 0.
	Status int
	// Header is added; Content-Type is text/event-stream for events and application/json for a body unless it says otherwise.
	Header http.Header
	// Body or Events are sent, the events one by one.
	Body   string
	Events []string
	End    End
}

// Request is what the server was asked.
type Request struct {
	Method string
	// URL is path and query.
	URL    string
	Header http.Header
	Body   []byte
}

// Server plays answers in their order. The last one is repeated.
type Server struct {
	URL string
	// Client reaches the server.
	Client *http.Client
	// Stalled gets a value whenever an answer stalls.
	Stalled chan struct{}

	mu       sync.Mutex
	answers  []Answer
	requests []Request
}

// New starts a server that ends with the test.
func New(t testing.TB, answers ...Answer) *Server {
	t.Helper()
	s := &Server{answers: answers, Stalled: make(chan struct{}, 16)}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	transport := &http.Transport{}
	s.URL, s.Client = server.URL, &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return s
}

// Play replaces the answers.
func (s *Server) Play(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = answers
}

// Requests returns what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Last returns the newest request.
func (s *Server) Last(t testing.TB) Request {
	t.Helper()
	all := s.Requests()
	if len(all) == 0 {
		t.Fatal("no request has come")
	}
	return all[len(all)-1]
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{Method: r.Method, URL: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body})
	a := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	s.mu.Unlock()

	if a.End == Absent {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if a.Body != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	flusher := http.NewResponseController(w)
	// The client may be gone: then there is nobody to tell.
	_, _ = io.WriteString(w, a.Body)
	_ = flusher.Flush()
	for _, e := range a.Events {
		_, _ = io.WriteString(w, e)
		_ = flusher.Flush()
	}
	switch a.End {
	case Whole, Absent:
	case Broken:
		panic(http.ErrAbortHandler)
	case Stalled:
		s.Stalled <- struct{}{}
		<-r.Context().Done()
	}
}

// Events reads a recorded stream and returns its events, each with the blank line that ends it.
func Events(t testing.TB, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file)) //nolint:gosec // The test names its own file.
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for e := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
		out = append(out, e+"\n\n")
	}
	return out
}

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares JSON with a file of testdata. Its objects may order their fields in any way.
func Golden(t testing.TB, file string, got []byte) {
	t.Helper()
	want, _ := golden(t, file, got)
	if !reflect.DeepEqual(value(t, want), value(t, got)) {
		t.Errorf("%s\n got %s\nwant %s", file, got, want)
	}
}

// GoldenText compares JSON with a file of testdata, fields in their order: models heed it.
func GoldenText(t testing.TB, file string, got []byte) {
	t.Helper()
	want, pretty := golden(t, file, got)
	if !bytes.Equal(want, pretty) {
		t.Errorf("%s\n got %s\nwant %s", file, pretty, want)
	}
}

// golden returns what a golden file holds, and what it would hold if it were written anew.
func golden(t testing.TB, file string, got []byte) (want, pretty []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	b.WriteByte('\n')
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // The test names its own file.
	if err != nil {
		t.Fatal(err)
	}
	return want, b.Bytes()
}

// value decodes JSON without changing its numbers.
func value(t testing.TB, doc []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return v
}

// Same checks that two values are the same in all their parts.
func Same(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", what, got, want)
	}
}

// Failure checks that err is an *llm.Error with a code, that it is transient or not, and that it does not show a key.
func Failure(t testing.TB, err error, code llm.Code, transient bool, key string) *llm.Error {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("got %v, want an *llm.Error of code %s", err, code)
	}
	if e.Code != code || e.Transient != transient {
		t.Fatalf("got %v, transient %t; want the code %s, transient %t", e, e.Transient, code, transient)
	}
	if strings.Contains(e.Error(), key) {
		t.Fatalf("the error shows the key: %v", e)
	}
	return e
}
