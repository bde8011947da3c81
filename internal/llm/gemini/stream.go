package gemini

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// chunk is one event of a stream, as far as it is used. Arguments and signatures are kept as they come.
type chunk struct {
	wireError

	Candidates     []candidate     `json:"candidates"`
	PromptFeedback *promptFeedback `json:"promptFeedback"`
	UsageMetadata  *usage          `json:"usageMetadata"`
	ResponseID     string          `json:"responseId"`
	ModelVersion   string          `json:"modelVersion"`
}

type candidate struct {
	Content struct {
		Parts []chunkPart `json:"parts"`
	} `json:"content"`
	FinishReason genai.FinishReason `json:"finishReason"`
}

type chunkPart struct {
	Text             string        `json:"text"`
	Thought          bool          `json:"thought"`
	ThoughtSignature string        `json:"thoughtSignature"`
	FunctionCall     *functionCall `json:"functionCall"`
}

type promptFeedback struct {
	BlockReason genai.BlockedReason `json:"blockReason"`
}

type usage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
}

// reader puts an answer together from the events of a stream.
type reader struct {
	header http.Header
	fail   wire.Failures
	answer *wire.Answer
	// last is the part that text may be added to; nil when a new one must begin.
	last    *wire.Part
	finish  genai.FinishReason
	blocked bool
}

func newReader(header http.Header, emit func(llm.Delta), fail wire.Failures) *reader {
	return &reader{header: header, fail: fail, answer: wire.NewAnswer(emit)}
}

// finished reports whether the provider has said that the answer is complete.
func (r *reader) finished() bool { return r.blocked || r.finish != "" }

// read reads events to the end of the stream. One that ends without a reason to finish is no answer.
func (r *reader) read(events *wire.Events) error {
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) && r.finished() {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if err := r.event(ev.Data); err != nil {
			return err
		}
	}
}

// response returns what came so far.
func (r *reader) response() llm.Response {
	resp := llm.Response{Parts: r.answer.Parts(false), Usage: r.answer.Usage()}
	switch {
	case r.blocked:
		resp.FinishReason = llm.FinishRefusal
	case r.finish != "":
		resp.FinishReason = r.reason()
	}
	return resp
}

func (r *reader) reason() llm.FinishReason {
	switch r.finish {
	case genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		return llm.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation, genai.FinishReasonOther:
		return llm.FinishRefusal
	}
	return r.answer.Finish()
}

func (r *reader) event(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return wire.Unreadablef("an event of the stream can't be read: %v", err)
	}
	if c.Error != nil {
		refusal := llm.Refusal{Header: r.header}
		c.fill(&refusal)
		return r.fail.Refusal(refusal)
	}
	if c.Candidates == nil && c.PromptFeedback == nil && c.UsageMetadata == nil && c.ResponseID == "" && c.ModelVersion == "" {
		return wire.Unreadablef("an event of the stream contains nothing known")
	}
	if c.UsageMetadata != nil {
		r.answer.Spend(c.UsageMetadata.counts(), false)
	}
	if c.PromptFeedback != nil && c.PromptFeedback.BlockReason != "" {
		r.blocked = true
	}
	if len(c.Candidates) == 0 {
		return nil
	}
	// One candidate is asked for.
	for i := range c.Candidates[0].Content.Parts {
		if err := r.part(&c.Candidates[0].Content.Parts[i]); err != nil {
			return err
		}
	}
	switch reason := c.Candidates[0].FinishReason; reason {
	case "", genai.FinishReasonUnspecified:
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall:
		return wire.Unreadablef("the model wrote a tool call that the provider can't read (%s)", reason)
	default:
		r.finish = reason
	}
	return nil
}

// part takes a piece of the answer. Text that follows text continues it, except that what has a signature stays by itself: Google's
// documentation asks that parts with one are not joined with others.
func (r *reader) part(p *chunkPart) error {
	if p.FunctionCall != nil {
		return r.call(p)
	}
	if p.Text == "" && p.ThoughtSignature == "" {
		// Code and files that the provider's own tools make. We declare none.
		return nil
	}
	kind := models.PartText
	if p.Thought {
		kind = models.PartThinking
	}
	if r.last == nil || r.last.Kind() != kind || p.ThoughtSignature != "" {
		var err error
		if r.last, err = r.answer.Open(kind); err != nil {
			return err
		}
	}
	at := r.last
	if p.ThoughtSignature != "" {
		r.last = nil
		if err := r.answer.SetMetadata(at, metadata{ThoughtSignature: p.ThoughtSignature}); err != nil {
			return err
		}
	}
	return r.answer.Write(at, p.Text)
}

// call takes a tool call, which comes in one piece. Older models give calls no id, and leave out arguments that are empty.
func (r *reader) call(p *chunkPart) error {
	r.last = nil
	call := p.FunctionCall
	if call.Name == "" {
		return wire.Unreadablef("a tool call in the stream has no name")
	}
	at, err := r.answer.OpenCall(call.ID, call.Name)
	if err != nil {
		return err
	}
	if p.ThoughtSignature != "" {
		if err := r.answer.SetMetadata(at, metadata{ThoughtSignature: p.ThoughtSignature}); err != nil {
			return err
		}
	}
	args := strings.TrimSpace(string(call.Args))
	if args == "" || args == "null" {
		args = "{}"
	}
	return r.answer.Write(at, args)
}

// counts returns disjoint counts: what the provider calls the prompt holds what was read from the cache, and its candidates do not
// hold the thoughts, which are paid for as output.
func (u *usage) counts() models.Usage {
	prompt, thoughts := wire.Tokens(u.Prompt), wire.Tokens(u.Thoughts)
	cached := min(wire.Tokens(u.Cached), prompt)
	return models.Usage{
		InputTokens:     prompt - cached + wire.Tokens(u.ToolPrompt),
		CacheReadTokens: cached,
		OutputTokens:    wire.Tokens(u.Candidates) + thoughts,
		ReasoningTokens: thoughts,
	}
}
