package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
	"github.com/ostler-dev/ostler/internal/models"
)

// begin returns an answer, and what it tells.
func begin() (*wire.Answer, *[]llm.Delta) {
	var told []llm.Delta
	return wire.NewAnswer(func(d llm.Delta) { told = append(told, d) }), &told
}

// must returns a part that could be begun.
func must(t *testing.T) func(*wire.Part, error) *wire.Part {
	t.Helper()
	return func(p *wire.Part, err error) *wire.Part {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	a, told := begin()
	part := must(t)
	thinking := part(a.Continue(models.PartThinking))
	part(a.Open(models.PartText)) // stays empty
	text := part(a.Continue(models.PartText))
	call := part(a.OpenCall("", ""))
	other := part(a.OpenCall("b", "g"))
	if err := errors.Join(
		a.Write(thinking, "Hm"), a.Correct(thinking, "Hmm"), a.SetMetadata(thinking, map[string]int{"x": 1}),
		a.Write(text, "Hel"), a.Correct(text, ""), a.Correct(text, "Hello"), a.Write(text, ""),
		a.Write(call, `{"a"`), a.Correct(call, `{"b":1}`), a.Identify(call, "", "f"), a.Identify(other, "c", ""),
	); err != nil {
		t.Fatal(err)
	}
	want := []models.Part{
		{Type: models.PartThinking, Text: "Hmm", Metadata: models.JSON(`{"x":1}`)}, {Type: models.PartText, Text: "Hello"},
		{Type: models.PartToolCall, ToolCallID: "call_1", ToolName: "f", Arguments: models.JSON(`{"b":1}`)},
		{Type: models.PartToolCall, ToolCallID: "c", ToolName: "g", Arguments: models.JSON(`{}`)},
	}
	wiretest.Same(t, "parts", a.Parts(true), want)
	want[3].Arguments = models.JSON("")
	wiretest.Same(t, "parts of an answer that was cut", a.Parts(false), want)
	wiretest.Same(t, "told", *told, []llm.Delta{
		{ToolCall: "call_1"}, {ToolCall: "b"}, {Thinking: "Hm"}, {Thinking: "m"}, {Text: "Hel"}, {Text: "lo"},
	})
	wiretest.Same(t, "finish", a.Finish(), llm.FinishToolCalls)
}

// An answer without end ends, whatever it is made of.
func TestAnswerTooMuch(t *testing.T) {
	t.Parallel()
	mega := strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		kind models.PartType
		grow func(a *wire.Answer, p *wire.Part, i int) error
		most int
	}{
		"text":      {models.PartText, func(a *wire.Answer, p *wire.Part, _ int) error { return a.Write(p, mega) }, wire.MaxText >> 20},
		"thinking":  {models.PartThinking, func(a *wire.Answer, p *wire.Part, _ int) error { return a.Write(p, mega) }, wire.MaxText >> 20},
		"corrected": {models.PartText, func(a *wire.Answer, p *wire.Part, i int) error { return a.Correct(p, string(rune('a'+i))+mega[1:]) }, wire.MaxText >> 20},
		"arguments": {models.PartToolCall, func(a *wire.Answer, p *wire.Part, _ int) error { return a.Write(p, mega) }, wire.MaxArguments >> 20},
		"corrected arguments": {models.PartToolCall, func(a *wire.Answer, p *wire.Part, i int) error {
			return a.Correct(p, string(rune('a'+i))+mega[1:])
		}, wire.MaxArguments >> 20},
		"names":    {models.PartToolCall, func(a *wire.Answer, p *wire.Part, _ int) error { return a.Identify(p, "", mega) }, wire.MaxText >> 20},
		"metadata": {models.PartText, func(a *wire.Answer, p *wire.Part, _ int) error { return a.SetMetadata(p, mega[2:]) }, wire.MaxText >> 20},
		"parts": {models.PartText, func(a *wire.Answer, _ *wire.Part, _ int) error {
			_, err := a.Open(models.PartText)
			return err
		}, wire.MaxParts - 1},
		"calls": {models.PartText, func(a *wire.Answer, _ *wire.Part, _ int) error {
			_, err := a.OpenCall("", "")
			return err
		}, wire.MaxParts - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := begin()
			p := must(t)(a.Open(tt.kind))
			for i := range tt.most {
				if err := tt.grow(a, p, i); err != nil {
					t.Fatalf("%v after %d", err, i)
				}
			}
			if _, ok := errors.AsType[*wire.Unreadable](tt.grow(a, p, tt.most)); !ok {
				t.Errorf("more than %d are taken", tt.most)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for given, want := range map[int64]int64{-1: 0, 0: 0, 7: 7, 1 << 62: 1 << 40} {
		wiretest.Same(t, "tokens", wire.Tokens(given), want)
	}
}

// TestSpending tells of usage when it is news, and not when the response tells it at once.
func TestSpending(t *testing.T) {
	t.Parallel()
	a, told := begin()
	first, second, last := models.Usage{InputTokens: 1}, models.Usage{InputTokens: 1, OutputTokens: 2}, models.Usage{InputTokens: 1, OutputTokens: 3}
	a.Spend(models.Usage{}, false)
	a.Spend(first, false)
	a.Spend(first, false)
	a.Spend(second, false)
	a.Spend(last, true)
	wiretest.Same(t, "told", *told, []llm.Delta{{Usage: &first}, {Usage: &second}})
	wiretest.Same(t, "usage", a.Usage(), last)
}
