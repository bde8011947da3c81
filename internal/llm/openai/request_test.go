package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
	"github.com/ostler-dev/ostler/internal/models"
)

func agent(parts ...models.Part) llm.Message {
	return llm.Message{Role: models.MessageAgent, Parts: parts}
}

func results(parts ...models.Part) llm.Message {
	return llm.Message{Role: models.MessageTool, Parts: parts}
}

func result(id, name, content string) models.Part {
	return models.Part{Type: models.PartToolResult, ToolCallID: id, ToolName: name, Success: true, Result: models.JSON(content)}
}

func failedResult(id, name, message string) models.Part {
	return models.Part{Type: models.PartToolResult, ToolCallID: id, ToolName: name, Error: message}
}

func with(p models.Part, metadata string) models.Part {
	p.Metadata = models.JSON(metadata)
	return p
}

var (
	aPicture   = models.NewID[models.ImageEntity]()
	anotherOne = models.NewID[models.ImageEntity]()
	lostOne    = models.NewID[models.ImageEntity]()
)

func picture(id models.ImageID) models.Part {
	return models.Part{Type: models.PartImage, ImageID: &id, MediaType: "image/png"}
}

func readImage(_ context.Context, id models.ImageID) (llm.Image, error) {
	switch id {
	case aPicture:
		return llm.Image{MediaType: "image/png", Data: []byte("\x89PNG")}, nil
	case anotherOne:
		return llm.Image{MediaType: "image/webp", Data: []byte("RIFF")}, nil
	}
	return llm.Image{}, fmt.Errorf("image %s: %w", id, fs.ErrNotExist)
}

const encrypted = `{"id":"rs_01","encrypted_content":"gAAAA=="}`

func requests() map[string]llm.Request {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","maximum":12345678901234567890},"a":{"z":1,"b":2}},"required":["path"],"additionalProperties":false}`)
	return map[string]llm.Request{
		"plain": {Model: "gpt-5.2", Messages: []llm.Message{user("Hello")}},
		"everything": {
			Model: "gpt-5.2", System: "You are <helpful> & kind.", MaxTokens: 4096, Conversation: "ses_1", ReadImage: readImage,
			Tools: []llm.Tool{
				{Name: "read_file", Description: "Reads a file.", InputSchema: schema},
				{Name: "get_current_time", InputSchema: json.RawMessage(`{"type":"object"}`)}, {Name: "bare"},
			},
			Messages: []llm.Message{
				{Role: models.MessageUser, Parts: []models.Part{text("Look:"), picture(aPicture), text(""), picture(lostOne), picture(anotherOne)}},
				agent(with(thinking("Plan", ""), encrypted), text("I read both."), call("c1", "read_file", `{"path":"/a"}`), call("c2", "get_current_time", "")),
				// Results come in their own order.
				results(result("c2", "get_current_time", `{"time":"12:00"}`)), results(result("c1", "read_file", `"one\ntwo"`)),
				agent(text("Done.")),
			},
		},
		"parallel results in one message": {Model: "gpt-5.2", Messages: []llm.Message{
			user("Go"), agent(call("c1", "f", `{}`), call("c2", "g", `{}`), call("c3", "h", `{}`)),
			results(failedResult("c3", "h", "not_found: no such thing"), result("c2", "g", `null`), failedResult("c1", "f", "")),
		}},
		"a conversation that was cut": {Model: "gpt-5.2", Messages: []llm.Message{
			results(result("c0", "f", `"lost"`)), agent(text(" \n")), agent(thinking("alone", encrypted)), agent(call("c1", "f", `{}`)), user("Well?"), user("Hello?"),
		}},
		"names that models invent": {Model: "gpt-5.2", Messages: []llm.Message{
			user("Go"), agent(call("c1", "functions.read file/ä", `{}`), call("c2", "", `{}`), call("c3", strings.Repeat("x", 80), `{}`)),
			results(failedResult("c1", "", "unknown tool"), failedResult("c2", "", "unknown tool"), failedResult("c3", "", "unknown tool")),
		}},
		"several thoughts": {Model: "gpt-5.2", Messages: []llm.Message{
			user("Go"), agent(
				thinking("One\n\nTwo", `{"id":"rs_01","encrypted_content":"e1","summary":["One","Two"]}`), text("A"),
				thinking("", `{"id":"rs_02","encrypted_content":"e2"}`), call("c1", "f", `{}`), thinking("trailing", `{"id":"rs_03","encrypted_content":"e3"}`)),
			results(result("c1", "f", `[1,2]`)), user("On"),
		}},
		"thoughts of another model": {Model: "gpt-5.2", Messages: []llm.Message{
			user("Go"), agent(thinking("stripped", ""), thinking("no id", `{"encrypted_content":"e"}`), thinking("not encrypted", `{"id":"rs_9"}`),
				thinking("Gemini's", `{"signature":"x"}`), thinking("odd", `[1]`), text("A")), user("On"),
		}},
		"thoughts in the work": {Model: "deepseek-reasoner", MaxTokens: 4, Messages: []llm.Message{
			user("Old"), agent(thinking("old thoughts", `{"field":"reasoning_content"}`), text("A")), user("Go"),
			agent(thinking("new ", `{"field":"reasoning_content"}`), thinking("thoughts", `{"field":"reasoning_content"}`), thinking("no field", `{"field":"content"}`),
				with(call("c1", "f", `{"x":"<&>"}`), `{"extra_content":{"google":{"thought_signature":"s=="}}}`)),
			results(result("c1", "f", `"ok"`)),
		}},
		"a model that doesn't reason":   {Model: "gpt-4.1-mini", Messages: []llm.Message{user("Hello")}},
		"a long name of a conversation": {Model: "gpt-5.2", Conversation: strings.Repeat("c", 65), Messages: []llm.Message{user("Hello")}},
	}
}

