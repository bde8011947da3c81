package openai

import (
	"net/http"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// answer is what the streams of both protocols are put together to.
type answer struct {
	*wire.Answer

	fail   wire.Failures
	header http.Header
	// refused is true when the model declined to answer.
	refused bool
}

func newAnswer(header http.Header, emit func(llm.Delta), fail wire.Failures) answer {
	return answer{Answer: wire.NewAnswer(emit), fail: fail, header: header}
}

// events reads the stream of an answer.
func events(resp *http.Response, emit func(llm.Delta)) *wire.Events {
	return wire.NewEvents(resp.Body, wire.Lenient, func() { emit(llm.Delta{}) })
}

// failed sorts an error that came in the stream.
func (a *answer) failed(r report) error {
	return a.fail.Refusal(llm.Refusal{Status: r.status(), Header: a.header, Type: r.kind, Message: r.message})
}

// partial returns what has come of an answer that broke off.
func (a *answer) partial() llm.Response {
	return llm.Response{Parts: a.Parts(false), Usage: a.Usage()}
}

// finished returns the whole answer.
func (a *answer) finished(reason llm.FinishReason) llm.Response {
	if reason == llm.FinishStop {
		if reason = a.Finish(); a.refused {
			reason = llm.FinishRefusal
		}
	}
	return llm.Response{Parts: a.Parts(reason == llm.FinishToolCalls), Usage: a.Usage(), FinishReason: reason}
}

// tokens makes counts that don't overlap of OpenAI's, in which the input includes what was read from and written to the cache. The
// output includes reasoning on both sides.
func tokens(input, read, written, output, reasoning int64) models.Usage {
	input, read, written = wire.Tokens(input), wire.Tokens(read), wire.Tokens(written)
	u := models.Usage{CacheReadTokens: min(read, input), OutputTokens: wire.Tokens(output)}
	u.CacheWriteTokens = min(written, input-u.CacheReadTokens)
	u.InputTokens = input - u.CacheReadTokens - u.CacheWriteTokens
	u.ReasoningTokens = min(wire.Tokens(reasoning), u.OutputTokens)
	return u
}
