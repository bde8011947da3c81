package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// The fields in which servers send what a model thinks.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
)

// chatStream reads the stream of Chat Completions.
type chatStream struct {
	answer

	calls []*chatCall
	// finish is why the model stopped; empty before it did.
	finish string
}

// chatCall is a call while it grows.
type chatCall struct {
	*wire.Part

	index *int
	// given is the id that the server gave; it may have given none.
	given string
	// looks is how often its arguments were looked at.
	looks int
}

// maxLooks bounds how often the arguments of a call are read to find out where they end: a hostile server could ask for it at each
// byte.
const maxLooks = 64

type chunk struct {
	Choices []choice  `json:"choices"`
	Usage   chatUsage `json:"usage"`
	// Groq's place for the usage.
	Groq struct {
		Usage chatUsage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index  int       `json:"index"`
	Delta  chatDelta `json:"delta"`
	Finish string    `json:"finish_reason"`
	// Message is in the place of Delta where a server sends its answer in one piece.
	Message chatDelta       `json:"message"`
	Error   json.RawMessage `json:"error"`
	Usage   chatUsage       `json:"usage"`
}

type chatDelta struct {
	Content          chatText    `json:"content"`
	ReasoningContent chatText    `json:"reasoning_content"`
	Reasoning        chatText    `json:"reasoning"`
	Refusal          chatText    `json:"refusal"`
	ToolCalls        []toolDelta `json:"tool_calls"`
}

type toolDelta struct {
	Index    *int  `json:"index"`
	ID       loose `json:"id"`
	Function struct {
		Name      loose           `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

type chatUsage struct {
	Prompt        count `json:"prompt_tokens"`
	Completion    count `json:"completion_tokens"`
	Total         count `json:"total_tokens"`
	PromptDetails struct {
		Cached  count `json:"cached_tokens"`
		Written count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// DeepSeek's and Moonshot's places for what came from the cache.
	CacheHit count `json:"prompt_cache_hit_tokens"`
	Cached   count `json:"cached_tokens"`
	// Cost is what OpenRouter charges for the call, in dollars. With a key of the customer's own that is its fee alone, and what the
	// model's provider charges stands beside it. They are read with patience: other servers may mean something else by the names.
	Cost        json.RawMessage `json:"cost"`
	OwnKey      json.RawMessage `json:"is_byok"`
	CostDetails json.RawMessage `json:"cost_details"`
}

// cost returns what the call cost by the server's own account; false where it doesn't say all of it.
func (u *chatUsage) cost() (models.Nanos, bool) {
	cost, ok := wire.Dollars(u.Cost)
	if !ok || string(u.OwnKey) != "true" {
		return cost, ok
	}
	var details struct {
		Upstream json.RawMessage `json:"upstream_inference_cost"`
	}
	if json.Unmarshal(u.CostDetails, &details) != nil {
		return 0, false
	}
	upstream, ok := wire.Dollars(details.Upstream)
	return cost + upstream, ok
}

// read reads to the end of the answer: [DONE], or the end of the stream after the reason to stop. Once there is a reason, the answer
// is whole, and what goes wrong later takes nothing from it.
func (s *chatStream) read(in *wire.Events) (llm.Response, error) {
	for {
		e, err := in.Next()
		if err == nil && string(e.Data) == wire.Done {
			break
		}
		if err == nil {
			err = s.take(e)
		}
		switch {
		case err == nil:
		case s.finish != "":
			return s.end()
		case errors.Is(err, io.EOF):
			return llm.Response{}, io.ErrUnexpectedEOF
		default:
			return llm.Response{}, err
		}
	}
	if s.finish == "" && len(s.Parts(true)) == 0 {
		return llm.Response{}, wire.Unreadablef("the stream ended without an answer")
	}
	return s.end()
}

// end returns the whole answer. Reasons that are not known count as the natural one.
func (s *chatStream) end() (llm.Response, error) {
	switch s.finish {
	case "length", "max_tokens", "model_length":
		return s.finished(llm.FinishLength), nil
	case "content_filter", "refusal", "safety":
		return s.finished(llm.FinishRefusal), nil
	case "error", "abort", "cancelled", "insufficient_system_resource":
		// The server gave up in the middle, politely.
		return llm.Response{}, s.failed(report{kind: s.finish, code: http.StatusServiceUnavailable})
	}
	return s.finished(llm.FinishStop), nil
}

func (s *chatStream) take(e wire.Event) error {
	if e.Name == "error" || bytes.Contains(e.Data, []byte(`"error"`)) && hasError(e.Data) {
		return s.failed(parseReport(e.Data, ""))
	}
	var c chunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return unreadable(err)
	}
	for _, u := range []chatUsage{c.Usage, c.Groq.Usage} {
		s.count(u)
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			continue
		}
		s.count(ch.Usage)
		if isSet(ch.Error) {
			return s.failed(errorFields(ch.Error))
		}
		for _, d := range []*chatDelta{&ch.Delta, &ch.Message} {
			if err := s.grow(d); err != nil {
				return err
			}
		}
		if ch.Finish != "" {
			s.finish = ch.Finish
		}
	}
	return nil
}

// grow takes what a chunk adds.
func (s *chatStream) grow(d *chatDelta) error {
	// Some servers send the same thoughts in both fields.
	thinking, field := d.ReasoningContent.text, fieldReasoningContent
	if thinking == "" {
		thinking, field = d.Reasoning.text, fieldReasoning
	}
	s.refused = s.refused || d.Refusal.text != ""
	err := errors.Join(
		s.say(models.PartThinking, thinking, field), s.say(models.PartThinking, d.Content.thinking, ""),
		s.say(models.PartText, d.Content.text, ""), s.say(models.PartText, d.Refusal.text, ""),
	)
	for i := range d.ToolCalls {
		if err == nil {
			err = s.call(&d.ToolCalls[i])
		}
	}
	return err
}

// say adds text or thinking, and keeps the field in which thinking came.
func (s *chatStream) say(kind models.PartType, text, field string) error {
	if text == "" {
		return nil
	}
	p, err := s.Continue(kind)
	if err != nil {
		return err
	}
	if field != "" && !p.HasMetadata() {
		if err := s.SetMetadata(p, chatMetadata{Field: field}); err != nil {
			return err
		}
	}
	return s.Write(p, text)
}

// call takes a piece of a call.
func (s *chatStream) call(d *toolDelta) error {
	id, name, arguments := d.ID.text, d.Function.Name.text, argumentsPiece(d.Function.Arguments)
	c := s.continued(d, arguments)
	if c == nil {
		p, err := s.OpenCall(id, name)
		if err != nil {
			return err
		}
		c = &chatCall{Part: p, index: d.Index, given: id}
		s.calls = append(s.calls, c)
	} else {
		// The id or the name may come later than the call.
		if c.given != "" {
			id = ""
		}
		if c.Name() != "" {
			name = ""
		}
		c.given += id
		if err := s.Identify(c.Part, id, name); err != nil {
			return err
		}
	}
	if isSet(d.Extra) && !c.HasMetadata() {
		if err := s.SetMetadata(c.Part, chatMetadata{Extra: d.Extra}); err != nil {
			return err
		}
	}
	return s.Write(c.Part, arguments)
}

// continued returns the call that a piece belongs to; nil for a new one. By the protocol the index tells. Some servers send none, others
// send 0 for every call; then a new id tells, or a new name after arguments that were complete.
func (s *chatStream) continued(d *toolDelta, arguments string) *chatCall {
	var c *chatCall
	for i := len(s.calls) - 1; i >= 0 && c == nil; i-- {
		known := s.calls[i]
		switch {
		case d.Index != nil && known.index != nil:
			if *d.Index == *known.index {
				c = known
			}
		case d.ID.text == "" || known.given == "" || d.ID.text == known.given:
			c = known
		}
	}
	name := d.Function.Name.text != "" && c != nil && c.Name() != ""
	switch {
	case c == nil, d.ID.text != "" && c.given != "" && d.ID.text != c.given, name && d.ID.text != "" && c.given == "":
		return nil
	case name && d.ID.text == "" && (arguments == "" || arguments[0] == '{') && c.isComplete():
		return nil
	}
	return c
}

// isComplete reports whether the arguments are an object.
func (c *chatCall) isComplete() bool {
	if c.looks >= maxLooks {
		return false
	}
	c.looks++
	s := c.Written()
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// argumentsPiece returns arguments as text. Some servers send the object itself.
func argumentsPiece(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// count takes a usage; the last one counts, since those before may be of a part.
func (s *chatStream) count(u chatUsage) {
	if u.Prompt == 0 && u.Completion == 0 && u.Total == 0 {
		return
	}
	output := u.Completion
	if reasoning := u.CompletionDetails.Reasoning; reasoning > 0 && u.Total == u.Prompt+u.Completion+reasoning {
		output += reasoning // xAI leaves it out
	}
	read := max(u.PromptDetails.Cached, u.CacheHit, u.Cached)
	took := tokens(int64(u.Prompt), int64(read), int64(u.PromptDetails.Written), int64(output), int64(u.CompletionDetails.Reasoning))
	if cost, ok := u.cost(); ok {
		took.CostNanos, took.ProviderCost = cost, true
	}
	s.Spend(took, s.finish != "")
}

// count is a number of tokens; 0 for whatever is none.
type count int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *count) UnmarshalJSON(b []byte) error {
	var f float64
	*n = 0
	if json.Unmarshal(b, &f) == nil && f >= 1 {
		*n = count(wire.Tokens(int64(min(f, 1<<53))))
	}
	return nil
}

// chatText is a text, or Mistral's list of texts and thoughts.
type chatText struct{ text, thinking string }

// UnmarshalJSON implements json.Unmarshaler.
func (t *chatText) UnmarshalJSON(b []byte) error {
	*t = chatText{}
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &t.text)
	case '[':
		var list []struct {
			Text     string   `json:"text"`
			Thinking chatText `json:"thinking"`
		}
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for _, c := range list {
			t.text += c.Text
			t.thinking += c.Thinking.text + c.Thinking.thinking
		}
	}
	return nil
}
