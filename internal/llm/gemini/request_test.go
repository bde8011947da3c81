package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/gemini"
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

func signed(p models.Part, signature string) models.Part {
	p.Metadata = models.JSON(`{"thoughtSignature":"` + signature + `"}`)
	return p
}

func user(p ...models.Part) llm.Message  { return llm.Message{Role: models.MessageUser, Parts: p} }
func agent(p ...models.Part) llm.Message { return llm.Message{Role: models.MessageAgent, Parts: p} }
func tool(p ...models.Part) llm.Message  { return llm.Message{Role: models.MessageTool, Parts: p} }

var imageA, imageGone, imageGIF = models.ImageID{1}, models.ImageID{2}, models.ImageID{3}

func readImage(_ context.Context, id models.ImageID) (llm.Image, error) {
	if id == imageA {
		return llm.Image{MediaType: "image/png", Data: []byte("\x89PNG")}, nil
	}
	if id == imageGIF {
		return llm.Image{MediaType: "image/gif", Data: []byte("GIF89a")}, nil
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
			r.Model = "gemini-3-pro"
			r.System, r.MaxTokens, r.ReadImage = "Be brief.", 777, readImage
			r.Tools = []llm.Tool{
				{Name: "read_file", Description: "Reads a file.", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","maximum":9007199254740993}},"required":["path"],"additionalProperties":false,"$defs":{"x":{}}}`)},
				{Name: "list_files", InputSchema: json.RawMessage(`{"type":"object"}`)},
			}
			r.Messages = []llm.Message{
				user(text("What is in "), models.Part{Type: models.PartImage, ImageID: &imageA, MediaType: "image/png"},
					models.Part{Type: models.PartImage, ImageID: &imageGone}, models.Part{Type: models.PartImage, ImageID: &imageGIF}, text("this?")),
				agent(models.Part{Type: models.PartThinking, Text: "Hm.", Metadata: models.JSON(`{"thoughtSignature":"Sig+/="}`)},
					models.Part{Type: models.PartThinking, Text: "A summary without a signature."},
					text("I look."), signed(call("call_1", "read_file", `{"path":"a","n":9007199254740993}`), "Call+/="), call("call_2", "list_files", `{}`)),
				tool(result("call_2", "list_files", `{"files":["a"]}`)),
				tool(models.Part{Type: models.PartToolResult, ToolCallID: "call_1", ToolName: "read_file", Error: "not_found: There is no a."}),
				user(text("Be quick.")),
				agent(text("Done."), signed(text(""), "Text+/=")),
				user(text("Thanks.")),
				// Calls of another model.
				agent(call("call_3", "list_files", `{}`), call("call_4", "list_files", `{}`)),
				tool(result("call_3", "list_files", `[]`), result("call_4", "list_files", `null`)),
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
		"older": func(r *llm.Request) {
			r.Model = "models/gemini-2.5-flash"
			r.Messages = []llm.Message{user(text("A")), agent(call("call_3", "list_files", `{}`)), tool(result("call_3", "list_files", `[]`))}
		},
		"agent first": func(r *llm.Request) { r.Messages = []llm.Message{agent(text("A")), user(text("B"))} },
		"nothing":     func(r *llm.Request) { r.Messages = nil },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, change)
			model := "gemini-2.5-flash"
			if name == "full" {
				model = "gemini-3-pro"
			}
			wiretest.Same(t, "request", got.Method+" "+got.URL, "POST /v1beta/models/"+model+":streamGenerateContent?alt=sse")
			wiretest.Same(t, "key", got.Header["X-Goog-Api-Key"], []string{key})
			wiretest.Golden(t, "request_"+strings.ReplaceAll(name, " ", "_")+".json", got.Body)
			assertValid(t, got.Body)
		})
	}
}

