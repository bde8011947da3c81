package simulated

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// batchTokens is how many tokens come at once when they take no time: one at a time would only make work.
const batchTokens = 8

// errCut ends an answer that has reached the request's limit of tokens. It never leaves the package.
var errCut = errors.New("the limit of output tokens is reached")

// player speaks an answer at its pace and keeps what it has said.
type player struct {
	sleep func(ctx context.Context, d time.Duration) error
	emit  func(llm.Delta)

	first, perToken time.Duration
	// left is how many tokens may still come.
	left int
	// begun is true when the time to the first token is over.
	begun bool
	// calls is how many tool calls the conversation has, so that the ids of new ones differ.
	calls int
	res   llm.Response
	// told is the last usage that a script said before the end; nil for none.
	told *models.Usage
}

func newPlayer(
	sleep func(context.Context, time.Duration) error, emit func(llm.Delta), req *llm.Request,
) *player {
	p := &player{sleep: sleep, emit: emit, left: math.MaxInt}
	if req.MaxTokens > 0 {
		p.left = req.MaxTokens
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			if req.Messages[i].Parts[j].Type == models.PartToolCall {
				p.calls++
			}
		}
	}
	p.res.Usage.InputTokens = inputTokens(req)
	return p
}

// say streams text or thinking. What follows a part of the same type continues it.
func (p *player) say(ctx context.Context, kind models.PartType, text string) error {
	text = strings.ToValidUTF8(text, "\uFFFD")
	end := 0
	var err error
	for end < len(text) {
		n, tokens, e := p.next(ctx, text[end:])
		if e != nil {
			err = e
			break
		}
		piece := text[end : end+n]
		end += n
		if kind == models.PartThinking {
			p.res.Usage.ReasoningTokens += int64(tokens)
			p.emit(llm.Delta{Thinking: piece})
		} else {
			p.emit(llm.Delta{Text: piece})
		}
	}
	switch last := len(p.res.Parts) - 1; {
	case end == 0:
	case last >= 0 && p.res.Parts[last].Type == kind:
		p.res.Parts[last].Text += text[:end]
	default:
		p.res.Parts = append(p.res.Parts, models.Part{Type: kind, Text: text[:end]})
	}
	return err
}

// call streams a tool call. An empty id is made up. A call that is cut off keeps the arguments that came.
func (p *player) call(ctx context.Context, id, name, arguments string) error {
	arguments = strings.ToValidUTF8(arguments, "\uFFFD")
	if id == "" {
		id = "call_" + strconv.Itoa(p.calls+1)
	}
	begun, end := false, 0
	var err error
	for !begun || end < len(arguments) {
		var n int
		if n, _, err = p.next(ctx, arguments[end:]); err != nil {
			break
		}
		if !begun {
			begun = true
			p.calls++
			p.emit(llm.Delta{ToolCall: id})
		}
		end += n
	}
	if begun {
		p.res.Parts = append(p.res.Parts, models.Part{
			Type: models.PartToolCall, ToolCallID: id, ToolName: name, Arguments: models.JSON(arguments[:end]),
		})
	}
	return err
}

// next waits for the next piece of s and returns its length in bytes and in tokens.
func (p *player) next(ctx context.Context, s string) (length, tokens int, err error) {
	if p.left == 0 && s != "" {
		return 0, 0, errCut
	}
	wait, atOnce := p.perToken, batchTokens
	if !p.begun {
		p.begun = true
		wait = p.first
	}
	if p.perToken > 0 {
		atOnce = 1
	}
	if err := p.pause(ctx, wait); err != nil {
		return 0, 0, err
	}
	for length < len(s) && tokens < min(atOnce, p.left) {
		length += tokenLen(s[length:])
		tokens++
	}
	p.left -= tokens
	p.res.Usage.OutputTokens += int64(tokens)
	return length, tokens, nil
}

// pause waits; for nothing, it only looks whether the call still stands.
func (p *player) pause(ctx context.Context, d time.Duration) error {
	var err error
	if d > 0 {
		err = p.sleep(ctx, d)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		// The engine tells a cancelled turn by its own context; with a timeout of the engine the call may be repeated.
		return &llm.Error{
			Code: llm.CodeUnavailable, Transient: true, Cause: err,
			Message: "The call was ended before the simulated model had finished its answer.",
		}
	}
	return nil
}

// disconnected is the failure of a stream that ends in the middle.
func disconnected() error {
	return &llm.Error{
		Code: llm.CodeUnavailable, Transient: true, Cause: io.ErrUnexpectedEOF,
		Message: "The connection to the simulated model broke off in the middle of its answer, as the script says.",
	}
}

// end returns the response for what err ended. An empty reason means the natural one.
func (p *player) end(err error, reason llm.FinishReason) (llm.Response, error) {
	switch {
	case errors.Is(err, errCut):
		p.res.FinishReason = llm.FinishLength
	case err != nil:
		return p.res, err
	case reason != "":
		p.res.FinishReason = reason
	default:
		p.res.FinishReason = llm.FinishStop
		for i := range p.res.Parts {
			if p.res.Parts[i].Type == models.PartToolCall {
				p.res.FinishReason = llm.FinishToolCalls
			}
		}
	}
	return p.res, nil
}
