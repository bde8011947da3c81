package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func (r *Resolver) orgLimits(ctx context.Context, org *model.Org) (*model.OrgLimits, error) {
	id, err := models.ParseID[models.OrgEntity](org.ID)
	if err != nil {
		return nil, err //nolint:wrapcheck // an id that this server has written
	}
	v := r.Orgs.Limits(ctx, id)
	return &model.OrgLimits{
		ActiveTurns: v.ActiveTurns, QueuedTurns: v.QueuedTurns, Sessions: v.Sessions, Agents: v.Agents,
		RequestsPerMinute: v.RequestsPerMinute, ToolCallsPerMinute: v.ToolCallsPerMinute, Subscriptions: v.Subscriptions, Sockets: v.Sockets,
		APIKeys: v.APIKeys, PendingInvitations: v.PendingInvitations,
	}, nil
}

func (r *Resolver) updateOrgLimits(ctx context.Context, orgID string, in model.OrgLimitsInput) (*model.OrgPayload, error) {
	id, err := decodeID[models.OrgEntity](orgID, "orgId")
	if err != nil {
		return r.orgPayload(ctx, models.Org{}, err)
	}
	org, err := r.Orgs.SetLimits(ctx, auth.FromContext(ctx), id, orgs.LimitsChange{
		"activeTurns": decodeOpt(in.ActiveTurns), "queuedTurns": decodeOpt(in.QueuedTurns), "sessions": decodeOpt(in.Sessions),
		"agents": decodeOpt(in.Agents), "requestsPerMinute": decodeOpt(in.RequestsPerMinute), "toolCallsPerMinute": decodeOpt(in.ToolCallsPerMinute),
		"subscriptions": decodeOpt(in.Subscriptions), "sockets": decodeOpt(in.Sockets),
		"apiKeys": decodeOpt(in.APIKeys), "pendingInvitations": decodeOpt(in.PendingInvitations),
	})
	return r.orgPayload(ctx, org, err)
}
