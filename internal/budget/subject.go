package budget

import (
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// RootOf returns the session whose budgets a session draws on: subagents and forks draw on those of the first of their line.
func RootOf(s *models.Session) models.SessionID {
	if s.RootID != nil {
		return *s.RootID
	}
	return s.ID
}

// subject is one of those whose budgets bind a session: as Go reads it of the session, and SQL of a row s of its table.
type subject struct {
	of  func(s *models.Session) *models.SubjectID
	sql string
}

// subjects are all of them but the customer, who has a key. Whoever asks which budgets bind a session asks what is made of this.
func subjects() []subject {
	return []subject{
		{func(s *models.Session) *models.SubjectID { return subjectID(&s.OrgID) }, "s.org_id"},
		{func(s *models.Session) *models.SubjectID { return subjectID(new(RootOf(s))) }, "coalesce(s.root_id, s.id)"},
		{func(s *models.Session) *models.SubjectID { return subjectID(s.AgentID) }, "s.agent_id"},
		{func(s *models.Session) *models.SubjectID { return subjectID(s.OwnerID) }, "s.owner_id"},
	}
}

func subjectID[E models.Entity](id *models.ID[E]) *models.SubjectID {
	return (*models.SubjectID)(id)
}

// Binds reports whether a session draws on a budget.
func Binds(b *models.Budget, s *models.Session) bool {
	if b.OrgID != s.OrgID || b.DisabledAt != nil {
		return false
	}
	if b.CustomerKey != nil {
		return s.CustomerKey != nil && *s.CustomerKey == *b.CustomerKey
	}
	for _, subject := range subjects() {
		if id := subject.of(s); id != nil && *id == *b.SubjectID {
			return true
		}
	}
	return false
}

// SessionColumns are the columns of a session that BindingSQL reads.
const SessionColumns = "s.org_id, s.id, s.root_id, s.agent_id, s.owner_id, s.customer_key"

// AnySQL is a condition: that the organization of a row of a table, by its name or alias, has budgets. Most have none. With an id before all others,
// in either dialect, the planner takes the index in its order and stops at the first row.
func AnySQL(of string) string {
	return "(SELECT b.id FROM budgets b WHERE b.org_id = " + of + ".org_id AND b.id > '00000000-0000-0000-0000-000000000000' ORDER BY b.id LIMIT 1) IS NOT NULL"
}

// BindingSQL returns a statement of the organizations and ids of all budgets that bind the sessions of a table s of SessionColumns, as Binds says. It
// finds them by the indexes of subjects and customers: no other budget of an organization is looked at. Each database has to be told so in its own
// way.
func BindingSQL(sqlite bool) string {
	ids := make([]string, 0, 4)
	for _, subject := range subjects() {
		ids = append(ids, "("+subject.sql+")")
	}
	const binding = "b.org_id = s.org_id AND b.disabled_at IS NULL AND "
	if sqlite {
		half := func(index, condition string) string {
			return "SELECT b.org_id, b.id FROM s CROSS JOIN budgets b INDEXED BY " + index + " WHERE " + binding + condition
		}
		return half("budgets_by_subject", "b.subject_id IN ("+strings.Join(ids, ", ")+")") + "\nUNION " + half("budgets_by_customer", "b.customer_key = s.customer_key")
	}
	half := func(subjects, condition string) string {
		return "SELECT b.org_id, b.id FROM s " + subjects + "CROSS JOIN LATERAL (SELECT b.org_id, b.id FROM budgets b WHERE " + binding + condition + " OFFSET 0) b"
	}
	return half("CROSS JOIN LATERAL (VALUES "+strings.Join(ids, ", ")+") u (subject_id) ", "b.subject_id = u.subject_id") +
		"\nUNION " + half("", "b.customer_key = s.customer_key")
}
