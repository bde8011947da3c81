package anthropic

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// The API refuses a call without a bound on its output. Where the request has none, all models from Claude 3.7 on take at least
// this many tokens, and the ones before take the smaller number.
const (
	defaultMaxTokens = 32_000
	oldMaxTokens     = 4096
)

// imageLimits follow from the API's: an image may take 5 MiB in base64 and a request 32 MB, which leaves room for the text. Of more
// than 20 images, those with a side of more than 2000 pixels are refused.
var imageLimits = wire.ImageLimits{Each: 5 << 20 / 4 * 3, All: 16 << 20, Count: 20}

// oldModel are the models that write 4096 tokens at most. (3.5 write 8192; they are old enough not to need another number.)
var oldModel = regexp.MustCompile(`claude-(instant|2|3-5-|3-haiku|3-sonnet|3-opus)`)

// toolID is what the API takes as the id of a call.
var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// metadata is what is kept of thinking, so that it can be given back.
type metadata struct {
	Signature string `json:"signature,omitempty"`
	// Redacted is thinking that only the provider can read.
	Redacted string `json:"redacted,omitempty"`
}

// newParams translates a request.
func newParams(ctx context.Context, req *llm.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: req.Model, MaxTokens: int64(req.MaxTokens)}
	if p.MaxTokens <= 0 {
		p.MaxTokens = defaultMaxTokens
		if oldModel.MatchString(req.Model) {
			p.MaxTokens = oldMaxTokens
		}
	}
	if !wire.IsBlank(req.System) {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range req.Tools {
		tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.InputSchema)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	messages, images, err := wire.FitImages(ctx, req, imageLimits)
	if err != nil {
		return p, fmt.Errorf("assemble the request: %w", err)
	}
	for _, t := range wire.Turns(messages, keep) {
		m := sdk.MessageParam{Role: sdk.MessageParamRoleUser}
		if t.Agent {
			m.Role = sdk.MessageParamRoleAssistant
		}
		for i := range t.Results {
			m.Content = append(m.Content, resultBlock(t.Results[i]))
		}
		for i := range t.Parts {
			m.Content = append(m.Content, partBlock(t.Parts[i], images))
		}
		p.Messages = append(p.Messages, m)
	}
	markStable(p.Messages)
	return p, nil
}

// keep returns which parts the API can be shown. Thinking that has lost its metadata, because it is another model's, can't be proved to
// be the model's own, and the model does without it.
func keep(role models.MessageRole, p models.Part) bool {
	agent := role == models.MessageAgent
	switch p.Type {
	case models.PartText:
		return !wire.IsBlank(p.Text)
	case models.PartThinking:
		m := readMetadata(p)
		return agent && (m.Redacted != "" || m.Signature != "")
	case models.PartToolCall:
		return agent
	case models.PartImage:
		return !agent
	case models.PartToolResult:
	}
	return false
}

func readMetadata(p models.Part) metadata {
	var m metadata
	if len(p.Metadata) == 0 || json.Unmarshal(p.Metadata, &m) != nil {
		return metadata{}
	}
	return m
}

func partBlock(p models.Part, images map[models.ImageID]llm.Image) sdk.ContentBlockParamUnion {
	switch p.Type {
	case models.PartThinking:
		m := readMetadata(p)
		if m.Redacted != "" {
			return sdk.NewRedactedThinkingBlock(m.Redacted)
		}
		return sdk.NewThinkingBlock(m.Signature, p.Text)
	case models.PartToolCall:
		input := json.RawMessage(p.Arguments)
		if !json.Valid(input) || !strings.HasPrefix(strings.TrimSpace(string(input)), "{") {
			input = json.RawMessage("{}")
		}
		return sdk.NewToolUseBlock(callID(p.ToolCallID), input, p.ToolName)
	case models.PartImage:
		img := images[*p.ImageID]
		return sdk.NewImageBlockBase64(img.MediaType, base64.StdEncoding.EncodeToString(img.Data))
	default:
		return sdk.NewTextBlock(p.Text)
	}
}

// resultBlock is a tool's result. The API takes no empty text.
func resultBlock(p models.Part) sdk.ContentBlockParamUnion {
	text, failed := wire.ResultText(p)
	if !wire.IsBlank(text) {
		return sdk.NewToolResultBlock(callID(p.ToolCallID), text, failed)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &sdk.ToolResultBlockParam{
		ToolUseID: callID(p.ToolCallID), IsError: sdk.Bool(failed),
	}}
}

// callID returns an id that the API takes. The engine's own ids are such; others, e.g. imported ones, are replaced, always by the same.
func callID(id string) string {
	if toolID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// markStable marks the ends of the last two turns of the user as what the provider should cache: the newest, which the next call
// begins with, and the one before it, which the last call has marked. With tools and system these are all four marks that the API allows.
func markStable(messages []sdk.MessageParam) {
	marks := 2
	for i := len(messages) - 1; i >= 0 && marks > 0; i-- {
		m := &messages[i]
		if m.Role != sdk.MessageParamRoleUser || len(m.Content) == 0 {
			continue
		}
		if cc := m.Content[len(m.Content)-1].GetCacheControl(); cc != nil {
			*cc = sdk.NewCacheControlEphemeralParam()
			marks--
		}
	}
}
