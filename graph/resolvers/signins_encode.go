package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

func encodeSignIns(list []models.SignIn, by *auth.Principal) []*model.SignIn {
	encoded := make([]*model.SignIn, 0, len(list))
	for _, in := range list {
		encoded = append(encoded, &model.SignIn{
			ID: in.ID.String(), CreatedAt: in.CreatedAt, LastUsedAt: in.LastUsedAt, Address: in.Address, UserAgent: in.UserAgent,
			Current: in.ID == by.SignInID,
		})
	}
	return encoded
}

// revokeSignIn removes the browser's cookies, too, when they are those of the sign-in that ends.
func (r *mutationResolver) revokeSignIn(ctx context.Context, text string) error {
	id, err := decodeID[models.SignInEntity](text, "id")
	if err != nil {
		return err
	}
	p := auth.FromContext(ctx)
	if err := r.Orgs.RevokeSignIn(ctx, p, id); err != nil {
		return err
	}
	if p.SignInID == id && p.Transport == auth.TransportCookie {
		clearCookies(auth.RequestFrom(ctx))
	}
	return nil
}
