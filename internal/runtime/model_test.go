package runtime

import (
	"context"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// answer is a whole answer of a model.
func answer(finish llm.FinishReason, parts ...models.Part) llm.Response {
	return llm.Response{Parts: parts, FinishReason: finish, Usage: models.Usage{InputTokens: 10, OutputTokens: 5}}
}

func textPart(s string) models.Part { return models.Part{Type: models.PartText, Text: s} }

func callPart(id, name, arguments string) models.Part {
	return models.Part{Type: models.PartToolCall, ToolCallID: id, ToolName: name, Arguments: models.JSON(arguments)}
}

// echoing answers ok to everything.
func echoing(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	return answer(llm.FinishStop, textPart("ok")), nil
}

// answers plays one response after the other, and then ok.
func answers(list ...llm.Response) playFunc {
	n := 0
	return func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
		n++
		if n > len(list) {
			return echoing(ctx, req, emit)
		}
		return list[n-1], nil
	}
}
