package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/anthropic"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
	"github.com/ostler-dev/ostler/internal/models"
)

func text(s string) models.Part { return models.Part{Type: models.PartText, Text: s} }

func call(id, name, args string) models.Part {
	return models.Part{Type: models.PartToolCall, ToolCallID: id, ToolName: name, Arguments: models.JSON(args)}
}

func result(id, name, value string) models.Part {
	return models.Part{Type: models.PartToolResult, ToolCallID: id, ToolName: name, Success: true, Result: models.JSON(value)}
}

func user(p ...models.Part) llm.Message  { return llm.Message{Role: models.MessageUser, Parts: p} }
func agent(p ...models.Part) llm.Message { return llm.Message{Role: models.MessageAgent, Parts: p} }
func tool(p ...models.Part) llm.Message  { return llm.Message{Role: models.MessageTool, Parts: p} }

var imageA, imageGone = models.ImageID{1}, models.ImageID{2}

func readImage(_ context.Context, id models.ImageID) (llm.Image, error) {
	if id == imageA {
		return llm.Image{MediaType: "image/png", Data: []byte("\x89PNG")}, nil
	}
	return llm.Image{}, fmt.Errorf("read: %w", fs.ErrNotExist)
}

// ask sends a request and returns what arrived.
func ask(t *testing.T, change func(*llm.Request)) wiretest.Request {
	t.Helper()
	s := wiretest.New(t, wiretest.Answer{Events: wiretest.Events(t, "text.sse")})
	d, req := newDriver(s)
	change(&req)
	if _, err := d.Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
		t.Fatal(err)
	}
	return s.Last(t)
}

func TestRequest(t *testing.T) {
	tests := map[string]func(*llm.Request){
		// All that a request can hold.
		"full": func(r *llm.Request) {
			r.System, r.MaxTokens, r.ReadImage = "Be brief.", 777, readImage
			r.Tools = []llm.Tool{
				{Name: "read_file", Description: "Reads a file.", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","maximum":9007199254740993}},"required":["path"],"additionalProperties":false,"$defs":{"x":{}}}`)},
				{Name: "list_files", InputSchema: json.RawMessage(`{"type":"object"}`)},
			}
			r.Messages = []llm.Message{
				user(text("What is in "), models.Part{Type: models.PartImage, ImageID: &imageA, MediaType: "image/png"},
					models.Part{Type: models.PartImage, ImageID: &imageGone}, text("this?")),
				agent(models.Part{Type: models.PartThinking, Text: "Hm.", Metadata: models.JSON(`{"signature":"Sig+/="}`)},
					models.Part{Type: models.PartThinking, Metadata: models.JSON(`{"redacted":"Red+/="}`)},
					models.Part{Type: models.PartThinking, Metadata: models.JSON(`{"signature":"Kept from us"}`)},
					text("I look."), call("call_1", "read_file", `{"path":"a","n":9007199254740993}`), call("call_2", "list_files", `{}`)),
				tool(result("call_2", "list_files", `{"files":["a"]}`)),
				tool(models.Part{Type: models.PartToolResult, ToolCallID: "call_1", ToolName: "read_file", Error: "not_found: There is no a."}),
				user(text("Be quick.")),
				agent(text("Done.")),
				user(text("Thanks.")),
			}
		},
		// What is left of a conversation whose beginning was cut off, and what no API takes.
		"cut": func(r *llm.Request) {
			r.Messages = []llm.Message{
				tool(result("call_0", "read_file", `"the text"`)),
				agent(text(" "), models.Part{Type: models.PartThinking, Text: "Another model's."}),
				agent(text("A")), agent(text("B"), call("bad id!", "list_files", `not JSON`)),
				user(text(""), text("C")), user(text("D")),
				agent(call("call_3", "list_files", `[1]`), call("call_4", "list_files", ``)),
				tool(result("call_3", "list_files", `""`), result("call_3", "list_files", `"twice"`)),
				agent(text("E")),
			}
		},
		"agent first": func(r *llm.Request) { r.Messages = []llm.Message{agent(text("A")), user(text("B"))} },
		"nothing":     func(r *llm.Request) { r.Messages = nil },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, change)
			wiretest.Same(t, "request", got.Method+" "+got.URL, "POST /v1/messages")
			wiretest.Same(t, "key", got.Header.Get("X-Api-Key"), key)
			wiretest.Same(t, "version", got.Header.Get("Anthropic-Version"), "2023-06-01")
			wiretest.Golden(t, "request_"+strings.ReplaceAll(name, " ", "_")+".json", got.Body)
			assertValid(t, got.Body)
		})
	}
}

