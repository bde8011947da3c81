package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestClientsCanTalkOnceItIsReady(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, "127.0.0.1:0", writer) }()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, found := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !found || !strings.HasPrefix(url, "nats://127.0.0.1:") {
		t.Fatalf("it said %q", line)
	}
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *nats.Msg, 1)
	if _, err := conn.ChanSubscribe("a", got); err != nil {
		t.Fatal(err)
	}
	if err := conn.Publish("a", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if m := <-got; string(m.Data) != "hello" {
		t.Errorf("got %q", m.Data)
	}
	conn.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestItListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "10.0.0.1:4222", "localhost:4222", "4222"} {
		if err := run(context.Background(), addr, io.Discard); err == nil {
			t.Errorf("%s: no error", addr)
		}
	}
}
