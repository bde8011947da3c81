package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// prices tells of a model's newest prices.
func (e *env) prices(o org, id models.ModelID, limit int) string {
	e.t.Helper()
	found := must(e.svc.PriceHistories(e.t.Context(), o.id, []models.ModelID{models.NewID[models.ModelEntity](), id}, limit))(e.t)
	text := func(n *models.Nanos) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	var lines []string
	for _, p := range found[id] {
		lines = append(lines, fmt.Sprint(p.ValidFrom-1_700_000_000_000, ":", text(p.Input), "/", text(p.Output), "/", text(p.CacheRead), "/", text(p.CacheWrite)))
	}
	return strings.Join(lines, " ")
}

func TestEveryPriceIsKept(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		seeded := must(e.svc.Model(ctx, e.mine.id, e.mine.model))(t)
		if got, want := e.prices(e.mine, seeded.ID, 9), fmt.Sprintf("%d:%d/%d/%d/%d", seeded.CreatedAt-1_700_000_000_000,
			*seeded.PriceInput, *seeded.PriceOutput, *seeded.PriceCacheRead, *seeded.PriceCacheWrite); got != want {
			t.Errorf("a seeded model has had %q, want %q", got, want)
		}
		m := must(e.svc.CreateModel(ctx, e.mine.admin, catalog.NewModel{
			ProviderID: seeded.ProviderID, Name: "sim-lorem:7", Prices: catalog.Give(&catalog.Prices{Input: 1, Output: 9_000_000_000_000_000_000}),
		}))(t)
		change := func(in catalog.ModelChange) {
			t.Helper()
			must(e.svc.UpdateModel(ctx, e.mine.admin, m.ID, in))(t)
		}
		e.clock.Advance(time.Second)
		change(catalog.ModelChange{Enabled: catalog.Give(new(false))}) // no price
		e.clock.Advance(time.Second)
		change(catalog.ModelChange{Prices: catalog.Give(&catalog.Prices{Input: 1, Output: 2, CacheRead: new(models.Nanos(0))})})
		// Within the same millisecond, too, each has its time.
		change(catalog.ModelChange{Prices: catalog.Give(&catalog.Prices{Input: 1, Output: 2, CacheWrite: new(models.Nanos(3))})})
		change(catalog.ModelChange{Prices: catalog.Give(&catalog.Prices{Input: 1, Output: 2, CacheWrite: new(models.Nanos(3))})}) // the same again
		e.clock.Advance(time.Second)
		change(catalog.ModelChange{Prices: catalog.Give[*catalog.Prices](nil)})
		want := "3000:-/-/-/- 2001:1/2/-/3 2000:1/2/0/- 0:1/9000000000000000000/-/-"
		if got := e.prices(e.mine, m.ID, 9); got != want {
			t.Errorf("the history is %q, want %q", got, want)
		}
		if got := e.prices(e.mine, m.ID, 2); got != "3000:-/-/-/- 2001:1/2/-/3" {
			t.Errorf("the newest two are %q", got)
		}
		// A change that is refused leaves nothing, and another organization sees nothing.
		_, err := e.svc.UpdateModel(ctx, e.mine.admin, m.ID, catalog.ModelChange{Prices: catalog.Give(&catalog.Prices{Input: -1})})
		wantFault(t, err, fault.Invalid, "input.price")
		_, err = e.svc.UpdateModel(ctx, e.theirs.admin, m.ID, catalog.ModelChange{Prices: catalog.Give(&catalog.Prices{Input: 4, Output: 4})})
		wantFault(t, err, fault.NotFound, "id")
		if got := e.prices(e.mine, m.ID, 9); got != want {
			t.Errorf("after refusals the history is %q, want %q", got, want)
		}
		if got := e.prices(e.theirs, m.ID, 9); got != "" {
			t.Errorf("the other organization sees %q", got)
		}
	})
}
