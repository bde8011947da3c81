package resolvers

import (
	"context"
	"errors"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func encodeOrg(o *models.Org) *model.Org {
	return &model.Org{
		ID: o.ID.String(), Name: o.Name, Slug: o.Slug, CreatedAt: o.CreatedAt, AllowUnpricedModels: o.AllowUnpriced,
		DefaultHarnessID: o.DefaultHarnessID, DefaultModelID: o.DefaultModelID,
	}
}

func encodeUser(u *models.User) *model.User {
	return &model.User{ID: u.ID.String(), Email: u.Email, Name: u.Name, CreatedAt: u.CreatedAt}
}

func encodeViewer(p *auth.Principal, v orgs.ViewerData) *model.Viewer {
	viewer := &model.Viewer{Org: encodeOrg(&v.Org), Operator: p.Operator, Permissions: encodePermissions(p.Permissions.Names())}
	if v.Key != nil {
		viewer.APIKey = encodeAPIKey(v.Key)
		return viewer
	}
	viewer.User, viewer.Role = encodeUser(v.User), new(model.Role(p.Role))
	return viewer
}

func decodeCredentials(input model.SignInInput) orgs.Credentials {
	c := orgs.Credentials{Email: input.Email, Password: input.Password, Transport: auth.TransportBody}
	if input.Transport != nil {
		c.Transport = string(*input.Transport)
	}
	if input.OrgID != nil {
		// What is no id names no organization: the zero id, to which nobody belongs.
		id, _ := models.ParseID[models.OrgEntity](*input.OrgID)
		c.OrgID = &id
	}
	return c
}

// authPayload hands tokens out: into the cookies, or into the answer, never into both.
func authPayload(ctx context.Context, done *orgs.SignedIn, err error) (*model.AuthPayload, error) {
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		return &model.AuthPayload{UserErrors: list}, nil
	}
	pair := &model.TokenPair{
		ExpiresAt: models.MillisOf(done.AccessExpires), Org: encodeOrg(&done.Org), User: encodeUser(&done.User),
	}
	if done.Transport == auth.TransportCookie {
		set := auth.RequestFrom(ctx).SetCookies
		if set == nil || !set(auth.TokenCookies{
			Access: done.Access, AccessExpires: done.AccessExpires,
			Refresh: done.Refresh, RefreshExpires: done.RefreshExpires, Browser: done.Browser,
		}) {
			return nil, errors.New("the cookies of a sign-in could not be set")
		}
	} else {
		pair.AccessToken, pair.RefreshToken = &done.Access, &done.Refresh
	}
	return &model.AuthPayload{Tokens: pair, UserErrors: list}, nil
}

func signOutPayload(err error) (*model.SignOutPayload, error) {
	list, err := userErrors(err)
	if err != nil {
		return nil, err
	}
	return &model.SignOutPayload{Ok: len(list) == 0, UserErrors: list}, nil
}

// clearCookies removes the token cookies where that is possible; elsewhere there are none.
func clearCookies(request *auth.RequestInfo) {
	if request.SetCookies != nil {
		request.SetCookies(auth.TokenCookies{})
	}
}
