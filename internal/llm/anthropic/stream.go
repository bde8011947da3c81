package anthropic

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// reader puts an answer together from the events of a stream.
type reader struct {
	header http.Header
	fail   wire.Failures
	answer *wire.Answer
	// blocks are the parts by the index that events name them with; nil for blocks that we have no use for.
	blocks map[int64]*block
	stop   sdk.StopReason
	done   bool
}

// event is what an answer is put together by.
type event struct {
	Type  string     `json:"type"`
	Index int64      `json:"index"`
	Block eventBlock `json:"content_block"`
	Delta eventDelta `json:"delta"`
}

type eventBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type eventDelta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
}

// block is a content block that may still grow.
type block struct {
	part *wire.Part
	// input is what a call began with, at least an empty object. It counts when no pieces follow.
	input string
	// signature grows piece by piece.
	signature strings.Builder
	redacted  string
}

func newReader(header http.Header, emit func(llm.Delta), fail wire.Failures) *reader {
	return &reader{header: header, fail: fail, answer: wire.NewAnswer(emit), blocks: map[int64]*block{}}
}

// read reads events until the answer is complete. A stream without its last event is no answer.
func (r *reader) read(events *wire.Events) error {
	for !r.done {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if err := r.event(ev); err != nil {
			return err
		}
	}
	return nil
}

// response returns what came so far.
func (r *reader) response() llm.Response {
	resp := llm.Response{Usage: r.answer.Usage()}
	if r.done {
		switch r.stop {
		case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
			resp.FinishReason = llm.FinishLength
		case sdk.StopReasonRefusal:
			resp.FinishReason = llm.FinishRefusal
		default:
			resp.FinishReason = r.answer.Finish()
		}
	}
	resp.Parts = r.answer.Parts(resp.FinishReason == llm.FinishToolCalls)
	return resp
}

// event takes one event. The SDK's types forgive fields of another type than theirs; what an answer is put together by is read
// without them, so that nothing of it can be missing unnoticed.
func (r *reader) event(sent wire.Event) error {
	data := sent.Data
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		return wire.Unreadablef("an event of the stream can't be read: %v", err)
	}
	if sent.Name == "error" {
		// Proxies leave the type out.
		ev.Type = "error"
	}
	switch ev.Type {
	case "message_start":
		var start sdk.MessageStartEvent
		if err := json.Unmarshal(data, &start); err != nil {
			return wire.Unreadablef("the start of the stream can't be read: %v", err)
		}
		r.started(&start.Message.Usage)
	case "content_block_start":
		return r.blockStart(ev.Index, &ev.Block)
	case "content_block_delta":
		return r.blockDelta(ev.Index, &ev.Delta)
	case "content_block_stop":
		return r.blockStop(ev.Index)
	case "message_delta":
		var delta sdk.MessageDeltaEvent
		if err := json.Unmarshal(data, &delta); err != nil {
			return wire.Unreadablef("the end of the stream can't be read: %v", err)
		}
		r.spent(&delta.Usage)
		if delta.Delta.StopReason != "" {
			r.stop = delta.Delta.StopReason
		}
	case "message_stop":
		if r.stop == "" {
			return wire.Unreadablef("the stream ends without a reason to stop")
		}
		r.done = true
	case "error":
		var e wireError
		if err := json.Unmarshal(data, &e); err != nil {
			return wire.Unreadablef("an error in the stream can't be read: %v", err)
		}
		return r.fail.Refusal(llm.Refusal{
			Status: statusOf(e.Error.Type), Header: r.header, Type: e.Error.Type, Message: e.Error.Message,
		})
	case "":
		return wire.Unreadablef("an event of the stream has no type")
	}
	// Pings, and types that are newer than this driver: the API's documentation asks to pass over them.
	return nil
}

func (r *reader) started(u *sdk.Usage) {
	sum := r.answer.Usage()
	set(&sum.InputTokens, u.InputTokens, true)
	set(&sum.CacheReadTokens, u.CacheReadInputTokens, true)
	set(&sum.CacheWriteTokens, u.CacheCreationInputTokens, true)
	set(&sum.OutputTokens, u.OutputTokens, true)
	set(&sum.ReasoningTokens, u.OutputTokensDetails.ThinkingTokens, true)
	r.answer.Spend(sum, false)
}

