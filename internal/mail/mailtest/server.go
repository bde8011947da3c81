// Package mailtest is a small SMTP server for tests.
package mailtest

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"
)

// Mail is what the server was handed.
type Mail struct {
	From string
	To   []string
	// Data is the message with its headers, lines ending with \n.
	Data string
	// Text is its body, decoded.
	Text string
	// User and Password are what the client signed in with.
	User, Password string
	// Encrypted is true when the message came over TLS.
	Encrypted bool
}

// Config changes what the server does.
type Config struct {
	// TLS makes it offer STARTTLS, or with Implicit talk TLS from the first byte.
	TLS      *tls.Config
	Implicit bool
	// Refuse returns the answer to RCPT TO of an address, e.g. "550 no such user"; empty takes it. Nil takes everybody.
	Refuse func(to string) string
	// Answer is what it says instead of "250 taken"; "-" breaks the connection there, when it may have taken the message for all that the client knows.
	Answer string
}

// Server takes every mail.
type Server struct {
	// Addr is where it listens, on loopback.
	Addr string

	cfg   Config
	mails chan Mail
}

// Start starts a server, which ends with the test.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Refuse == nil {
		cfg.Refuse = func(string) string { return "" }
	}
	s := &Server{Addr: listener.Addr().String(), cfg: cfg, mails: make(chan Mail, 100)}
	var running sync.WaitGroup
	ended, end := context.WithCancel(context.Background())
	t.Cleanup(func() {
		_ = listener.Close()
		end()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			// A client that gave up may leave its connection open.
			stop := context.AfterFunc(ended, func() { _ = conn.Close() })
			running.Go(func() {
				defer stop()
				s.serve(conn)
			})
		}
	})
	return s
}

// Next waits for a mail.
func (s *Server) Next(t testing.TB) Mail {
	t.Helper()
	select {
	case m := <-s.mails:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("no mail came")
		return Mail{}
	}
}

// Waiting is how many mails have come that nobody has asked for.
func (s *Server) Waiting() int { return len(s.mails) }

// None checks that no mail is there.
func (s *Server) None(t testing.TB) {
	t.Helper()
	select {
	case m := <-s.mails:
		t.Errorf("a mail came: %+v", m)
	default:
	}
}

func (s *Server) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	var m Mail
	if s.cfg.TLS != nil && s.cfg.Implicit {
		conn, m.Encrypted = tls.Server(conn, s.cfg.TLS), true
	}
	in := bufio.NewReader(conn)
	say := func(line string) { fmt.Fprintf(conn, "%s\r\n", line) }
	say("220 mailtest")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO", "HELO":
			say("250-mailtest")
			if s.cfg.TLS != nil && !m.Encrypted {
				say("250-STARTTLS")
			}
			say("250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			conn, m.Encrypted = tls.Server(conn, s.cfg.TLS), true
			in = bufio.NewReader(conn)
		case "AUTH":
			_, secret, _ := strings.Cut(rest, " ")
			plain, _ := base64.StdEncoding.DecodeString(secret)
			if parts := strings.Split(string(plain), "\x00"); len(parts) == 3 {
				m.User, m.Password = parts[1], parts[2]
			}
			say("235 welcome")
		case "MAIL":
			m.From, m.To = address(rest), nil
			say("250 ok")
		case "RCPT":
			to := address(rest)
			if answer := s.cfg.Refuse(to); answer != "" {
				say(answer)
				continue
			}
			m.To = append(m.To, to)
			say("250 ok")
		case "DATA":
			say("354 go on")
			data, err := readData(in)
			if err != nil || s.cfg.Answer == "-" {
				return
			}
			if s.cfg.Answer != "" {
				say(s.cfg.Answer)
				continue
			}
			m.Data = data
			m.Text = textOf(m.Data)
			s.mails <- m
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// readData reads a message until the line that ends it.
func readData(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return "", err //nolint:wrapcheck // the caller hangs up
		}
		if text = strings.TrimRight(text, "\r\n"); text == "." {
			return b.String(), nil
		}
		b.WriteString(strings.TrimPrefix(text, ".") + "\n")
	}
}

func address(rest string) string {
	_, rest, _ = strings.Cut(rest, "<")
	inside, _, _ := strings.Cut(rest, ">")
	return inside
}

// textOf returns the body of a message with one part; empty when it can't be read.
func textOf(data string) string {
	m, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		return ""
	}
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return ""
	}
	return string(text)
}
