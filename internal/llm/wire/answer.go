package wire

import (
	"encoding/json"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// What one answer may hold. A server that sends more is broken, or means harm.
const (
	// MaxText bounds text, thinking and metadata together, in bytes.
	MaxText = 8 << 20
	// MaxArguments bounds the arguments of all tool calls together, in bytes.
	MaxArguments = 4 << 20
	// MaxParts bounds the number of parts.
	MaxParts = 4096
)

// Answer collects the parts of an answer as they come and tells of them.
type Answer struct {
	emit            func(llm.Delta)
	parts           []*Part
	text, arguments int
}

// Part is a part that may still grow.
type Part struct {
	part models.Part
	body strings.Builder
}

// NewAnswer begins an answer whose pieces are told to emit.
func NewAnswer(emit func(llm.Delta)) *Answer { return &Answer{emit: emit} }

// Open begins a part of text or thinking.
func (a *Answer) Open(kind models.PartType) (*Part, error) {
	return a.open(models.Part{Type: kind})
}

// OpenCall begins a tool call.
func (a *Answer) OpenCall(id, name string) (*Part, error) {
	if err := a.Count(len(id) + len(name)); err != nil {
		return nil, err
	}
	p, err := a.open(models.Part{Type: models.PartToolCall, ToolCallID: id, ToolName: name})
	if err == nil {
		a.emit(llm.Delta{ToolCall: id})
	}
	return p, err
}

func (a *Answer) open(part models.Part) (*Part, error) {
	if len(a.parts) == MaxParts {
		return nil, Unreadablef("the answer has more than %d parts", MaxParts)
	}
	p := &Part{part: part}
	a.parts = append(a.parts, p)
	return p, nil
}

// Count adds to what the answer holds, in bytes, and gives an error when that is too much.
func (a *Answer) Count(bytes int) error {
	if a.text += bytes; a.text > MaxText {
		return Unreadablef("the answer holds more than %d bytes of text", MaxText)
	}
	return nil
}

// Write adds to a part: text, thinking, or a piece of a call's arguments.
func (a *Answer) Write(p *Part, s string) error {
	if s == "" {
		return nil
	}
	if p.part.Type == models.PartToolCall {
		if a.arguments += len(s); a.arguments > MaxArguments {
			return Unreadablef("the arguments of the answer's tool calls are longer than %d bytes", MaxArguments)
		}
		p.body.WriteString(s)
		return nil
	}
	if err := a.Count(len(s)); err != nil {
		return err
	}
	p.body.WriteString(s)
	if p.part.Type == models.PartThinking {
		a.emit(llm.Delta{Thinking: s})
	} else {
		a.emit(llm.Delta{Text: s})
	}
	return nil
}

// SetMetadata keeps what the provider wants to see again with a part. A later value replaces an earlier one.
func (a *Answer) SetMetadata(p *Part, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return Unreadablef("the metadata of a part can't be kept: %v", err)
	}
	if err := a.Count(len(b)); err != nil {
		return err
	}
	p.part.Metadata = b
	return nil
}

// Kind tells what a part holds.
func (p *Part) Kind() models.PartType { return p.part.Type }

// HasMetadata tells whether SetMetadata was called.
func (p *Part) HasMetadata() bool { return len(p.part.Metadata) > 0 }

// IsEmpty tells whether nothing was written to a part.
func (p *Part) IsEmpty() bool { return p.body.Len() == 0 }

// Parts gives what came so far. Parts that hold nothing are left out; a call without arguments has an empty object.
func (a *Answer) Parts() []models.Part {
	out := make([]models.Part, 0, len(a.parts))
	for _, p := range a.parts {
		part := p.part
		switch {
		case part.Type == models.PartToolCall && p.IsEmpty():
			part.Arguments = models.JSON("{}")
		case part.Type == models.PartToolCall:
			part.Arguments = models.JSON(p.body.String())
		case p.IsEmpty() && !p.HasMetadata():
			continue
		default:
			part.Text = p.body.String()
		}
		out = append(out, part)
	}
	return out
}

// Finish gives why an answer ended that the provider calls finished: with calls in it, they are the reason.
func (a *Answer) Finish() llm.FinishReason {
	for _, p := range a.parts {
		if p.part.Type == models.PartToolCall {
			return llm.FinishToolCalls
		}
	}
	return llm.FinishStop
}
