// Package apiclient speaks to the server as any client does: GraphQL over HTTP and over graphql-transport-ws. The tests of the built program
// and the benchmarks use it; the server doesn't.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Timeout bounds a request with its answer, and the opening of a socket.
const Timeout = 30 * time.Second

// maxIdle is more than the connections that any caller uses at once.
const maxIdle = 1024

// Client is a caller of a server. It may be used by many goroutines as long as its fields stay as they are.
type Client struct {
	// URL is the server's, without a path.
	URL string
	// Token is a bearer token; empty for nobody.
	Token string
	// Org is the id of the organization that the token is bound to, where the token came with one.
	Org  string
	HTTP *http.Client
}

// New returns a client without a token. It follows no redirects.
func New(url string) *Client {
	return &Client{URL: url, HTTP: &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: Timeout}).DialContext,
			MaxIdleConns:        maxIdle,
			MaxIdleConnsPerHost: maxIdle,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// At returns the same caller at another server.
func (c *Client) At(url string) *Client {
	other := *c
	other.URL = url
	return &other
}

// As returns a caller with another token, of the same server.
func (c *Client) As(token string) *Client { return &Client{URL: c.URL, Token: token, HTTP: c.HTTP} }

// Reply is what the server answered over HTTP.
type Reply struct {
	Status int         `json:"-"`
	Header http.Header `json:"-"`
	Body   []byte      `json:"-"`

	// Data and Errors are those of the body. Post leaves them empty.
	Data   json.RawMessage `json:"data"`
	Errors []Error         `json:"errors"`
}

// Error is an entry of an answer's errors.
type Error struct {
	Message    string         `json:"message"`
	Path       []any          `json:"path"`
	Extensions map[string]any `json:"extensions"`
}

// Code returns extensions.code, or nothing.
func (e Error) Code() string {
	code, _ := e.Extensions["code"].(string)
	return code
}

// Error implements error.
func (e Error) Error() string { return e.Code() + ": " + e.Message }

// UserError is an entry of a payload's userErrors.
type UserError struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Path    []string `json:"path"`
}

// Document returns the body of a request, which is also the payload of a subscription.
func Document(query string, variables map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{"query": query, "variables": variables})
}

// Post makes a request with exactly this body, and reads the answer without decoding it, whatever its status.
func (c *Client) Post(ctx context.Context, body []byte, change ...func(*http.Request)) (*Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for _, fn := range change {
		fn(req)
	}
	return c.Fetch(req)
}

// Fetch makes any request and reads its answer.
func (c *Client) Fetch(req *http.Request) (*Reply, error) {
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	r := &Reply{Status: res.StatusCode, Header: res.Header}
	r.Body, err = io.ReadAll(res.Body)
	return r, err
}

// Send is Post with the answer decoded, if it is JSON.
func (c *Client) Send(ctx context.Context, body []byte, change ...func(*http.Request)) (*Reply, error) {
	r, err := c.Post(ctx, body, change...)
	if err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "application/") {
		if err = json.Unmarshal(r.Body, r); err != nil {
			err = fmt.Errorf("the answer is not JSON: %w: %.300s", err, r.Body)
		}
	}
	return r, err
}

// Do runs an operation and decodes its data into out, unless that is nil. A status other than 200, errors, and userErrors of any of the
// operation's fields are errors; the first entry of errors is one of the type Error.
func (c *Client) Do(ctx context.Context, query string, variables map[string]any, out any) error {
	body, err := Document(query, variables)
	if err != nil {
		return err
	}
	r, err := c.Send(ctx, body)
	switch {
	case err != nil:
		return err
	case r.Status != http.StatusOK:
		return fmt.Errorf("%d %s: %.300s", r.Status, http.StatusText(r.Status), bytes.TrimSpace(r.Body))
	case len(r.Errors) > 0:
		return r.Errors[0]
	}
	var payloads map[string]json.RawMessage
	if err := json.Unmarshal(r.Data, &payloads); err != nil {
		return fmt.Errorf("the answer has no data: %w: %.300s", err, r.Body)
	}
	for field, payload := range payloads {
		var failed struct {
			UserErrors []UserError `json:"userErrors"`
		}
		if json.Unmarshal(payload, &failed) == nil && len(failed.UserErrors) > 0 {
			return fmt.Errorf("%s: %s", field, payload)
		}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.Data, out)
}
