package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Reading ends with the bytes that a context allows, however the rows are read, and other contexts are not counted.
func TestReadingEndsWithItsBytes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const rows, size = 20, 1000
		org := models.NewID[models.OrgEntity]()
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			if err := tx.Create(&models.Org{ID: org, Name: "o", Slug: org.String(), CreatedAt: 1}).Error; err != nil {
				return err
			}
			for i := range rows {
				hash := []byte(strings.Repeat(string(rune('a'+i)), 32))
				if err := tx.Create(&models.Blob{OrgID: org, Hash: hash, Size: size, Content: make([]byte, size)}).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(ctx context.Context, list *[]models.Blob) error{
			"a query": func(ctx context.Context, list *[]models.Blob) error {
				return store.Of(db.Read(ctx, org), org).Find(list).Error
			},
			"a statement": func(ctx context.Context, list *[]models.Blob) error {
				return store.Rows(db.Read(ctx, org).Raw("SELECT org_id, hash, size, content FROM blobs WHERE org_id = ?", org), list)
			},
		} {
			var all, some []models.Blob
			if err := read(t.Context(), &all); err != nil || len(all) != rows || len(all[rows-1].Content) != size {
				t.Fatalf("%s: %d rows, %v", name, len(all), err)
			}
			ctx, bytes := store.WithBytes(t.Context(), 2*rows*size/2, nil)
			err := read(ctx, &some)
			if !errors.Is(err, store.ErrTooManyBytes) || bytes.Err() == nil || !errors.Is(context.Cause(ctx), store.ErrTooManyBytes) || len(some) > rows/2 {
				t.Errorf("%s: %d rows were read, %v", name, len(some), err)
			}
			bytes.End()
			ctx, bytes = store.WithBytes(t.Context(), 3*rows*size, nil)
			if err := read(ctx, &some); err != nil || len(some) != rows || bytes.Err() != nil {
				t.Errorf("%s: %d rows, %v", name, len(some), err)
			}
			bytes.End()
		}
	})
}
