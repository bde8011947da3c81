package httpapi

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"
)

// Config is what an operator may set. The zero value of a number or duration means its default.
type Config struct {
	// PublicURL is the address that browsers use, e.g. https://ostler.example.com. It decides which origin is the
	// server's own and whether cookies are Secure. Defaults to http://127.0.0.1:8080.
	PublicURL string
	// ProbesOnly serves nothing but /healthz, /readyz and /metrics, for processes that run turns only.
	ProbesOnly bool
	// TrustedProxies may say in X-Forwarded-For whom they speak for. Defaults to none.
	TrustedProxies []netip.Prefix
	// MetricsToken opens /metrics to whoever sends it as a bearer token. Without one they are shown to this machine only, as long as
	// PublicURL names it; operators of the platform may always read them.
	MetricsToken string
	// Introspection lets signed-in callers read the schema; meant for development.
	Introspection bool
	// Suggestions adds "did you mean" to validation errors, which gives the schema's names away; meant for development.
	Suggestions bool
	// Trusted are the documents of the dashboard, by the SHA-256 of their text in hexadecimal.
	Trusted map[string]string
	// TrustedOnly refuses all other documents to callers whom cookies bring.
	TrustedOnly bool
	// Writable returns an error while the database takes no writes. Then mutations, uploads and callbacks are refused at once. Defaults to nil
	// for always.
	Writable func() error
	Limits   Limits
	Sockets  SocketLimits
	// ReadHeaderTimeout is how long a client may take for its headers. Defaults to 5 s.
	ReadHeaderTimeout time.Duration
	// BodyTimeout is how long a client may take for its body. Defaults to 10 s.
	BodyTimeout time.Duration
	// StallTimeout is how long an upload, a callback, a download or an export may stand still. Who sends or reads 16 KiB per second, or
	// more, never uses it up. Defaults to 10 s.
	StallTimeout time.Duration
	// AnswerTimeout is how long a request may take from its headers to the last byte of its answer, so that nobody holds a connection
	// by not reading. Event streams may take as long for each event as SocketLimits.WriteTimeout says instead. Defaults to 2 min.
	AnswerTimeout time.Duration
	// IdleTimeout is how long a connection is kept between requests. Defaults to 2 min.
	IdleTimeout time.Duration
	// MaxHeaderBytes bounds a request's headers and address. Defaults to 64 KiB.
	MaxHeaderBytes int
}

// Limits bound one operation, on every transport alike.
type Limits struct {
	// BodyBytes bounds a request's body and a socket's message. Defaults to 1 MiB. Without a credential that is good it is 64 KiB at most.
	BodyBytes int64
	// ImageBytes bounds an uploaded image. Defaults to 20 MiB.
	ImageBytes int64
	// Strangers is how many operations in a minute an address, or with IPv6 its /64, may ask for without a credential that is good; more are
	// RATE_LIMITED. 0 is any number.
	Strangers int
	// DocumentBytes bounds the GraphQL document. Defaults to 64 KiB.
	DocumentBytes int
	// Tokens of the document. Defaults to 4000.
	Tokens int
	// Depth of the selection, fragments included. Defaults to 15.
	Depth int
	// Fields of the selection, each fragment counted wherever it is spread. Defaults to 1000.
	Fields int
	// Aliases in the document. Defaults to 100.
	Aliases int
	// Directives in the document. Defaults to 50.
	Directives int
	// RootFields of the operation. Defaults to 50.
	RootFields int
	// PageSize is the most that `first` and `last` may ask for. Defaults to 100.
	PageSize int
	// Cost is one per field, those below a list times its page size. Defaults to 50 000.
	Cost int
	// IntrospectionCost is the separate budget of __schema and __type. Defaults to 450 000, which the standard query of today takes four fifths of.
	IntrospectionCost int
	// AnswerBytes bounds the answer of one operation together with what is read for it, and each answer of a subscription. Defaults to 32 MiB.
	AnswerBytes int64
	// OperationsBytes bounds what all queries and mutations, and the answers of subscriptions that are made for one subscriber, together have
	// read and not yet answered, beyond the first 128 KiB of each. One organization has three quarters of it at most. Defaults to 8 times AnswerBytes.
	OperationsBytes int64
	// ValidationErrors is how many errors of one document are reported. Defaults to 5.
	ValidationErrors int
	// OperationTimeout is for queries and mutations; subscriptions have none. Defaults to 10 s.
	OperationTimeout time.Duration
	// CachedDocumentBytes bounds the memory of the documents that are kept parsed, about. Defaults to 32 MiB.
	CachedDocumentBytes int
	// PersistedDocumentBytes bounds the text of the documents that callers have left under their hash, each counted as 512 bytes more.
	// Defaults to 4 MiB.
	PersistedDocumentBytes int
}

