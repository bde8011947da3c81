package sessions

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/store"
)

// With statistics that say how many sessions a usual tag has, SQLite takes the tables of a plain join the other way around, and goes
// through all sessions of the organization for a page.
func TestAPageOfATagIsReadInTheOrderOfTheTag(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		if e.db.Dialect != store.SQLite {
			return // PostgreSQL's planner looks at the page's size; its figures are in bench/load
		}
		q, err := e.svc.sorted(t.Context(), e.by.OrgID, Filter{Tag: ptr("tag")}, Sorting{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		q = q.Session(&gorm.Session{DryRun: true})
		st := q.Limit(20).Find(&[]Listed{}).Statement
		var plan []struct{ Detail string }
		err = e.db.Write(t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
			// What ANALYZE finds where 1 000 organizations have 1 000 sessions on average, and the tag is that of thousands.
			for _, statement := range []string{
				"ANALYZE", "DELETE FROM sqlite_stat1",
				`INSERT INTO sqlite_stat1 VALUES ('session_tags', 'session_tags_by_session', '25000 25000 1'), ('session_tags', 'session_tags', '25000 25000 25000 1'),
					('sessions', 'sqlite_autoindex_sessions_1', '300000 2 1'), ('sessions', 'sessions_listed', '300000 2 2 1')`,
				"ANALYZE sqlite_schema",
			} {
				if err := tx.Exec(statement).Error; err != nil {
					return err
				}
			}
			return tx.Raw("EXPLAIN QUERY PLAN "+st.SQL.String(), st.Vars...).Scan(&plan).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan) == 0 {
			t.Fatal("there is no plan")
		}
		for i, step := range plan {
			if i == 0 && step.Detail != "SEARCH session_tags USING PRIMARY KEY (org_id=? AND tag=?)" || step.Detail == "USE TEMP B-TREE FOR ORDER BY" {
				t.Fatalf("the plan is %v", plan)
			}
		}
	})
}
