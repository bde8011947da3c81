package store_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Models that are older than the history of prices begin it with what they cost.
func TestTheMigrationToPricesKeepsThoseOfToday(t *testing.T) {
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		migrations, done, err := db.Migrations()
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if _, err := migrations.DownTo(ctx, 18); err != nil {
			t.Fatalf("down: %v", err)
		}
		org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: "o", CreatedAt: 1}
		p := models.Provider{OrgID: org.ID, ID: models.NewID[models.ProviderEntity](), Name: "p", Kind: models.ProviderSimulated, Lifecycle: models.LifecycleActive}
		priced := models.Model{OrgID: org.ID, ID: models.NewID[models.ModelEntity](), ProviderID: p.ID, Name: "a", PriceInput: new(models.Nanos(5)), PriceOutput: new(models.Nanos(6)), CreatedAt: 1, UpdatedAt: 7}
		unpriced := models.Model{OrgID: org.ID, ID: models.NewID[models.ModelEntity](), ProviderID: p.ID, Name: "b", CreatedAt: 1, UpdatedAt: 8}
		err = db.WriteAcross(ctx, func(tx *gorm.DB) error {
			for _, row := range []any{&org, &p, &priced, &unpriced} {
				if err := tx.Omit("CreatedBy", "RootID").Create(row).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := migrations.Up(ctx); err != nil {
			t.Fatalf("up: %v", err)
		}
		var got []models.ModelPrice
		if err := store.CrossOrg(db.ReadAcross(ctx)).Order("valid_from").Find(&got).Error; err != nil || len(got) != 2 {
			t.Fatalf("got %+v, %v", got, err)
		}
		if a, b := got[0], got[1]; a.ModelID != priced.ID || a.ValidFrom != 7 || *a.Input != 5 || *a.Output != 6 || a.CacheRead != nil || a.CacheWrite != nil ||
			b.ModelID != unpriced.ID || b.ValidFrom != 8 || b.Input != nil || b.Output != nil {
			t.Errorf("got %+v", got)
		}
	})
}
