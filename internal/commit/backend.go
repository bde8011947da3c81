package commit

import (
	"context"
	"slices"

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

// batchNeed is what the commands of a batch need together.
type batchNeed struct {
	keys []key
	// ends are the sessions of which a turn may end; true for those of which it is known that messages or turns wait behind
	// it, which must be read, too.
	ends map[key]bool
	// more is what some of the sessions need besides.
	more map[key]moreNeed
	// files are looked at under the session's lock.
	files map[key][]FileNeed
	// known are the idempotency keys that the requests come with.
	known []orgKey
	// wait tells to wait for the lock of the only session, though not for long, instead of skipping what others hold.
	wait bool
}

// moreNeed is what only few commands look at.
type moreNeed struct {
	queue, calls, waits bool
	// budgets asks for those that bind the session, and those that its turn holds something of.
	budgets bool
	waitIDs []models.WaitID
	// payments are those of the session that are named.
	payments []models.PaymentID
	// events is nil for none.
	events *EventNeed
}

// with returns a need that covers two.
func (n *EventNeed) with(other EventNeed) *EventNeed {
	if n == nil {
		return &other
	}
	both := EventNeed{After: min(n.After, other.After), Kinds: slices.Clone(n.Kinds)}
	for _, k := range other.Kinds {
		if !slices.Contains(both.Kinds, k) {
			both.Kinds = append(both.Kinds, k)
		}
	}
	return &both
}

type orgKey struct {
	org models.OrgID
	IdempotencyKey
}

// batchTx is a transaction that holds its locks. It ends by write or by rollback.
type batchTx interface {
	// sessions returns what was locked. A session that others hold is missing from both maps; one that doesn't exist is in the
	// second.
	sessions() (map[key]loaded, map[key]bool)
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
