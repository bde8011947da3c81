package openai

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

var (
	_ llm.Driver = (*Chat)(nil)
	_ llm.Lister = (*Chat)(nil)
)

// Chat speaks Chat Completions as the servers do that imitate OpenAI: vLLM, Ollama, llama.cpp, LM Studio, OpenRouter, Groq, DeepSeek and others.
// It sends what all of them take and reads what any of them writes. A Chat keeps nothing between calls and may be used by many
// goroutines.
type Chat struct{ caller }

// NewChat makes the driver for providers of kind OPENAI_COMPATIBLE.
func NewChat(o Options) *Chat { return &Chat{newCaller(o)} }

func errNoBaseURL() error {
	return &llm.Error{Code: llm.CodeMisconfigured, Message: "The provider has no base URL. Put the server's address into the provider's settings, " +
		"e.g. http://127.0.0.1:11434/v1 for Ollama."}
}

// Stream implements llm.Driver.
func (d *Chat) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	at := req.Endpoint
	if at.BaseURL == "" {
		return llm.Response{}, errNoBaseURL()
	}
	fail := d.failures(at)
	before, err := history(ctx, &req)
	if err != nil {
		return llm.Response{}, fail.Of(ctx, err)
	}
	resp, err := d.post(ctx, at, "chat/completions", chatRequest(&req, before))
	if err != nil {
		return llm.Response{}, fail.OfRequest(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	s := chatStream{answer: newAnswer(resp.Header, emit, fail)}
	whole, err := s.read(events(resp, emit))
	if err != nil {
		return s.partial(), fail.Of(ctx, err)
	}
	return whole, nil
}

func chatRequest(req *llm.Request, before past) *sdk.ChatCompletionNewParams {
	p := &sdk.ChatCompletionNewParams{
		Model:         req.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	p.SetExtraFields(map[string]any{"stream": true})
	if req.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(req.System))
	}
	if req.MaxTokens > 0 {
		// The newer name, max_completion_tokens, is not known everywhere.
		p.MaxTokens = param.NewOpt(int64(req.MaxTokens))
	}
	for i, t := range before.turns {
		if t.Agent {
			p.Messages = append(p.Messages, assistantMessage(t, i > before.lastWord))
			continue
		}
		for _, r := range t.Results {
			p.Messages = append(p.Messages, sdk.ToolMessage(resultText(r), r.ToolCallID))
		}
		if len(t.Parts) > 0 {
			p.Messages = append(p.Messages, userMessage(before.said(t)))
		}
	}
	for _, t := range req.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: parameters(t.InputSchema)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	return p
}

// userMessage is a plain string where it can be: not every server takes lists.
func userMessage(list []content) sdk.ChatCompletionMessageParamUnion {
	texts := make([]string, 0, len(list))
	parts := make([]sdk.ChatCompletionContentPartUnionParam, 0, len(list))
	for _, c := range list {
		if c.imageURL != "" {
			parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: c.imageURL}))
			continue
		}
		texts = append(texts, c.text)
		parts = append(parts, sdk.TextContentPart(c.text))
	}
	if len(texts) == len(list) {
		return sdk.UserMessage(strings.Join(texts, "\n\n"))
	}
	return sdk.UserMessage(parts)
}

// chatMetadata is what some servers want to see again.
type chatMetadata struct {
	// Field is the field in which thinking came.
	Field string `json:"field,omitempty"`
	// Extra is what came with a call, e.g. the signature of Gemini's thoughts.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// assistantMessage is what the agent says. open reports that its work on the user's last word is not done.
func assistantMessage(t wire.Turn, open bool) sdk.ChatCompletionMessageParamUnion {
	var m sdk.ChatCompletionAssistantMessageParam
	var texts []string
	thinking := map[string]any{}
	for _, p := range t.Parts {
		var meta chatMetadata
		if json.Unmarshal(p.Metadata, &meta) != nil {
			meta = chatMetadata{}
		}
		switch p.Type {
		case models.PartText:
			texts = append(texts, p.Text)
		case models.PartThinking:
			// DeepSeek wants its thoughts back while it works with tools; later, and from others, they are of no use.
			if open && (meta.Field == fieldReasoningContent || meta.Field == fieldReasoning) {
				before, _ := thinking[meta.Field].(string)
				thinking[meta.Field] = before + p.Text
			}
		case models.PartToolCall:
			call := sdk.ChatCompletionMessageFunctionToolCallParam{ID: p.ToolCallID}
			call.Function.Name, call.Function.Arguments = functionName(p.ToolName), argumentsText(p)
			if len(meta.Extra) > 0 {
				call.SetExtraFields(map[string]any{"extra_content": meta.Extra})
			}
			m.ToolCalls = append(m.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &call})
		}
	}
	if len(texts) > 0 {
		m.Content.OfString = param.NewOpt(strings.Join(texts, "\n\n"))
	}
	if len(thinking) > 0 {
		m.SetExtraFields(thinking)
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &m}
}
