package commit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ostler-dev/ostler/internal/store"
)

// errInProgress means that a transaction has not ended yet.
var errInProgress = errors.New("the transaction has not ended yet")

// unknownOutcome means that a commit was sent and its reply didn't come. Ticket names the transaction for those who ask
// what became of it.
type unknownOutcome struct {
	err    error
	ticket string
}

func (u *unknownOutcome) Error() string {
	return "the outcome of a commit is unknown: " + u.err.Error()
}

func (u *unknownOutcome) Unwrap() error { return u.err }

// unreadable is a failure of this program to read or write a row, with nothing wrong with the connection: it would fail
// again.
type unreadable struct{ err error }

func (u *unreadable) Error() string { return u.err.Error() }

func (u *unreadable) Unwrap() error { return u.err }

// missingTurn is what a session that names a turn which doesn't exist gives.
func missingTurn(k key) error {
	return &unreadable{fmt.Errorf("session %s has a current turn that doesn't exist", k.session)}
}

// isData reports whether a batch failed for what a command of it has written, or for the rows that it met, so that trying
// it again can't help.
func isData(err error) bool {
	var own *unreadable
	return store.IsData(err) || sqlClass(err) == "54" || errors.As(err, &own) // 54: a row or a key is too large
}

// isOutage reports whether a batch failed for reasons that pass, however long that takes.
func isOutage(err error) bool {
	var lite *sqlite.Error
	// What didn't come from the database is a connection that is broken, or can't be made.
	return store.IsOutage(err) || sqlClass(err) == "" && !errors.As(err, &lite)
}

// isLockTimeout reports whether others have held a lock for too long.
func isLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// sqlClass returns the class of PostgreSQL's error code, the first two characters; nothing when the error isn't PostgreSQL's.
func sqlClass(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && len(pg.Code) == 5 {
		return pg.Code[:2]
	}
	return ""
}

// isOverCap reports whether a batch was refused because an organization would have more than it may.
func isOverCap(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23514" && (pg.ConstraintName == "org_feeds_sessions_cap" || pg.ConstraintName == "org_feeds_queued_turns_cap")
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code() == sqlite3.SQLITE_CONSTRAINT_CHECK && strings.Contains(lite.Error(), "org_feeds_")
}
