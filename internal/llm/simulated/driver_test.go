package simulated_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
)

// Rules: M1.
func TestModelsAreValid(t *testing.T) {
	names := make([]string, 0, len(simulated.Models()))
	for _, m := range simulated.Models() {
		names = append(names, m.Name)
		noError(t, simulated.Valid(m.Name))
		equal(t, true, m.DisplayName != "" && m.ContextWindowTokens > 0 && m.MaxOutputTokens > 0)
		equal(t, models.Nanos(100_000_000), m.PriceInput)
		equal(t, models.Nanos(400_000_000), m.PriceOutput)
		equal(t, models.Nanos(10_000_000), m.PriceCacheRead)
	}
	equal(t, []string{"sim-default", "sim-echo", "sim-lorem:100", "sim-latency:300:20", "sim-script"}, names)
}

func TestNames(t *testing.T) {
	for _, name := range []string{"sim-lorem:1", "sim-lorem:100000", "sim-latency:0:0", "sim-latency:600000:600000"} {
		noError(t, simulated.Valid(name))
	}
	for _, name := range []string{
		"", "sim", "gpt", "sim-default:1", "sim-echo:", "sim-script:x", "sim-lorem", "sim-lorem:", "sim-lorem:0", "sim-lorem:-1",
		"sim-lorem:+1", "sim-lorem:1.5", "sim-lorem:100001", "sim-lorem:99999999999999999999", "sim-latency", "sim-latency:1",
		"sim-latency:1:", "sim-latency::1", "sim-latency:1:2:3", "sim-latency:-1:2", "sim-latency:600001:0", "SIM-ECHO", " sim-echo",
	} {
		err := simulated.Valid(name)
		if err == nil {
			t.Errorf("%q is taken for a model", name)
			continue
		}
		var r recorder
		_, err = r.stream(context.Background(), llm.Request{Model: name})
		e := asError(t, err)
		equal(t, llm.CodeMisconfigured, e.Code)
		equal(t, false, e.Transient)
		contains(t, e.Message, "sim-default, sim-echo, sim-lorem:TOKENS")
		contains(t, e.Message, "sim-latency:TTFT_MS:MS_PER_TOKEN")
		equal(t, 0, len(r.deltas))
	}
}

func TestImagesAreNamed(t *testing.T) {
	image := models.Part{Type: models.PartImage, MediaType: "image/png"}
	for _, c := range []struct {
		parts []models.Part
		want  string
	}{
		{[]models.Part{{Type: models.PartText, Text: "look"}, image, image}, "look\n[image/png]\n[image/png]"},
		{[]models.Part{image}, "[image/png]"},
	} {
		req := llm.Request{Model: "sim-echo", Messages: []llm.Message{{Role: models.MessageUser, Parts: c.parts}}}
		var r recorder
		res, err := r.stream(context.Background(), req)
		noError(t, err)
		equal(t, c.want, res.Parts[0].Text)
		req.Model = "sim-default"
		res, err = new(recorder).stream(context.Background(), req)
		noError(t, err)
		contains(t, res.Parts[0].Text, "[image/png]")
	}
}

func TestTheModelsAreListed(t *testing.T) {
	list, err := simulated.New(simulated.Options{}).Models(context.Background(), llm.Endpoint{})
	noError(t, err)
	equal(t, len(simulated.Models()), len(list))
	for i, m := range simulated.Models() {
		equal(t, llm.ModelInfo{Name: m.Name, DisplayName: m.DisplayName, ContextWindowTokens: m.ContextWindowTokens, MaxOutputTokens: m.MaxOutputTokens}, list[i])
	}
}

// Rules: M1.
func TestEcho(t *testing.T) {
	want := "One two.\n\n  three 🎉 vier"
	var r recorder
	res, err := r.stream(context.Background(), llm.Request{Model: "sim-echo", Messages: []llm.Message{
		user("before"), agent("answer"), user(want), {Role: models.MessageTool, Parts: []models.Part{{Type: models.PartToolResult}}},
	}})
	noError(t, err)
	equal(t, []models.Part{{Type: models.PartText, Text: want}}, res.Parts)
	equal(t, llm.FinishStop, res.FinishReason)
	equal(t, want, r.text())
	equal(t, 0, len(r.waits))

	res, err = r.stream(context.Background(), llm.Request{Model: "sim-echo"})
	noError(t, err)
	equal(t, llm.Response{FinishReason: llm.FinishStop}, res)

	several := llm.Message{Role: models.MessageUser, Parts: []models.Part{
		{Type: models.PartText, Text: "a"}, {Type: models.PartText, Text: "b"}, {Type: models.PartText, Text: "c"}}}
	res, err = r.stream(context.Background(), llm.Request{Model: "sim-echo", Messages: []llm.Message{several}})
	noError(t, err)
	equal(t, "a\nb\nc", textParts(res))
}

