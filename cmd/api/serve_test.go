//go:build !chaos

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/ostler-dev/ostler/internal/store"
)

// A server whose address is taken leaves nothing behind: no owner, whose password nobody was told, and no runner that others would find dead.
func TestAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := readConfig(from("OSTLER_DATA_DIR", t.TempDir(), "OSTLER_ADDR", taken.Addr().String(), "OSTLER_ADMIN_PASSWORD", ""))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if err := serve(t.Context(), cfg, log, new(bytes.Buffer)); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), cfg.addr) {
		t.Fatalf("the error is %v", err)
	}
	db, err := store.Open(t.Context(), store.Config{URL: cfg.databaseURL})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"users", "runners"} {
		var n int64
		if err := db.ReadAcross(t.Context()).Table(table).Count(&n).Error; err != nil || n > 0 {
			t.Errorf("%d %s, %v", n, table, err)
		}
	}
	if err := errors.Join(db.Close(), taken.Close()); err != nil {
		t.Fatal(err)
	}
	// The next start is the first one, and ends as soon as it is ready.
	ctx, stop := context.WithCancel(t.Context())
	var said readyWriter = func(text string) {
		if !strings.Contains(text, "(shown only now)") {
			t.Errorf("it said %q", text)
		}
		stop()
	}
	if err := serve(ctx, cfg, log, said); err != nil {
		t.Error(err)
	}
}

// readyWriter is told what is written.
type readyWriter func(text string)

func (w readyWriter) Write(text []byte) (int, error) {
	w(string(text))
	return len(text), nil
}
