// Package wire is what the drivers of real providers share below the providers' own SDKs: it bounds and checks what a server
// sends, collects an answer piece by piece, and puts a conversation into the order that providers insist on.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
)

const (
	// maxRefusal is how much of an error's body is read, in bytes.
	maxRefusal = 64 << 10
	// maxDocument bounds an answer that is no stream, in bytes.
	maxDocument = 8 << 20
)

// Refused is what a provider answered instead of what it was asked for.
type Refused struct {
	// Status is another than 200, or 200 where a server tells an error so.
	Status int
	Header http.Header
	// Body is at most the first 64 KiB of it.
	Body []byte
}

func (r *Refused) Error() string {
	return fmt.Sprintf("the provider answered with status %d", r.Status)
}

// Unreadable is an answer that does not follow the provider's protocol.
type Unreadable struct {
	// Reason tells what is wrong, without quoting the answer: it goes to logs.
	Reason string
}

func (u *Unreadable) Error() string { return u.Reason }

// Unreadablef makes an *Unreadable.
func Unreadablef(format string, a ...any) error {
	return &Unreadable{Reason: fmt.Sprintf(format, a...)}
}

// StreamClient makes a client out of base that takes event streams only. SDKs never see any other answer: they would read it whole,
// however long it is. Other statuses are returned as a *Refused, other content as an *Unreadable. No redirect is followed: keys travel in headers
// that net/http would hand on to a foreign host. Without a base it panics.
func StreamClient(base *http.Client, t Tolerance) *http.Client {
	return guarded(base, &guard{lenient: t == Lenient})
}

// DocumentClient is StreamClient for answers that are one JSON document of at most 8 MiB.
func DocumentClient(base *http.Client, t Tolerance) *http.Client {
	return guarded(base, &guard{lenient: t == Lenient, document: true})
}

func guarded(base *http.Client, g *guard) *http.Client {
	if base == nil {
		// http.DefaultClient would reach whatever this process can, and use the proxies of its environment.
		panic("wire: a driver needs Options.HTTP")
	}
	c := *base
	if g.next = base.Transport; g.next == nil {
		g.next = http.DefaultTransport
	}
	c.Transport = g
	return &c
}

// guard checks answers before an SDK sees them.
type guard struct {
	next              http.RoundTripper
	document, lenient bool
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	success := resp.StatusCode == http.StatusOK || g.lenient && resp.StatusCode > 200 && resp.StatusCode < 300
	if !success {
		return nil, refuse(resp)
	}
	if !g.hasForm(resp.Header.Get("Content-Type")) {
		return nil, g.otherForm(resp)
	}
	if !g.document {
		return resp, nil
	}
	body, err := readDocument(resp)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// hasForm reports whether a content type is that of what was asked for.
func (g *guard) hasForm(contentType string) bool {
	got, _, err := mime.ParseMediaType(contentType)
	switch {
	case g.document:
		return g.lenient || err == nil && got == "application/json"
	case g.lenient && contentType == "":
		return true
	}
	return err == nil && got == "text/event-stream"
}

// otherForm returns the error of a success that is not what was asked for.
func (g *guard) otherForm(resp *http.Response) error {
	defer closeBody(resp)
	if g.lenient {
		if r := refuse(resp); json.Valid(r.Body) {
			return r // an error may be told so
		}
	}
	return Unreadablef("the answer does not have the expected content type")
}

// refuse reads the beginning of an answer and closes it.
func refuse(resp *http.Response) *Refused {
	defer closeBody(resp)
	// What could be read of a body that breaks off still says more than nothing.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	return &Refused{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// readDocument reads a body to its end, which must be JSON, and closes it.
func readDocument(resp *http.Response) ([]byte, error) {
	defer closeBody(resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer: %w", err)
	case len(body) > maxDocument:
		return nil, Unreadablef("the answer is longer than %d bytes", maxDocument)
	case !json.Valid(body):
		return nil, Unreadablef("the answer is not JSON")
	}
	return body, nil
}

// closeBody discards an answer. Nothing can be done about an error of that.
func closeBody(resp *http.Response) { _ = resp.Body.Close() }
