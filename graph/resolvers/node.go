package resolvers

import (
	"context"
	"strings"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// nodeByID finds any object of the caller's organization. What is no id, what nobody has and what belongs to another
// organization are all null.
func (r *Resolver) nodeByID(ctx context.Context, id string) (model.Node, error) {
	prefix, _, _ := strings.Cut(id, "_")
	org := auth.FromContext(ctx).OrgID
	switch prefix {
	case models.OrgEntity{}.Prefix():
		if id != org.String() {
			return nil, nil
		}
		return fetchNode(id, func(_ models.OrgID) (*model.Org, error) { return r.Query().Org(ctx) })
	case models.UserEntity{}.Prefix():
		return fetchNode(id, func(id models.UserID) (*model.User, error) { return r.memberByID(ctx, id) })
	case models.APIKeyEntity{}.Prefix():
		return fetchNode(id, ofOrg(ctx, r.Orgs.APIKey, encodeAPIKey))
	case models.MembershipEntity{}.Prefix():
		return fetchNode(id, func(id models.MembershipID) (*model.Membership, error) { return r.membershipByID(ctx, id) })
	case models.InvitationEntity{}.Prefix():
		return fetchNode(id, ofOrg(ctx, r.Orgs.Invitation, encodeInvitation))
	case models.ProviderEntity{}.Prefix():
		return fetchNode(id, ofOrg(ctx, r.Catalog.Provider, func(p *models.Provider) *model.Provider { return r.encodeProvider(ctx, p) }))
	case models.ModelEntity{}.Prefix():
		return fetchNode(id, ofOrg(ctx, r.Catalog.Model, encodeModel))
	case models.HarnessEntity{}.Prefix():
		return fetchNode(id, ofOrg(ctx, r.Catalog.Harness, encodeHarness))
	case models.AgentEntity{}.Prefix():
		return fetchNode(id, ofOrg(ctx, r.Catalog.Agent, encodeAgent))
	case models.SessionEntity{}.Prefix():
		return fetchNode(id, func(id models.SessionID) (*model.Session, error) { return r.sessionByID(ctx, id) })
	case models.TurnEntity{}.Prefix():
		return fetchNode(id, func(id models.TurnID) (*model.Turn, error) { return r.turnByID(ctx, id) })
	case models.WaitEntity{}.Prefix():
		return fetchNode(id, func(id models.WaitID) (*model.Wait, error) { return r.waitByID(ctx, id) })
	case models.MessageEntity{}.Prefix():
		return fetchNode(id, func(id models.MessageID) (*model.Message, error) { return r.messageByID(ctx, id) })
	case models.WebhookEntity{}.Prefix():
		return fetchNode(id, ofOrg(ctx, r.Hooks.Webhook, r.encodeWebhook(ctx)))
	case models.BudgetEntity{}.Prefix():
		return fetchNode(id, func(id models.BudgetID) (*model.Budget, error) { return r.nodeOfBudget(ctx, id) })
	case models.LedgerEntity{}.Prefix():
		return fetchNode(id, func(id models.LedgerID) (*model.LedgerEntry, error) { return r.nodeOfPosting(ctx, id) })
	case models.AuditEntryEntity{}.Prefix():
		return fetchNode(id, func(id models.AuditEntryID) (*model.AuditEntry, error) { return r.auditEntryByID(ctx, id) })
	}
	return nil, nil
}

// fetchNode parses an id and finds its object; what isn't there is null.
func fetchNode[E models.Entity, N any, P interface {
	*N
	model.Node
}](id string, find func(models.ID[E]) (P, error)) (model.Node, error) {
	parsed, err := models.ParseID[E](id)
	if err != nil {
		return nil, nil //nolint:nilerr // what is no id names nothing
	}
	n, err := find(parsed)
	if fault.Is(err, fault.NotFound) || (err == nil && n == nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ofOrg returns what finds an object of the caller's organization.
func ofOrg[E models.Entity, T, N any](
	ctx context.Context, find func(ctx context.Context, org models.OrgID, id models.ID[E]) (*T, error), encode func(*T) *N,
) func(models.ID[E]) (*N, error) {
	return func(id models.ID[E]) (*N, error) {
		row, err := find(ctx, auth.FromContext(ctx).OrgID, id)
		return encoded(row, err, encode)
	}
}

func encoded[T, N any](row *T, err error, encode func(*T) *N) (*N, error) {
	if err != nil {
		return nil, err
	}
	return encode(row), nil
}
