package audit

import (
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestListing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		const base = models.Millis(1_000_000_000)
		person := models.NewID[models.ActorEntity]()
		w.record(w.mine, 6, base) // done_0 on thing_0, done_1 on thing_1, done_0 on thing_2, done_1 on thing_0, …
		w.write(func(tx *gorm.DB) error {
			return Record(t.Context(), tx, base+2, Entry{Org: w.mine, ActorKind: models.ActorUser, Actor: person, Action: "thing.done_0"})
		})
		w.record(w.mine, 2, base+2*60*60*1000) // done_0 on thing_0, done_1 on thing_1
		w.record(models.NewID[models.OrgEntity](), 3, base)
		at := func(d models.Millis) *models.Millis { d += base; return &d }
		text := func(s string) *string { return &s }
		nobody := models.ActorID{}
		for name, test := range map[string]struct {
			f      Filter
			before int64
			limit  int
			want   string
		}{
			"all":                 {Filter{}, 0, 10, "[9 8 7 6 5 4 3 2 1]"},
			"a page":              {Filter{}, 6, 2, "[5 4]"},
			"an action":           {Filter{Action: text("thing.done_0")}, 0, 10, "[8 7 5 3 1]"},
			"an action, a page":   {Filter{Action: text("thing.done_0")}, 7, 2, "[5 3]"},
			"an action of nobody": {Filter{Action: text("thing")}, 0, 10, "[]"},
			"no action":           {Filter{Action: text("")}, 0, 10, "[]"},
			"a target":            {Filter{Target: text("thing_0")}, 0, 10, "[8 4 1]"},
			"no target":           {Filter{Target: text("")}, 0, 10, "[7]"},
			"a person":            {Filter{ActorKind: models.ActorUser, Actor: &person}, 0, 10, "[7]"},
			"another kind":        {Filter{ActorKind: models.ActorSystem, Actor: &person}, 0, 10, "[]"},
			"nobody":              {Filter{ActorKind: models.ActorUser, Actor: &nobody}, 0, 10, "[]"},
			// The last entry was written with a time before that of others.
			"from":             {Filter{From: at(3)}, 0, 10, "[9 8 6 5 4]"},
			"to":               {Filter{To: at(2)}, 0, 10, "[2 1]"},
			"from and to":      {Filter{From: at(2), To: at(4)}, 0, 10, "[7 4 3]"},
			"a time and more":  {Filter{From: at(2), To: at(5), Action: text("thing.done_0")}, 0, 10, "[7 5 3]"},
			"after everything": {Filter{From: at(5 * 60 * 60 * 1000)}, 0, 10, "[]"},
			"before it":        {Filter{To: at(-60 * 60 * 1000)}, 0, 10, "[]"},
			"an hour later":    {Filter{From: at(60 * 60 * 1000), To: at(3 * 60 * 60 * 1000)}, 0, 10, "[9 8]"},
			"before that":      {Filter{To: at(60 * 60 * 1000)}, 0, 3, "[7 6 5]"},
		} {
			var before *int64
			if test.before > 0 {
				before = &test.before
			}
			rows, err := w.List(t.Context(), w.mine, test.f, before, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			got := []int64{}
			for _, e := range rows {
				got = append(got, e.Position)
			}
			if fmt.Sprint(got) != test.want {
				t.Errorf("%s: got %v, want %s", name, got, test.want)
			}
		}
	})
}
