package resolvers

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// hooksSecret is the name of the secret that signs calls of webhooks.
const hooksSecret = "hooks"

func (r *Resolver) turnPayload(ctx context.Context, t *models.Turn, err error) (*model.TurnPayload, error) {
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	p := &model.TurnPayload{UserErrors: list}
	if len(list) == 0 {
		p.Turn = r.changedTurn(ctx, t)
	}
	return p, nil
}

func (r *Resolver) waitPayload(ctx context.Context, w *models.Wait, t *models.Turn, err error) (*model.WaitPayload, error) {
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	p := &model.WaitPayload{UserErrors: list}
	if len(list) == 0 {
		p.Turn = r.changedTurn(ctx, t)
		r.loadersOf(ctx).expectWait(w)
		p.Wait = encodeWait(w)
	}
	return p, nil
}

// changedTurn gives a turn that was changed just now, and forgets what was known before.
func (r *Resolver) changedTurn(ctx context.Context, t *models.Turn) *model.Turn {
	l := r.loadersOf(ctx)
	l.forgetAll()
	l.expectTurn(t)
	return encodeTurn(t)
}

func (r *Resolver) cancelTurn(ctx context.Context, turnID string, reason *string) (*model.TurnPayload, error) {
	id, err := decodeID[models.TurnEntity](turnID, "turnId")
	if err != nil {
		return r.turnPayload(ctx, nil, err)
	}
	t, err := r.Sessions.CancelTurn(ctx, auth.FromContext(ctx), id, reason)
	return r.turnPayload(ctx, t, err)
}

func (r *Resolver) editQueuedTurn(ctx context.Context, turnID string, content []*model.ContentPartInput) (*model.TurnPayload, error) {
	id, err := decodeID[models.TurnEntity](turnID, "turnId")
	if err != nil {
		return r.turnPayload(ctx, nil, err)
	}
	parts, err := decodeContent(content, "content")
	if err != nil {
		return r.turnPayload(ctx, nil, err)
	}
	t, err := r.Sessions.EditQueuedTurn(ctx, auth.FromContext(ctx), id, parts)
	return r.turnPayload(ctx, t, err)
}

func decodeContent(content []*model.ContentPartInput, path ...string) ([]sessions.NewPart, error) {
	var parts []sessions.NewPart
	for i, p := range content {
		image, err := decodeIDPtr[models.ImageEntity](p.ImageID, append(path[:len(path):len(path)], strconv.Itoa(i), "imageId")...)
		if err != nil {
			return nil, err
		}
		parts = append(parts, sessions.NewPart{Text: p.Text, ImageID: image})
	}
	return parts, nil
}

func (r *Resolver) moveQueuedTurn(ctx context.Context, turnID string, before *string) (*model.SessionPayload, error) {
	id, err := decodeID[models.TurnEntity](turnID, "turnId")
	if err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	other, err := decodeIDPtr[models.TurnEntity](before, "before")
	if err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	s, err := r.Sessions.MoveQueuedTurn(ctx, auth.FromContext(ctx), id, other)
	return r.sessionPayload(ctx, s, err)
}

func (r *Resolver) submitToolResults(ctx context.Context, input model.SubmitToolResultsInput) (*model.TurnPayload, error) {
	id, err := decodeID[models.TurnEntity](input.TurnID, "input", "turnId")
	if err != nil {
		return r.turnPayload(ctx, nil, err)
	}
	results := make([]sessions.ToolResult, len(input.Results))
	for i, in := range input.Results {
		results[i] = sessions.ToolResult{ToolCallID: in.ToolCallID, Result: in.Result, Error: in.Error}
	}
	t, err := r.Sessions.SubmitToolResults(ctx, auth.FromContext(ctx), id, results)
	return r.turnPayload(ctx, t, err)
}

func (r *Resolver) decideApproval(ctx context.Context, input model.DecideApprovalInput) (*model.WaitPayload, error) {
	id, err := decodeID[models.WaitEntity](input.WaitID, "input", "waitId")
	if err != nil {
		return r.waitPayload(ctx, nil, nil, err)
	}
	w, t, err := r.Sessions.DecideApproval(ctx, auth.FromContext(ctx), sessions.Decision{
		WaitID: id, Approve: input.Approve, Arguments: input.Arguments, Note: input.Note,
	})
	return r.waitPayload(ctx, w, t, err)
}

func (r *Resolver) answerQuestion(ctx context.Context, waitID, answer string) (*model.WaitPayload, error) {
	id, err := decodeID[models.WaitEntity](waitID, "waitId")
	if err != nil {
		return r.waitPayload(ctx, nil, nil, err)
	}
	w, t, err := r.Sessions.AnswerQuestion(ctx, auth.FromContext(ctx), id, answer)
	return r.waitPayload(ctx, w, t, err)
}

func (r *Resolver) resolveWait(ctx context.Context, token string, out sessions.Outcome) (*model.ResolveWaitPayload, error) {
	resolved, err := r.Sessions.ResolveWait(ctx, token, func(models.OrgID) (sessions.Outcome, error) { return out, nil })
	if err != nil {
		return nil, err
	}
	r.loadersOf(ctx).forgetAll()
	return &model.ResolveWaitPayload{Resolution: model.WaitResolution(resolved)}, nil
}

// rotateHookSecret replaces the secret that signs calls of webhooks.
func (r *Resolver) rotateHookSecret(ctx context.Context) (*model.HookSecretPayload, error) {
	secret, err := r.Secrets.Rotate(ctx, auth.FromContext(ctx).OrgID, hooksSecret)
	if err != nil {
		return nil, err
	}
	return &model.HookSecretPayload{Secret: new(base64.StdEncoding.EncodeToString(secret)), UserErrors: []*model.UserError{}}, nil
}
