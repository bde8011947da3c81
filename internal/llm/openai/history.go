package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// maxImageBytes bounds the images of one request; providers refuse more, and all of it is held in memory. The newest are shown.
	maxImageBytes = 32 << 20
	// maxToolName is what OpenAI takes as the name of a function.
	maxToolName = 64

	noImage      = "[There was an image here. It no longer exists.]"
	tooManyImage = "[There was an image here. It was left out because the conversation has too many.]"
)

// entry is a message in the order in which OpenAI wants them: results follow their calls at once.
type entry struct {
	// content is what the user said; nil for an entry of the agent.
	content []content
	// parts are thinking, text and calls of the agent.
	parts []models.Part
	// results are those of the calls in parts, in their order.
	results []result
	// open tells that no message of the user came later: the work on the last one is not done.
	open bool
}

// content is a text or an image of the user.
type content struct{ text, imageURL string }

// result is what a call gave.
type result struct{ callID, text string }

// history puts the conversation in order. Text without content is left out, and so are results whose calls are no longer shown.
func history(ctx context.Context, req *llm.Request) ([]entry, error) {
	images, err := loadImages(ctx, req)
	if err != nil {
		return nil, err
	}
	results := map[string]*models.Part{}
	lastUser := -1
	for i, m := range req.Messages {
		if m.Role == models.MessageUser {
			lastUser = i
		}
		for j, p := range m.Parts {
			if p.Type == models.PartToolResult && results[p.ToolCallID] == nil {
				results[p.ToolCallID] = &req.Messages[i].Parts[j]
			}
		}
	}
	var entries []entry
	for i, m := range req.Messages {
		e := entry{open: i > lastUser}
		switch m.Role {
		case models.MessageUser:
			e.content = userContent(m.Parts, images)
		case models.MessageAgent:
			e.agent(m.Parts, results)
		case models.MessageTool:
		}
		if len(e.content) > 0 || len(e.parts) > 0 {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func userContent(parts []models.Part, images map[*models.Part]content) []content {
	var list []content
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == models.PartText && strings.TrimSpace(p.Text) != "":
			list = append(list, content{text: p.Text})
		case p.Type == models.PartImage && p.ImageID != nil:
			list = append(list, images[p])
		}
	}
	return list
}

// agent takes what the agent said. Each call gets a result, since a request with a call that has none is refused.
func (e *entry) agent(parts []models.Part, results map[string]*models.Part) {
	spoken := false
	for _, p := range parts {
		switch {
		case p.Type == models.PartThinking,
			p.Type == models.PartText && strings.TrimSpace(p.Text) != "":
			e.parts = append(e.parts, p)
		case p.Type == models.PartToolCall:
			p.ToolName = functionName(p.ToolName)
			e.parts = append(e.parts, p)
			r := result{callID: p.ToolCallID, text: "Error: the call was not run."}
			if found := results[p.ToolCallID]; found != nil {
				r.text = resultText(found)
			}
			e.results = append(e.results, r)
		}
	}
	for _, p := range e.parts {
		spoken = spoken || p.Type != models.PartThinking
	}
	if !spoken {
		e.parts = nil // thinking that led to nothing
	}
}

func resultText(p *models.Part) string {
	if !p.Success {
		if p.Error == "" {
			return "Error: the tool failed."
		}
		return "Error: " + p.Error
	}
	raw := bytes.TrimSpace(p.Result)
	var text string
	switch {
	case len(raw) == 0, string(raw) == `""`, string(raw) == "null":
		return "(no output)"
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
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

// argumentsText gives the arguments of an earlier call. They were made an object when the call was stored.
func argumentsText(p models.Part) string {
	if len(p.Arguments) == 0 {
		return "{}"
	}
	return string(p.Arguments)
}

// loadImages reads the images of the conversation, the newest first, as far as they fit; one counts as often as it is shown. What can't
// be shown becomes a note.
func loadImages(ctx context.Context, req *llm.Request) (map[*models.Part]content, error) {
	images := map[*models.Part]content{}
	known := map[models.ImageID]shownImage{}
	size := 0
	for i, m := range slices.Backward(req.Messages) {
		if m.Role != models.MessageUser {
			continue
		}
		for j, p := range slices.Backward(m.Parts) {
			if p.Type != models.PartImage || p.ImageID == nil {
				continue
			}
			place := &req.Messages[i].Parts[j]
			if size > maxImageBytes {
				images[place] = content{text: tooManyImage}
				continue
			}
			image, ok := known[*p.ImageID]
			if !ok {
				var err error
				if image, err = loadImage(ctx, req, p); err != nil {
					return nil, err
				}
				known[*p.ImageID] = image
			}
			if size += image.size; size > maxImageBytes {
				image.content = content{text: tooManyImage}
			}
			images[place] = image.content
		}
	}
	return images, nil
}

// shownImage is an image as it is shown, and its size in bytes.
type shownImage struct {
	content
	size int
}

func loadImage(ctx context.Context, req *llm.Request, p models.Part) (shownImage, error) {
	image, err := readImage(ctx, req, *p.ImageID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return shownImage{content: content{text: noImage}}, nil
	case err != nil:
		return shownImage{}, err
	case len(image.Data) > maxImageBytes:
		return shownImage{size: len(image.Data)}, nil
	}
	kind := image.MediaType
	if kind == "" {
		kind = p.MediaType
	}
	url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
	return shownImage{content: content{imageURL: url}, size: len(image.Data)}, nil
}

func readImage(ctx context.Context, req *llm.Request, id models.ImageID) (llm.Image, error) {
	if req.ReadImage == nil {
		return llm.Image{}, fs.ErrNotExist
	}
	image, err := req.ReadImage(ctx, id)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return image, err
	}
	if ctx.Err() != nil {
		return image, fmt.Errorf("read image %s: %w", id, err)
	}
	return image, &llm.Error{Code: llm.CodeInternal, Transient: true, Cause: err, Message: "An image of the conversation could not be read. Try again."}
}

// parameters gives a tool's schema to the SDK. Nested parts stay byte for byte as they are: models heed the order of fields.
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