// Rules: M1.
func TestLorem(t *testing.T) {
	for _, n := range []string{"1", "8", "120", "1000"} {
		var r recorder
		res, err := r.stream(context.Background(), llm.Request{Model: "sim-lorem:" + n})
		noError(t, err)
		equal(t, n, strconv.FormatInt(res.Usage.OutputTokens, 10))
		equal(t, true, strings.HasPrefix(textParts(res), "Lorem"))
		equal(t, 0, len(r.waits))
	}
}

// Rules: M1.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		model           string
		first, perToken time.Duration
	}{
		{"sim-default", 300 * time.Millisecond, 20 * time.Millisecond},
		{"sim-latency:5:7", 5 * time.Millisecond, 7 * time.Millisecond},
		{"sim-latency:5:0", 5 * time.Millisecond, 0},
		{"sim-latency:0:7", 0, 7 * time.Millisecond},
		{"sim-latency:0:0", 0, 0},
	} {
		t.Run(c.model, func(t *testing.T) {
			var r recorder
			res, err := r.stream(context.Background(), llm.Request{Model: c.model, Messages: []llm.Message{user("one two three")}})
			noError(t, err)
			n := int(res.Usage.OutputTokens)
			var want []time.Duration
			if c.first > 0 {
				want = append(want, c.first)
			}
			if c.perToken > 0 {
				want = append(want, slices.Repeat([]time.Duration{c.perToken}, n-1)...)
				equal(t, n, len(r.deltas))
			} else {
				equal(t, (n+7)/8, len(r.deltas))
			}
			equal(t, want, r.waits)
		})
	}
}

func TestInputTokensGrowWithTheRequest(t *testing.T) {
	count := func(req llm.Request) int64 {
		req.Model = "sim-echo"
		var r recorder
		res, err := r.stream(context.Background(), req)
		noError(t, err)
		return res.Usage.InputTokens
	}
	req := llm.Request{}
	equal(t, int64(0), count(req))
	req.System = "12345678"
	equal(t, int64(2), count(req))
	req.Messages = []llm.Message{user("123")}
	equal(t, int64(3), count(req))
	req.Tools = []llm.Tool{{Name: "1234", Description: "1234", InputSchema: []byte("{}")}}
	equal(t, int64(6), count(req))
	req.Messages = append(req.Messages, llm.Message{Role: models.MessageAgent, Parts: []models.Part{
		{Type: models.PartToolCall, ToolName: "ab", Arguments: models.JSON("{}")},
		{Type: models.PartToolResult, Result: models.JSON("{}")}}})
	equal(t, int64(8), count(req))
}

// A call that is cancelled ends at once, with the context's error and what had come until then.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := recorder{onWait: func(n int) {
		if n == 4 {
			cancel()
		}
	}}
	res, err := r.stream(ctx, llm.Request{Model: "sim-latency:5:7", Messages: []llm.Message{user("one two three four five six")}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v is not the context's error", err)
	}
	asError(t, err)
	equal(t, 4, len(r.waits))
	equal(t, "one two three", textParts(res))
	equal(t, "one two three", r.text())
	equal(t, int64(3), res.Usage.OutputTokens)

	_, err = (&recorder{}).stream(ctx, llm.Request{Model: "sim-lorem:100000"})
	equal(t, true, errors.Is(err, context.Canceled))
}

