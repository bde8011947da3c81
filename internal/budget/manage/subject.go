package manage

import (
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// subject is what a budget binds: an id, or the key of a customer.
type subject struct {
	kind models.BudgetSubject
	id   *models.SubjectID
	key  *string
}

// SubjectID returns the outside form of what a budget binds: an id with the prefix of its kind, or the key of a customer.
func SubjectID(b *models.Budget) string {
	if b.CustomerKey != nil {
		return *b.CustomerKey
	}
	switch b.Subject {
	case models.SubjectUser:
		return models.UserID(*b.SubjectID).String()
	case models.SubjectAgent:
		return models.AgentID(*b.SubjectID).String()
	case models.SubjectSession:
		return models.SessionID(*b.SubjectID).String()
	case models.SubjectOrg, models.SubjectCustomer:
	}
	return models.OrgID(*b.SubjectID).String()
}

// parseSubject reads the outside form. It is fault.NotFound for what is no id of the kind.
func parseSubject(kind models.BudgetSubject, s string) (subject, error) {
	var id models.SubjectID
	var err error
	switch kind {
	case models.SubjectOrg:
		id, err = subjectOf[models.OrgEntity](s)
	case models.SubjectUser:
		id, err = subjectOf[models.UserEntity](s)
	case models.SubjectAgent:
		id, err = subjectOf[models.AgentEntity](s)
	case models.SubjectSession:
		id, err = subjectOf[models.SessionEntity](s)
	case models.SubjectCustomer:
		return subject{kind: kind, key: &s}, nil
	default:
		return subject{}, fault.New(fault.Invalid, "%.40q is not a subject of budgets: want ORG, USER, AGENT, SESSION or CUSTOMER.", string(kind))
	}
	if err != nil || id.IsZero() {
		return subject{}, noSubject(kind, s)
	}
	return subject{kind: kind, id: &id}, nil
}

func subjectOf[E models.Entity](s string) (models.SubjectID, error) {
	id, err := models.ParseID[E](s)
	return models.SubjectID(id), err //nolint:wrapcheck // the caller says it in its own words
}

func noSubject(kind models.BudgetSubject, s string) error {
	what := "session"
	switch kind {
	case models.SubjectOrg:
		return fault.New(fault.NotFound, "Your current organization does not have the id %.60q; you can't create budgets of others.", s)
	case models.SubjectUser:
		what = "member of the organization"
	case models.SubjectAgent:
		what = "agent"
	case models.SubjectSession, models.SubjectCustomer:
	}
	return fault.New(fault.NotFound, "There is no %s with the id %.60q.", what, s)
}

// of limits a statement to the budgets of the subject.
func (s *subject) of(q *gorm.DB) *gorm.DB {
	if s.key != nil {
		return q.Where("customer_key = ?", *s.key)
	}
	return q.Where("subject_id = ?", *s.id)
}

// check refuses what a budget of the organization can't bind.
func (s *subject) check(tx *gorm.DB, org models.OrgID) error {
	var there bool
	var err error
	switch s.kind {
	case models.SubjectCustomer:
		if strings.TrimSpace(*s.key) == "" {
			return fault.New(fault.Invalid, "The subjectId of a CUSTOMER is the customerKey of sessions; it must not be empty.")
		}
		return text.CheckOptional(s.key, sessions.MaxCustomerKey)
	case models.SubjectSession:
		return s.checkSession(tx, org)
	case models.SubjectOrg:
		there = models.OrgID(*s.id) == org
	case models.SubjectUser:
		there, err = exists(store.Of(tx.Model(&models.Membership{}), org).Where("user_id = ?", *s.id))
	case models.SubjectAgent:
		there, err = exists(store.Of(tx.Model(&models.Agent{}), org).Where("id = ? AND lifecycle <> ?", *s.id, models.LifecycleDeleted))
	}
	if err == nil && !there {
		err = noSubject(s.kind, s.outside())
	}
	return err
}

// checkSession refuses sessions that were made by others: all of a line draw on what its first one has.
func (s *subject) checkSession(tx *gorm.DB, org models.OrgID) error {
	found, err := store.First[models.Session](store.Of(tx, org).Select("org_id", "id", "root_id").Where("id = ?", *s.id))
	if err != nil {
		return fmt.Errorf("read session %s: %w", s.outside(), err)
	}
	if found == nil {
		return noSubject(s.kind, s.outside())
	}
	if root := budget.RootOf(found); root != found.ID {
		return fault.New(fault.Invalid, "The session %s was forked from another one and draws on the budgets of %s. Set the budget on that session.", found.ID, root)
	}
	return nil
}

func (s *subject) outside() string {
	return SubjectID(&models.Budget{Subject: s.kind, SubjectID: s.id, CustomerKey: s.key})
}

func exists(q *gorm.DB) (bool, error) {
	var n int
	if err := q.Select("1").Limit(1).Scan(&n).Error; err != nil {
		return false, fmt.Errorf("look for the subject of a budget: %w", err)
	}
	return n == 1, nil
}
