// Natsd is a NATS server for tests and for trying out several processes on one machine:
//
//	natsd -addr 127.0.0.1:4222
//
// It prints one line when it is ready, "ready nats://127.0.0.1:4222", and stops at SIGINT or SIGTERM. It knows no
// passwords and therefore listens on loopback addresses only: in production run NATS's own server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout bounds how long the server may take to listen.
const startTimeout = 10 * time.Second

func main() {
	addr := flag.String("addr", "127.0.0.1:4222", "loopback address to listen on; port 0 takes a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "natsd:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do for the signal handler
	}
}

// run serves until ctx ends, and tells out where.
func run(ctx context.Context, addr string, out io.Writer) error {
	listen, err := netip.ParseAddrPort(addr)
	if err != nil {
		return fmt.Errorf("-addr %q: give an IP address and a port: %w", addr, err)
	}
	if !listen.Addr().IsLoopback() {
		return fmt.Errorf("-addr %q: natsd has no passwords and listens on loopback addresses only", addr)
	}
	port := int(listen.Port())
	if port == 0 {
		port = server.RANDOM_PORT
	}
	srv, err := server.NewServer(&server.Options{Host: listen.Addr().String(), Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		return fmt.Errorf("set up the NATS server: %w", err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(startTimeout) {
		return errors.New("the NATS server does not listen on " + addr + "; is the port taken?")
	}
	fmt.Fprintln(out, "ready", srv.ClientURL())
	<-ctx.Done()
	return nil
}
