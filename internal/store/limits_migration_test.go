package store_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Organizations that have sessions and waiting turns before these are counted begin with the right counts, and keep the caps that they have.
func TestTheMigrationToLimitsCountsWhatThereIs(t *testing.T) {
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		migrations, done, err := db.Migrations()
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if _, err := migrations.DownTo(ctx, 11); err != nil {
			t.Fatalf("down: %v", err)
		}
		full, quiet, empty := models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity]()
		session := func(tx *gorm.DB, org models.OrgID) (models.Session, error) {
			h := models.Harness{
				OrgID: org, ID: models.NewID[models.HarnessEntity](), Lifecycle: models.LifecycleActive, Capabilities: []models.CapabilityRef{},
			}
			h.Name, h.NameKey = h.ID.String(), h.ID.String()
			s := models.Session{
				OrgID: org, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}, CreatedByKind: models.ActorSystem, Status: models.SessionIdle,
			}
			if err := tx.Create(&h).Error; err != nil {
				return s, err
			}
			return s, tx.Omit("ResumedAt", "CompactedThrough", "Trial").Create(&s).Error
		}
		err = db.WriteAcross(ctx, func(tx *gorm.DB) error {
			for _, org := range []models.OrgID{full, quiet, empty} {
				if err := tx.Omit("AllowUnpriced", "CreatedBy", "RootID").Create(&models.Org{ID: org, Name: "o", Slug: org.String(), CreatedAt: 1}).Error; err != nil {
					return err
				}
			}
			if err := tx.Exec("INSERT INTO org_feeds (org_id, position) VALUES (?, 5)", full).Error; err != nil {
				return err
			}
			if err := tx.Exec("INSERT INTO org_loads (org_id, active_turns) VALUES (?, 4)", full).Error; err != nil {
				return err
			}
			for _, org := range []models.OrgID{full, full, quiet} {
				s, err := session(tx, org)
				if err != nil {
					return err
				}
				at := models.Millis(1)
				for _, turn := range []models.Turn{
					{Status: models.TurnQueued},
					{Status: models.TurnRunning}, // claimed, and not begun
					{Status: models.TurnCompleted, StartedAt: &at, FinishedAt: &at},
					{Status: models.TurnCancelled, FinishedAt: &at}, // before it began
				} {
					turn.OrgID, turn.ID, turn.SessionID = org, models.NewID[models.TurnEntity](), s.ID
					turn.InputMessageID = models.NewID[models.MessageEntity]()
					turn.Phase, turn.StartedByKind = models.PhaseInput, models.ActorSystem
					if err := tx.Omit("Reservation", "Coauthors").Create(&turn).Error; err != nil {
						return err
					}
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
		var feeds []models.OrgFeed
		if err := store.CrossOrg(db.ReadAcross(ctx)).Find(&feeds).Error; err != nil {
			t.Fatal(err)
		}
		got := map[models.OrgID]models.OrgFeed{}
		for _, f := range feeds {
			got[f.OrgID] = f
		}
		want := map[models.OrgID]models.OrgFeed{
			full:  {OrgID: full, Position: 5, Sessions: 2, QueuedTurns: 4},
			quiet: {OrgID: quiet, Sessions: 1, QueuedTurns: 2},
		}
		if len(got) != len(want) || got[full] != want[full] || got[quiet] != want[quiet] {
			t.Errorf("got %+v, want %+v", got, want)
		}
		var loads []models.OrgLoad
		if err := store.CrossOrg(db.ReadAcross(ctx)).Find(&loads).Error; err != nil || len(loads) != 3 {
			t.Fatalf("got %+v, %v", loads, err)
		}
		for _, l := range loads {
			// Organizations that existed keep the keys of the environment, which they had.
			if (l.ActiveTurns != nil) != (l.OrgID == full) || l.EnvironmentKeys == nil || *l.EnvironmentKeys != 1 || l.LimitsChangedAt != 1 {
				t.Errorf("got %+v", l)
			}
		}
	})
}