// assertValid checks a body by the rules that the API refuses requests for.
func assertValid(t *testing.T, body []byte) {
	t.Helper()
	var r struct {
		Messages []struct {
			Role    string `json:"role"`
			Content []struct {
				Type         string `json:"type"`
				Text         string `json:"text"`
				ID           string `json:"id"`
				ToolUseID    string `json:"tool_use_id"`
				CacheControl any    `json:"cache_control"`
			} `json:"content"`
		} `json:"messages"`
		System []struct {
			CacheControl any `json:"cache_control"`
		} `json:"system"`
		Tools []struct {
			CacheControl any `json:"cache_control"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	marks := 0
	var open []string
	for i, m := range r.Messages {
		if want := [2]string{"user", "assistant"}[i%2]; m.Role != want {
			t.Errorf("message %d is the %s's, want the %s's", i, m.Role, want)
		}
		if len(m.Content) == 0 {
			t.Errorf("message %d is empty", i)
		}
		var results, calls []string
		for j, c := range m.Content {
			if c.Type == "text" && strings.TrimSpace(c.Text) == "" {
				t.Errorf("text %d of message %d is empty", j, i)
			}
			if c.CacheControl != nil {
				marks++
			}
			if c.Type == "tool_use" {
				calls = append(calls, c.ID)
			}
			if c.Type == "tool_result" {
				if results = append(results, c.ToolUseID); j != len(results)-1 {
					t.Errorf("message %d has something before its results", i)
				}
			}
		}
		wiretest.Same(t, "results of the calls before", results, open)
		open = calls
	}
	if open != nil || len(r.Messages)%2 == 0 {
		t.Error("the conversation does not end with the user")
	}
	for i := range r.System {
		if r.System[i].CacheControl != nil {
			marks++
		}
	}
	for i := range r.Tools {
		if r.Tools[i].CacheControl != nil {
			marks++
		}
	}
	if marks > 4 || marks == 0 {
		t.Errorf("%d cache marks", marks)
	}
}

// What an answer brought goes back as it came.
func TestRoundTrip(t *testing.T) {
	for _, file := range fixtures {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, wiretest.Answer{Events: wiretest.Events(t, file)})
			d, req := newDriver(s)
			resp, err := d.Stream(t.Context(), req, func(llm.Delta) {})
			if err != nil {
				t.Fatal(err)
			}
			// Parts are stored as JSON between the calls.
			stored, err := json.Marshal(resp.Parts)
			if err != nil {
				t.Fatal(err)
			}
			var parts []models.Part
			if err := json.Unmarshal(stored, &parts); err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, agent(parts...))
			for _, p := range parts {
				if p.Type == models.PartToolCall {
					req.Messages = append(req.Messages, tool(result(p.ToolCallID, p.ToolName, `{"ok":true}`)))
				}
			}
			req.Messages = append(req.Messages, user(text("Go on.")))
			if _, err := d.Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
				t.Fatal(err)
			}
			body := s.Last(t).Body
			assertValid(t, body)
			wiretest.Golden(t, "roundtrip_"+strings.TrimSuffix(file, ".sse")+".json", body)
		})
	}
}

func TestMaxTokens(t *testing.T) {
	for model, want := range map[string]string{
		"claude-sonnet-4-5": "32000", "claude-3-7-sonnet-20250219": "32000", "claude-3-haiku-20240307": "4096", "claude-2.1": "4096", "claude-opus-4-1": "32000",
	} {
		got := ask(t, func(r *llm.Request) { r.Model = model })
		if !strings.Contains(string(got.Body), `"max_tokens":`+want) {
			t.Errorf("%s: want %s in %s", model, want, got.Body)
		}
	}
}

// What the API refuses of images would be refused with every later message too: only what it takes is sent, the newest first.
func TestImagesThatFit(t *testing.T) {
	sizes := map[models.ImageID]int{{1}: 5 << 20 / 4 * 3, {2}: 5<<20/4*3 + 1, {3}: 2 << 20}
	got := func(ids ...byte) (images, texts int) {
		body := string(ask(t, func(r *llm.Request) {
			r.ReadImage = func(_ context.Context, id models.ImageID) (llm.Image, error) {
				return llm.Image{MediaType: "image/png", Data: make([]byte, sizes[id])}, nil
			}
			r.Messages = nil
			for _, id := range ids {
				r.Messages = append(r.Messages, user(models.Part{Type: models.PartImage, ImageID: &models.ImageID{id}}))
			}
		}).Body)
		if len(body) > 30_000_000 {
			t.Errorf("the request has %d bytes", len(body))
		}
		return strings.Count(body, `"type":"image"`), strings.Count(body, "There was an image here")
	}
	for _, tt := range []struct {
		name          string
		ids           []byte
		images, texts int
	}{
		{"as large as can be", []byte{1}, 1, 0},
		{"too large", []byte{2, 4}, 1, 1},
		{"together too large", slices.Repeat([]byte{1}, 5), 4, 1},
		{"the same one again and again", slices.Repeat([]byte{3}, 50), 8, 42},
		{"too many", slices.Repeat([]byte{4}, 21), 20, 1},
	} {
		if images, texts := got(tt.ids...); images != tt.images || texts != tt.texts {
			t.Errorf("%s: %d images and %d texts in their place, want %d and %d", tt.name, images, texts, tt.images, tt.texts)
		}
	}
}

func TestImageUnreadable(t *testing.T) {
	s := wiretest.New(t, wiretest.Answer{})
	d, req := newDriver(s)
	cause := errors.New("disk")
	req.ReadImage = func(context.Context, models.ImageID) (llm.Image, error) { return llm.Image{}, cause }
	req.Messages = []llm.Message{user(models.Part{Type: models.PartImage, ImageID: &imageA})}
	_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
	wiretest.Failure(t, err, llm.CodeInternal, true, key)
	if !errors.Is(err, cause) || len(s.Requests()) != 0 {
		t.Errorf("got %v and %d requests", err, len(s.Requests()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Stream(ctx, req, func(llm.Delta) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Nothing of the environment reaches a request: one organization's call must not be made with the server's key.
func TestEnvironment(t *testing.T) {
	leak := "leak-from-environment"
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_ORGANIZATION_ID",
		"ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_WORKSPACE_ID",
	} {
		t.Setenv(name, leak)
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/"+leak)
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: "+leak)
	for _, key := range []string{"", key} {
		got := ask(t, func(r *llm.Request) { r.Endpoint.APIKey = key })
		wiretest.Same(t, "key", got.Header.Get("X-Api-Key"), key)
		if all := fmt.Sprint(got); strings.Contains(all, leak) || got.Header.Get("Authorization") != "" {
			t.Errorf("the environment leaks: %s", all)
		}
	}
}

// Without an address of its own a provider is the real one, whatever the environment says.
func TestDefaultAddress(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	host := ""
	d := anthropic.New(anthropic.Options{HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		host = r.URL.Host
		return nil, errors.New("no network here")
	})}})
	_, err := d.Stream(t.Context(), llm.Request{Model: "claude", Endpoint: llm.Endpoint{APIKey: key}}, func(llm.Delta) {})
	wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
	wiretest.Same(t, "host", host, "api.anthropic.com")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The version may stand in the base URL, and a slash at its end.
func TestBaseURL(t *testing.T) {
	for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
		got := ask(t, func(r *llm.Request) { r.Endpoint.BaseURL += suffix })
		wiretest.Same(t, "path", got.URL, "/v1/messages")
	}
	got := ask(t, func(r *llm.Request) { r.Endpoint.BaseURL += "/proxy/anthropic" })
	wiretest.Same(t, "path", got.URL, "/proxy/anthropic/v1/messages")
}

// A request that can't be made is no failure of the connection, which would be tried again.
func TestBaseURLUnusable(t *testing.T) {
	s := wiretest.New(t, wiretest.Answer{})
	d, req := newDriver(s)
	req.Endpoint.BaseURL = "http://[::1"
	_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
	wiretest.Failure(t, err, llm.CodeMisconfigured, false, key)
}
