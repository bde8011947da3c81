package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// Floor is the floor program.
type Floor struct {
	URL   string
	Model string // "builtin" or "http"
	HTTP  *http.Client
}

// NewFloor makes a client of the floor.
func NewFloor(url, model string) *Floor {
	return &Floor{URL: url, Model: model, HTTP: apiclient.New(url).HTTP}
}

// Open makes a session per listener, each with a live subscriber.
func (f *Floor) Open(ctx context.Context, listeners []Listener) ([]Session, error) {
	body := fmt.Sprintf(`{"count":%d,"model":%q}`, len(listeners), f.Model)
	res, err := f.do(ctx, http.MethodPost, "/sessions", body)
	if err != nil {
		return nil, err
	}
	var created struct{ IDs []string }
	err = json.NewDecoder(res.Body).Decode(&created)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	sessions := make([]Session, len(listeners))
	for i, id := range created.IDs {
		res, err := f.do(ctx, http.MethodGet, "/sessions/"+id+"/events", "") //nolint:bodyclose // listen closes it
		if err != nil {
			for _, open := range sessions[:i] {
				open.Close()
			}
			return nil, err
		}
		session := &floorSession{floor: f, path: "/sessions/" + id, stream: res.Body}
		go session.listen(listeners[i])
		sessions[i] = session
	}
	return sessions, nil
}

func (f *Floor) do(ctx context.Context, method, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, f.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := f.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	return res, nil
}

type floorSession struct {
	floor  *Floor
	path   string
	stream io.ReadCloser
	closed atomic.Bool
}

// Send implements Session.
func (s *floorSession) Send(ctx context.Context, kind TurnKind) error {
	turn := "tool"
	if kind == TextTurn {
		turn = "text"
	}
	res, err := s.floor.do(ctx, http.MethodPost, s.path+"/messages?turn="+turn, "What time is it?")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return err
}

// Close implements Session.
func (s *floorSession) Close() {
	s.closed.Store(true)
	_ = s.stream.Close()
}

func (s *floorSession) listen(listener Listener) {
	err := s.read(listener)
	if s.closed.Load() {
		err = nil
	}
	listener.Ended(err)
}

func (s *floorSession) read(listener Listener) error {
	const lineBytes = 64 << 10
	lines := bufio.NewReaderSize(s.stream, lineBytes)
	var e Event
	var last int64
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("the stream ended: %w", err)
		}
		line = line[:len(line)-1]
		switch {
		case len(line) == 0:
			e = Event{}
		case bytes.HasPrefix(line, []byte("id: ")):
			if e.Sequence, err = strconv.ParseInt(string(line[len("id: "):]), 10, 64); err != nil {
				return err
			}
			last = e.Sequence
		case bytes.HasPrefix(line, []byte("event: ")):
			e.Kind = intern(line[len("event: "):])
		case bytes.HasPrefix(line, []byte("data: ")):
			if Ephemeral(e.Kind) {
				e.Sequence = last
			}
			e.Data = line[len("data: "):]
			listener.Event(e)
		default:
			return errors.New("a line is no field of an event: " + string(line))
		}
	}
}