func TestRealSleep(t *testing.T) {
	d := simulated.New(simulated.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	req := llm.Request{Model: "sim-latency:0:600000", Messages: []llm.Message{user("one two")}}
	res, err := d.Stream(ctx, req, func(llm.Delta) { cancel() })
	equal(t, true, errors.Is(err, context.Canceled))
	equal(t, "one", textParts(res))
	req.Model = "sim-latency:1:0"
	_, err = d.Stream(context.Background(), req, func(llm.Delta) {})
	noError(t, err)
}

// What is emitted, what is returned and what is counted agree, for every model, text and limit; and it is the same
// every time.
//
// Rules: M1.
func TestStreamProperties(t *testing.T) {
	words := rapid.OneOf(
		rapid.SampledFrom([]string{
			"write", "read", "it", "to", "file", "notes.txt", "and", "then", "list files", "what time is it", ".", ",", "\n", "\"", "`", "delete",
			"replace", "with", "in", "search for", "plan", "echo", "stop", "never mind", "a.b/c", "{", "responses: [",
		}), rapid.String())
	texts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(words, 0, 12).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		req := llm.Request{
			Model: rapid.SampledFrom([]string{"sim-default", "sim-echo", "sim-lorem:37", "sim-latency:1:1", "sim-latency:0:0"}).Draw(t, "model"),
			Messages: []llm.Message{user(texts.Draw(t, "first")), {Role: models.MessageAgent, Parts: []models.Part{
				{Type: models.PartText, Text: "Wait."}, {Type: models.PartToolCall, ToolCallID: "call_1", ToolName: "read_file",
					Arguments: models.JSON(`{"path":"/workspace/notes.txt"}`)}}},
				{Role: models.MessageTool, Parts: []models.Part{
					{Type: models.PartToolResult, ToolCallID: "call_1", Error: texts.Draw(t, "error")}}},
				user(texts.Draw(t, "last"))},
			MaxTokens: rapid.IntRange(0, 60).Draw(t, "max"),
		}
		if rapid.Bool().Draw(t, "tools") {
			req.Tools = allTools()
		}
		var r, again recorder
		res, err := r.stream(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		res2, err := again.stream(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, res, res2)
		equal(t, r.deltas, again.deltas)
		equal(t, textParts(res), r.text())
		if req.MaxTokens > 0 && res.Usage.OutputTokens > int64(req.MaxTokens) {
			t.Fatalf("%d tokens came, at most %d may", res.Usage.OutputTokens, req.MaxTokens)
		}
		if res.FinishReason == llm.FinishLength && res.Usage.OutputTokens != int64(req.MaxTokens) {
			t.Fatalf("cut after %d of %d tokens", res.Usage.OutputTokens, req.MaxTokens)
		}
		for _, d := range r.deltas {
			if !utf8.ValidString(d.Text) || (d.Text == "") == (d.ToolCall == "") {
				t.Fatalf("bad delta %+v", d)
			}
		}
		ids := map[string]bool{"call_1": true}
		for _, p := range res.Parts {
			if p.Type != models.PartToolCall {
				continue
			}
			if ids[p.ToolCallID] {
				t.Fatalf("the id %s is there twice", p.ToolCallID)
			}
			ids[p.ToolCallID] = true
			if !utf8.Valid(p.Arguments) {
				t.Fatalf("arguments %q", p.Arguments)
			}
		}
		equal(t, res.FinishReason == llm.FinishToolCalls, len(ids) > 1 && res.FinishReason != llm.FinishLength)
	})
}

// An answer that fits exactly is whole; one token less and it is cut.
func TestMaxTokens(t *testing.T) {
	req := llm.Request{Model: "sim-default", Tools: allTools(), Messages: []llm.Message{user("write a b c d e f to file x")}}
	var r recorder
	whole, err := r.stream(context.Background(), req)
	noError(t, err)
	req.MaxTokens = int(whole.Usage.OutputTokens)
	fits, err := r.stream(context.Background(), req)
	noError(t, err)
	equal(t, whole, fits)

	req.MaxTokens--
	cut, err := r.stream(context.Background(), req)
	noError(t, err)
	equal(t, llm.FinishLength, cut.FinishReason)
	equal(t, len(whole.Parts), len(cut.Parts))
	full, part := string(whole.Parts[1].Arguments), string(cut.Parts[1].Arguments)
	equal(t, true, strings.HasPrefix(full, part) && len(part) < len(full))
}

func BenchmarkLatency(b *testing.B) {
	d := simulated.New(simulated.Options{})
	req := llm.Request{
		Model: "sim-latency:0:0", System: strings.Repeat("You are kind. ", 50), Tools: allTools(),
		Messages: []llm.Message{user(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 5))},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Stream(context.Background(), req, func(llm.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}
