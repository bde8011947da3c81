package wire

import (
	"encoding/json"
	"strconv"
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
	MaxParts = 1024
	// maxTokens bounds a counter of tokens.
	maxTokens = 1 << 40
)

// Answer collects the parts of an answer as they come and tells of them.
type Answer struct {
	emit  func(llm.Delta)
	parts []*Part
	calls int
	usage models.Usage
	// Bytes so far.
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

// Continue returns the newest part if it is of a kind, else it begins one.
func (a *Answer) Continue(kind models.PartType) (*Part, error) {
	if n := len(a.parts); n > 0 && a.parts[n-1].part.Type == kind {
		return a.parts[n-1], nil
	}
	return a.Open(kind)
}

// OpenCall begins a tool call. An id that is missing is made up: the engine gives calls ids of its own anyway.
func (a *Answer) OpenCall(id, name string) (*Part, error) {
	if a.calls++; id == "" {
		id = "call_" + strconv.Itoa(a.calls)
	}
	if err := a.Count(len(id) + len(name)); err != nil {
		return nil, err
	}
	p, err := a.open(models.Part{Type: models.PartToolCall, ToolCallID: id, ToolName: name})
	if err == nil {
		a.emit(llm.Delta{ToolCall: id})
	}
	return p, err
}

// Identify sets a call's id and name, which come later than its beginning. What is empty stays as it was.
func (a *Answer) Identify(p *Part, id, name string) error {
	if id != "" {
		p.part.ToolCallID = id
	}
	if name != "" {
		p.part.ToolName = name
	}
	return a.Count(len(id) + len(name))
}

func (a *Answer) open(part models.Part) (*Part, error) {
	if len(a.parts) == MaxParts {
		return nil, Unreadablef("the answer has more than %d parts", MaxParts)
	}
	p := &Part{part: part}
	a.parts = append(a.parts, p)
	return p, nil
}

// Count adds to what the answer holds, in bytes, and returns an error when that is too much.
func (a *Answer) Count(bytes int) error {
	if a.text += bytes; a.text > MaxText {
		return Unreadablef("the answer contains more than %d bytes of text", MaxText)
	}
	return nil
}

// Write adds to a part: text, thinking, or a piece of a call's arguments.
func (a *Answer) Write(p *Part, s string) error {
	if s == "" {
		return nil
	}
	if p.part.Type == models.PartToolCall {
		if err := a.countArguments(len(s)); err != nil {
			return err
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

// Correct puts what a part is in the end in the place of what was written. Text that was missing at its end is told of; other text can't
// be taken back. Nothing is changed by an empty whole, which servers send where they mean nothing by it.
func (a *Answer) Correct(p *Part, whole string) error {
	if rest, ok := strings.CutPrefix(whole, p.body.String()); ok {
		return a.Write(p, rest)
	}
	if whole == "" {
		return nil
	}
	// What was written still counts: a server that corrects itself again and again sends too much.
	if p.part.Type != models.PartToolCall {
		if err := a.Count(len(whole)); err != nil {
			return err
		}
	} else if err := a.countArguments(len(whole)); err != nil {
		return err
	}
	p.body.Reset()
	p.body.WriteString(whole)
	return nil
}

func (a *Answer) countArguments(bytes int) error {
	if a.arguments += bytes; a.arguments > MaxArguments {
		return Unreadablef("the arguments of the answer's tool calls are longer than %d bytes", MaxArguments)
	}
	return nil
}

// SetMetadata keeps what the provider wants to see again with a part. A later value replaces an earlier one.
func (a *Answer) SetMetadata(p *Part, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return Unreadablef("the metadata of a part can't be stored: %v", err)
	}
	if err := a.Count(len(b)); err != nil {
		return err
	}
	p.part.Metadata = b
	return nil
}

// Spend keeps what the provider says that the call has taken so far, and tells of it when it is news. last reports that the answer is
// complete: then the response tells it at once.
func (a *Answer) Spend(u models.Usage, last bool) {
	if u == a.usage {
		return
	}
	if a.usage = u; !last {
		a.emit(llm.Delta{Usage: &u})
	}
}

// Usage returns what was last kept.
func (a *Answer) Usage() models.Usage { return a.usage }

// Kind returns what a part holds.
func (p *Part) Kind() models.PartType { return p.part.Type }

// HasMetadata reports whether SetMetadata was called.
func (p *Part) HasMetadata() bool { return len(p.part.Metadata) > 0 }

// Name returns the name of a call.
func (p *Part) Name() string { return p.part.ToolName }

// Written returns what was written to a part so far.
func (p *Part) Written() string { return p.body.String() }

// IsEmpty reports whether nothing was written to a part.
func (p *Part) IsEmpty() bool { return p.body.Len() == 0 }

// Parts returns what came so far. Parts that hold nothing are left out. complete reports that no call was cut off: then one without arguments
// has an empty object, since some models write none for a tool that takes none.
func (a *Answer) Parts(complete bool) []models.Part {
	out := make([]models.Part, 0, len(a.parts))
	for _, p := range a.parts {
		part := p.part
		switch {
		case part.Type == models.PartToolCall && p.IsEmpty() && complete:
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

// Finish returns why an answer ended that the provider calls finished: with calls in it, they are the reason.
func (a *Answer) Finish() llm.FinishReason {
	if a.calls > 0 {
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

// Tokens bounds a count of tokens, to keep nonsense away from sums of money.
func Tokens(n int64) int64 { return min(max(n, 0), maxTokens) }