// spent takes over the later counts. They are sums, and only those that are given count.
func (r *reader) spent(u *sdk.MessageDeltaUsage) {
	sum := r.answer.Usage()
	set(&sum.InputTokens, u.InputTokens, u.JSON.InputTokens.Valid())
	set(&sum.CacheReadTokens, u.CacheReadInputTokens, u.JSON.CacheReadInputTokens.Valid())
	set(&sum.CacheWriteTokens, u.CacheCreationInputTokens, u.JSON.CacheCreationInputTokens.Valid())
	set(&sum.OutputTokens, u.OutputTokens, u.JSON.OutputTokens.Valid())
	set(&sum.ReasoningTokens, u.OutputTokensDetails.ThinkingTokens, u.JSON.OutputTokensDetails.Valid())
	r.answer.Spend(sum, false)
}

func set(count *int64, value int64, given bool) {
	if given && value >= 0 {
		*count = wire.Tokens(value)
	}
}

func (r *reader) blockStart(index int64, cb *eventBlock) error {
	if _, twice := r.blocks[index]; twice {
		return wire.Unreadablef("block %d of the stream begins twice", index)
	}
	if len(r.blocks) == wire.MaxParts {
		return wire.Unreadablef("the answer has more than %d blocks", wire.MaxParts)
	}
	b := &block{}
	var err error
	switch cb.Type {
	case "text":
		if b.part, err = r.answer.Open(models.PartText); err == nil {
			err = r.answer.Write(b.part, cb.Text)
		}
	case "thinking":
		if b.part, err = r.answer.Open(models.PartThinking); err == nil {
			b.signature.WriteString(cb.Signature)
			err = errors.Join(r.answer.Count(len(cb.Signature)), r.answer.Write(b.part, cb.Thinking))
		}
	case "redacted_thinking":
		if b.part, err = r.answer.Open(models.PartThinking); err == nil {
			b.redacted = cb.Data
			err = r.answer.SetMetadata(b.part, metadata{Redacted: b.redacted})
		}
	case "tool_use":
		if cb.ID == "" || cb.Name == "" {
			return wire.Unreadablef("a tool call in the stream has no id or no name")
		}
		if b.input = string(cb.Input); !strings.HasPrefix(b.input, "{") {
			b.input = "{}"
		}
		b.part, err = r.answer.OpenCall(cb.ID, cb.Name)
	case "":
		return wire.Unreadablef("block %d of the stream has no type", index)
	default:
		// Blocks of tools that run at the provider. We declare none.
		b = nil
	}
	r.blocks[index] = b
	return err
}

func (r *reader) blockDelta(index int64, d *eventDelta) error {
	b, begun := r.blocks[index]
	switch {
	case !begun:
		return wire.Unreadablef("block %d of the stream has a piece before it begins", index)
	case d.Type == "":
		return wire.Unreadablef("a piece of block %d of the stream has no type", index)
	case b == nil:
		return nil
	}
	kind := b.part.Kind()
	switch d.Type {
	case "text_delta":
		if kind == models.PartText {
			return r.answer.Write(b.part, d.Text)
		}
	case "thinking_delta":
		if kind == models.PartThinking {
			return r.answer.Write(b.part, d.Thinking)
		}
	case "signature_delta":
		if kind == models.PartThinking {
			b.signature.WriteString(d.Signature)
			return r.answer.Count(len(d.Signature))
		}
	case "input_json_delta":
		if kind == models.PartToolCall {
			return r.answer.Write(b.part, d.PartialJSON)
		}
	default:
		// Citations, and what is newer than this driver.
		return nil
	}
	return wire.Unreadablef("block %d of the stream has pieces of another kind", index)
}

// blockStop completes a block. Thinking gets its signature only here: half of one is worth nothing.
func (r *reader) blockStop(index int64) error {
	b, begun := r.blocks[index]
	switch {
	case !begun:
		return wire.Unreadablef("block %d of the stream ends before it begins", index)
	case b == nil:
		return nil
	case b.part.Kind() == models.PartToolCall && b.part.IsEmpty():
		return r.answer.Write(b.part, b.input)
	case b.part.Kind() == models.PartThinking && b.redacted == "" && b.signature.Len() > 0:
		return r.answer.SetMetadata(b.part, metadata{Signature: b.signature.String()})
	}
	return nil
}
