package resolvers

import (
	"slices"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/tools"
)

// The ways to sign in, as serverInfo lists them.
const (
	methodPassword = "password"
	methodOpenID   = "oidc"
)

func (r *Resolver) serverInfo() *model.ServerInfo {
	info := &model.ServerInfo{
		Name: "Ostler", Version: r.Version, SignInMethods: []string{methodPassword},
		Payments: slices.ContainsFunc(r.Catalog.Capabilities(), func(c tools.Capability) bool { return c.Pays }),
	}
	if name, ok := r.Orgs.IssuerName(); ok {
		info.SignInMethods, info.OidcName = append(info.SignInMethods, methodOpenID), &name
	}
	return info
}
