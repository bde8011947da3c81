package commit

import (
	"context"

	"github.com/ostler-dev/ostler/internal/models"
)

// backend runs a batch in one transaction of a database. A backend serves several flushers.
type backend interface {
	// begin starts a transaction, locks the sessions and turns that the batch needs and reads them.
	begin(ctx context.Context, need batchNeed) (batchTx, error)
	// committed returns what became of a transaction whose reply was lost, from an event that it wrote; nil when it wrote none.
	// The error is errInProgress as long as it may yet be committed.
	committed(ctx context.Context, ticket string, marker *models.Event) (bool, error)
	// position returns the place in its feed of an event that was committed; nil when it has none, or is gone.
	position(ctx context.Context, e *models.Event) (*int64, error)
	// totals returns what is counted of an organization.
	totals(ctx context.Context, org models.OrgID) (Totals, error)
}

type orgKey struct {
	org models.OrgID
	IdempotencyKey
}

// batchTx is a transaction that holds its locks. It ends by write or by rollback.
type batchTx interface {
	// sessions returns what was locked. A session that others hold is missing from both maps; one that doesn't exist is in the
	// second.
	sessions() (map[key]*loaded, map[key]bool)
	known() map[orgKey]models.IdempotencyKey
	// budgets returns those that were locked.
	budgets() *budgetRows
	// ticket names the transaction for committed.
	ticket() string
	// write writes everything, last the audit entries behind the ends of their chains, and, unless the faults object, commits; then it
	// tells the events which positions they got. The error is an *unknownOutcome when the transaction may have been committed all
	// the same.
	write(ctx context.Context, steps []step, entries []models.AuditEntry, beforeCommit func() error) error
	rollback()
}
