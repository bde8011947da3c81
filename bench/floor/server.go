package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/ostler-dev/ostler/bench/turnshape"
)

type server struct {
	committer *committer
	shapes    turnshape.Shapes
	http      httpModel

	mu       sync.RWMutex
	sessions map[sessionID]*session
}

func newServer(c *committer, shapes turnshape.Shapes, modelURL string) *server {
	return &server{committer: c, shapes: shapes, http: newHTTPModel(modelURL), sessions: map[sessionID]*session{}}
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sessions", s.create)
	mux.HandleFunc("GET /sessions/{id}/events", s.events)
	mux.HandleFunc("POST /sessions/{id}/messages", s.message)
	return mux
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var input struct {
		Count int
		Model string
	}
	if err := json.NewDecoder(r.Body).Decode(&input); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ids := make([]sessionID, input.Count)
	texts := make([]string, input.Count)
	s.mu.Lock()
	for i := range ids {
		ids[i] = newSessionID()
		texts[i] = hex.EncodeToString(ids[i][:])
		created := &session{id: ids[i], model: builtinModel{}}
		if input.Model == "http" {
			created.model = s.http
		}
		s.sessions[ids[i]] = created
	}
	s.mu.Unlock()
	if err := s.committer.log.createSessions(ids); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if err := json.NewEncoder(w).Encode(map[string][]string{"ids": texts}); err != nil {
		return // the caller has gone
	}
}

// find returns the session of the path, or answers 404.
func (s *server) find(w http.ResponseWriter, r *http.Request) *session {
	var id sessionID
	text := r.PathValue("id")
	if len(text) == 2*len(id) {
		if _, err := hex.Decode(id[:], []byte(text)); err == nil {
			s.mu.RLock()
			defer s.mu.RUnlock()
			if found := s.sessions[id]; found != nil {
				return found
			}
		}
	}
	http.NotFound(w, r)
	return nil
}

func (s *server) events(w http.ResponseWriter, r *http.Request) {
	session := s.find(w, r)
	if session == nil {
		return
	}
	reader := session.subscribe()
	defer session.unsubscribe(reader)
	flusher, _ := w.(http.Flusher)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flusher.Flush()
	var frames []byte
	for {
		select {
		case <-reader.signal:
			frames = reader.take(frames)
			if _, err := w.Write(frames); err != nil {
				return
			}
			flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) message(w http.ResponseWriter, r *http.Request) {
	session := s.find(w, r)
	if session == nil {
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	shape := s.shapes.Tool
	if r.URL.Query().Get("turn") == "text" {
		shape = s.shapes.Text
	}
	session.mu.Lock()
	busy := session.busy
	session.busy = true
	session.mu.Unlock()
	if busy {
		http.Error(w, "the session is at work", http.StatusConflict)
		return
	}
	s.commit(session, shape[0])
	go func() {
		if err := s.run(context.Background(), session, shape); err != nil {
			panic(err) // a floor that fails is no floor
		}
	}()
	w.WriteHeader(http.StatusAccepted)
}
