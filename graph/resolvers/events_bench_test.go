package resolvers

import (
	"encoding/json"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// BenchmarkRender measures one event of each kind as the API shows it; all subscribers share what it makes.
func BenchmarkRender(b *testing.B) {
	b.ReportAllocs()
	rows := events.Table()
	for b.Loop() {
		for _, row := range rows {
			if _, err := encodeEvent(events.NewItem(benchEvents[row.Kind()])); err != nil {
				b.Fatal(err)
			}
		}
	}
}

var benchEvents = func() map[models.EventKind]models.Event {
	all := map[models.EventKind]models.Event{}
	for _, row := range events.Table() {
		data, err := json.Marshal(row.Payload)
		if err != nil {
			panic(err)
		}
		all[row.Kind()] = models.Event{
			SessionID: models.NewID[models.SessionEntity](), Sequence: 7, ID: models.NewID[models.EventEntity](), Kind: row.Kind(),
			TurnID: new(models.NewID[models.TurnEntity]()), Data: data, OccurredAt: 3,
		}
	}
	return all
}()
