package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/mail/mailtest"
)

// certificate returns one for example.com, and the pool that trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, pool
}

func sender(t *testing.T, url string, roots *x509.CertPool) *Sender {
	t.Helper()
	s, err := New(Config{URL: url, From: "ostler@example.com", Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var hello = Message{To: "ada@example.org", Subject: "Grüße", Text: "First line.\n.\nA line after a dot.\n"}

func TestAMessageArrives(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Config{})
	if err := sender(t, "smtp://ada:s%3Acret@"+server.Addr, nil).Send(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	m := server.Next(t)
	if m.From != "ostler@example.com" || len(m.To) != 1 || m.To[0] != hello.To || m.User != "ada" || m.Password != "s:cret" {
		t.Errorf("got %+v", m)
	}
	for _, part := range []string{"Subject: =?UTF-8?", "From: <ostler@example.com>\n", "To: <ada@example.org>\n", "Message-ID: ", "Date: ",
		"Auto-Submitted: "} {
		if !strings.Contains(m.Data, part) {
			t.Errorf("there is no %q in\n%s", part, m.Data)
		}
	}
	if m.Text != hello.Text {
		t.Errorf("the text is %q", m.Text)
	}
}

func TestTheWayIsEncrypted(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t)
	for name, test := range map[string]struct {
		url    string
		server mailtest.Config
		roots  *x509.CertPool
		fails  bool
	}{
		"STARTTLS":                       {"smtp://u:p@example.com", mailtest.Config{TLS: cert}, pool, false},
		"TLS from the first byte":        {"smtps://u:p@127.0.0.1", mailtest.Config{TLS: cert, Implicit: true}, pool, false},
		"no STARTTLS":                    {"smtp://u:p@example.com", mailtest.Config{}, pool, true},
		"STARTTLS, an unknown authority": {"smtp://u:p@example.com", mailtest.Config{TLS: cert}, x509.NewCertPool(), true},
		"STARTTLS, another name":         {"smtp://u:p@evil.test", mailtest.Config{TLS: cert}, pool, true},
		"TLS, an unknown authority":      {"smtps://u:p@127.0.0.1", mailtest.Config{TLS: cert, Implicit: true}, x509.NewCertPool(), true},
		"TLS where there is none":        {"smtps://u:p@127.0.0.1", mailtest.Config{TLS: cert}, pool, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, test.server)
			url := strings.Replace(test.url, "127.0.0.1", server.Addr, 1)
			s := sender(t, url, test.roots)
			if url == test.url {
				s.dialTo(server.Addr) // nobody asks the network for the server of a name
			}
			err := s.Send(t.Context(), hello)
			if test.fails {
				if err == nil {
					t.Error("it was sent")
				}
				server.None(t)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := server.Next(t); !m.Encrypted || m.Password != "p" {
				t.Errorf("got %+v", m)
			}
		})
	}
}

func TestNothingGetsIntoTheHeaders(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Config{})
	s := sender(t, "smtp://"+server.Addr, nil)
	for name, m := range map[string]Message{
		"a line break in the address":   {To: "a@b.c\r\nBcc: x@y.z", Subject: "s"},
		"a bare line feed":              {To: "a@b.c\nBcc: x@y.z", Subject: "s"},
		"two addresses":                 {To: "a@b.c, x@y.z", Subject: "s"},
		"a name":                        {To: "Ada <a@b.c>", Subject: "s"},
		"a command":                     {To: "a@b.c>\r\nRCPT TO:<x@y.z", Subject: "s"},
		"no address":                    {To: "", Subject: "s"},
		"a line break in the subject":   {To: "a@b.c", Subject: "s\r\nBcc: x@y.z"},
		"a quoted line break":           {To: "\"a\r\n b\"@b.c", Subject: "s"},
		"a line feed before the domain": {To: "a@\nb.c", Subject: "s"},
	} {
		if err := s.Send(t.Context(), m); err == nil {
			t.Errorf("%s: it was sent", name)
		}
	}
	server.None(t)
	if err := s.Send(t.Context(), Message{To: "a@b.c", Subject: "s", Text: "x\r\n.\r\nMAIL FROM:<x@y.z>\r\n"}); err != nil {
		t.Fatal(err)
	}
	if m := server.Next(t); !strings.Contains(m.Data, "\n.\nMAIL FROM:<x@y.z>") {
		t.Errorf("a dot ended the message: %+v", m)
	}
	server.None(t)
}

func TestAFailureTellsWhatBecameOfTheMessage(t *testing.T) {
	t.Parallel()
	answer := func(text string) func(string) string { return func(string) string { return text } }
	ended, end := context.WithCancel(t.Context())
	end()
	bad := hello
	bad.To = "nobody"
	for name, test := range map[string]struct {
		server mailtest.Config
		ctx    context.Context
		m      Message
		want   error // nil where nobody knows
		says   string
	}{
		"a recipient that is refused":         {mailtest.Config{Refuse: answer("550 no such user")}, t.Context(), hello, ErrRefused, "no such user"},
		"a recipient that is put off":         {mailtest.Config{Refuse: answer("450 try later")}, t.Context(), hello, ErrDeferred, "try later"},
		"a text that is refused":              {mailtest.Config{Answer: "554 no spam"}, t.Context(), hello, ErrRefused, "no spam"},
		"a text that is put off":              {mailtest.Config{Answer: "452 full"}, t.Context(), hello, ErrDeferred, "full"},
		"an address that is none":             {mailtest.Config{}, t.Context(), bad, ErrRefused, "address"},
		"a context that has ended":            {mailtest.Config{}, ended, hello, ErrUnavailable, ""},
		"a server that hangs up after it all": {mailtest.Config{Answer: "-"}, t.Context(), hello, nil, ""},
	} {
		server := mailtest.Start(t, test.server)
		err := sender(t, "smtp://"+server.Addr, nil).Send(test.ctx, test.m)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, what := range []error{ErrRefused, ErrDeferred, ErrUnavailable} {
			if is := errors.Is(err, what); is != (what == test.want) { //nolint:errorlint // which of them it is
				t.Errorf("%s: that %q is %v, got %v", name, what, is, err)
			}
		}
		server.None(t)
	}
	if err := sender(t, "smtp://127.0.0.1:1", nil).Send(t.Context(), hello); !errors.Is(err, ErrUnavailable) {
		t.Errorf("where nobody listens: got %v", err)
	}
}

func TestAddressesOfServers(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"smtp://mail.example.com", "smtp://u:p@mail.example.com:2525/", "smtps://[::1]:465"} {
		if err := CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "mail.example.com:25", "http://mail.example.com", "smtp://", "smtp://h:0", "smtp://h:99999", "smtp://u:hidden@h/x", "smtp://u:hidden@h?x=1", "smtp://u:hidden@h:x"} {
		err := CheckURL(bad)
		if err == nil {
			t.Errorf("%s was taken", bad)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: the error holds the password: %v", bad, err)
		}
	}
	if _, err := New(Config{URL: "smtp://h", From: "nobody"}); err == nil {
		t.Error("a sender without an address was taken")
	}
}
