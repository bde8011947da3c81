package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

var (
	_ llm.Driver = (*Responses)(nil)
	_ llm.Lister = (*Responses)(nil)
)

const (
	// minOutputTokens is the least that OpenAI takes as a limit.
	minOutputTokens = 16
	maxCacheKey     = 64
)

// Responses speaks OpenAI's Responses API. Nothing is stored at OpenAI: the conversation goes with each request, and with it what the model
// thought, encrypted. A Responses keeps nothing between calls and may be used by many goroutines.
type Responses struct{ caller }

// NewResponses makes the driver for providers of kind OPENAI.
func NewResponses(o Options) *Responses { return &Responses{newCaller(o)} }

// Stream implements llm.Driver. A request that is refused for one of the extras that not every model and account has is made again
// without it: nothing was generated then.
func (d *Responses) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	at := d.endpoint(req.Endpoint)
	fail := d.failures(at)
	before, err := history(ctx, &req)
	if err != nil {
		return llm.Response{}, fail.Of(ctx, err)
	}
	with := extrasFor(req.Model)
	for {
		resp, err := d.post(ctx, at, "responses", responsesRequest(&req, before, with))
		if fewer, ok := with.without(err); ok {
			with = fewer
			continue
		}
		if err != nil {
			return llm.Response{}, fail.OfRequest(ctx, err)
		}
		s := responsesStream{answer: newAnswer(resp.Header, emit, fail)}
		whole, err := s.read(events(resp, emit))
		_ = resp.Body.Close()
		if err != nil {
			return s.partial(), fail.Of(ctx, err)
		}
		return whole, nil
	}
}

func (d *Responses) endpoint(at llm.Endpoint) llm.Endpoint {
	if at.BaseURL == "" {
		at.BaseURL = defaultBaseURL
	}
	return at
}

// extras are parts of a request that some models and accounts refuse.
type extras struct {
	// summary asks for a summary of what the model thinks, encrypted for the thoughts themselves.
	summary, encrypted bool
	// thoughts returns earlier ones.
	thoughts bool
}

// extrasFor knows the families of models that don't reason, to save them the requests that would be refused.
func extrasFor(model string) extras {
	name := strings.TrimPrefix(model, "ft:")
	plain := strings.Contains(name, "-chat") || slices.ContainsFunc([]string{"gpt-3", "gpt-4", "chatgpt-"}, func(family string) bool {
		return strings.HasPrefix(name, family)
	})
	return extras{summary: !plain, encrypted: !plain, thoughts: true}
}

// without returns what to ask for after a refusal; ok is false when it isn't for one of the extras.
func (e extras) without(err error) (fewer extras, ok bool) {
	r, refused := errors.AsType[*wire.Refused](err)
	if !refused || r.Status != http.StatusBadRequest && r.Status != http.StatusNotFound {
		return e, false
	}
	said := parseReport(r.Body, r.Header.Get("Content-Type"))
	says := strings.ToLower(said.kind + " " + said.message)
	has := func(words string) bool { return strings.Contains(says, words) }
	switch {
	// The summary needs a verified organization, and a model that reasons.
	case e.summary && (has("reasoning.summary") || has("reasoning summar")):
		e.summary = false
	case e.encrypted && (has("encrypted content is not supported") || has("reasoning.encrypted_content")):
		e.encrypted = false
	// Thoughts can't be read with the key of another organization, nor by some servers at all.
	case e.thoughts && (has("encrypted content") || has("encrypted_content") || has("not persisted") || has("without its required")):
		e.thoughts = false
	default:
		return e, false
	}
	return e, true
}

