package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	nats "github.com/nats-io/nats-server/v2/server"
)

// bus is a NATS server that can be stopped and started again at the same address.
type bus struct {
	addr   netip.AddrPort
	server *nats.Server
}

func newBus(ctx context.Context) (*bus, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	b := &bus{addr: netip.MustParseAddrPort(addr)}
	return b, b.start()
}

func (b *bus) url() string { return "nats://" + b.addr.String() }

func (b *bus) start() error {
	s, err := nats.NewServer(&nats.Options{Host: b.addr.Addr().String(), Port: int(b.addr.Port()), NoSigs: true, NoLog: true})
	if err != nil {
		return fmt.Errorf("set up the NATS server: %w", err)
	}
	b.server = s
	s.Start()
	if !s.ReadyForConnections(patience) {
		return errors.New("the NATS server does not listen")
	}
	return nil
}

func (b *bus) kill() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}
