// Fakemodel is a model provider that answers at once: POST /v1/chat/completions streams max_tokens tokens as
// server-sent events, each flushed by itself, as real providers do.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

const (
	chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"token \"}}]}\n\n"
	end   = "data: [DONE]\n\n"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakemodel:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do for the signal handler
	}
	server := &http.Server{Handler: http.HandlerFunc(complete)} //nolint:gosec // only the floor calls it
	go func() { _ = server.Serve(listener) }()
	fmt.Println("ready http://" + listener.Addr().String())
	<-ctx.Done()
	_ = server.Close()
}

func complete(w http.ResponseWriter, r *http.Request) {
	var input struct {
		MaxTokens int `json:"max_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&input); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	flusher, _ := w.(http.Flusher)
	w.Header().Set("Content-Type", "text/event-stream")
	for range input.MaxTokens {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
		flusher.Flush()
	}
	_, _ = io.WriteString(w, end)
}