func responsesRequest(req *llm.Request, before past, with extras) *responses.ResponseNewParams {
	p := &responses.ResponseNewParams{
		Model: req.Model,
		Store: param.NewOpt(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responsesInput(before, with)},
	}
	p.SetExtraFields(map[string]any{"stream": true})
	if req.System != "" {
		p.Instructions = param.NewOpt(req.System)
	}
	if req.MaxTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(max(req.MaxTokens, minOutputTokens)))
	}
	if req.Conversation != "" {
		p.PromptCacheKey = param.NewOpt(cacheKey(req.Conversation))
	}
	if with.encrypted {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if with.summary {
		p.Reasoning = shared.ReasoningParam{Summary: shared.ReasoningSummaryAuto}
	}
	for _, t := range req.Tools {
		f := responses.FunctionToolParam{Name: t.Name, Parameters: parameters(t.InputSchema), Strict: param.NewOpt(false)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &f})
	}
	return p
}

// cacheKey keeps to the length that OpenAI takes.
func cacheKey(conversation string) string {
	if len(conversation) <= maxCacheKey {
		return conversation
	}
	sum := sha256.Sum256([]byte(conversation))
	return hex.EncodeToString(sum[:])
}

func responsesInput(before past, with extras) responses.ResponseInputParam {
	var input responses.ResponseInputParam
	for _, t := range before.turns {
		if t.Agent {
			input = append(input, agentItems(t.Parts, with)...)
			continue
		}
		for _, r := range t.Results {
			item := responses.ResponseInputItemParamOfFunctionCallOutput(resultText(r))
			item.OfFunctionCallOutput.CallID = param.NewOpt(r.ToolCallID)
			input = append(input, item)
		}
		if len(t.Parts) > 0 {
			input = append(input, responses.ResponseInputItemParamOfMessage(responsesContent(before.said(t)), responses.EasyInputMessageRoleUser))
		}
	}
	return input
}

func agentItems(parts []models.Part, with extras) responses.ResponseInputParam {
	var items responses.ResponseInputParam
	for i, p := range parts {
		switch p.Type {
		case models.PartThinking:
			// Thoughts are taken only with what followed them.
			if item, ok := thought(p); ok && with.thoughts && leadsOn(parts[i:]) {
				items = append(items, item)
			}
		case models.PartText:
			items = append(items, responses.ResponseInputItemParamOfMessage(p.Text, responses.EasyInputMessageRoleAssistant))
		case models.PartToolCall:
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(argumentsText(p), p.ToolCallID, functionName(p.ToolName)))
		}
	}
	return items
}

func leadsOn(parts []models.Part) bool {
	return slices.ContainsFunc(parts, func(p models.Part) bool { return p.Type != models.PartThinking })
}

func responsesContent(list []content) responses.ResponseInputMessageContentListParam {
	out := make(responses.ResponseInputMessageContentListParam, 0, len(list))
	for _, c := range list {
		if c.imageURL == "" {
			out = append(out, responses.ResponseInputContentParamOfInputText(c.text))
			continue
		}
		image := responses.ResponseInputImageParam{Detail: responses.ResponseInputImageDetailAuto, ImageURL: param.NewOpt(c.imageURL)}
		out = append(out, responses.ResponseInputContentUnionParam{OfInputImage: &image})
	}
	return out
}

// thoughtMetadata is what is kept of an item of reasoning.
type thoughtMetadata struct {
	ID               string `json:"id"`
	EncryptedContent string `json:"encrypted_content"`
	// Summary are the texts of the summary where there are several: the part's text joins them.
	Summary []string `json:"summary,omitempty"`
}

// thought makes an item of reasoning of a part. Without the encrypted thoughts OpenAI would look for the item, which it didn't store.
func thought(p models.Part) (responses.ResponseInputItemUnionParam, bool) {
	var m thoughtMetadata
	if json.Unmarshal(p.Metadata, &m) != nil || m.ID == "" || m.EncryptedContent == "" {
		return responses.ResponseInputItemUnionParam{}, false
	}
	if m.Summary == nil && p.Text != "" {
		m.Summary = []string{p.Text}
	}
	summary := make([]responses.ResponseReasoningItemSummaryParam, len(m.Summary))
	for i, s := range m.Summary {
		summary[i].Text = s
	}
	item := responses.ResponseInputItemParamOfReasoning(m.ID, summary)
	item.OfReasoning.EncryptedContent = param.NewOpt(m.EncryptedContent)
	return item, true
}