// SocketLimits bound one WebSocket, and where they fit, one event stream.
type SocketLimits struct {
	// InitTimeout is how long a client may take to say who it is. Defaults to 5 s.
	InitTimeout time.Duration
	// PingEvery is how often the server asks whether the client is there; an event stream without events gets a comment as
	// often. Defaults to 15 s.
	PingEvery time.Duration
	// PongWithin is how long the client may take to answer. Defaults to 20 s.
	PongWithin time.Duration
	// WriteTimeout is how long a message may take to leave, on event streams too, and of a large one each 64 KiB. Defaults to 5 s.
	WriteTimeout time.Duration
	// CloseTimeout is how long a client may take to answer a close frame. Defaults to 2 s.
	CloseTimeout time.Duration
	// RecheckEvery is how often the principal is verified again, that of an event stream, too. What the Authenticator caches comes on top; together
	// they must stay within 5 s. Defaults to 2 s.
	RecheckEvery time.Duration
	// SweepEvery is how often all of the above is looked at. Defaults to 500 ms; negative switches it off, for tests.
	SweepEvery time.Duration
	// Operations that may run at once. Defaults to 200.
	Operations int
	// QueueBytes bounds what waits to be written. One message is always let in. Defaults to 128 KiB.
	QueueBytes int
}

func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

func (c Config) withDefaults() Config {
	if c.PublicURL == "" {
		c.PublicURL = "http://127.0.0.1:8080"
	}
	orDefault(&c.ReadHeaderTimeout, 5*time.Second)
	orDefault(&c.BodyTimeout, 10*time.Second)
	orDefault(&c.StallTimeout, 10*time.Second)
	orDefault(&c.AnswerTimeout, 2*time.Minute)
	orDefault(&c.IdleTimeout, 2*time.Minute)
	orDefault(&c.MaxHeaderBytes, 64<<10)

	l := &c.Limits
	orDefault(&l.BodyBytes, 1<<20)
	orDefault(&l.ImageBytes, 20<<20)
	orDefault(&l.DocumentBytes, 64<<10)
	orDefault(&l.Tokens, 4000)
	orDefault(&l.Depth, 15)
	orDefault(&l.Fields, 1000)
	orDefault(&l.Aliases, 100)
	orDefault(&l.Directives, 50)
	orDefault(&l.RootFields, 50)
	orDefault(&l.PageSize, 100)
	orDefault(&l.Cost, 50_000)
	orDefault(&l.IntrospectionCost, 450_000)
	orDefault(&l.AnswerBytes, 32<<20)
	orDefault(&l.OperationsBytes, 8*l.AnswerBytes)
	orDefault(&l.ValidationErrors, 5)
	orDefault(&l.OperationTimeout, 10*time.Second)
	orDefault(&l.CachedDocumentBytes, 32<<20)
	orDefault(&l.PersistedDocumentBytes, 4<<20)

	s := &c.Sockets
	orDefault(&s.InitTimeout, 5*time.Second)
	orDefault(&s.PingEvery, 15*time.Second)
	orDefault(&s.PongWithin, 20*time.Second)
	orDefault(&s.WriteTimeout, 5*time.Second)
	orDefault(&s.CloseTimeout, 2*time.Second)
	orDefault(&s.RecheckEvery, 2*time.Second)
	orDefault(&s.SweepEvery, 500*time.Millisecond)
	orDefault(&s.Operations, 200)
	orDefault(&s.QueueBytes, 128<<10)
	return c
}

// publicOrigin is the public URL as far as it matters here.
type publicOrigin struct {
	// origin is as browsers write it: scheme://host[:port], without the scheme's own port.
	origin string
	// secure is false only for http on loopback, where browsers would keep Secure cookies back.
	secure bool
	https  bool
	// loopback is true when browsers find the server on their own machine.
	loopback bool
}

func parsePublicURL(s string) (publicOrigin, error) {
	u, err := url.Parse(s)
	if err != nil {
		return publicOrigin{}, fmt.Errorf("public URL %q: %w", s, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return publicOrigin{}, fmt.Errorf("public URL %q: want http:// or https:// and a host", s)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return publicOrigin{}, fmt.Errorf("public URL %q: nothing may follow the host", s)
	}
	return publicOrigin{
		origin: originOf(u),
		secure: u.Scheme == "https" || !isLoopback(u.Hostname()),
		https:  u.Scheme == "https", loopback: isLoopback(u.Hostname()),
	}, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

func (c Config) validate() error {
	var errs []error
	if _, err := parsePublicURL(c.PublicURL); err != nil {
		errs = append(errs, err)
	}
	l, s := c.Limits, c.Sockets
	for name, n := range map[string]int64{
		"BodyBytes": l.BodyBytes, "ImageBytes": l.ImageBytes, "DocumentBytes": int64(l.DocumentBytes), "Tokens": int64(l.Tokens),
		"Depth": int64(l.Depth), "Fields": int64(l.Fields), "Aliases": int64(l.Aliases),
		"Directives": int64(l.Directives), "RootFields": int64(l.RootFields), "PageSize": int64(l.PageSize),
		"Cost": int64(l.Cost), "IntrospectionCost": int64(l.IntrospectionCost),
		"AnswerBytes": l.AnswerBytes, "OperationsBytes": l.OperationsBytes,
		"ValidationErrors": int64(l.ValidationErrors), "CachedDocumentBytes": int64(l.CachedDocumentBytes),
		"PersistedDocumentBytes": int64(l.PersistedDocumentBytes), "OperationTimeout": int64(l.OperationTimeout),
		"InitTimeout": int64(s.InitTimeout), "PingEvery": int64(s.PingEvery), "PongWithin": int64(s.PongWithin),
		"WriteTimeout": int64(s.WriteTimeout), "RecheckEvery": int64(s.RecheckEvery),
		"Operations": int64(s.Operations), "QueueBytes": int64(s.QueueBytes),
	} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("%s is %d: it can't be negative", name, n))
		}
	}
	return errors.Join(errs...)
}
