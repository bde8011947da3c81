// Package resolvers ties the schema to the services. Resolvers decode, call one service and encode; who may call
// them is declared in the schema and enforced before they run.
package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/budget/manage"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/runtime"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/waitmail"
	"github.com/ostler-dev/ostler/internal/webhooks"
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
	// ModelViews tells what models were sent.
	ModelViews *runtime.ModelViews
	// Spending is what people do with budgets.
	Spending *manage.Service
	// Hooks are the webhooks of organizations.
	Hooks *webhooks.Service
	// Payments are the payments of tools, and what allows them.
	Payments *payments.Service
	// Secrets are those that organizations may replace.
	Secrets Secrets
	// Audit is the log of who did what.
	Audit *audit.Log
	// WaitMail is who wants mail about what waits for them.
	WaitMail *waitmail.Settings
	// Usage tells what was used.
	Usage *books.Usage
}

// Secrets keeps random secrets of organizations.
type Secrets interface {
	// Rotate replaces a secret by its name and returns the new one.
	Rotate(ctx context.Context, org models.OrgID, name string) ([]byte, error)
}
