package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func encodeMembership(m *models.Membership) *model.Membership {
	return &model.Membership{ID: m.ID.String(), Role: model.Role(m.Role), CreatedAt: m.CreatedAt, UserID: m.UserID}
}

func encodeInvitation(inv *models.Invitation) *model.Invitation {
	return &model.Invitation{
		ID: inv.ID.String(), Email: inv.Email, Role: model.Role(inv.Role), ExpiresAt: inv.ExpiresAt, CreatedAt: inv.CreatedAt,
		AcceptedAt: inv.AcceptedAt, RevokedAt: inv.RevokedAt,
	}
}

func (r *Resolver) membershipByID(ctx context.Context, id models.MembershipID) (*model.Membership, error) {
	m, err := r.Orgs.Membership(ctx, auth.FromContext(ctx).OrgID, id)
	return encoded(m, err, encodeMembership)
}

func (r *Resolver) memberPage(ctx context.Context, first *int, after *string) (*model.MembershipConnection, error) {
	id := func(m *models.Membership) models.MembershipID { return m.ID }
	return idPage(ctx, first, after, 50, id, r.Orgs.ListMembers, r.Orgs.CountMembers, func(row *models.Membership) *model.Membership {
		r.loadersOf(ctx).users.expect(&row.UserID)
		return encodeMembership(row)
	})
}

func decodeAcceptance(in model.AcceptInvitationInput) orgs.Acceptance {
	out := orgs.Acceptance{Token: in.Token, Name: in.Name, Password: in.Password, Transport: auth.TransportBody}
	if in.Transport != nil {
		out.Transport = string(*in.Transport)
	}
	return out
}

func decodeOrgChange(in model.UpdateOrgInput) (out orgs.OrgChange, err error) {
	out.Name, out.AllowUnpriced = decodeOpt(in.Name), decodeOpt(in.AllowUnpricedModels)
	if out.DefaultHarnessID, err = decodeOptID[models.HarnessEntity](in.DefaultHarnessID, "input", "defaultHarnessId"); err != nil {
		return out, err
	}
	out.DefaultModelID, err = decodeOptID[models.ModelEntity](in.DefaultModelID, "input", "defaultModelId")
	return out, err
}

func (r *Resolver) orgPayload(ctx context.Context, org models.Org, err error) (*model.OrgPayload, error) {
	out := &model.OrgPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Org = encodeOrg(&org)
	})
}

func (r *Resolver) userPayload(ctx context.Context, user models.User, err error) (*model.UserPayload, error) {
	out := &model.UserPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.User = encodeUser(&user)
	})
}

func (r *Resolver) viewerPayload(ctx context.Context, p *auth.Principal, err error) (*model.ViewerPayload, error) {
	var v orgs.ViewerData
	if err == nil {
		v, err = r.Orgs.Viewer(ctx, p)
	}
	out := &model.ViewerPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Viewer = encodeViewer(p, v)
	})
}

func (r *Resolver) membershipPayload(ctx context.Context, m *models.Membership, err error) (*model.MembershipPayload, error) {
	out := &model.MembershipPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Membership = encodeMembership(m)
	})
}

// invitePayload holds no token when it is empty.
func (r *Resolver) invitePayload(ctx context.Context, inv *models.Invitation, token string, err error) (*model.InvitePayload, error) {
	out := &model.InvitePayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Invitation = encodeInvitation(inv)
		if token != "" {
			out.Token = &token
		}
	})
}
