package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func encodePermissions(names []string) []model.Permission {
	list := make([]model.Permission, 0, len(names))
	for _, name := range names {
		// A name that this version doesn't know gives no right, and can't be shown.
		if p := model.Permission(name); p.IsValid() {
			list = append(list, p)
		}
	}
	return list
}

func encodeAPIKey(k *models.APIKey) *model.APIKey {
	return &model.APIKey{
		ID: k.ID.String(), Name: k.Name, Prefix: k.Prefix, Permissions: encodePermissions(k.Permissions),
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, RevokedAt: k.RevokedAt,
	}
}

func decodeNewAPIKey(in model.CreateAPIKeyInput) orgs.NewAPIKey {
	n := orgs.NewAPIKey{Name: in.Name, ExpiresAt: in.ExpiresAt}
	for _, p := range in.Permissions {
		n.Permissions = append(n.Permissions, string(p))
	}
	return n
}

// apiKeyPayload answers a mutation of a key; key is the key itself, empty where it isn't shown.
func apiKeyPayload(row *models.APIKey, key string, err error) (*model.APIKeyPayload, error) {
	out := &model.APIKeyPayload{}
	return answered(out, &out.UserErrors, err, func() {
		out.APIKey, out.Key = encodeAPIKey(row), nonEmpty(key)
	})
}
