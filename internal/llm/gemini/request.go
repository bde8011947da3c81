package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"

	"google.golang.org/genai"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// content, part and the types below are what is sent of a conversation. The SDK's own types turn numbers into floats, and leave out
// a text that is empty, which parts with a signature may have.
type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text             *string           `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
	InlineData       *genai.Blob       `json:"inlineData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

// metadata is what is kept of a part, so that it can be given back.
type metadata struct {
	ThoughtSignature string `json:"thoughtSignature"`
}

// unsigned stands for the signature of a call that another model made. Models from Gemini 3 on refuse calls without any, and
// Google's documentation names this value for conversations that were begun elsewhere.
const unsigned = "skip_thought_signature_validator"

// imageLimits keep a request, whose images are in base64, well within the 100 MB that the API takes.
var imageLimits = wire.ImageLimits{Each: 32 << 20, All: 32 << 20, Count: 1000}

// unchecked are the models that take calls without a signature, and know nothing of the value above.
var unchecked = regexp.MustCompile(`gemini-(1|2)[.-]|gemini-pro|gemma`)

// newContents translates a request. The conversation and the tools go around the SDK's types; it gets the rest.
func newContents(ctx context.Context, req *llm.Request) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	contents, err := conversation(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	rawContents, err := json.Marshal(contents)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the conversation: %w", err)
	}
	var rawTools []byte
	if len(req.Tools) > 0 {
		list := make([]declaration, len(req.Tools))
		for i, t := range req.Tools {
			list[i] = declaration{Name: t.Name, Description: t.Description, Parameters: t.InputSchema}
		}
		rawTools, err = json.Marshal([]map[string]any{{"functionDeclarations": list}})
		if err != nil {
			return nil, nil, fmt.Errorf("encode the tools: %w", err)
		}
	}
	config := &genai.GenerateContentConfig{HTTPOptions: address(req.Endpoint)}
	config.HTTPOptions.ExtrasRequestProvider = func(body map[string]any) map[string]any {
		body["contents"] = json.RawMessage(rawContents)
		if rawTools != nil {
			body["tools"] = json.RawMessage(rawTools)
		}
		return body
	}
	if !wire.IsBlank(req.System) {
		config.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: req.System}}}
	}
	if req.MaxTokens > 0 {
		config.MaxOutputTokens = int32(min(req.MaxTokens, math.MaxInt32))
	}
	// The SDK wants contents; the ones above replace these.
	return genai.Text("-"), config, nil
}

func conversation(ctx context.Context, req *llm.Request) ([]content, error) {
	messages, images, err := wire.FitImages(ctx, req, imageLimits)
	if err != nil {
		return nil, fmt.Errorf("assemble the request: %w", err)
	}
	turns := wire.Turns(messages, keep)
	out := make([]content, 0, len(turns))
	for _, t := range turns {
		c := content{Role: genai.RoleUser}
		if t.Agent {
			c.Role = genai.RoleModel
		}
		for i := range t.Results {
			c.Parts = append(c.Parts, resultPart(t.Results[i]))
		}
		for i := range t.Parts {
			c.Parts = append(c.Parts, newPart(t.Parts[i], images))
		}
		if t.Agent && !unchecked.MatchString(req.Model) {
			signCalls(c.Parts)
		}
		out = append(out, c)
	}
	return out, nil
}

// signCalls adds a signature to the first call of an answer if no call of it has one. In an answer of Gemini itself only the first of
// several calls is signed.
func signCalls(parts []part) {
	first := -1
	for i := range parts {
		if parts[i].FunctionCall == nil {
			continue
		}
		if parts[i].ThoughtSignature != "" {
			return
		}
		if first < 0 {
			first = i
		}
	}
	if first >= 0 {
		parts[first].ThoughtSignature = unsigned
	}
}

// keep returns which parts the API can be shown. Thoughts without a signature are summaries for people.
func keep(role models.MessageRole, p models.Part) bool {
	agent := role == models.MessageAgent
	switch p.Type {
	case models.PartText:
		return !wire.IsBlank(p.Text) || agent && signature(p) != ""
	case models.PartThinking:
		return agent && signature(p) != ""
	case models.PartToolCall:
		return agent
	case models.PartImage:
		return !agent
	case models.PartToolResult:
	}
	return false
}

func signature(p models.Part) string {
	var m metadata
	if len(p.Metadata) == 0 || json.Unmarshal(p.Metadata, &m) != nil {
		return ""
	}
	return m.ThoughtSignature
}

func newPart(p models.Part, images map[models.ImageID]llm.Image) part {
	switch p.Type {
	case models.PartToolCall:
		args := json.RawMessage(p.Arguments)
		if !json.Valid(args) || !strings.HasPrefix(strings.TrimSpace(string(args)), "{") {
			args = json.RawMessage("{}")
		}
		return part{
			FunctionCall:     &functionCall{ID: p.ToolCallID, Name: p.ToolName, Args: args},
			ThoughtSignature: signature(p),
		}
	case models.PartImage:
		img := images[*p.ImageID]
		if img.MediaType == "image/gif" {
			// The API refuses the whole request for one, and so would end the conversation.
			strange := wire.StrangeImage
			return part{Text: &strange}
		}
		return part{InlineData: &genai.Blob{MIMEType: img.MediaType, Data: img.Data}}
	default:
		return part{Text: &p.Text, Thought: p.Type == models.PartThinking, ThoughtSignature: signature(p)}
	}
}

// resultPart is a tool's result. Google's documentation gives "output" and "error" their meaning.
func resultPart(p models.Part) part {
	r := &functionResponse{ID: p.ToolCallID, Name: p.ToolName, Response: map[string]any{}}
	text, failed := wire.ResultText(p)
	switch {
	case failed:
		r.Response["error"] = text
	case json.Valid(p.Result):
		r.Response["output"] = json.RawMessage(p.Result)
	default:
		r.Response["output"] = text
	}
	return part{FunctionResponse: r}
}
