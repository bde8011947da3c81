package mail

import (
	"context"
	"net"

	gomail "github.com/wneessen/go-mail"
)

// dialTo has every connection go to one address: tests have no servers elsewhere.
func (s *Sender) dialTo(address string) {
	s.options = append(s.options, gomail.WithDialContextFunc(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}))
}
