package store_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// An upgrade from a version without lists by cost, length and outcome has them filled in, and its index goes on at the end of the feed.
func TestTheMigrationFillsWhatListsGoBy(t *testing.T) {
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		migrations, done, err := db.Migrations()
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		org, harness := models.NewID[models.OrgEntity](), models.NewID[models.HarnessEntity]()
		ran, fresh := models.NewID[models.SessionEntity](), models.NewID[models.SessionEntity]()
		turn := func(sequence int64, status models.TurnStatus, from, to models.Millis) *models.Turn {
			return &models.Turn{
				OrgID: org, ID: models.NewID[models.TurnEntity](), SessionID: ran, InputMessageID: models.NewID[models.MessageEntity](), Phase: models.PhaseInput,
				StartedByKind: models.ActorSystem, Status: status, EndedSequence: &sequence, StartedAt: &from, FinishedAt: &to,
			}
		}
		never := turn(9, models.TurnCancelled, 0, 90)
		never.StartedAt = nil
		err = db.WriteAcross(ctx, func(tx *gorm.DB) error {
			for _, row := range []any{
				&models.Org{ID: org, Name: "o", Slug: org.String(), CreatedAt: 1}, &models.OrgFeed{OrgID: org, Position: 7},
				&models.Harness{OrgID: org, ID: harness, Name: "h", Capabilities: []models.CapabilityRef{}},
				&models.Session{OrgID: org, ID: ran, HarnessID: harness, Tags: []string{}, Usage: models.Usage{CostNanos: 3}},
				&models.Session{OrgID: org, ID: fresh, HarnessID: harness, Tags: []string{}},
				turn(8, models.TurnFailed, 20, 25), turn(4, models.TurnCompleted, 1, 2), never,
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
		if _, err := migrations.DownTo(ctx, 35); err != nil {
			t.Fatalf("down: %v", err)
		}
		if _, err := migrations.Up(ctx); err != nil {
			t.Fatalf("up: %v", err)
		}
		var list []models.IndexedSession
		if err := store.Of(db.ReadAcross(ctx), org).Order("session_id").Find(&list).Error; err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0].SessionID != ran || models.Value(list[0].Outcome) != models.TurnFailed || list[0].DurationMs != 5 || list[0].CostNanos != 3 ||
			list[1].Outcome != nil || list[1].DurationMs != 0 {
			t.Errorf("%s and %s are indexed as %+v", ran, fresh, list)
		}
		want := models.WordFeed{OrgID: org, Position: 7, BackfillThrough: 7}
		var feed models.WordFeed
		if err := store.Of(db.ReadAcross(ctx), org).Find(&feed).Error; err != nil || feed != want {
			t.Errorf("the index is at %+v, want %+v, %v", feed, want, err)
		}
	})
}
