package store_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func seedOrg(t *testing.T, db *store.DB, slug string) models.Org {
	t.Helper()
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: slug, Slug: slug, CreatedAt: 1}
	if err := db.WriteAcross(context.Background(), func(tx *gorm.DB) error { return tx.Create(&org).Error }); err != nil {
		t.Fatal(err)
	}
	return org
}

func provider(org models.OrgID, name string) models.Provider {
	return models.Provider{
		OrgID: org, ID: models.NewID[models.ProviderEntity](), Name: name, Kind: models.ProviderSimulated,
		Lifecycle: models.LifecycleActive, CreatedAt: 1, UpdatedAt: 1,
	}
}

func TestRowsComeBackAsWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		org := seedOrg(t, db, "one")
		h := models.Harness{
			OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", DisplayName: "H", Lifecycle: models.LifecycleActive,
			Capabilities: []models.CapabilityRef{{ID: "files", Config: models.JSON(`{"b":1,"a":[2]}`)}}, BuiltIn: true, Revision: 3,
		}
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&h).Error }); err != nil {
			t.Fatal(err)
		}
		var got models.Harness
		if err := store.Of(db.ReadAcross(t.Context()), org.ID).Where("id = ?", h.ID).First(&got).Error; err != nil {
			t.Fatal(err)
		}
		if got.ID != h.ID || got.ParentID != nil || !got.BuiltIn || got.Capabilities[0].ID != "files" ||
			string(got.Capabilities[0].Config) != `{"b":1,"a":[2]}` {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestTheDatabaseRefusesReferencesIntoAnotherOrganization(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mine, theirs := seedOrg(t, db, "mine"), seedOrg(t, db, "theirs")
		p := provider(theirs.ID, "p")
		if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&p).Error }); err != nil {
			t.Fatal(err)
		}
		m := models.Model{OrgID: mine.ID, ID: models.NewID[models.ModelEntity](), ProviderID: p.ID, Name: "m"}
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&m).Error })
		if !store.IsMissingReference(err) {
			t.Fatalf("want a refused reference, got %v", err)
		}
	})
}

func TestDuplicatesAreTold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		org := seedOrg(t, db, "one")
		a, b := provider(org.ID, "same"), provider(org.ID, "same")
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return errors.Join(tx.Create(&a).Error, tx.Create(&b).Error) })
		if !store.IsDuplicate(err) {
			t.Fatalf("want a duplicate, got %v", err)
		}
		var n int64
		if err := store.Of(db.ReadAcross(t.Context()).Model(&models.Provider{}), org.ID).Count(&n).Error; err != nil || n != 0 {
			t.Fatalf("the transaction left %d rows, %v", n, err)
		}
	})
}

func TestTheGuardRefusesStatementsWithoutOrganization(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		org := seedOrg(t, db, "one")
		var list []models.Provider
		read := func() *gorm.DB { return db.ReadAcross(t.Context()) }
		for name, err := range map[string]error{
			"find":   read().Find(&list).Error,
			"or":     store.Of(read(), org.ID).Or("name = ?", "x").Find(&list).Error,
			"update": read().Model(&models.Provider{}).Where("name = ?", "x").Update("name", "y").Error,
			"delete": read().Where("name = ?", "x").Delete(&models.Provider{}).Error,
			"count":  read().Model(&models.Provider{}).Count(new(int64)).Error,
		} {
			if !errors.Is(err, store.ErrUnscoped) {
				t.Errorf("%s: want ErrUnscoped, got %v", name, err)
			}
		}
		if err := store.CrossOrg(read()).Find(&list).Error; err != nil {
			t.Errorf("cross-org read: %v", err)
		}
	})
}

func TestEventsAreAppendOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		org := seedOrg(t, db, "one")
		for _, s := range []string{"UPDATE events SET kind = 'x'", "DELETE FROM events"} {
			err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
				h := models.Harness{OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h" + s, Capabilities: []models.CapabilityRef{}}
				if err := tx.Create(&h).Error; err != nil {
					return err
				}
				sess := models.Session{OrgID: org.ID, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}}
				if err := tx.Create(&sess).Error; err != nil {
					return err
				}
				e := models.Event{OrgID: org.ID, SessionID: sess.ID, Sequence: 1, ID: models.NewID[models.EventEntity](), Kind: "K", Data: models.JSON("{}")}
				if err := tx.Create(&e).Error; err != nil {
					return err
				}
				if err := tx.Exec(s).Error; err == nil {
					t.Errorf("%q was allowed", s)
				}
				return errors.New("undo")
			})
			if err == nil || err.Error() == "" {
				t.Fatal("the transaction should have been undone")
			}
		}
	})
}
