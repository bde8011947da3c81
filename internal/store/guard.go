package store

import (
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/models"
)

// ErrUnscoped means that code tried to read or change rows of a tenant table without naming the organization.
var ErrUnscoped = errors.New("a statement on a tenant table must name the organization: use store.Of, or store.CrossOrg where a test allows it")

const crossOrgKey = "ostler:cross_org"

// Of limits a statement to the rows of one organization. It is the only way to tenant rows but for CrossOrg.
func Of(db *gorm.DB, org models.OrgID) *gorm.DB { return db.Where("org_id = ?", org) }

// CrossOrg lifts the guard, for the few readers that cross organizations. TestWhoCrossesOrganizations lists the files that may call it.
func CrossOrg(db *gorm.DB) *gorm.DB { return db.Set(crossOrgKey, true) }

// installGuard refuses statements on tenant tables that forgot the organization. It is a net under the code, which names the
// organization itself, and not the wall: that is the composite keys.
func installGuard(db *gorm.DB) error {
	cb := db.Callback()
	return errors.Join(
		cb.Query().Before("gorm:query").Register("ostler:guard_query", guard),
		cb.Update().Before("gorm:update").Register("ostler:guard_update", guard),
		cb.Delete().Before("gorm:delete").Register("ostler:guard_delete", guard),
		cb.Row().Before("gorm:row").Register("ostler:guard_row", guard),
	)
}

func guard(db *gorm.DB) {
	s := db.Statement.Schema
	if s == nil || s.LookUpField("OrgID") == nil || s.ModelType == nil {
		return
	}
	// These belong to a person, not to a tenant; the organization is where the person is signed in.
	if s.Table == "sign_ins" {
		return
	}
	if v, ok := db.Get(crossOrgKey); ok && v == true {
		return
	}
	if where, ok := db.Statement.Clauses["WHERE"].Expression.(clause.Where); ok && namesOrg(where.Exprs) {
		return
	}
	_ = db.AddError(fmt.Errorf("%w (table %s)", ErrUnscoped, s.Table))
}

// namesOrg looks for org_id among the conditions that all must hold; one behind an OR doesn't count.
func namesOrg(exprs []clause.Expression) bool {
	for _, e := range exprs {
		if _, isOr := e.(clause.OrConditions); isOr {
			return false
		}
	}
	for _, e := range exprs {
		switch e := e.(type) {
		case clause.Expr:
			sql := strings.ToLower(e.SQL)
			if strings.Contains(sql, "org_id = ?") && !strings.Contains(sql, " or ") {
				return true
			}
		case clause.Eq:
			if c, ok := e.Column.(clause.Column); ok && c.Name == "org_id" {
				return true
			}
			if c, ok := e.Column.(string); ok && c == "org_id" {
				return true
			}
		case clause.AndConditions:
			if namesOrg(e.Exprs) {
				return true
			}
		}
	}
	return false
}
