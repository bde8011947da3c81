package catalog_test

import (
	"fmt"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// However many create agents on however many nodes, there are exactly as many as there may be.
func TestACapOfAgentsIsExact(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		var nodes []*catalog.Service
		for range 2 {
			svc, err := catalog.New(catalog.Config{
				DB: e.db, Registry: registry(t), Keeper: e.keeper, Clock: e.clock,
				Limits: limits.New(limits.Config{DB: e.db, Clock: e.clock, Usual: limits.Values{Agents: 5}}),
			})
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, svc)
		}
		first := e.agent(catalog.NewAgent{Name: "first"})
		var mu sync.Mutex
		var all sync.WaitGroup
		made := 0
		for i := range 16 {
			all.Go(func() {
				_, err := nodes[i%2].CreateAgent(t.Context(), e.mine.admin, catalog.NewAgent{Name: fmt.Sprint("agent", i)})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if !fault.Is(err, fault.LimitReached) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var have, logged int64
		db := e.db.Read(t.Context(), e.mine.id)
		if err := store.Of(db.Model(&models.Agent{}), e.mine.id).Count(&have).Error; err != nil {
			t.Fatal(err)
		}
		if err := store.Of(db.Model(&models.AuditEntry{}), e.mine.id).Where("action = 'agent.created'").Count(&logged).Error; err != nil {
			t.Fatal(err)
		}
		if made != 3 || have != 5 || logged != 4 {
			t.Errorf("%d were made beside one and the demo, there are %d, and the log has %d; five may be", made, have, logged)
		}
		// Archived ones count; deleted ones don't.
		if _, err := nodes[0].ArchiveAgent(t.Context(), e.mine.admin, first.ID); err != nil {
			t.Fatal(err)
		}
		_, err := nodes[1].CreateAgent(t.Context(), e.mine.admin, catalog.NewAgent{Name: "fifth"})
		wantFault(t, err, fault.LimitReached, "")
		e.writeOwn(func(tx *gorm.DB) error {
			return store.OneRow(store.Of(tx.Model(&models.Agent{}), e.mine.id).Where("id = ?", first.ID).Update("lifecycle", models.LifecycleDeleted))
		})
		if _, err := nodes[1].CreateAgent(t.Context(), e.mine.admin, catalog.NewAgent{Name: "fifth"}); err != nil {
			t.Errorf("after one was deleted: %v", err)
		}
		if _, err := nodes[1].CreateAgent(t.Context(), e.theirs.admin, catalog.NewAgent{Name: "theirs"}); err != nil {
			t.Errorf("another organization: %v", err)
		}
	})
}
