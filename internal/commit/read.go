package commit

import (
	"fmt"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
)

// What is read of rows that commands need, by both databases.

// readSession are the columns of a whole session s, and whether its organization has budgets: most have none, and pay no statement for them.
var readSession = names("s.", insertSession.all) +
	", " + budget.AnySQL("s") + " AS budgeted"

// scanSession reads a row of readSession and what follows it.
func scanSession(r scanner, more ...any) (*models.Session, error) {
	s := &models.Session{}
	return s, insertSession.scan(r, &s, append([]any{&s.Budgeted}, more...)...)
}

// TurnColumns are the columns of a whole turn, in the order of ScanTurn, each behind the given prefix ("t." or none).
func TurnColumns(prefix string) string { return names(prefix, insertTurn.all) }

// ScanTurn reads a row of TurnColumns.
func ScanTurn(r interface{ Scan(dest ...any) error }) (*models.Turn, error) {
	t := &models.Turn{}
	return t, insertTurn.scan(r, &t)
}

// The columns of calls, waits and decisions as they are read under the lock of their session.
var (
	callColumns     = names("e.", insertEffect.all)
	waitColumns     = names("w.", insertWait.all)
	decisionColumns = names("d.", insertDecision.all) + ", COALESCE(m.role, ''), k.id IS NOT NULL, k.expires_at, k.created_by"
	fileColumns     = names("f.", putFile.all)
)

func scanCall(r scanner) (e models.Effect, err error) {
	err = insertEffect.scan(r, &e)
	return e, err
}

func scanWait(r scanner) (w models.Wait, err error) {
	err = insertWait.scan(r, &w)
	return w, err
}

func scanDecision(r scanner) (d models.ApprovalDecision, err error) {
	var maker *models.UserID
	err = insertDecision.scan(r, &d, &d.Voter.Role, &d.Voter.Key, &d.Voter.KeyExpiresAt, &maker)
	d.Voter.Maker = models.Value(maker)
	return d, err
}

// author is who sent a message, as its row holds it.
type author struct {
	kind *models.ActorKind
	id   *models.ActorID
}

// actor returns nil for nobody. Rows that were written before there were keys name a user, without the kind.
func (a author) actor() *models.Actor {
	switch {
	case a.id == nil || a.id.IsZero():
		return nil
	case a.kind == nil:
		return &models.Actor{Kind: models.ActorUser, ID: *a.id}
	}
	return &models.Actor{Kind: *a.kind, ID: *a.id}
}

// loggedColumns are those of an event that a command looks at.
const loggedColumns = "e.sequence, e.id, e.kind, e.turn_id, e.data, e.occurred_at"

func scanLogged(k key, r scanner) (models.Event, error) {
	e := models.Event{OrgID: k.org, SessionID: k.session}
	if err := r.Scan(&e.Sequence, into(&e.ID), &e.Kind, &e.TurnID, &e.Data, &e.OccurredAt); err != nil {
		return e, fmt.Errorf("read an event: %w", err)
	}
	return e, nil
}

func kindNames(kinds []models.EventKind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return names
}

func scanFile(r scanner) (f models.SessionFile, err error) {
	err = putFile.scan(r, &f)
	return f, err
}

func (l *loaded) addFile(f models.SessionFile) {
	if l.files == nil {
		l.files = map[string]models.SessionFile{}
	}
	l.files[f.Path] = f
}