// TestRequests compares what is sent with files.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, req := range requests() {
		for kind, k := range kinds {
			p := serve(t, stream(fixture(t, kind+"/text"), false))
			req.Endpoint = p.request().Endpoint
			if _, err := k.make(options(t)).Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
				t.Errorf("%s, %s: %v", kind, name, err)
				continue
			}
			h := p.Requests()[0].Header
			if p.path(0) != "POST "+k.path || h.Get("Authorization") != "Bearer sk-secret-key" || h.Get("Accept") != "text/event-stream" ||
				h.Get("Content-Type") != "application/json" {
				t.Errorf("%s, %s: %s %v", kind, name, p.path(0), h)
			}
			file := strings.NewReplacer(" ", "_", "'", "").Replace(name) + "." + kind + ".json"
			wiretest.GoldenText(t, filepath.Join("requests", file), p.Requests()[0].Body)
		}
	}
}

// TestThoughtsReturn takes an answer and sends it back.
func TestThoughtsReturn(t *testing.T) {
	t.Parallel()
	p := serve(t, stream(fixture(t, "responses/tools"), false))
	d := kinds["responses"].make(options(t))
	req := p.request()
	req.Model = "gpt-5.2"
	first, err := d.Stream(t.Context(), req, func(llm.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	// What the engine stores goes through JSON.
	stored, err := json.Marshal(first.Parts)
	if err != nil {
		t.Fatal(err)
	}
	var parts []models.Part
	if err := json.Unmarshal(stored, &parts); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, agent(parts...), results(result("call_A", "read_file", `"x"`), result("call_B", "get_current_time", `"y"`)))
	if _, err := d.Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"rs_01","summary":[{"text":"**Plan** look at both.","type":"summary_text"},{"text":"Then answer.","type":"summary_text"}],"encrypted_content":"gAAAAfinal==","type":"reasoning"},` +
		`{"arguments":"{\"path\":\"/a\"}","call_id":"call_A","name":"read_file","type":"function_call"}`
	if !strings.Contains(p.body(1), want) {
		t.Errorf("want %s\nin %s", want, p.body(1))
	}
}

// TestExtrasThatAreRefused has the refusals of models and accounts that lack what is asked for besides the answer.
func TestExtrasThatAreRefused(t *testing.T) {
	t.Parallel()
	const summary, encryptedContent, thoughts = `"summary":"auto"`, `"reasoning.encrypted_content"`, `"type":"reasoning"`
	for name, test := range map[string]struct {
		status int
		body   string
		gone   string
	}{
		"an organization that is not verified": {400, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`, summary},
		"a model without summaries":            {400, `{"error":{"message":"Unsupported parameter: 'reasoning.summary' is not supported with this model.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_parameter"}}`, summary},
		"a model that doesn't reason":          {400, `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`, encryptedContent},
		"another organization's key":           {400, `{"error":{"message":"The encrypted content for item rs_01 could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`, thoughts},
		"a server that looks for items":        {404, `{"error":{"message":"Item with id 'rs_01' not found. Items are not persisted when store is set to false.","type":"invalid_request_error","param":"input","code":null}}`, thoughts},
		"thoughts that stand alone":            {400, `{"error":{"message":"Item 'rs_01' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input","code":null}}`, thoughts},
	} {
		p := serve(t, refuseWith(test.status, nil, test.body), stream(fixture(t, "responses/text"), false))
		req := requests()["everything"]
		req.Endpoint = p.request().Endpoint
		resp, err := kinds["responses"].make(options(t)).Stream(t.Context(), req, func(llm.Delta) {})
		if err != nil || resp.FinishReason != llm.FinishStop || p.asked() != 2 {
			t.Errorf("%s: %v after %d requests", name, err, p.asked())
			continue
		}
		for _, extra := range []string{summary, encryptedContent, thoughts} {
			if !strings.Contains(p.body(0), extra) || strings.Contains(p.body(1), extra) != (extra != test.gone) {
				t.Errorf("%s: %s\n%s\n%s", name, extra, p.body(0), p.body(1))
			}
		}
	}
	// A server that refuses whatever comes is asked once for each extra, and no more.
	p := serve(t, refuseWith(400, nil, `{"error":{"message":"reasoning.summary reasoning.encrypted_content encrypted content"}}`))
	req := requests()["everything"]
	req.Endpoint = p.request().Endpoint
	_, err := kinds["responses"].make(options(t)).Stream(t.Context(), req, func(llm.Delta) {})
	failed(t, "refusals without end", err, llm.CodeMisconfigured, false)
	if p.asked() != 4 {
		t.Errorf("asked %d times", p.asked())
	}
}

