package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
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
		APIKeys: v.APIKeys, PendingInvitations: v.PendingInvitations, EnvironmentKeys: v.EnvironmentKeys != 0, StorageBytes: int64(v.StorageBytes),
	}, nil
}

func (r *Resolver) storedBytes(ctx context.Context, org *model.Org) (int64, error) {
	id, err := models.ParseID[models.OrgEntity](org.ID)
	if err != nil {
		return 0, err //nolint:wrapcheck // an id that this server has written
	}
	return r.Sessions.StoredBytes(ctx, id)
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
		"storageBytes":    bytesLimit(decodeOpt(in.StorageBytes)),
		"environmentKeys": permission(decodeOpt(in.EnvironmentKeys)),
	})
	return r.orgPayload(ctx, org, err)
}

// permission writes yes and no as limits do, 1 and 0.
func permission(in catalog.Opt[*bool]) catalog.Opt[*int] {
	out := catalog.Opt[*int]{Given: in.Given}
	if in.Value != nil {
		out.Value = new(0)
		if *in.Value {
			*out.Value = 1
		}
	}
	return out
}

func bytesLimit(in catalog.Opt[*int64]) catalog.Opt[*int] {
	out := catalog.Opt[*int]{Given: in.Given}
	if in.Value != nil {
		out.Value = new(int(*in.Value))
	}
	return out
}
