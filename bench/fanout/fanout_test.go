package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/internal/apiclient"
)

// seen passes on the events that it gets.
type seen struct{ events chan client.Event }

func (s seen) Event(e client.Event) { s.events <- client.Event{Kind: e.Kind, Sequence: e.Sequence} }
func (s seen) Ended(error)          { close(s.events) }

func TestEachSocketGetsEachFrameInOrder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, "127.0.0.1:0", writer) }()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "ready "))
	api := apiclient.New(url)
	listeners := make([]seen, 5)
	sockets := make([]*client.Socket, len(listeners))
	for i := range listeners {
		listeners[i] = seen{make(chan client.Event, 10)}
		if sockets[i], err = client.Dial(ctx, api); err != nil {
			t.Fatal(err)
		}
		if err := sockets[i].Subscribe(ctx, "1", client.SessionEvents, nil); err != nil {
			t.Fatal(err)
		}
		go sockets[i].Listen(map[string]client.Listener{"1": listeners[i]})
	}
	// One of each way to write a length.
	texts := make([]string, 0, 3)
	for i, padding := range []int{0, 1000, 70_000} {
		texts = append(texts, client.Frame("1", client.Event{Kind: "K", Sequence: int64(i + 1), Data: []byte(`"` + strings.Repeat("x", padding) + `"`)}))
	}
	body, err := json.Marshal([][]string{texts[:2], texts[2:]})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/send", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	for i, l := range listeners {
		for want := range texts {
			if e := <-l.events; e.Kind != "K" || e.Sequence != int64(want+1) {
				t.Errorf("socket %d got %+v as number %d", i, e, want+1)
			}
		}
		sockets[i].Close()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