// TestEnvironment sets the variables that OpenAI's SDK reads. It can't run beside others.
func TestEnvironment(t *testing.T) {
	stray := serve(t, refuseWith(500, nil, ""))
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-env-leak", "OPENAI_ADMIN_KEY": "sk-env-leak", "OPENAI_ORG_ID": "org-env-leak", "OPENAI_PROJECT_ID": "proj-env-leak",
		"OPENAI_BASE_URL": stray.URL, "OPENAI_WEBHOOK_SECRET": "env-leak", "OPENAI_CUSTOM_HEADERS": "X-Leak: env-leak",
	} {
		t.Setenv(name, value)
	}
	for kind, k := range kinds {
		for _, key := range []string{"", "sk-own"} {
			p := serve(t, stream(fixture(t, kind+"/text"), false), refuseWith(200, nil, `{"data":[]}`))
			req := p.request()
			req.Endpoint.APIKey = key
			d := k.make(options(t))
			if _, err := d.Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
				t.Error(err)
			}
			if _, err := d.Models(t.Context(), req.Endpoint); err != nil {
				t.Error(err)
			}
			want := []string{"Bearer " + key}
			if key == "" {
				want = nil
			}
			for _, r := range p.Requests() {
				if !slices.Equal(r.Header.Values("Authorization"), want) || strings.Contains(show(r.Header)+string(r.Body), "env-leak") {
					t.Errorf("%s, key %q: %s", kind, key, show(r.Header))
				}
			}
			if p.asked() != 2 {
				t.Errorf("%s: %d requests", kind, p.asked())
			}
		}
	}
	// OpenAI's own address is the default, not the environment's. This client reaches nothing and says what it was asked for.
	o := options(t)
	var asked []string
	o.HTTP.Transport = transport(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		return nil, errors.New("no network")
	})
	d := kinds["responses"].make(o)
	_, err := d.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{user("Hello")}}, func(llm.Delta) {})
	failed(t, "no network", err, llm.CodeUnavailable, true)
	_, err = d.Models(t.Context(), llm.Endpoint{})
	failed(t, "no network", err, llm.CodeUnavailable, true)
	wiretest.Same(t, "asked", asked, []string{"https://api.openai.com/v1/responses", "https://api.openai.com/v1/models"})
	if stray.asked() != 0 {
		t.Error("the environment's address was asked")
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestImages(t *testing.T) {
	t.Parallel()
	big := models.NewID[models.ImageEntity]()
	for kind, k := range kinds {
		p := serve(t, stream(fixture(t, kind+"/text"), false))
		req := p.request()
		req.Messages = []llm.Message{
			{Role: models.MessageUser, Parts: []models.Part{text("old"), picture(aPicture), picture(big)}},
			{Role: models.MessageUser, Parts: []models.Part{text("new"), picture(anotherOne)}},
		}
		reads := 0
		req.ReadImage = func(ctx context.Context, id models.ImageID) (llm.Image, error) {
			reads++
			if id == big {
				return llm.Image{MediaType: "image/png", Data: make([]byte, 33<<20)}, nil
			}
			return readImage(ctx, id)
		}
		if _, err := k.make(options(t)).Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
			t.Fatal(err)
		}
		if body := p.body(0); len(body) > 1<<20 || strings.Count(body, "data:image/") != 2 || strings.Count(body, "too large") != 1 || reads != 3 {
			t.Errorf("%s: the images that fit must be sent: %d reads, %.500s", kind, reads, body)
		}
		// The same image counts as often as it is shown.
		again := p.request()
		for range 20 {
			again.Messages = append(again.Messages, llm.Message{Role: models.MessageUser, Parts: []models.Part{picture(big)}})
		}
		again.ReadImage = func(context.Context, models.ImageID) (llm.Image, error) {
			return llm.Image{MediaType: "image/png", Data: make([]byte, 17<<20)}, nil
		}
		if _, err := k.make(options(t)).Stream(t.Context(), again, func(llm.Delta) {}); err != nil || strings.Count(p.body(1), "left out") != 19 || strings.Count(p.body(1), "data:image/png") != 1 {
			t.Errorf("%s: %v, %d bytes", kind, err, len(p.body(1)))
		}
		req.ReadImage = nil
		if _, err := k.make(options(t)).Stream(t.Context(), req, func(llm.Delta) {}); err != nil || strings.Count(p.body(2), wire.MissingImage) != 3 {
			t.Errorf("%s: %v %.500s", kind, err, p.body(2))
		}
		req.ReadImage = func(context.Context, models.ImageID) (llm.Image, error) { return llm.Image{}, errors.New("disk") }
		_, err := k.make(options(t)).Stream(t.Context(), req, func(llm.Delta) {})
		failed(t, kind, err, llm.CodeInternal, true)
	}
}

