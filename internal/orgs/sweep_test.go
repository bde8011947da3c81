package orgs_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestSweepRemovesOnlyWhatIsPastItsTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", Slug: "o"}
		user := models.User{ID: models.NewID[models.UserEntity](), Email: "a@b", EmailKey: "a@b"}
		in := models.SignIn{ID: models.NewID[models.SignInEntity](), UserID: user.ID, OrgID: org.ID}
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			for _, row := range []any{
				&org, &user, &in,
				&models.IdempotencyKey{OrgID: org.ID, Operation: "x", Key: "old", InputHash: []byte{1}, Result: models.JSON("1"), ExpiresAt: 99},
				&models.IdempotencyKey{OrgID: org.ID, Operation: "x", Key: "new", InputHash: []byte{1}, Result: models.JSON("1"), ExpiresAt: 100},
				&models.RefreshToken{Hash: []byte{1}, SignInID: in.ID, ExpiresAt: 99},
				&models.RefreshToken{Hash: []byte{2}, SignInID: in.ID, ExpiresAt: 100},
			} {
				if err := tx.Create(row).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := orgs.Sweep(t.Context(), db, 100); err != nil || n != 2 {
			t.Fatalf("swept %d rows, %v; want 2", n, err)
		}
		if n, err := orgs.Sweep(t.Context(), db, 100); err != nil || n != 0 {
			t.Fatalf("swept %d rows again, %v; want none", n, err)
		}
	})
}
