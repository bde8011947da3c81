package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
)

const (
	maxListed    = 1000
	maxModelName = 200
)

// Models implements llm.Lister. OpenAI tells nothing but names.
func (d *Responses) Models(ctx context.Context, at llm.Endpoint) ([]llm.ModelInfo, error) {
	return d.list(ctx, d.endpoint(at))
}

// Models implements llm.Lister. What a server tells besides names depends on its kind.
func (d *Chat) Models(ctx context.Context, at llm.Endpoint) ([]llm.ModelInfo, error) {
	if at.BaseURL == "" {
		return nil, errNoBaseURL()
	}
	return d.list(ctx, at)
}

// listedModel has the fields of OpenAI, OpenRouter, vLLM, Groq, Mistral and LM Studio.
type listedModel struct {
	ID                  string `json:"id"`
	Name                loose  `json:"name"`
	DisplayName         loose  `json:"display_name"`
	ContextLength       number `json:"context_length"`
	ContextWindow       number `json:"context_window"`
	MaxModelLen         number `json:"max_model_len"`
	MaxContextLength    number `json:"max_context_length"`
	MaxCompletionTokens number `json:"max_completion_tokens"`
	TopProvider         *struct {
		MaxCompletionTokens number `json:"max_completion_tokens"`
	} `json:"top_provider"`
}

func (c caller) list(ctx context.Context, at llm.Endpoint) ([]llm.ModelInfo, error) {
	fail := c.failures(at)
	resp, err := c.get(ctx, at, "models")
	if err != nil {
		return nil, fail.OfRequest(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	listed, err := readList(resp)
	if err != nil {
		return nil, fail.Of(ctx, err)
	}
	out := []llm.ModelInfo{}
	seen := map[string]bool{}
	for _, m := range listed {
		if m.ID == "" || len(m.ID) > maxModelName || seen[m.ID] || len(out) == maxListed {
			continue
		}
		seen[m.ID] = true
		info := llm.ModelInfo{
			Name:                m.ID,
			ContextWindowTokens: first(m.ContextLength, m.ContextWindow, m.MaxModelLen, m.MaxContextLength),
			MaxOutputTokens:     int(m.MaxCompletionTokens),
		}
		if m.TopProvider != nil {
			info.MaxOutputTokens = first(m.TopProvider.MaxCompletionTokens, m.MaxCompletionTokens)
		}
		for _, name := range []string{m.DisplayName.text, m.Name.text} {
			if name != "" && name != m.ID && len(name) <= maxModelName && info.DisplayName == "" {
				info.DisplayName = strings.TrimSpace(name)
			}
		}
		out = append(out, info)
	}
	return out, nil
}

func readList(resp *http.Response) ([]listedModel, error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if hasError(body) {
		return nil, &wire.Refused{Status: resp.StatusCode, Header: resp.Header, Body: body}
	}
	var list struct {
		Data *[]listedModel `json:"data"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) { // Together's form
		err = json.Unmarshal(body, &list.Data)
	} else {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return nil, wire.Unreadablef("the list of models can't be read: %v", err)
	}
	if list.Data == nil {
		return nil, wire.Unreadablef("the list of models has no field data")
	}
	return *list.Data, nil
}

// number is a count of tokens; 0 for whatever is none.
type number int

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	*n = 0
	if json.Unmarshal(b, &f) == nil && f >= 1 && f <= 1<<31-1 {
		*n = number(f)
	}
	return nil
}

func first(counts ...number) int {
	for _, n := range counts {
		if n > 0 {
			return int(n)
		}
	}
	return 0
}
