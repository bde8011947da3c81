package orgs_test

import (
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestOrganizationsForOperators(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		var rows []models.Org
		for i := range 3 {
			rows = append(rows, models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: fmt.Sprintf("org-%d", i)})
		}
		if err := db.WriteAcross(ctx, func(tx *gorm.DB) error { return tx.Create(&rows).Error }); err != nil {
			t.Fatal(err)
		}
		var slugs []string
		var after models.OrgID
		for {
			page, err := orgs.Page(ctx, db, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range page {
				slugs, after = append(slugs, o.Slug), o.ID
			}
			if len(page) < 2 {
				break
			}
		}
		slices.Sort(slugs)
		if fmt.Sprint(slugs) != "[org-0 org-1 org-2]" {
			t.Errorf("got %v", slugs)
		}
		for name, id := range map[string]models.OrgID{"org-1": rows[1].ID, rows[1].ID.String(): rows[1].ID, "org-3": {}, "": {}, models.NewID[models.OrgEntity]().String(): {}} {
			o, err := orgs.Named(ctx, db, name)
			if err != nil || (o == nil) != id.IsZero() || (o != nil && o.ID != id) {
				t.Errorf("%q: got %v, %v", name, o, err)
			}
		}
	})
}
