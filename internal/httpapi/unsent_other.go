//go:build !linux && !darwin

package httpapi

import (
	"context"
	"net"
)

// boundUnsent does nothing where the kernel can't be told.
func boundUnsent(ctx context.Context, _ net.Conn) context.Context { return ctx }
