package openai

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// What one answer may hold. No model says so much; a hostile server could.
const (
	maxText      = 8 << 20 // bytes of text and thinking
	maxArguments = 4 << 20 // bytes of all calls: arguments, names and ids
	maxOpaque    = 4 << 20 // bytes of metadata
	maxPieces    = 1024
	maxTokens    = 1 << 40 // of a counter
)

var (
	errTooMuch      = &unreadableError{errors.New("the answer is larger than any model's")}
	errTooManyParts = &unreadableError{errors.New("the answer has too many parts")}
)

// answer puts an answer together and passes on what comes.
type answer struct {
	emit   func(llm.Delta)
	pieces []*piece
	// Bytes so far.
	text, arguments, opaque int
	usage                   models.Usage
	// refused tells that the model declined to answer.
	refused bool
}

// piece is a part that grows.
type piece struct {
	kind      models.PartType
	text      strings.Builder
	id, name  string
	arguments strings.Builder
	metadata  models.JSON
}

func (a *answer) alive() { a.emit(llm.Delta{}) }

func (a *answer) open(kind models.PartType) (*piece, error) {
	if len(a.pieces) >= maxPieces {
		return nil, errTooManyParts
	}
	p := &piece{kind: kind}
	a.pieces = append(a.pieces, p)
	return p, nil
}

// last gives the piece that grows, if it is of a kind; else a new one.
func (a *answer) last(kind models.PartType) (*piece, error) {
	if n := len(a.pieces); n > 0 && a.pieces[n-1].kind == kind {
		return a.pieces[n-1], nil
	}
	return a.open(kind)
}

// say adds text or thinking.
func (a *answer) say(p *piece, s string) error {
	if s == "" {
		a.alive()
		return nil
	}
	if a.text += len(s); a.text > maxText {
		return errTooMuch
	}
	p.text.WriteString(s)
	if p.kind == models.PartThinking {
		a.emit(llm.Delta{Thinking: s})
	} else {
		a.emit(llm.Delta{Text: s})
	}
	return nil
}

// finishText puts the whole text of a piece in the place of what has come of it. The part that was missing is passed on.
func (a *answer) finishText(p *piece, whole string) error {
	had := p.text.String()
	switch {
	case whole == "" || whole == had:
		return nil
	case strings.HasPrefix(whole, had):
		return a.say(p, whole[len(had):])
	}
	if a.text += len(whole); a.text > maxText {
		return errTooMuch
	}
	p.text.Reset()
	p.text.WriteString(whole)
	return nil
}

// begin opens a tool call. An empty id is made up; the engine gives calls ids of its own anyway.
func (a *answer) begin(id, name string) (*piece, error) {
	p, err := a.open(models.PartToolCall)
	if err != nil {
		return nil, err
	}
	if id == "" {
		id = "call_" + strconv.Itoa(len(a.pieces))
	}
	if a.arguments += len(id) + len(name); a.arguments > maxArguments {
		return nil, errTooMuch
	}
	p.id, p.name = id, name
	a.emit(llm.Delta{ToolCall: id})
	return p, nil
}

// argue adds to the arguments of a call.
func (a *answer) argue(p *piece, s string) error {
	if a.arguments += len(s); a.arguments > maxArguments {
		return errTooMuch
	}
	p.arguments.WriteString(s)
	a.alive()
	return nil
}

// finishArguments puts the whole arguments of a call in the place of what has come of them.
func (a *answer) finishArguments(p *piece, whole string) error {
	if whole == "" || whole == p.arguments.String() {
		return nil
	}
	if a.arguments += len(whole); a.arguments > maxArguments {
		return errTooMuch
	}
	p.arguments.Reset()
	p.arguments.WriteString(whole)
	return nil
}

// remember keeps what the provider wants to see again.
func (a *answer) remember(p *piece, metadata models.JSON) error {
	if a.opaque += len(metadata); a.opaque > maxOpaque {
		return errTooMuch
	}
	p.metadata = metadata
	return nil
}

// called reports whether there is a call.
func (a *answer) called() bool {
	for _, p := range a.pieces {
		if p.kind == models.PartToolCall {
			return true
		}
	}
	return false
}

// response gives what has come. complete tells that no call was cut off.
func (a *answer) response(complete bool) llm.Response {
	r := llm.Response{Usage: a.usage, Parts: make([]models.Part, 0, len(a.pieces))}
	for _, p := range a.pieces {
		part := models.Part{Type: p.kind, Text: p.text.String(), Metadata: p.metadata}
		switch {
		case p.kind == models.PartToolCall:
			part.ToolCallID, part.ToolName, part.Arguments = p.id, p.name, models.JSON(p.arguments.String())
			if len(part.Arguments) == 0 && complete {
				// A tool without parameters: some models write nothing.
				part.Arguments = models.JSON("{}")
			}
		case part.Text == "" && len(part.Metadata) == 0:
			continue
		}
		r.Parts = append(r.Parts, part)
	}
	return r
}

// finished gives the whole answer.
func (a *answer) finished(reason llm.FinishReason) llm.Response {
	if reason == llm.FinishStop || reason == llm.FinishToolCalls {
		switch {
		case a.refused:
			reason = llm.FinishRefusal
		case a.called():
			reason = llm.FinishToolCalls
		default:
			reason = llm.FinishStop
		}
	}
	r := a.response(reason == llm.FinishToolCalls)
	r.FinishReason = reason
	return r
}

// tokens makes counts that don't overlap of OpenAI's, in which the input includes what was read from and written to the cache. The
// output includes reasoning on both sides.
func tokens(input, read, written, output, reasoning int64) models.Usage {
	input, read, written = counter(input), counter(read), counter(written)
	u := models.Usage{CacheReadTokens: min(read, input), OutputTokens: counter(output)}
	u.CacheWriteTokens = min(written, input-u.CacheReadTokens)
	u.InputTokens = input - u.CacheReadTokens - u.CacheWriteTokens
	u.ReasoningTokens = min(counter(reasoning), u.OutputTokens)
	return u
}

// counter keeps nonsense away from sums of money.
func counter(n int64) int64 { return min(max(n, 0), maxTokens) }
