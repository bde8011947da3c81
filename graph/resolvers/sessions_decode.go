package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

func (r *Resolver) sessionPayload(ctx context.Context, s *models.Session, err error) (*model.SessionPayload, error) {
	p := &model.SessionPayload{}
	return answered(p, &p.UserErrors, err, func() {
		if s == nil {
			return
		}
		l := r.loadersOf(ctx)
		l.forgetAll()
		l.expectSession(s)
		p.Session = encodeSession(s)
	})
}

func decodeNewSession(input model.CreateSessionInput) (in sessions.NewSession, err error) {
	in = sessions.NewSession{
		Title: input.Title, Tags: input.Tags, Locale: input.Locale, CustomerKey: input.CustomerKey, IdempotencyKey: input.IdempotencyKey,
		ClientTools: decodeClientTools(input.ClientTools),
	}
	if in.AgentID, err = decodeIDPtr[models.AgentEntity](input.AgentID, "input", "agentId"); err != nil {
		return in, err
	}
	if in.HarnessID, err = decodeIDPtr[models.HarnessEntity](input.HarnessID, "input", "harnessId"); err != nil {
		return in, err
	}
	if in.ModelID, err = decodeIDPtr[models.ModelEntity](input.ModelID, "input", "modelId"); err != nil || input.Draft == nil {
		return in, err
	}
	draft, err := decodeNewAgent(*input.Draft)
	in.Draft = &draft
	return in, err
}

func decodeNewMessage(input model.SendMessageInput) (in sessions.NewMessage, err error) {
	in = sessions.NewMessage{Delivery: turns.Steer, MaxTokens: input.MaxTokens, IdempotencyKey: input.IdempotencyKey}
	if input.Delivery != nil {
		in.Delivery = turns.Delivery(*input.Delivery)
	}
	if in.SessionID, err = decodeID[models.SessionEntity](input.SessionID, "input", "sessionId"); err != nil {
		return in, err
	}
	if in.ModelID, err = decodeIDPtr[models.ModelEntity](input.ModelID, "input", "modelId"); err != nil {
		return in, err
	}
	in.Content, err = decodeContent(input.Content, "input", "content")
	return in, err
}
