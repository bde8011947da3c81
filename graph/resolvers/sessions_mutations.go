package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func (r *Resolver) sessionPayload(ctx context.Context, s *models.Session, err error) (*model.SessionPayload, error) {
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	p := &model.SessionPayload{UserErrors: list}
	if s != nil && len(list) == 0 {
		l := r.loadersOf(ctx)
		l.forgetAll()
		l.expectSession(s)
		p.Session = encodeSession(s)
	}
	return p, nil
}

func (r *Resolver) createSession(ctx context.Context, input model.CreateSessionInput) (*model.SessionPayload, error) {
	in, err := decodeNewSession(input)
	if err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	s, err := r.Sessions.Create(ctx, auth.FromContext(ctx), in)
	return r.sessionPayload(ctx, s, err)
}

func (r *Resolver) forkSession(ctx context.Context, input model.ForkSessionInput) (*model.SessionPayload, error) {
	in := sessions.NewFork{Title: input.Title, IdempotencyKey: input.IdempotencyKey}
	var err error
	if in.SessionID, err = decodeID[models.SessionEntity](input.SessionID, "input", "sessionId"); err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	if in.ThroughTurnID, err = decodeIDPtr[models.TurnEntity](input.ThroughTurnID, "input", "throughTurnId"); err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	s, err := r.Sessions.Fork(ctx, auth.FromContext(ctx), in)
	return r.sessionPayload(ctx, s, err)
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
	in.ModelID, err = decodeIDPtr[models.ModelEntity](input.ModelID, "input", "modelId")
	return in, err
}

func (r *Resolver) updateSession(ctx context.Context, id string, input model.UpdateSessionInput) (*model.SessionPayload, error) {
	sid, err := decodeID[models.SessionEntity](id, "id")
	if err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	ch := sessions.Change{Title: decodeOpt(input.Title), Tags: decodeOpt(input.Tags)}
	ch.ClientTools.Given, ch.ClientTools.Value = input.ClientTools.IsSet(), decodeClientTools(input.ClientTools.Value())
	if ch.ModelID, err = decodeOptID[models.ModelEntity](input.ModelID, "input", "modelId"); err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	if ch.AgentID, err = decodeOptID[models.AgentEntity](input.AgentID, "input", "agentId"); err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	s, err := r.Sessions.Update(ctx, auth.FromContext(ctx), sid, ch)
	return r.sessionPayload(ctx, s, err)
}

func (r *Resolver) sendMessage(ctx context.Context, input model.SendMessageInput) (*model.SendMessagePayload, error) {
	in, err := decodeNewMessage(input)
	var m *models.Message
	var t *models.Turn
	if err == nil {
		m, t, err = r.Sessions.Send(ctx, auth.FromContext(ctx), in)
	}
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	p := &model.SendMessagePayload{UserErrors: list}
	if len(list) == 0 {
		p.Message, p.Turn = encodeMessage(*m), encodeTurn(t)
	}
	return p, nil
}

func decodeNewMessage(input model.SendMessageInput) (in sessions.NewMessage, err error) {
	in = sessions.NewMessage{Delivery: sessions.Steer, MaxTokens: input.MaxTokens, IdempotencyKey: input.IdempotencyKey}
	if input.Delivery != nil {
		in.Delivery = sessions.Delivery(*input.Delivery)
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

func (r *Resolver) writeSessionFile(
	ctx context.Context, sessionID, path, content string, encoding, expectedHash *string,
) (*model.SessionFilePayload, error) {
	id, err := decodeID[models.SessionEntity](sessionID, "sessionId")
	in := sessions.NewFile{SessionID: id, Path: path, Content: content, Encoding: "text", ExpectedHash: expectedHash}
	if encoding != nil {
		in.Encoding = *encoding
	}
	p := &model.SessionFilePayload{}
	if err == nil {
		f, stored, werr := r.Sessions.WriteFile(ctx, auth.FromContext(ctx), in)
		if werr == nil {
			p.File = encodeFile(f, stored)
		}
		err = werr
	}
	p.UserErrors, err = userErrors(err)
	if err != nil {
		return nil, err
	}
	return p, nil
}
