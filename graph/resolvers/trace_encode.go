package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/runtime"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func decodeRerun(input model.RerunTurnInput) (in sessions.NewRerun, err error) {
	in = sessions.NewRerun{Title: input.Title, IdempotencyKey: input.IdempotencyKey}
	if in.TurnID, err = decodeID[models.TurnEntity](input.TurnID, "input", "turnId"); err != nil {
		return in, err
	}
	if in.ModelID, err = decodeIDPtr[models.ModelEntity](input.ModelID, "input", "modelId"); err != nil {
		return in, err
	}
	in.Content, err = decodeContent(input.Content, "input", "content")
	if in.Content == nil && input.Content != nil {
		in.Content = []sessions.NewPart{} // it is given, and empty
	}
	return in, err
}

// encodeModelView returns what a model was sent as the API shows it; nil for nothing.
func encodeModelView(v *runtime.ModelView) *model.ModelView {
	if v == nil {
		return nil
	}
	out := &model.ModelView{
		Iteration: v.Iteration, Model: v.Model, SystemPrompt: v.SystemPrompt, Exact: v.Exact, Tools: make([]string, len(v.Tools)),
		Messages: make([]*model.ModelViewMessage, len(v.Messages)),
	}
	for i, t := range v.Tools {
		out.Tools[i] = t.Name
	}
	for i, m := range v.Messages {
		out.Messages[i] = &model.ModelViewMessage{
			Role: model.MessageRole(m.Role), Content: encodeParts(m.Parts), MessageID: m.ID.String(), Tokens: m.Tokens,
		}
	}
	return out
}
