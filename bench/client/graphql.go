package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// API is the product's GraphQL endpoint, seen with one token.
type API struct {
	URL   string // of the server
	Token string
	HTTP  *http.Client
}

// NewAPI makes an API without a token.
func NewAPI(url string) *API { return &API{URL: url, HTTP: newHTTPClient()} }

// As gives the same API with another token.
func (a *API) As(token string) *API { return &API{URL: a.URL, Token: token, HTTP: a.HTTP} }

// At gives the same API at another node.
func (a *API) At(url string) *API { return &API{URL: url, Token: a.Token, HTTP: a.HTTP} }

// UserError is an entry of a payload's userErrors.
type UserError struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Path    []string `json:"path"`
}

// Do runs an operation and decodes its data into out. GraphQL errors, and userErrors of any of the operation's
// fields, are errors.
func (a *API) Do(ctx context.Context, query string, variables map[string]any, out any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	answer, err := a.post(ctx, body)
	if err != nil {
		return err
	}
	var envelope struct {
		Data   json.RawMessage `json:"data"`
		Errors json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(answer, &envelope); err != nil {
		return fmt.Errorf("the answer is not JSON: %w: %s", err, answer)
	}
	if len(envelope.Errors) > 0 {
		return errors.New("GraphQL errors: " + string(envelope.Errors))
	}
	var payloads map[string]json.RawMessage
	if err := json.Unmarshal(envelope.Data, &payloads); err != nil {
		return fmt.Errorf("the answer has no data: %w: %s", err, answer)
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
	return json.Unmarshal(envelope.Data, out)
}

// post sends a body and gives the answer's. Another status than 200 is an error.
func (a *API) post(ctx context.Context, body []byte) ([]byte, error) {
	status, answer, err := a.Raw(ctx, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %s: %s", status, http.StatusText(status), strings.TrimSpace(string(answer)))
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Raw sends a body and gives the answer as it is, whatever its status: for requests that must be refused.
func (a *API) Raw(ctx context.Context, body []byte) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if a.Token != "" {
		req.Header.Set("Authorization", "Bearer "+a.Token)
	}
	res, err := a.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}
