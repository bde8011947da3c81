package openai

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// responsesStream reads the stream of the Responses API.
type responsesStream struct {
	answer

	items []*item
}

// item is an item of the output while it grows.
type item struct {
	*wire.Part

	index int
	id    string
	// summaries is the number of the part of a summary that grows.
	summaries int
	done      bool
}

type responsesEvent struct {
	OutputIndex  *int            `json:"output_index"`
	ItemID       string          `json:"item_id"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Text         string          `json:"text"`
	Refusal      string          `json:"refusal"`
	Arguments    string          `json:"arguments"`
	Item         *outputItem     `json:"item"`
	Response     *responseObject `json:"response"`
}

type outputItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Encrypted string `json:"encrypted_content"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

type responseObject struct {
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []outputItem `json:"output"`
	Usage  *struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		InputDetails struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// read reads to the event that ends the answer. A stream that ends without one has broken off.
func (s *responsesStream) read(in *wire.Events) (llm.Response, error) {
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return llm.Response{}, io.ErrUnexpectedEOF
		}
		if err != nil {
			return llm.Response{}, err
		}
		reason, err := s.take(e)
		if err != nil {
			return llm.Response{}, err
		}
		if reason != "" {
			return s.finished(reason), nil
		}
	}
}

// take takes one event. It returns a reason when the answer is complete.
func (s *responsesStream) take(e wire.Event) (llm.FinishReason, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(e.Data, &head); err != nil {
		return "", unreadable(err)
	}
	kind := head.Type
	if kind == "" {
		kind = e.Name
	}
	switch kind {
	case "error":
		r := parseReport(e.Data, "")
		r.kind = strings.TrimPrefix(r.kind, "error ") // the event's own type
		return "", s.failed(r)
	case "response.completed", "response.incomplete", "response.failed":
		return s.end(kind, e.Data)
	case "response.output_item.added", "response.output_item.done", "response.output_text.delta", "response.output_text.done",
		"response.refusal.delta", "response.refusal.done", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
		"response.reasoning_text.delta", "response.function_call_arguments.delta", "response.function_call_arguments.done":
		var ev responsesEvent
		if err := json.Unmarshal(e.Data, &ev); err != nil {
			return "", unreadable(err)
		}
		return "", s.grow(kind, &ev)
	case "":
		return "", wire.Unreadablef("an event of the stream has no type")
	}
	return "", nil // a kind that is newer than this driver
}

func unreadable(err error) error {
	return wire.Unreadablef("an event of the stream can't be read: %v", err)
}

// grow takes an event about an item of the output.
func (s *responsesStream) grow(kind string, ev *responsesEvent) error {
	if ev.Item != nil && kind == "response.output_item.added" {
		_, err := s.begin(ev.OutputIndex, ev.Item)
		return err
	}
	it := s.find(ev)
	if ev.Item != nil && kind == "response.output_item.done" {
		return s.itemDone(it, ev.OutputIndex, ev.Item)
	}
	if it == nil {
		var err error
		if it, err = s.missed(kind, ev); it == nil {
			return err
		}
	}
	switch kind {
	case "response.output_text.delta", "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		if it.Kind() == models.PartToolCall {
			return wire.Unreadablef("there is text within a call of the stream")
		}
		return s.Write(it.Part, s.separator(it, kind, ev)+ev.Delta)
	case "response.refusal.delta":
		s.refused = true
		return s.Write(it.Part, ev.Delta)
	case "response.refusal.done":
		s.refused = true
	case "response.function_call_arguments.delta":
		if it.Kind() != models.PartToolCall {
			return wire.Unreadablef("there are arguments outside of a call of the stream")
		}
		return s.Write(it.Part, ev.Delta)
	case "response.function_call_arguments.done":
		if it.Kind() == models.PartToolCall {
			return s.Correct(it.Part, ev.Arguments)
		}
	}
	return nil
}

// separator sets the parts of a summary apart.
func (s *responsesStream) separator(it *item, kind string, ev *responsesEvent) string {
	if kind != "response.reasoning_summary_text.delta" || ev.SummaryIndex <= it.summaries {
		return ""
	}
	it.summaries = ev.SummaryIndex
	if it.IsEmpty() {
		return ""
	}
	return summarySeparator
}

const summarySeparator = "\n\n"