// An image takes its room in the request each time it is shown.
func TestTheSameImageAgainAndAgain(t *testing.T) {
	t.Parallel()
	for kind, k := range kinds {
		p := serve(t, stream(fixture(t, kind+"/text"), false))
		req := p.request()
		req.Messages = nil
		for range 20 {
			req.Messages = append(req.Messages, llm.Message{Role: models.MessageUser, Parts: []models.Part{picture(aPicture)}})
		}
		reads := 0
		req.ReadImage = func(context.Context, models.ImageID) (llm.Image, error) {
			reads++
			return llm.Image{MediaType: "image/png", Data: make([]byte, 8<<20)}, nil
		}
		if _, err := k.make(options(t)).Stream(t.Context(), req, func(llm.Delta) {}); err != nil {
			t.Fatal(err)
		}
		if shown := strings.Count(p.body(0), "data:image/png"); shown != 4 || strings.Count(p.body(0), "left out") != 16 || reads != 1 {
			t.Errorf("%s: the image is read %d times and shown %d times in %d bytes", kind, reads, shown, len(p.body(0)))
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	many := make([]string, 1500)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":"m%d"}`, i)
	}
	for name, test := range map[string]struct {
		body string
		want []llm.ModelInfo
	}{
		"OpenAI":     {`{"object":"list","data":[{"id":"gpt-5.2","object":"model","created":1,"owned_by":"openai"},{"id":"gpt-5.2"},{"id":""}]}`, []llm.ModelInfo{{Name: "gpt-5.2"}}},
		"OpenRouter": {`{"data":[{"id":"a/b","name":"A: B","context_length":131072,"top_provider":{"context_length":1,"max_completion_tokens":8192}},{"id":"c","name":"c","context_length":null,"top_provider":{"max_completion_tokens":null}}]}`, []llm.ModelInfo{{Name: "a/b", DisplayName: "A: B", ContextWindowTokens: 131072, MaxOutputTokens: 8192}, {Name: "c"}}},
		"vLLM":       {`{"object":"list","data":[{"id":"q","max_model_len":32768,"permission":[{}]}]}`, []llm.ModelInfo{{Name: "q", ContextWindowTokens: 32768}}},
		"Groq":       {`{"data":[{"id":"l","active":true,"context_window":8192,"max_completion_tokens":4096}]}`, []llm.ModelInfo{{Name: "l", ContextWindowTokens: 8192, MaxOutputTokens: 4096}}},
		"Together":   {`[{"id":"t","display_name":"T","context_length":-3}]`, []llm.ModelInfo{{Name: "t", DisplayName: "T"}}},
		"none":       {`{"data":[]}`, []llm.ModelInfo{}},
		"a long id":  {`{"data":[{"id":"` + strings.Repeat("x", 201) + `"}]}`, []llm.ModelInfo{}},
	} {
		for kind, k := range kinds {
			p := serve(t, refuseWith(200, nil, test.body))
			got, err := k.make(options(t)).Models(t.Context(), p.request().Endpoint)
			if err != nil || p.path(0) != "GET /v1/models" {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			wiretest.Same(t, kind+", "+name, got, test.want)
		}
	}
	for kind, k := range kinds {
		p := serve(t, refuseWith(200, nil, `{"data":[`+strings.Join(many, ",")+`]}`))
		got, err := k.make(options(t)).Models(t.Context(), p.request().Endpoint)
		if err != nil || len(got) != 1000 || got[999].Name != "m999" {
			t.Errorf("%s: %d models, %v", kind, len(got), err)
		}
		for name, body := range map[string]string{
			"a page": "<html>", "nothing": "", "no list": `{}`, "null": `{"data":null}`, "a broken list": `{"data":[{"id":`, "another type": `{"data":{"a":1}}`,
			"a huge list": `{"data":[{"id":"` + strings.Repeat("x", 9<<20) + `"}]}`,
		} {
			p := serve(t, refuseWith(200, nil, body))
			_, err := k.make(options(t)).Models(t.Context(), p.request().Endpoint)
			failed(t, kind+", "+name, err, llm.CodeUnavailable, true)
		}
		p = serve(t, refuseWith(200, nil, `{"error":{"type":"authentication_error","message":"no"}}`))
		_, err = k.make(options(t)).Models(t.Context(), p.request().Endpoint)
		failed(t, kind+", an error as a success", err, llm.CodeMisconfigured, false)
	}
}
