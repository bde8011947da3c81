package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// maxToolName is what OpenAI takes as the name of a function.
const maxToolName = 64

// imageLimits are below what OpenAI takes in a request, whose images are in base64.
var imageLimits = wire.ImageLimits{Each: 32 << 20, All: 32 << 20, Count: 500}

// past is the conversation as both protocols show it.
type past struct {
	turns  []wire.Turn
	images map[models.ImageID]llm.Image
	// lastWord is the index of the last turn in which the user says something: after it, the work on what was said is not done.
	lastWord int
}

// content is a text or an image of the user.
type content struct{ text, imageURL string }

// history puts the conversation in order and reads its images.
func history(ctx context.Context, req *llm.Request) (past, error) {
	messages, images, err := wire.FitImages(ctx, req, imageLimits)
	p := past{turns: wire.Turns(messages, keep), images: images}
	for i, t := range p.turns {
		if !t.Agent && len(t.Parts) > 0 {
			p.lastWord = i
		}
	}
	return p, err
}

// keep returns which parts are shown. What becomes of thinking is left to the protocols.
func keep(role models.MessageRole, p models.Part) bool {
	agent := role == models.MessageAgent
	switch p.Type {
	case models.PartText:
		return !wire.IsBlank(p.Text)
	case models.PartThinking, models.PartToolCall:
		return agent
	case models.PartImage:
		return !agent
	case models.PartToolResult:
	}
	return false
}

// said returns what the user says in a turn.
func (p *past) said(t wire.Turn) []content {
	list := make([]content, len(t.Parts))
	for i, part := range t.Parts {
		if part.Type != models.PartImage {
			list[i].text = part.Text
			continue
		}
		img := p.images[*part.ImageID]
		list[i].imageURL = "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
	}
	return list
}

// resultText returns what the model is told of a result. OpenAI has no other place to tell that a tool failed.
func resultText(p models.Part) string {
	text, failed := wire.ResultText(p)
	empty := wire.IsBlank(text) || text == "null"
	switch {
	case failed && empty:
		return "Error: the tool failed."
	case failed:
		return "Error: " + text
	case empty:
		return "(no output)"
	}
	return text
}

// functionName makes a name that OpenAI takes. Models invent names, and one bad name in the past would make every later request fail.
func functionName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "unknown"
	}
	return clean[:min(len(clean), maxToolName)]
}

// argumentsText returns the arguments of an earlier call. They were made an object when the call was stored.
func argumentsText(p models.Part) string {
	if len(p.Arguments) == 0 {
		return "{}"
	}
	return string(p.Arguments)
}

// parameters returns a tool's schema as the SDK takes it. Nested parts stay byte for byte as they are: models heed the order of fields.
func parameters(schema json.RawMessage) map[string]any {
	out := map[string]any{}
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) == nil {
		for k, v := range fields {
			out[k] = v
		}
	}
	// OpenAI refuses a schema without these.
	if out["type"] == nil {
		out["type"] = "object"
	}
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	return out
}
