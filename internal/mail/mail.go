// Package mail sends messages to people over SMTP.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

const (
	// sendTimeout bounds the whole of sending one message; stepTimeout each of its steps.
	sendTimeout = 30 * time.Second
	stepTimeout = 15 * time.Second
)

// Config tells where messages are handed over.
type Config struct {
	// URL is smtp://user:password@host:port, or smtps:// for TLS from the first byte. User and password may be left out, the
	// ports are 587 and 465 then. With smtp:// the server must offer STARTTLS, unless it is on this machine.
	URL string
	// From is the sender's address.
	From string
	// Roots are whom the server's certificate must come from; nil for those that the system trusts.
	Roots *x509.CertPool
}

// Message is a text to one person.
type Message struct {
	// To is one e-mail address, without a name.
	To string
	// Subject is one line.
	Subject string
	Text    string
}

// Sender sends messages. It is safe for concurrent use: each message has a connection of its own.
type Sender struct {
	host, from string
	options    []gomail.Option
}

// New fails when the configuration can't work. It doesn't connect.
func New(cfg Config) (*Sender, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "smtp" && u.Scheme != "smtps") || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		// The address holds a password: it must not be in the error.
		return nil, errors.New("want smtp://user:password@host:port, or smtps://")
	}
	if err := CheckAddress(cfg.From); err != nil {
		return nil, fmt.Errorf("the sender's address: %w", err)
	}
	host, port := u.Hostname(), map[string]int{"smtp": gomail.DefaultPortTLS, "smtps": gomail.DefaultPortSSL}[u.Scheme]
	if given := u.Port(); given != "" {
		if port, err = strconv.Atoi(given); err != nil || port < 1 || port > 65_535 {
			return nil, errors.New("the port is not a number from 1 to 65535")
		}
	}
	s := &Sender{host: host, from: cfg.From, options: []gomail.Option{
		gomail.WithPort(port), gomail.WithTimeout(stepTimeout),
		gomail.WithTLSConfig(&tls.Config{ServerName: host, RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}),
	}}
	signIn := gomail.SMTPAuthAutoDiscover
	switch {
	case u.Scheme == "smtps":
		s.options = append(s.options, gomail.WithSSL())
	case isLoopback(host):
		// What a server on this machine is told stays on it, and such servers seldom have a certificate for "localhost".
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.NoTLS))
		signIn = gomail.SMTPAuthPlainNoEnc
	default:
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s.options = append(s.options, gomail.WithSMTPAuth(signIn),
			gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	return s, nil
}

// Why a message was not handed over. An error of Send that is none of them leaves open whether the server has taken the message: the connection
// broke when all of it had been sent.
var (
	// ErrUnavailable says that no message can be handed over now: there is no connection, or the server takes nothing from this sender.
	ErrUnavailable = errors.New("the mail server takes no messages")
	// ErrDeferred says that the server may take this message later.
	ErrDeferred = errors.New("the mail server does not take this message now")
	// ErrRefused says that nobody will take this message.
	ErrRefused = errors.New("this message can't be sent")
)

// Send hands a message to the server, within half a minute. See ErrUnavailable for how it fails.
func (s *Sender) Send(ctx context.Context, m Message) error {
	msg, err := s.compose(m)
	if err != nil {
		return fmt.Errorf("send a message: %w: %w", ErrRefused, err)
	}
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return fmt.Errorf("send a message: %w: %w", ErrUnavailable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := client.DialAndSendWithContext(ctx, msg); err != nil && !msg.IsDelivered() {
		return fmt.Errorf("send a message by %s: %w", s.host, whyNot(err))
	}
	return nil
}

func (s *Sender) compose(m Message) (*gomail.Msg, error) {
	if err := CheckAddress(m.To); err != nil {
		return nil, fmt.Errorf("the address: %w", err)
	}
	if strings.ContainsFunc(m.Subject, unicode.IsControl) {
		return nil, errors.New("the subject holds control characters")
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(s.from), msg.To(m.To)); err != nil {
		return nil, err //nolint:wrapcheck // by Send
	}
	msg.Subject(m.Subject)
	// Nobody's automatic answer is wanted.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	return msg, nil
}

// whyNot adds to an error of sending what became of the message, where that is known.
func whyNot(err error) error {
	failed, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return fmt.Errorf("%w: %w", ErrUnavailable, err) // it had not begun
	}
	code := failed.ErrorCode() // 0 where the server has not answered
	switch failed.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		switch {
		case code >= 500:
			return fmt.Errorf("%w: %w", ErrRefused, err)
		case code >= 400:
			return fmt.Errorf("%w: %w", ErrDeferred, err)
		case failed.Reason == gomail.ErrSMTPDataClose:
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// CheckAddress takes nothing but one bare address: whatever else a header can hold must not get in by it.
func CheckAddress(address string) error {
	parsed, err := mail.ParseAddress(address)
	// Characters that can't be seen make one address look like another.
	unseen := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }
	if err != nil || parsed.Address != address || strings.ContainsFunc(address, unseen) {
		return errors.New("want one e-mail address, e.g. name@example.com")
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// CheckURL tells what is wrong with a Config.URL, without its password.
func CheckURL(u string) error {
	_, err := New(Config{URL: u, From: "somebody@example.com"})
	return err
}
