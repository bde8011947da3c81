package resolvers

import (
	"context"
	"strconv"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// hooksSecret is the name of the secret that signs calls of webhooks.
const hooksSecret = "hooks"

func (r *Resolver) turnPayload(ctx context.Context, t *models.Turn, err error) (*model.TurnPayload, error) {
	p := &model.TurnPayload{}
	return answered(p, &p.UserErrors, err, func() {
		p.Turn = r.changedTurn(ctx, t)
	})
}

func (r *Resolver) waitPayload(ctx context.Context, w *models.Wait, t *models.Turn, err error) (*model.WaitPayload, error) {
	p := &model.WaitPayload{}
	return answered(p, &p.UserErrors, err, func() {
		p.Turn = r.changedTurn(ctx, t)
		r.loadersOf(ctx).expectWait(w)
		p.Wait = encodeWait(w)
	})
}

// changedTurn returns a turn that was just changed, and drops what was cached before.
func (r *Resolver) changedTurn(ctx context.Context, t *models.Turn) *model.Turn {
	l := r.loadersOf(ctx)
	l.forgetAll()
	l.expectTurn(t)
	return encodeTurn(t)
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

func (r *Resolver) resolveWait(ctx context.Context, token string, out sessions.Outcome) (*model.ResolveWaitPayload, error) {
	resolved, err := r.Sessions.ResolveWait(ctx, token, func(models.OrgID) (sessions.Outcome, error) { return out, nil })
	if err != nil {
		return nil, err
	}
	r.loadersOf(ctx).forgetAll()
	return &model.ResolveWaitPayload{Resolution: model.WaitResolution(resolved)}, nil
}