// find returns the item that an event is about. Some servers leave the index out.
func (s *responsesStream) find(ev *responsesEvent) *item {
	id := ev.ItemID
	if ev.Item != nil {
		id = ev.Item.ID
	}
	for i := len(s.items) - 1; i >= 0; i-- {
		it := s.items[i]
		if ev.OutputIndex != nil && it.index == *ev.OutputIndex || ev.OutputIndex == nil && (id == "" || it.id == id) {
			return it
		}
	}
	return nil
}

// begin opens an item. Kinds that were not asked for give none.
func (s *responsesStream) begin(index *int, o *outputItem) (*item, error) {
	it := &item{index: len(s.items), id: o.ID}
	if index != nil {
		it.index = *index
	}
	var err error
	switch o.Type {
	case "message":
		it.Part, err = s.Open(models.PartText)
	case "reasoning":
		it.Part, err = s.Open(models.PartThinking)
	case "function_call":
		it.Part, err = s.OpenCall(o.CallID, o.Name)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.items = append(s.items, it)
	return it, nil
}

// missed opens an item whose beginning was not told. Arguments without a name can't become a call.
func (s *responsesStream) missed(kind string, ev *responsesEvent) (*item, error) {
	switch kind {
	case "response.output_text.delta", "response.refusal.delta":
		return s.begin(ev.OutputIndex, &outputItem{ID: ev.ItemID, Type: "message"})
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return s.begin(ev.OutputIndex, &outputItem{ID: ev.ItemID, Type: "reasoning"})
	}
	return nil, nil
}

// itemDone takes an item as it is in the end, which is what counts.
func (s *responsesStream) itemDone(it *item, index *int, o *outputItem) error {
	if it == nil {
		var err error
		if it, err = s.begin(index, o); it == nil || err != nil {
			return err
		}
	}
	it.done = true
	switch {
	case o.Type == "message" && it.Kind() == models.PartText:
		var text strings.Builder
		for _, c := range o.Content {
			text.WriteString(c.Text + c.Refusal)
			s.refused = s.refused || c.Type == "refusal"
		}
		return s.Correct(it.Part, text.String())
	case o.Type == "function_call" && it.Kind() == models.PartToolCall:
		if it.Name() == "" {
			if err := s.Identify(it.Part, "", o.Name); err != nil {
				return err
			}
		}
		return s.Correct(it.Part, o.Arguments)
	case o.Type == "reasoning" && it.Kind() == models.PartThinking:
		return s.reasoningDone(it, o)
	}
	return nil
}

func (s *responsesStream) reasoningDone(it *item, o *outputItem) error {
	m := thoughtMetadata{ID: o.ID, EncryptedContent: o.Encrypted}
	texts := make([]string, 0, len(o.Summary))
	for _, t := range o.Summary {
		texts = append(texts, t.Text)
	}
	if len(texts) == 0 {
		for _, c := range o.Content { // models that show their thoughts themselves
			texts = append(texts, c.Text)
		}
	} else if len(texts) > 1 {
		m.Summary = texts
	}
	if err := s.Correct(it.Part, strings.Join(texts, summarySeparator)); err != nil || m.ID == "" || m.EncryptedContent == "" {
		return err
	}
	return s.SetMetadata(it.Part, m)
}

// end takes the event that ends the answer.
func (s *responsesStream) end(kind string, data []byte) (llm.FinishReason, error) {
	var ev struct {
		Response *responseObject `json:"response"`
	}
	if err := json.Unmarshal(data, &ev); err != nil {
		return "", unreadable(err)
	}
	r := ev.Response
	if r == nil {
		return "", wire.Unreadablef("an event %s of the stream contains no response", kind)
	}
	if u := r.Usage; u != nil {
		s.Spend(tokens(u.Input, u.InputDetails.Cached, u.InputDetails.Written, u.Output, u.OutputDetails.Reasoning), true)
	}
	if kind == "response.failed" || r.Status == "failed" || r.Status == "cancelled" {
		return "", s.failed(errorFields(r.Error))
	}
	// What was not told piece by piece is in the whole.
	for i := range r.Output {
		it := s.find(&responsesEvent{OutputIndex: &i})
		if it != nil && it.done {
			continue
		}
		if err := s.itemDone(it, &i, &r.Output[i]); err != nil {
			return "", err
		}
	}
	if kind != "response.incomplete" && r.Status != "incomplete" {
		return llm.FinishStop, nil
	}
	if r.Incomplete != nil && r.Incomplete.Reason == "content_filter" {
		return llm.FinishRefusal, nil
	}
	return llm.FinishLength, nil
}
