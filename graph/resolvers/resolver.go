// Package resolvers ties the schema to the services. Resolvers decode, call one service and encode; who may call
// them is declared in the schema and enforced before they run.
package resolvers

import (
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// Resolver holds the services.
type Resolver struct {
	// Version of the program, for serverInfo.
	Version  string
	Events   *events.Hub
	Log      *events.Log
	Catalog  *catalog.Service
	Orgs     *orgs.Service
	Sessions *sessions.Service
}
