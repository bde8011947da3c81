//go:build linux || darwin

package httpapi

import (
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// unsentBytes is how much the kernel takes of a connection beyond what is on its way to the client. Left to itself it takes 4 MB from
// every client that reads nothing: memory that nobody counts, and events that are read from the database only to lie there.
const unsentBytes = 64 << 10

// boundUnsent is an http.Server's ConnContext. It bounds what the network doesn't take yet, and not what is on its way, as a smaller send
// buffer would, which makes long lines slow.
func boundUnsent(ctx context.Context, conn net.Conn) context.Context {
	if tcp, ok := conn.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			// A kernel that refuses takes more, and no harm is done.
			_ = raw.Control(func(fd uintptr) {
				_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytes)
			})
		}
	}
	return ctx
}
