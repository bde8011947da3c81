package commit

import (
	"context"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// checkTotals fails unless what is counted with a feed is what there is.
func (w *world) checkTotals(org models.OrgID, row []models.OrgFeed) {
	w.t.Helper()
	if len(row) == 0 {
		return // nothing has happened there that is told to anybody
	}
	var sessions, waiting int64
	db := w.db.ReadAcross(context.Background())
	if err := store.Of(db.Model(&models.Session{}), org).Count(&sessions).Error; err != nil {
		w.t.Fatal(err)
	}
	if err := store.Of(db.Model(&models.Turn{}), org).Where("started_at IS NULL AND finished_at IS NULL").Count(&waiting).Error; err != nil {
		w.t.Fatal(err)
	}
	var counted Totals
	for _, r := range row {
		counted = Totals{r.Sessions, r.QueuedTurns}
	}
	if want := (Totals{sessions, waiting}); counted != want {
		w.t.Fatalf("%s has %+v, and its feed counts %+v", org, want, counted)
	}
}
