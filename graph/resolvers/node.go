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
		return fetchNode(id, func(id models.APIKeyID) (*model.APIKey, error) {
			k, err := r.Orgs.APIKey(ctx, org, id)
			return encoded(k, err, encodeAPIKey)
		})
	case models.MembershipEntity{}.Prefix():
		return fetchNode(id, func(id models.MembershipID) (*model.Membership, error) { return r.membershipByID(ctx, id) })
	case models.InvitationEntity{}.Prefix():
		return fetchNode(id, func(id models.InvitationID) (*model.Invitation, error) {
			inv, err := r.Orgs.Invitation(ctx, org, id)
			return encoded(inv, err, encodeInvitation)
		})
	case models.ProviderEntity{}.Prefix():
		return fetchNode(id, func(id models.ProviderID) (*model.Provider, error) {
			p, err := r.Catalog.Provider(ctx, org, id)
			return encoded(p, err, func(p *models.Provider) *model.Provider { return r.encodeProvider(ctx, p) })
		})
	case models.ModelEntity{}.Prefix():
		return fetchNode(id, func(id models.ModelID) (*model.Model, error) {
			m, err := r.Catalog.Model(ctx, org, id)
			return encoded(m, err, encodeModel)
		})
	case models.HarnessEntity{}.Prefix():
		return fetchNode(id, func(id models.HarnessID) (*model.Harness, error) {
			h, err := r.Catalog.Harness(ctx, org, id)
			return encoded(h, err, encodeHarness)
		})
	case models.AgentEntity{}.Prefix():
		return fetchNode(id, func(id models.AgentID) (*model.Agent, error) {
			a, err := r.Catalog.Agent(ctx, org, id)
			return encoded(a, err, encodeAgent)
		})
	case models.SessionEntity{}.Prefix():
		return fetchNode(id, func(id models.SessionID) (*model.Session, error) { return r.sessionByID(ctx, id) })
	case models.TurnEntity{}.Prefix():
		return fetchNode(id, func(id models.TurnID) (*model.Turn, error) { return r.turnByID(ctx, id) })
	case models.WaitEntity{}.Prefix():
		return fetchNode(id, func(id models.WaitID) (*model.Wait, error) { return r.waitByID(ctx, id) })
	case models.MessageEntity{}.Prefix():
		return fetchNode(id, func(id models.MessageID) (*model.Message, error) { return r.messageByID(ctx, id) })
	case models.WebhookEntity{}.Prefix():
		return fetchNode(id, func(id models.WebhookID) (*model.Webhook, error) {
			w, err := r.Hooks.Webhook(ctx, org, id)
			return encoded(w, err, r.encodeWebhook(ctx))
		})
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

func encoded[T, N any](row *T, err error, encode func(*T) *N) (*N, error) {
	if err != nil {
		return nil, err
	}
	return encode(row), nil
}