// assertValid checks a body by the rules that the API refuses requests for.
func assertValid(t *testing.T, body []byte) {
	t.Helper()
	var r struct {
		Contents []struct {
			Role  string           `json:"role"`
			Parts []map[string]any `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	var open []any
	for i, c := range r.Contents {
		if want := [2]string{"user", "model"}[i%2]; c.Role != want {
			t.Errorf("content %d is the %s's, want the %s's", i, c.Role, want)
		}
		if len(c.Parts) == 0 {
			t.Errorf("content %d is empty", i)
		}
		var results, calls []any
		for j, p := range c.Parts {
			data := 0
			for _, field := range []string{"text", "inlineData", "functionCall", "functionResponse"} {
				if _, ok := p[field]; ok {
					data++
				}
			}
			if data != 1 {
				t.Errorf("part %d of content %d has %d kinds of data: %v", j, i, data, p)
			}
			if call, ok := p["functionCall"].(map[string]any); ok {
				calls = append(calls, fmt.Sprint(call["id"], call["name"]))
			}
			if result, ok := p["functionResponse"].(map[string]any); ok {
				results = append(results, fmt.Sprint(result["id"], result["name"]))
			}
		}
		wiretest.Same(t, "results of the calls before", results, open)
		open = calls
	}
	if open != nil || len(r.Contents)%2 == 0 {
		t.Error("the conversation does not end with the user")
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

// A name that leads elsewhere than to a model is not sent.
func TestModelName(t *testing.T) {
	s := wiretest.New(t, wiretest.Answer{})
	d, req := newDriver(s)
	for _, name := range []string{"", "../files", "a?alt=json&x=", "a b", "a%2e", "a#", "a:b"} {
		req.Model = name
		_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
		wiretest.Failure(t, err, llm.CodeMisconfigured, false, key)
	}
	wiretest.Same(t, "requests", len(s.Requests()), 0)
}

// One image shown again and again must not make a request of any size.
func TestImagesBeyondTheBound(t *testing.T) {
	got := ask(t, func(r *llm.Request) {
		r.ReadImage = func(context.Context, models.ImageID) (llm.Image, error) {
			return llm.Image{MediaType: "image/png", Data: make([]byte, 17<<20)}, nil
		}
		r.Messages = nil
		for range 3 {
			r.Messages = append(r.Messages, user(models.Part{Type: models.PartImage, ImageID: &imageA}))
		}
	})
	if n := strings.Count(string(got.Body), "the conversation has too many"); n != 2 {
		t.Errorf("%d of 3 images were left out of %d bytes, want 2", n, len(got.Body))
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
		"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION",
		"GOOGLE_APPLICATION_CREDENTIALS",
	} {
		t.Setenv(name, leak)
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1/"+leak)
	t.Setenv("GOOGLE_VERTEX_BASE_URL", "http://127.0.0.1:1/"+leak)
	for _, key := range []string{"", key} {
		got := ask(t, func(r *llm.Request) { r.Endpoint.APIKey = key })
		wiretest.Same(t, "key", got.Header.Get("X-Goog-Api-Key"), key)
		if all := fmt.Sprint(got); strings.Contains(all, leak) || got.Header.Get("Authorization") != "" {
			t.Errorf("the environment leaks: %s", all)
		}
	}
	// Without an address of its own a provider is the real one, whatever the environment says.
	host := ""
	d := gemini.New(gemini.Options{HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		host = r.URL.Host
		return nil, errors.New("no network here")
	})}})
	_, err := d.Stream(t.Context(), llm.Request{Model: "gemini-2.5-flash", Endpoint: llm.Endpoint{APIKey: key}}, func(llm.Delta) {})
	wiretest.Failure(t, err, llm.CodeUnavailable, true, key)
	wiretest.Same(t, "host", host, "generativelanguage.googleapis.com")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The version may stand in the base URL, and a slash at its end.
func TestBaseURL(t *testing.T) {
	for suffix, want := range map[string]string{"": "/v1beta", "/": "/v1beta", "/v1beta": "/v1beta", "/v1/": "/v1", "/proxy/google": "/proxy/google/v1beta"} {
		got := ask(t, func(r *llm.Request) { r.Endpoint.BaseURL += suffix })
		wiretest.Same(t, "path", got.URL, want+"/models/gemini-2.5-flash:streamGenerateContent?alt=sse")
	}
}

// A request that can't be made is no failure of the connection, which would be tried again.
func TestBaseURLUnusable(t *testing.T) {
	s := wiretest.New(t, wiretest.Answer{})
	d, req := newDriver(s)
	req.Endpoint.BaseURL = "http://[::1"
	_, err := d.Stream(t.Context(), req, func(llm.Delta) {})
	wiretest.Failure(t, err, llm.CodeMisconfigured, false, key)
}
