package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// model streams so many tokens.
type model interface {
	stream(ctx context.Context, tokens int, emit func(token string)) error
}

// builtinModel answers within the process, as the product's simulated models do.
type builtinModel struct{}

func (builtinModel) stream(_ context.Context, tokens int, emit func(string)) error {
	for range tokens {
		emit("token ")
	}
	return nil
}

// httpModel asks the fake model.
type httpModel struct {
	url    string
	client *http.Client
}

// idleConnections is more than the turns that run at once.
const idleConnections = 1024

func newHTTPModel(url string) httpModel {
	return httpModel{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idleConnections}}}
}

func (m httpModel) stream(ctx context.Context, tokens int, emit func(string)) error {
	body := strings.NewReader(`{"stream":true,"max_tokens":` + strconv.Itoa(tokens) + `,"messages":[{"role":"user","content":"hello"}]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/v1/chat/completions", body)
	if err != nil {
		return err
	}
	res, err := m.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the model: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the model answered %s", res.Status)
	}
	const before, after = `data: {"choices":[{"delta":{"content":"`, `"}}]}`
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("the model's stream broke: %w", err)
		}
		text := strings.TrimSuffix(string(line), "\n")
		if text == "data: [DONE]" {
			if _, err := io.Copy(io.Discard, lines); err != nil { // so that the connection is used again
				return fmt.Errorf("the model's stream broke at its end: %w", err)
			}
			return nil
		}
		if text == "" {
			continue
		}
		token, found := strings.CutPrefix(text, before)
		token, ended := strings.CutSuffix(token, after)
		if !found || !ended {
			return errors.New("the model sent something else than a token: " + text)
		}
		emit(token)
	}
}
