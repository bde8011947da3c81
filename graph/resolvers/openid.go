package resolvers

import "github.com/ostler-dev/ostler/graph/model"

// The ways to sign in, as serverInfo lists them.
const (
	methodPassword = "password"
	methodOpenID   = "oidc"
)

func (r *Resolver) serverInfo() *model.ServerInfo {
	info := &model.ServerInfo{Name: "Ostler", Version: r.Version, SignInMethods: []string{methodPassword}}
	if name, ok := r.Orgs.IssuerName(); ok {
		info.SignInMethods, info.OidcName = append(info.SignInMethods, methodOpenID), &name
	}
	return info
}
